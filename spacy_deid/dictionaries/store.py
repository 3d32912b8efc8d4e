"""Dictionaries made from an EHR, in a folder of their own: the institution's terms and each patient's.

    folder/manifest.json    what was built from which tables and columns, counts, tags; names the current build
    folder/<build>/…        the files of `Institution` and `PatientIndex`

A build is written to a folder of a new name, and becomes the current one when manifest.json is replaced, in one step:
a build that dies leaves the old one. Only the owner may read any of it, and a store that others may read is refused.
Nothing of it enters a pipeline: a store is opened at run time, and pickles as the path of its folder.
"""

import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import ConfigError, Errors
from ..patient_ids import normal_id
from .build_folder import BUILD, MANIFEST, VERSION, claim, clean, lock, read_meta, write_meta
from .entries import LocalEntry, Tag, Tags, make_ready
from .institution import Institution
from .institution_writer import InstitutionWriter
from .patient_rows import PatientPart, PatientWriter, pack
from .patients import PatientIndex

__all__ = ["LocalEntry", "LocalStore", "StoreWriter"]

_KEPT = 256  # patients whose terms are kept in memory


class LocalStore:
    """Dictionaries, opened for reading. Its repr shows the folder and counts.

    folder (Path): the folder.
    institution (Institution): the terms of the institution, with a method ``find(text)``.
    manifest (dict): what the builder said of its sources.
    counts (dict): "institution_terms", "patients", "patient_terms".
    skipped (list[dict]): "rule", "reason" and "count" of the entries that were left out.
    build (str): a random name of this build, for traces.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()
        meta = read_meta(self.folder)
        self.build: str = meta["build"]
        self.manifest: dict[str, Any] = meta["manifest"]
        self.counts: dict[str, int] = meta["counts"]
        self.skipped: list[dict[str, Any]] = meta["skipped"]
        self.tags = [Tag(*tag) for tag in meta["tags"]]
        current = self.folder / self.build
        sets = [tuple(self.tags[number - 1] for number in numbers) for numbers in meta["sets"]]
        self.institution = Institution(current, sets)
        self.patients = PatientIndex(current, self.tags)
        self.patient = lru_cache(_KEPT)(self.patients.find)

    @classmethod
    def open(cls, folder: str | Path) -> "LocalStore":
        """Open the dictionaries of a folder.

        folder (str or Path): the folder that a `StoreWriter` wrote.
        RETURNS (LocalStore): the dictionaries.
        RAISES: ConfigError if there are none (D160), if others than their owner may read them (D161), or if they are
            damaged or of another version (D162).
        """
        for _ in range(3):  # a new build may take the place of the one that the manifest named
            with suppress(FileNotFoundError):
                return cls(folder)
        raise ConfigError(Errors.D162.format(path=folder, reason="files are missing"))

    @property
    def has_patients(self) -> bool:
        """Whether there are any patients."""
        return self.counts["patients"] > 0

    @property
    def fuzzy(self) -> bool:
        """Whether the builder wants patients' names to count with a slip of the pen too."""
        return bool(self.manifest.get("fuzzy", False))

    @property
    def labels(self) -> set[str]:
        """The labels of all entries."""
        return {tag.label for tag in self.tags}

    def patient_ids(self) -> Iterator[str]:
        """Yield the ids of all patients; one that was added in several parts comes several times."""
        return self.patients.ids()

    def __repr__(self) -> str:
        """The folder and the counts."""
        return f"LocalStore({str(self.folder)!r}, {self.counts})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path of the folder alone."""
        return LocalStore.open, (str(self.folder),)


