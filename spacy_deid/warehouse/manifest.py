"""Read and write the files in the output folder of a run, and decide which partitions have to be processed.

    OUTPUT/notes/NAME.parquet           the released notes of a partition
    OUTPUT/note_nlp/NAME.parquet        with a data model: the spans in the released notes
    OUTPUT/run/manifest.json            settings, fingerprint and partitions of the run
    OUTPUT/run/run_id                   random id, which changes each time the run is started
    OUTPUT/run/partitions/NAME.json     record of a partition that is done: checksums and counts
    OUTPUT/run/quarantine/NAME.parquet  ids of the rows that were not released, with the reasons
    OUTPUT/run/people                   with a data model, while it runs: the persons of the database
    OUTPUT/run/report.html, report.json the summary

Only `notes` is meant to be released: `run` contains ids of notes and names of files, but no text of a note. Every
file is written whole or not at all. The record of a partition is written last and contains the checksums of its other
files, so a partition is done if and only if it has a record that agrees with its files.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from ..errors import ConfigError, Errors, InputError
from ..io import read_bytes, write_whole
from .inputs import InputSettings, Partition
from .settings import Settings, changed_parts, fingerprint_of

VERSION = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """The settings and partitions with which a run was started. Workers read it from the folder of the run.

    run_id (str): random id of this start. A worker with the id of an earlier start does not write any more.
    settings (Settings): settings of the run.
    input (InputSettings): location of the input.
    parts (Mapping[str, str]): parts of the fingerprint, from `settings.fingerprint_parts`.
    partitions (Sequence[Partition]): the partitions of the input, in order.
    """

    run_id: str
    settings: Settings
    input: InputSettings
    parts: Mapping[str, str]
    partitions: Sequence[Partition]

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that the output depends on besides the notes."""
        return fingerprint_of(self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return the manifest as plain values for JSON."""
        return {
            "version": VERSION,
            "run_id": self.run_id,
            "fingerprint": self.fingerprint,
            "parts": dict(self.parts),
            "settings": self.settings.to_json(),
            "input": asdict(self.input),
            "partitions": [asdict(partition) for partition in self.partitions],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Create a manifest from the value of `to_json`."""
        return cls(
            data["run_id"],
            Settings.from_json(data["settings"]),
            InputSettings(**data["input"]),
            data["parts"],
            [Partition(**each) for each in data["partitions"]],
        )

    def renew(self) -> "Manifest":
        """Return a copy with a new random `run_id`, for a new start of the run."""
        return replace(self, run_id=secrets.token_hex(8))


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Finds, reads and writes the files in the output folder of a run.

    path (Path): the output folder.
    """

    path: Path

    @property
    def manifest(self) -> Path:
        """Path of the manifest."""
        return self.path / "run" / "manifest.json"

    @property
    def report(self) -> Path:
        """Path of the summary as an HTML page."""
        return self.path / "run" / "report.html"

    def notes(self, name: str) -> Path:
        """Return the path of the released notes of a partition."""
        return self.path / "notes" / f"{name}.parquet"

    def spans(self, name: str) -> Path:
        """Return the path of the spans in the released notes of a partition, which a run with a data model writes."""
        return self.path / "note_nlp" / f"{name}.parquet"

    @property
    def people(self) -> Path:
        """Path of the folder with the persons of the database, while a run with a data model goes on."""
        return self.path / "run" / "people"

    def quarantine(self, name: str) -> Path:
        """Return the path of the file with the rows of a partition that were not released."""
        return self.path / "run" / "quarantine" / f"{name}.parquet"

    def record(self, name: str) -> Path:
        """Return the path of the record of a partition (its checksums and counts)."""
        return self.path / "run" / "partitions" / f"{name}.json"

    def read_manifest(self) -> Manifest | None:
        """Read the manifest from the output folder.

        RETURNS (Optional[Manifest]): the manifest; None if there is none.
        RAISES: InputError (D956) if it is damaged or of another version.
        """
        if not self.manifest.exists():
            return None
        try:
            data = json.loads(read_bytes(self.manifest))
            if data["version"] == VERSION:
                return Manifest.from_json(data)
        except (ValueError, LookupError, TypeError):
            pass
        raise InputError(Errors.D956.format(path=self.manifest))

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest, and then its `run_id` to a file of its own. RAISES: InputError (D402) if that fails."""
        write_whole(self.manifest, dump_json(manifest.to_json()))
        write_whole(self.path / "run" / "run_id", manifest.run_id.encode("ascii"))

    def read_run_id(self) -> str:
        """Read the id of the last start, or "" if there is none. This is faster than reading the whole manifest."""
        try:
            return (self.path / "run" / "run_id").read_text(encoding="ascii")
        except OSError:
            return ""

    def read_record(self, name: str) -> dict[str, Any] | None:
        """Read the record of a partition. RETURNS (Optional[dict]): the record; None if there is no valid one."""
        try:
            record = json.loads(self.record(name).read_bytes())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and "checksums" in record else None

    def is_whole(self, name: str, record: Mapping[str, Any]) -> bool:
        """Test whether the files of a partition have the checksums in its record: the partition is complete."""
        files = {"notes": self.notes(name), "spans": self.spans(name), "quarantine": self.quarantine(name)}
        return all(
            (not path.exists()) if expected is None else _checksum(path) == expected
            for kind, path in files.items()
            for expected in [record["checksums"].get(kind)]
        )

    def records(self) -> Iterator[str]:
        """Yield the names of all partitions that have a file in the folder."""
        folders = (
            ("notes", ".parquet"),
            ("note_nlp", ".parquet"),
            ("run/quarantine", ".parquet"),
            ("run/partitions", ".json"),
        )
        names = {
            path.stem for folder, suffix in folders for path in (self.path / folder).glob(f"*{suffix}") if path.stem
        }
        yield from sorted(names)

    def remove(self, name: str) -> None:
        """Remove the files of a partition, its record first."""
        for path in (self.record(name), self.notes(name), self.spans(name), self.quarantine(name)):
            with suppress(FileNotFoundError):
                path.unlink()


@dataclass(slots=True)
class Todo:
    """The partitions that a run has to process, keep and remove.

    names (list[str]): names of the partitions to process.
    done (list[dict]): records of the partitions that are kept as they are.
    stale (list[str]): names of the partitions in the folder that are no longer in the input.
    """

    names: list[str]
    done: list[dict[str, Any]]
    stale: list[str]


def decide(
    folder: RunFolder, old: Manifest | None, new: Manifest, checksums: Mapping[str, str], *, changed: bool
) -> Todo:
    """Decide which partitions have to be processed, by comparing the last start of a run with a new start.

    folder (RunFolder): folder of the run.
    old (Optional[Manifest]): manifest in the folder; None if the run was never started.
    new (Manifest): the manifest of this start.
    checksums (Mapping[str, str]): partition → checksum of its input now, for partitions that have a record.
    changed (bool): whether settings and input are allowed to differ; the affected partitions are processed again.
    RETURNS (Todo): the partitions to process, to keep and to remove.
    RAISES: ConfigError (D957) if settings changed, or InputError (D958) if the input changed, without `changed`.
    """
    todo = Todo([], [], [])
    if old and not changed and (parts := changed_parts(old.parts, new.parts)):
        raise ConfigError(Errors.D957.format(path=folder.path, parts=", ".join(parts)))
    names = {partition.name for partition in new.partitions}
    before = {partition.name: partition for partition in old.partitions} if old else {}
    todo.stale = [name for name in folder.records() if name not in names]
    # those that the old manifest does not have either are left from a run that was killed before it removed them
    different = sum(name in before for name in todo.stale)
    for partition in new.partitions:
        name = partition.name
        record = folder.read_record(name)
        if old and before.get(name) != partition:
            different += 1
        if record is None or not folder.is_whole(name, record):
            todo.names.append(name)
        elif record["input"]["checksum"] != checksums.get(name, record["input"]["checksum"]):
            different += 1
            todo.names.append(name)
        elif record["fingerprint"] != new.fingerprint or record["partition"] != asdict(partition):
            todo.names.append(name)
        else:
            todo.done.append(record)
    if old and different and not changed:
        raise InputError(Errors.D958.format(path=folder.path, count=different))
    return todo


def dump_json(value: Any) -> bytes:
    """Convert a value to JSON with sorted keys, so that equal values have equal bytes."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("ascii")


def _checksum(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits; "" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def file_checksum(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits. RAISES: InputError (D402) if it cannot be read."""
    if found := _checksum(path):
        return found
    raise InputError(Errors.D402.format(path=path, reason=os.strerror(2)))
