"""The folder of dictionaries on disk: private, written by one process at a time, replaced in one step.

folder/manifest.json    what was built, and the name of the current build
folder/lock             held by the process that writes
folder/<build>/…        the files of a build
"""

import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from ..errors import ConfigError, Errors
from ..patient_ids import normal_id
from .fuzzy import fuzzy_find
from .institution import Institution, InstitutionWriter
from .matcher import Match
from .normalise import Normalised
from .patients import PatientIndex, PatientPart, PatientTerms, PatientWriter, pack
from .terms import OWN, LocalEntry, Tag, Tags, make_ready

VERSION = 2
MANIFEST = "manifest.json"
BUILD = "build-"
"""What the names of the folders of builds begin with."""

_LOCK = "lock"


def claim(folder: Path) -> None:
    """Make the folder, or make sure that it is one of dictionaries.

    folder (Path): the folder.
    RAISES: ConfigError (D160) if it is something else or cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not all(path.name == _LOCK or _is_build(path) or _is_manifest(path) for path in folder.iterdir()):
            raise ConfigError(Errors.D160.format(path=folder, reason="holds other files, so it is not replaced"))
        folder.chmod(0o700)
    except OSError as error:
        raise ConfigError(Errors.D160.format(path=folder, reason=os.strerror(error.errno or 0))) from None


def lock(folder: Path) -> int:
    """Keep other writers out for as long as the process lives.

    folder (Path): the folder.
    RETURNS (int): the handle to close.
    RAISES: ConfigError (D160) if another process is writing.
    """
    handle = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        import fcntl
    except ImportError:  # Windows
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise ConfigError(Errors.D160.format(path=folder, reason="another process is writing them")) from None
    return handle


def _is_build(path: Path) -> bool:
    """Whether a path is the folder of a build."""
    return path.name.startswith(BUILD) and path.is_dir() and not path.is_symlink()


def _is_manifest(path: Path) -> bool:
    """Whether a path is the manifest, or one that was not written to its end."""
    return path.name == MANIFEST or path.name.startswith(f"{MANIFEST}.")


def clean(folder: Path) -> None:
    """Remove the builds that are not the current one. Who has them open keeps them until the end.

    folder (Path): the folder, locked.
    """
    current = _read_json(folder).get("build")
    for path in folder.iterdir():
        if _is_build(path) and path.name != current:
            shutil.rmtree(path, ignore_errors=True)
        elif _is_manifest(path) and path.name != MANIFEST:
            path.unlink()


def _read_json(folder: Path) -> dict[str, Any]:
    """Read the manifest; empty if there is none."""
    try:
        data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise ConfigError(Errors.D162.format(path=folder, reason=MANIFEST)) from None
    return data if isinstance(data, dict) else {"version": None}


def read_meta(folder: Path) -> dict[str, Any]:
    """Read the manifest, and check it and the sizes and modes of the files.

    folder (Path): the folder.
    RETURNS (dict): the manifest.
    RAISES: ConfigError (D160, D161, D162).
    """
    meta = _read_json(folder)
    if not meta:
        raise ConfigError(Errors.D160.format(path=folder, reason="there are none"))
    if meta.get("version") != VERSION:
        raise ConfigError(Errors.D162.format(path=folder, reason="version"))
    paths = {name: folder / meta["build"] / name for name in meta["files"]}
    for path in (folder, folder / MANIFEST, folder / meta["build"], *paths.values()):
        mode = path.stat().st_mode & 0o777
        if os.name == "posix" and mode & 0o077:
            raise ConfigError(Errors.D161.format(path=folder, name=path.name, mode=mode))
    for name, path in paths.items():
        if path.stat().st_size != meta["files"][name]:
            raise ConfigError(Errors.D162.format(path=folder, reason=name))
    return meta


def write_meta(folder: Path, build: Path, meta: dict[str, Any]) -> None:
    """Make the files of a build private and lasting, and then the current ones.

    folder (Path): the folder, locked.
    build (Path): the folder of the build.
    meta (dict): what the manifest says beside the names and sizes of the files.
    """
    files = {}
    for path in sorted(build.iterdir()):
        path.chmod(0o600)
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
        files[path.name] = path.stat().st_size
    part = folder / f"{MANIFEST}.part"
    with open(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump({**meta, "files": files}, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / MANIFEST)


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


class Chosen(NamedTuple):
    """What is used for a note.

    own (PatientTerms | None): the terms of its patient; None if there are none.
    missing (str): why there are none, in words; "" if there are.
    """

    own: PatientTerms | None
    missing: str


def choose(store: LocalStore, value: Any) -> Chosen:
    """Choose the terms of a patient.

    store (LocalStore): the dictionaries.
    value (Any): the id, as text or number; None, not a number or "" if the note has none.
    RETURNS (Chosen): the terms, or what is missing.
    """
    patient_id = normal_id(value)
    own = store.patient(patient_id) if patient_id else None
    return Chosen(own, "" if own is not None else "unknown patient_id" if patient_id else "no patient_id")


def search(
    store: LocalStore, own: PatientTerms | None, text: str, folded: Normalised, is_word: Callable[[str], bool] | None
) -> list[Match]:
    """Search a note.

    store (LocalStore): the dictionaries.
    own (PatientTerms | None): the terms of the note's patient.
    text (str): the note.
    folded (Normalised): the same, folded.
    is_word (Callable | None): whether a folded word is one of the language; None to let no name have a slip.
    RETURNS (list[Match]): the rules of the patient's own terms begin with `OWN`.
    """
    matches = store.institution.find(text, folded)
    if own is None:
        return matches
    mine = own.find(text, folded)
    if is_word:
        mine += fuzzy_find(text, own.entries, folded, is_word)
    return matches + [match._replace(rule=OWN + match.rule) for match in mine]
