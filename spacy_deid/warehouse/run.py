"""Run the de-identification of a table: check everything, process the partitions, and write the summary."""

import hashlib
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ..data_models.people import DICTIONARY, prepare_people
from ..deidentifier import Deidentifier
from ..dictionaries.store import LocalStore
from ..errors import ConfigError, DeidError, Errors, describe
from ..io import only_run, write_whole
from ..loading import read_language
from ..patient_ids import normal_id
from ..processes import Failure
from .engines import Engine, LocalEngine, Outcome, keep_loaded
from .inputs import InputSettings, find_files, plan, read_partition, update_checksum
from .manifest import Manifest, RunFolder, Todo, decide, dump_json
from .partition import HARDEST, PartitionWorker, StopRun, count_gpus
from .report import render
from .settings import Settings, fingerprint_parts

_NOTE_SECONDS = 3600.0  # for a note of a partition whose worker died
_PATIENTS = 20  # patients from which on it is an error if the dictionaries know none of them
_EXAMPLES = 20  # duplicate ids in the summary
_SPARE = 50_000_000  # bytes that must be free on the disk in any case


@dataclass
class Run:
    """De-identifies all notes of a table when it is called. An interrupted run is continued by calling it again.

    settings (Settings): settings of the run.
    input (InputSettings): location of the notes.
    output (Path): output folder; see `manifest` for its files.
    engine (Engine): engine that processes the partitions.
    n_process (int): number of workers; with the engine "local", 0 to use this process.
    changed (bool): whether settings and input are allowed to differ from those of an earlier start; the affected
        partitions are processed again.
    retry (bool): whether to process partitions again that have rows in quarantine (rows that were not released).
    say (Callable[[str], None]): function that prints a line of progress.
    every (float): seconds between two lines of progress.
    """

    settings: Settings
    input: InputSettings
    output: Path
    engine: Engine = field(default_factory=LocalEngine)
    n_process: int = 1
    changed: bool = False
    retry: bool = False
    say: Callable[[str], None] = print
    every: float = 60

    def __post_init__(self) -> None:
        where = self.input.where if self.input.is_database else str(Path(self.input.where).absolute())
        self.input = replace(self.input, where=where)
        self.settings, self.output = self.settings.resolve(), self.output.absolute()
        self.folder = RunFolder(self.output)
        self.done: list[dict[str, Any]] = []
        self.failed: list[Outcome] = []
        self._before, self._started, self._total = 0, time.monotonic(), 0

    def __call__(self) -> dict[str, Any]:
        """Process the input, or what is left of it, and write the summary.

        RETURNS (dict): the summary, as in ``report.json``.
        RAISES: ConfigError or InputError, before a note is processed, for a problem that can be detected then; StopRun
            if the run cannot continue. Finished partitions are kept, and another call continues the run.
        """
        _check_password(self.input)
        with only_run(self.output), self._people():
            deid = self.settings.open()
            parts = fingerprint_parts(self.settings, deid)
            partitions, kept = plan(self.input, self.settings.columns, self.output)
            self.input = replace(self.input, kept_schema=kept)
            manifest = Manifest("", self.settings, self.input, parts, partitions).renew()
            todo = self._decide(manifest)
            self._check(manifest, todo, deid)
            self.folder.write_manifest(manifest)
            if self.engine.name == "local" and not self.n_process:
                keep_loaded(self.output, deid)
            del deid
            for name in todo.stale:
                self.folder.remove(name)
            self.done, self._before, self._total = todo.done, len(todo.done), len(partitions)
            self._started = time.monotonic()
            if todo.done:
                self.say(f"{len(todo.done)} of {len(partitions)} partition(s) are done already")
            with self._progress():
                self._process(todo.names)
            return self._summarize(manifest, todo)

    @contextmanager
    def _people(self) -> Iterator[None]:
        """Context manager that keeps the persons of the database in the folder of the run, for a data model."""
        model, folder = self.settings.model, self.folder.people
        if model is None:
            yield
            return
        lang, hospital = read_language(self.settings.pipeline), self.settings.dictionaries
        try:
            prepare_people(model, self.input.where, folder, lang, hospital)
            self.settings = replace(self.settings, dictionaries=str(folder / DICTIONARY))
            yield
        finally:
            self.settings = replace(self.settings, dictionaries=hospital)
            shutil.rmtree(folder, ignore_errors=True)

    def _decide(self, manifest: Manifest) -> Todo:
        """Decide which partitions have to be processed, by the checksums of their input; see `manifest.decide`."""
        checksums = {}
        for partition in manifest.partitions:
            if self.folder.read_record(partition.name) is not None:
                checksum = hashlib.sha256()
                for chunk in read_partition(self.input, self.settings.columns, partition):
                    update_checksum(checksum, chunk, self.settings.columns)
                checksums[partition.name] = checksum.hexdigest()
        todo = decide(self.folder, self.folder.read_manifest(), manifest, checksums, changed=self.changed)
        if self.retry:
            again = [record for record in todo.done if record["quarantined"]]
            todo.names += [record["partition"]["name"] for record in again]
            todo.done = [record for record in todo.done if not record["quarantined"]]
        return todo

    def _check(self, manifest: Manifest, todo: Todo, deid: Deidentifier) -> None:
        """Check that GPUs, memory, disk and dictionaries suffice. RAISES: ConfigError (D964 – D966, D970) if not."""
        if not todo.names:
            return
        if self.settings.gpu and self.engine.name == "local" and not 0 < self.n_process <= (count := count_gpus()):
            raise ConfigError(Errors.D970.format(count=count))
        if self.engine.on_this_machine and (free := _available_memory()):
            needed = self.n_process * _own_memory()
            if needed > free:
                values = {"count": self.n_process, "needed": needed / 1e9, "free": free / 1e9}
                raise ConfigError(Errors.D964.format(**values))
        needed = _SPARE + (0 if self.settings.audit else self._input_bytes(manifest, todo))
        free = shutil.disk_usage(self.output).free
        if needed > free:
            raise ConfigError(Errors.D965.format(path=self.output, needed=needed / 1e9, free=free / 1e9))
        self._check_dictionaries(manifest)

    def _input_bytes(self, manifest: Manifest, todo: Todo) -> float:
        """Estimate the size of the output in bytes by that of the input that is left to read."""
        if self.input.is_database:
            return float(len(todo.names) * self.input.rows * 1000)
        paths = find_files(Path(self.input.where), self.output)[0].values()
        share = len(todo.names) / max(1, len(manifest.partitions))
        return share * sum(path.stat().st_size for path in paths)

    def _check_dictionaries(self, manifest: Manifest) -> None:
        """Check that the dictionaries contain at least one of the first patients.

        RAISES: ConfigError (D966) if they contain none of them.
        """
        column = self.settings.columns.fields.patient_id
        if not self.settings.dictionaries or not column or self.settings.data_model:
            return
        store = LocalStore.open(self.settings.dictionaries)
        chunk = next(read_partition(self.input, self.settings.columns, manifest.partitions[0]), None)
        ids = {normal_id(value) for value in chunk.batch.column(column).to_pylist()} - {""} if chunk else set()
        if store.has_patients and len(ids) >= _PATIENTS and not any(patient in store.patients for patient in ids):
            raise ConfigError(Errors.D966.format(count=len(ids), path=self.settings.dictionaries))

    def _process(self, names: Sequence[str]) -> None:
        """Process partitions with the engine, and those whose worker died again, note by note. RAISES: StopRun."""
        killed: list[Outcome] = []
        if not names:
            return
        for outcome in self.engine.run(self.output, names, self.n_process):
            if outcome.kind == "done":
                self.done.append(outcome.record)
            elif outcome.kind == "stopped":
                raise StopRun(outcome.reason)
            else:
                (killed if outcome.kind == "killed" else self.failed).append(outcome)
        for outcome in killed:
            self._process_carefully(outcome.name)

    def _process_carefully(self, name: str) -> None:
        """Process a partition whose worker died. Its notes are processed one by one in a worker process, which is
        replaced if it dies, so that only the note that killed it is put into quarantine.
        """
        try:
            record = PartitionWorker(self.output).process(name, _NOTE_SECONDS)
        except DeidError:
            raise
        except Exception as error:
            self.failed.append(Outcome(name, "failed", reason=describe(error)))
            return
        if isinstance(record, Failure):
            self.failed.append(Outcome(name, "failed", reason=record.reason))
        else:
            self.done.append(record)

    @contextmanager
    def _progress(self) -> Iterator[None]:
        """Context manager that prints a line of progress every `every` seconds."""
        ended = threading.Event()

        def report() -> None:
            while not ended.wait(self.every):
                self.say(self.describe())

        thread = threading.Thread(target=report, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def describe(self) -> str:
        """Return a line of progress: partitions done, notes, notes per second, time left, rows in quarantine."""
        new = self.done[self._before :]
        notes, seconds = sum(record["input"]["rows"] for record in new), time.monotonic() - self._started
        left = self._total - len(self.done) - len(self.failed)
        wait = str(timedelta(seconds=round(left * seconds / len(new)))) if new else "unknown time"
        quarantined = sum(record["quarantined"] for record in new)
        return (
            f"{len(self.done)} of {self._total} partition(s) done, {notes:,} notes, {notes / max(seconds, 1e-9):,.0f} "
            f"notes/s, {wait} left, {quarantined:,} in quarantine"
        )

    def _summarize(self, manifest: Manifest, todo: Todo) -> dict[str, Any]:
        """Write the summary, as JSON and as an HTML page, and return it."""
        new = self.done[self._before :]
        notes, seconds = sum(record["input"]["rows"] for record in new), time.monotonic() - self._started
        summary: dict[str, Any] = {
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "fingerprint": manifest.fingerprint,
            "parts": dict(manifest.parts),
            "engine": {"name": self.engine.name, "n_process": self.n_process},
            "partitions": {
                "total": len(manifest.partitions),
                "processed": len(new),
                "kept": self._before,
                "removed": len(todo.stale),
                "failed": len(self.failed),
            },
            "seconds": round(seconds, 1),
            "notes_per_second": round(notes / seconds, 1) if seconds else None,
            **add_records(self.done),
            "duplicates": {} if self.settings.audit else self._find_duplicates(),
            "failed": [self._describe_failed(manifest, outcome) for outcome in self.failed],
        }
        write_whole(self.folder.report.with_suffix(".json"), dump_json(summary))
        write_whole(self.folder.report, render(summary).encode("utf-8"))
        return summary

    @staticmethod
    def _describe_failed(manifest: Manifest, outcome: Outcome) -> dict[str, Any]:
        """Convert a failed partition to plain values for the summary."""
        partition = next(each for each in manifest.partitions if each.name == outcome.name)
        return {"partition": outcome.name, "source": partition.source, "reason": outcome.reason}

    def _find_duplicates(self) -> dict[str, Any]:
        """Find note ids that occur more than once in the output.

        RETURNS (dict): "ids", their number, "rows", the number of their rows, and "examples"; empty if there are none.
        """
        import numpy as np
        from pyarrow import parquet

        def ids() -> Iterator[list[str]]:
            for record in self.done:
                path, column = self.folder.notes(record["partition"]["name"]), self.settings.columns.note_id
                yield parquet.read_table(path, columns=[column]).column(0).to_pylist()

        hashes: list[Any] = [np.fromiter(map(hash, part), np.int64, len(part)) for part in ids()]
        if not hashes:
            return {}
        values, counts = np.unique(np.concatenate(hashes), return_counts=True)
        if not (counts > 1).any():
            return {}
        repeated = set(values[counts > 1].tolist())
        examples = sorted({note for part in ids() for note in part if hash(note) in repeated})[:_EXAMPLES]
        return {"ids": len(repeated), "rows": int(counts[counts > 1].sum()), "examples": examples}


def add_records(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum the counts in the records of all partitions.

    records (Sequence[Mapping]): records of partitions.
    RETURNS (dict): "rows", a dict with "read", "released" and "quarantined"; the counts of
        `partition.Counts.as_record`, summed; and "hardest", the hardest notes of all.
    """
    rows = {
        "read": sum(record["input"]["rows"] for record in records),
        "released": sum(record["released"] for record in records),
        "quarantined": sum(record["quarantined"] for record in records),
    }
    flat: dict[str, Any] = {}
    for name in ("statuses", "reasons", "labels", "dictionaries"):
        total: Counter[str] = Counter()
        for record in records:
            total.update(record[name])
        flat[name] = dict(sorted(total.items()))
    for name in ("sources", "types"):
        nested: dict[str, Counter[str]] = {}
        for record in records:
            for key, counts in record[name].items():
                nested.setdefault(key, Counter()).update(counts)
        flat[name] = {key: dict(sorted(counts.items())) for key, counts in sorted(nested.items())}
    hardest: list[Any] = [pair for record in records for pair in record["hardest"]]
    hardest.sort(key=lambda pair: (-pair[1], pair[0]))
    return {"rows": rows, **flat, "words": sum(record["words"] for record in records), "hardest": hardest[:HARDEST]}


def _check_password(settings: InputSettings) -> None:
    """Check that a database URL has no password, because it is stored in the manifest. RAISES: ConfigError (D967) if
    it has one.
    """
    if "://" in settings.where:
        from urllib.parse import urlsplit

        try:
            secret = urlsplit(settings.where).password
        except ValueError:
            secret = "?"
        if secret:
            raise ConfigError(Errors.D967)


def _available_memory() -> float:
    """Return the memory that new processes can use, in bytes; 0 if it cannot be determined."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    return 0.0


def _own_memory() -> float:
    """Return the resident memory of this process with its pipeline, in bytes; 0 if it cannot be determined."""
    with suppress(OSError, ValueError, IndexError):
        return float(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0.0
