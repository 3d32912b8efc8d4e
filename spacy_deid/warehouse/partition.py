"""Process one partition: read it, de-identify it, write its files whole or not at all, and return its record.

The record contains checksums and counts. Every row that was read is either released or in quarantine, the list of rows
that were not released. The record contains ids of notes, labels, detectors and reasons, but no text.
"""

import hashlib
import heapq
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..data_models.people import People
from ..data_models.tables import ReleasedTables
from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors, InputError, describe
from ..io import hold, whole_file, write_whole
from ..processes import Failure
from ..surrogates.keys import ProjectKey
from .batches import Row, deidentify_rows, make_batch, output_schema
from .inputs import Partition, read_kept_schema, read_partition, update_checksum
from .manifest import Manifest, RunFolder, dump_json, file_checksum
from .readers import Chunk
from .settings import Settings, changed_parts, fingerprint_files, fingerprint_parts

HARDEST = 50
"""Number of notes that a record lists as the hardest, for review."""

_SURE = 0.9  # score from which a detection is not counted as uncertain
_TYPES = 200  # note types that are counted


class StopRun(DeidError):
    """Raised for an error that would occur in every partition, such as a changed key or a full disk."""


@dataclass(slots=True)
class Counts:
    """The counts of the rows of a partition that its record contains; see `as_record`."""

    rows: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    sources: Counter[tuple[str, str]] = field(default_factory=Counter)
    types: Counter[tuple[str, str]] = field(default_factory=Counter)
    dictionaries: Counter[str] = field(default_factory=Counter)
    words: int = 0
    hardest: list[tuple[float, str]] = field(default_factory=list)

    def add(self, row: Row, note_type: str) -> None:
        """Count a processed row."""
        self.rows += 1
        self.statuses[row.status] += 1
        if len(self.types) < _TYPES or (note_type, row.status) in self.types:
            self.types[note_type, row.status] += 1
        if not row.ok:
            self.reasons[row.reason] += 1
            return
        hardness = 0.0
        for result in row.results.values():
            self.words += result.words
            self.dictionaries.update(set(result.dictionaries))
            self.labels.update(edit.label for edit in result.edits if edit.label)
            for span in result.trace:
                found = {item["source"]: item["score"] for item in span["evidence"]}
                self.sources.update((span["label"], source) for source in found)
                best = max(found.values(), default=1.0)
                hardness += round(1 - best, 3) if best < _SURE else 0
            hardness += len(result.warnings)
        if hardness:
            heapq.heappush(self.hardest, (round(hardness, 3), row.note_id))
            if len(self.hardest) > HARDEST:
                heapq.heappop(self.hardest)

    @property
    def released(self) -> int:
        """Number of rows that were released."""
        return self.statuses["released"] + self.statuses["review"]

    def as_record(self) -> dict[str, Any]:
        """Return the counts as a dict that can be written as JSON, for the file that describes a finished partition.

        RETURNS (dict): "statuses": status → number of rows. "reasons": reason → number of rows in quarantine.
            "labels": label → number of replaced spans. "sources": label → component → number of spans that it found.
            "types": note type → status → number of rows. "dictionaries": kind of dictionary that was searched →
            number of notes. "words": number of words. "hardest": pairs of note id and hardness, the hardest first, at
            most `HARDEST`. The hardness of a note is the number of its warnings plus, for each uncertain span, one
            minus its best score.
        """
        return {
            **{name: dict(sorted(getattr(self, name).items())) for name in ("statuses", "reasons", "labels")},
            "dictionaries": dict(sorted(self.dictionaries.items())),
            "sources": nest(self.sources),
            "types": nest(self.types),
            "words": self.words,
            "hardest": [[note_id, hardness] for hardness, note_id in sorted(self.hardest, reverse=True)],
        }