class StoreWriter:
    """Writes dictionaries from streams, in bounded memory.

        with StoreWriter(folder) as writer:
            writer.add_institution(entries)
            writer.add_patient(patient_id, entries)
            writer.commit(manifest)

    Without `commit` nothing changes. Entries that cannot be looked for are left out and counted: empty ones, those
    that are too long, and, unless they have a condition, those that would match nearly everywhere.

    folder (str or Path): the folder; a new or an empty one, or dictionaries that are replaced.
    update (bool): whether to start from the dictionaries that are there. A patient's new entries join the old ones,
        unless `remove_patient` is called before.
    skipped (Counter): rule and reason → how many entries were left out.
    RAISES: ConfigError (D160) if the folder is something else or another process is writing to it.
    """

    def __init__(self, folder: str | Path, *, update: bool = False) -> None:
        self.folder = Path(folder).absolute()
        self.skipped: Counter[tuple[str, str]] = Counter()
        claim(self.folder)
        self._lock = lock(self.folder)
        self._old = LocalStore.open(self.folder) if update and (self.folder / MANIFEST).exists() else None
        clean(self.folder)
        self._build = self.folder / f"{BUILD}{secrets.token_hex(8)}"
        self._build.mkdir(mode=0o700)
        self._tags = Tags(list(self._old.tags) if self._old else [])
        self._institution = InstitutionWriter(self._build, self._tags)
        self._patients = PatientWriter(self._build / "patients")
        self._replaced: set[str] = set()

    def __enter__(self) -> "StoreWriter":
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what was not committed."""
        self._patients.close()
        clean(self.folder)
        os.close(self._lock)

    @property
    def has_old(self) -> bool:
        """Whether there were dictionaries that are updated."""
        return self._old is not None

    def add_institution(self, entries: Iterable[LocalEntry]) -> None:
        """Add terms of the institution.

        entries (Iterable[LocalEntry]): any number, read as a stream.
        RAISES: ConfigError (D163) for a label, rule or condition that cannot be.
        """
        for term, number in make_ready(entries, self._tags, self.skipped):
            self._institution.add(term, number)

    def add_patient(self, patient_id: str, entries: Iterable[LocalEntry]) -> None:
        """Add terms of a patient to those that the patient has.

        patient_id (str): the id, as notes give it in ``doc._.ehr["patient_id"]``.
        entries (Iterable[LocalEntry]): the terms.
        RAISES: ConfigError for an empty id (D160), or a label, rule or condition that cannot be (D163).
        """
        patient_id = normal_id(patient_id)
        if not patient_id:
            raise ConfigError(Errors.D160.format(path=self.folder, reason="a patient without an id"))
        ready = list(make_ready(entries, self._tags, self.skipped))
        if self._old and patient_id not in self._replaced:
            ready = self._old.patients.ready(patient_id) + ready
            self._replaced.add(patient_id)
        self._patients.add(patient_id, [pack(ready)])

    def share(self, tags: Iterable[Tag]) -> tuple[Path, list[Tag]]:
        """Let other processes write patients, each to a file of its own; see `take`.

        tags (Iterable[Tag]): the tags that they may need.
        RETURNS (tuple[Path, list[Tag]]): the folder of their files, and all tags by number, from 1.
        """
        for tag in tags:
            self._tags.number(LocalEntry("", *tag))
        return self._build, list(self._tags.known)

    def take(self, part: PatientPart, patient_ids: Iterable[str] = ()) -> None:
        """Take the patients that another process wrote.

        part (PatientPart): the file; it is removed.
        patient_ids (Iterable[str]): in an update, the patients in it, whose old terms are left behind.
        """
        self._patients.take(part)
        self._replaced.update(patient_ids)

    def remove_patient(self, patient_id: str) -> None:
        """Forget what the dictionaries that are updated have of a patient; what is added from now on stays.

        patient_id (str): the id.
        """
        self._replaced.add(normal_id(patient_id))

    def commit(self, manifest: dict[str, Any]) -> None:
        """Put the new dictionaries into the place of the old.

        manifest (dict): what to remember of the sources: tables, columns, counts; plain values, and none of the EHR.
        """
        if self._old:
            self._keep_old(self._old)
        sets = self._institution.finish()
        patients = self._patients.finish()
        numbers = {tag: number for number, tag in enumerate(self._tags.known, 1)}
        counts = {
            "institution_terms": self._institution.terms,
            "patients": patients,
            "patient_terms": self._patients.terms,
        }
        write_meta(
            self.folder,
            self._build,
            {
                "version": VERSION,
                "build": self._build.name,
                "counts": counts,
                "tags": self._tags.known,
                "sets": [[numbers[tag] for tag in tags] for tags in sets],
                "skipped": [{"rule": r, "reason": why, "count": n} for (r, why), n in sorted(self.skipped.items())],
                "manifest": manifest,
            },
        )

    def _keep_old(self, old: LocalStore) -> None:
        """Carry over what is not replaced."""
        for keys, marks in old.institution.rows():
            self._institution.add_rows(keys, marks)
        old.patients.copy(self._patients, self._replaced)