def nest(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Convert counts by (first, second) to nested dicts {first: {second: count}} with sorted keys."""
    nested: dict[str, dict[str, int]] = {}
    for (first, second), count in sorted(counts.items()):
        nested.setdefault(first, {})[second] = count
    return nested


class PartitionWorker:
    """Processes partitions of a run, in any process on any machine. Can be pickled.

    folder (Path): output folder of the run.
    deid (Optional[Deidentifier]): the pipeline, loaded with the settings of the next start of the run, which is used
        for this start only; None to load it when the first partition is processed.
    """

    def __init__(self, folder: Path, deid: Deidentifier | None = None) -> None:
        self.folder = RunFolder(folder)
        self._given = deid
        self._opened: tuple[Manifest, Deidentifier, ReleasedTables | None] | None = None
        self._gpu: ExitStack | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionWorker, (self.folder.path,)

    def __call__(self, name: str) -> dict[str, Any] | Failure:
        """Process a partition.

        name (str): name of the partition.
        RETURNS (Union[dict, Failure]): its record, or why its input could not be read. A partition that failed has no
            record in the folder.
        RAISES: StopRun if all partitions would fail.
        """
        return self.process(name)

    def process(self, name: str, seconds: float = 0) -> dict[str, Any] | Failure:
        """Process a partition with a time limit per text; see `__call__`.

        name (str): name of the partition.
        seconds (float): time limit of a text, 0 for none; see `batches.deidentify_rows`.
        """
        try:
            manifest, deid, tables = self._open()
            now = fingerprint_files(manifest.settings)
            if changed := changed_parts({part: manifest.parts[part] for part in now}, now):
                raise StopRun(Errors.D959.format(parts=", ".join(changed)))
            partition = next(each for each in manifest.partitions if each.name == name)
            return _PartitionRun(self.folder, manifest, deid, partition, seconds, tables).run()
        except _ReadFailed as failed:
            return Failure.from_error(failed.error)
        except (ConfigError, InputError) as error:
            raise StopRun(str(error)) from None

    def _open(self) -> tuple[Manifest, Deidentifier, ReleasedTables | None]:
        """Load manifest and pipeline once per start of a run. RAISES: StopRun (D959) if the pipeline has changed."""
        if self._opened is None or self._opened[0].run_id != self.folder.read_run_id():
            manifest = self.folder.read_manifest()
            if manifest is None:
                raise StopRun(Errors.D402.format(path=self.folder.manifest, reason="no such file"))
            if manifest.settings.gpu and self._gpu is None:
                self._gpu = claim_gpu(self.folder.path / "run", count_gpus())
            deid, self._given = self._given or manifest.settings.open(), None
            if changed := changed_parts(manifest.parts, fingerprint_parts(manifest.settings, deid)):
                raise StopRun(Errors.D959.format(parts=", ".join(changed)))
            self._opened = manifest, deid, self._open_tables(manifest.settings, deid)
        return self._opened

    def _open_tables(self, settings: Settings, deid: Deidentifier) -> ReleasedTables | None:
        """Open the persons of the database; None without a data model.

        RAISES: ConfigError as `ProjectKey.from_file`, or if there is no key (D873).
        """
        model = settings.model
        if model is None:
            return None
        if settings.key is None:
            raise ConfigError(Errors.D873)
        people = People(self.folder.people, model, deid.nlp.lang or "")
        return ReleasedTables(model, ProjectKey.from_file(settings.key), people)


def count_gpus() -> int:
    """Count the GPUs that pipelines can run on. RETURNS (int): 0 without an NVIDIA GPU, its driver or CuPy."""
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # CuPy raises errors of the driver
        return 0


def claim_gpu(folder: Path, count: int, use: Callable[[int], Any] | None = None) -> ExitStack:
    """Reserve a GPU that no other worker on this machine uses, and run the pipelines of this process on it.

    folder (Path): folder for the lock files. The system releases a lock when its process ends for any reason.
    count (int): number of GPUs.
    use (Optional[Callable[[int], Any]]): makes a GPU the device of this process; None for ``thinc.api.require_gpu``.
    RETURNS (ExitStack): context that releases the GPU when it is closed.
    RAISES: StopRun (D970) if there is no free GPU.
    """
    if use is None:
        from thinc.api import require_gpu

        use = require_gpu
    for number in range(count):
        stack = ExitStack()
        try:
            stack.enter_context(hold(folder / f"gpu-{socket.gethostname()}-{number}.lock"))
        except BlockingIOError:
            continue
        use(number)
        return stack
    raise StopRun(Errors.D970.format(count=count))


class _ReadFailed(Exception):
    """Raised if the input of a partition cannot be read, to distinguish this from an error in writing the output."""

    def __init__(self, error: InputError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _stopping() -> Iterator[None]:
    """Context manager that turns errors in writing into `StopRun`, because a full disk affects every partition."""
    try:
        yield
    except (OSError, InputError) as error:
        raise StopRun(Errors.D960.format(reason=describe(error))) from None


class _PartitionRun:
    """Reads, de-identifies and writes one partition, and collects its counts and its quarantine."""

    def __init__(
        self,
        folder: RunFolder,
        manifest: Manifest,
        deid: Deidentifier,
        partition: Partition,
        seconds: float,
        tables: ReleasedTables | None,
    ) -> None:
        self.folder, self.manifest, self.deid, self.partition = folder, manifest, deid, partition
        self.settings, self.seconds, self.tables = manifest.settings, seconds, tables
        self.counts, self.checksum = Counts(), hashlib.sha256()
        self.quarantine: dict[str, list[Any]] = {"note_id": [], "row": [], "status": [], "reason": []}

    def run(self) -> dict[str, Any]:
        """Process the partition. RETURNS (dict): its record. RAISES: StopRun; _ReadFailed if it cannot be read."""
        name, start, processor = self.partition.name, time.monotonic(), time.process_time()
        checksums: dict[str, str | None] = {"notes": None, "spans": None, "quarantine": None}
        notes, spans, quarantine = self.folder.notes(name), self.folder.spans(name), self.folder.quarantine(name)
        with _stopping():
            if self.settings.audit:
                for chunk in self._read():
                    self._process(chunk)
                self._check()
                notes.unlink(missing_ok=True)
                spans.unlink(missing_ok=True)
            elif self.tables:
                with whole_file(notes) as part, whole_file(spans) as other:
                    self._write_tables(self.tables, part, other)
                    self._check(part)
                    checksums |= {"notes": file_checksum(part), "spans": file_checksum(other)}
            else:
                with whole_file(notes) as part:
                    self._write_notes(part)
                    self._check(part)
                    checksums["notes"] = file_checksum(part)
            if self.quarantine["row"]:
                with whole_file(quarantine) as part:
                    self._write_quarantine(part)
                    checksums["quarantine"] = file_checksum(part)
            else:
                quarantine.unlink(missing_ok=True)
            record = {
                "partition": asdict(self.partition),
                "fingerprint": self.manifest.fingerprint,
                "input": {"rows": self.counts.rows, "checksum": self.checksum.hexdigest()},
                "released": self.counts.released,
                "quarantined": len(self.quarantine["row"]),
                "checksums": checksums,
                **self.counts.as_record(),
                "seconds": round(time.monotonic() - start, 3),
                "processor_seconds": round(time.process_time() - processor, 3),
            }
            write_whole(self.folder.record(name), dump_json(record))
        return record

    def _read(self) -> Iterator[Chunk]:
        """Read the chunks of the partition and add them to the checksum of the input. RAISES: _ReadFailed."""
        try:
            for chunk in read_partition(self.manifest.input, self.settings.columns, self.partition):
                update_checksum(self.checksum, chunk, self.settings.columns)
                yield chunk
        except InputError as error:
            raise _ReadFailed(error) from None

    def _write_notes(self, part: Path) -> None:
        """De-identify the partition and write the released rows, each chunk as a row group."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        schema = output_schema(read_kept_schema(self.manifest.input), self.settings.columns)
        with ParquetWriter(part, schema, compression="zstd") as writer:
            for chunk in self._read():
                rows = self._process(chunk)
                batch = make_batch(rows, chunk.batch, self.settings.columns, self.manifest.fingerprint)
                kept = batch.filter(pa.array([row.ok for row in rows], pa.bool_()))
                if kept.num_rows:
                    writer.write_batch(kept)

    def _write_tables(self, tables: ReleasedTables, notes: Path, spans: Path) -> None:
        """De-identify the partition and write the released notes of a data model, and the spans in them."""
        from pyarrow.parquet import ParquetWriter

        with (
            ParquetWriter(notes, tables.notes_schema, compression="zstd") as note_writer,
            ParquetWriter(spans, tables.spans_schema, compression="zstd") as span_writer,
        ):
            for chunk in self._read():
                rows = self._process(chunk)
                note_writer.write_batch(tables.notes(rows, chunk.batch, self.manifest.fingerprint))
                span_writer.write_batch(tables.spans(rows, chunk.batch))

    def _process(self, chunk: Chunk) -> list[Row]:
        """De-identify a chunk, count its rows, and add those that were not released to the quarantine."""
        settings = self.settings
        rows = deidentify_rows(
            chunk.batch,
            self.deid,
            settings.columns,
            batch_size=settings.batch_size,
            seconds=self.seconds,
            broken=chunk.broken,
            identify=self.tables.people.identify if self.tables else None,
        )
        if self.tables:
            self.tables.mark_doubtful(rows, chunk.batch)
        kinds: list[Any] = [None] * len(rows)
        if settings.columns.note_type:
            with suppress(UnicodeDecodeError):
                kinds = chunk.batch.column(settings.columns.note_type).to_pylist()
        for row, kind in zip(rows, kinds, strict=True):
            if not row.ok:
                values = {"note_id": row.note_id, "row": self.counts.rows, "status": row.status, "reason": row.reason}
                for name, value in values.items():
                    self.quarantine[name].append(value)
            self.counts.add(row, "" if kind is None else str(kind))
        return rows

    def _write_quarantine(self, part: Path) -> None:
        """Write the rows that were not released: id, row number in the partition from 0, status and reason."""
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(self.quarantine), part, compression="zstd")

    def _check(self, part: Path | None = None) -> None:
        """Check, before the output gets its final name, that no row is lost and that no other run uses the folder.

        RAISES: StopRun if a row is neither released nor in quarantine (D961), or another run has started (D962).
        """
        written = self.counts.released
        if part is not None:
            from pyarrow.parquet import ParquetFile

            with ParquetFile(part) as file:
                written = file.metadata.num_rows
        if written != self.counts.released or self.counts.rows != written + len(self.quarantine["row"]):
            raise StopRun(Errors.D961.format(name=self.partition.name))
        if self.folder.read_run_id() != self.manifest.run_id:
            raise StopRun(Errors.D962.format(path=self.folder.path))
