"""Write and open a store: a folder with the dictionaries made from an EHR.

A store has the terms of the institution, which are searched for in all notes, and the terms of each patient, which are
searched for in the patient's own notes only.

    folder/manifest.json    sources, counts and tags of the build; names the current build
    folder/lock             locked by the process that writes
    folder/build-…/…        the files of `Institution` and `PatientIndex`

A build is written to a folder with a new name and becomes current when manifest.json is replaced, in one step. If a
build is aborted, the old one stays current. Only the owner may read the files; a store that others can read is
refused. A pipeline never contains any of it: a store is opened at run time and pickled as the path of its folder.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from ..patient_ids import normal_id
from .institution import Institution, InstitutionWriter
from .layers import LayeredInstitution, LayeredPatients
from .normalise import normal_form
from .patients import PatientIndex, PatientPart, PatientWriter, pack
from .terms import PERSONS, LocalEntry, Tag, Tags, prepare_entries

VERSION = 2
MANIFEST = "manifest.json"
BUILD = "build-"
"""Prefix of the folder names of builds."""

_LOCK = "lock"


def claim_folder(folder: Path) -> None:
    """Create the folder of a store, readable only by its owner, or check that an existing one contains only a store.

    folder (Path): the folder of the store.
    RAISES: ConfigError (D160) if it contains other files or cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not all(path.name == _LOCK or _is_build(path) or _is_manifest(path) for path in folder.iterdir()):
            raise ConfigError(
                Errors.D160.format(path=folder, reason="the folder contains other files, so it is not replaced")
            )
        folder.chmod(0o700)
    except OSError as error:
        raise ConfigError(Errors.D160.format(path=folder, reason=os.strerror(error.errno or 0))) from None


def lock_folder(folder: Path) -> int:
    """Lock the folder of a store for writing, until the handle is closed or the process ends. On Windows, nothing is
    locked.

    folder (Path): the folder of the store.
    RETURNS (int): the handle of the lock file.
    RAISES: ConfigError (D160) if another process has locked it.
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
        raise ConfigError(Errors.D160.format(path=folder, reason="another process is writing to them")) from None
    return handle


def _is_build(path: Path) -> bool:
    """Return whether a path is a folder with the files of one build (version) of the dictionaries, not a link."""
    return path.name.startswith(BUILD) and path.is_dir() and not path.is_symlink()


def _is_manifest(path: Path) -> bool:
    """Return whether a path is the manifest, or one that was not written completely."""
    return path.name == MANIFEST or path.name.startswith(f"{MANIFEST}.")


def remove_old_builds(folder: Path) -> None:
    """Remove all builds except the one that the manifest names. A process that has an old build open can still read
    it.

    folder (Path): the folder of the store, locked by `lock_folder`.
    """
    current = _read_json(folder).get("build")
    for path in folder.iterdir():
        if _is_build(path) and path.name != current:
            shutil.rmtree(path, ignore_errors=True)
        elif _is_manifest(path) and path.name != MANIFEST:
            path.unlink()


def _read_json(folder: Path) -> dict[str, Any]:
    """Read the manifest without checking its content; an empty dict if there is none."""
    try:
        data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise ConfigError(Errors.D162.format(path=folder, reason=MANIFEST)) from None
    return data if isinstance(data, dict) else {"version": None}


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a store and check its version, and the sizes and permissions of the files.

    folder (Path): the folder of the store.
    RETURNS (dict): the content of the manifest.
    RAISES: ConfigError if there is none (D160), others can read the files (D161), or they are damaged (D162).
    """
    meta = _read_json(folder)
    if not meta:
        raise ConfigError(
            Errors.D160.format(
                path=folder,
                reason="no dictionaries found in this folder. Build them with: spacy-deid dictionary build",
            )
        )
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


def write_manifest(folder: Path, build: Path, meta: dict[str, Any]) -> None:
    """Flush the files of a build to disk, make them private, and make the build current.

    folder (Path): the folder of the store, locked by `lock_folder`.
    build (Path): the folder of the build in it.
    meta (dict): the content of the manifest, without the names and sizes of the files.
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


_KEPT = 256  # patients whose terms are cached
_NAMED = ("PATIENT", "RELATIVE")
_LETTERS = 4  # of a single name that is searched for in texts about no patient


class LocalStore:
    """A store of dictionaries, opened for reading. Use `open` to create it.

    folder (Path): the folder of the store.
    institution (Institution): the terms of the institution.
    institutions (list[Institution]): the terms of this store and of its base, one after the other.
    patients (PatientIndex): the terms of all patients.
    patient (Callable): returns the `PatientTerms` of a patient id, or None; the last ones are cached.
    tags (list[Tag]): the tags of all terms; the first one has number 1.
    manifest (dict): the description of the sources that was given to `StoreWriter.commit`.
    counts (dict): the numbers of "institution_terms", "patients" and "patient_terms".
    skipped (list[dict]): entries that were left out, as "rule", "reason" and "count".
    build (str): random name of this build, which identifies it in traces.
    base (Optional[LocalStore]): the store that this one adds terms to, if it is not complete by itself.
    added (PatientIndex): the terms of patients without those that are only in the base.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()
        meta = read_manifest(self.folder)
        self.build: str = meta["build"]
        self.manifest: dict[str, Any] = meta["manifest"]
        self.counts: dict[str, int] = meta["counts"]
        self.skipped: list[dict[str, Any]] = meta["skipped"]
        self.tags = [Tag(*tag) for tag in meta["tags"]]
        current = self.folder / self.build
        sets = [tuple(self.tags[number - 1] for number in numbers) for numbers in meta["sets"]]
        self.base = self._open_base(meta.get("base"))
        self.added = PatientIndex(current, self.tags)
        institution = Institution(current, sets)
        self.institution = LayeredInstitution(institution, self.base) if self.base else institution
        self.institutions: list[Institution] = [institution, *(self.base.institutions if self.base else ())]
        self.patients = LayeredPatients(self.added, self.base) if self.base else self.added
        self.patient = lru_cache(_KEPT)(self.patients.find)

    @classmethod
    def open(cls, folder: str | Path) -> "LocalStore":
        """Open the store in a folder.

        folder (str or Path): the folder that a `StoreWriter` wrote.
        RETURNS (LocalStore): the store; the same object for a build that is open already.
        RAISES: ConfigError if the folder has no store (D160), others than the owner can read it (D161), or it is
            damaged or has another version (D162).
        """
        for _ in range(3):  # a new build may replace the one in the manifest meanwhile
            with suppress(FileNotFoundError):
                store = cls(folder)
                return _opened.setdefault((store.folder, store.build), store)
        raise ConfigError(Errors.D162.format(path=folder, reason="files are missing"))

    def _open_base(self, named: dict[str, str] | None) -> "LocalStore | None":
        """Open the store that the manifest names as the base. RAISES: ConfigError (D162) if it was replaced."""
        base = LocalStore.open(named["folder"]) if named else None
        if base and named and base.build != named["build"]:
            raise ConfigError(Errors.D162.format(path=base.folder, reason="they were replaced meanwhile"))
        return base

    @property
    def has_patients(self) -> bool:
        """Whether the store has terms of at least one patient."""
        return self.counts["patients"] > 0 or bool(self.base and self.base.has_patients)

    @property
    def fuzzy(self) -> bool:
        """Whether damaged names and numbers of a patient count as matches, as set when the store was built."""
        return bool(self.manifest.get("fuzzy", self.base.fuzzy if self.base else True))

    @cached_property
    def identities(self) -> "KnownIdentities":
        """KnownIdentities: The names and numbers of all persons, which are hashed at the first question."""
        return KnownIdentities(self)

    @cached_property
    def single_names(self) -> frozenset[str]:
        """frozenset[str]: All single words that are names of patients or relatives and no common words, without those
        of the base."""
        people = ((term, tag.condition) for term, tag in self.added.terms() if tag.label in _NAMED)
        return frozenset(
            term for term, condition in people if not condition and term.isalpha() and len(term) >= _LETTERS
        )

    @property
    def labels(self) -> set[str]:
        """The labels of all terms of the institution and the patients."""
        return {tag.label for tag in self.tags}

    def patient_ids(self) -> Iterator[str]:
        """Yield the ids of all patients. An id is repeated if the patient was added in several parts."""
        return self.patients.ids()

    def __repr__(self) -> str:
        """Return a description with the folder and the counts, without any term."""
        return f"LocalStore({str(self.folder)!r}, {self.counts})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the path of the folder, so that no term is copied."""
        return LocalStore.open, (str(self.folder),)


# open stores by folder and build, so that they and the hashes of their names are in memory only once
_opened: WeakValueDictionary[tuple[Path, str], LocalStore] = WeakValueDictionary()


class StoreWriter:
    """Writes the dictionaries of a store from streams, in bounded memory.

        with StoreWriter(folder) as writer:
            writer.add_institution(entries)
            writer.add_patient(patient_id, entries)
            writer.commit(manifest)

    The old dictionaries stay in place until `commit`. Entries that cannot be searched for are left out and counted:
    empty ones, those that are too long and, unless they have a condition, those that would match almost everywhere.

    folder (str or Path): a new or empty folder, or an existing store, whose dictionaries are replaced.
    update (bool): whether to start from the existing dictionaries. New entries of a patient are added to the old ones,
        unless `remove_patient` is called first.
    base (Optional[LocalStore]): dictionaries that the new ones add terms to. They are not copied: the new ones are
        complete only as long as these are not replaced.
    skipped (Counter): number of entries that were left out, by rule and reason.
    RAISES: ConfigError (D160) if the folder contains other files or another process is writing to it.
    """

    def __init__(self, folder: str | Path, *, update: bool = False, base: LocalStore | None = None) -> None:
        self.folder = Path(folder).absolute()
        self.skipped: Counter[tuple[str, str]] = Counter()
        claim_folder(self.folder)
        self._lock = lock_folder(self.folder)
        self._old = LocalStore.open(self.folder) if update and (self.folder / MANIFEST).exists() else None
        remove_old_builds(self.folder)
        self._build = self.folder / f"{BUILD}{secrets.token_hex(8)}"
        self._build.mkdir(mode=0o700)
        self._base = base
        known = self._old or base
        self._tags = Tags(list(known.tags) if known else [])
        self._institution = InstitutionWriter(self._build, self._tags)
        self._patients = PatientWriter(self._build / "patients")
        self._replaced: set[str] = set()

    def __enter__(self) -> "StoreWriter":
        """Return the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove everything that was not committed, and release the lock."""
        self._patients.close()
        remove_old_builds(self.folder)
        os.close(self._lock)

    @property
    def has_old(self) -> bool:
        """Whether this writer updates existing dictionaries, rather than writing new ones."""
        return self._old is not None

    def add_institution(self, entries: Iterable[LocalEntry]) -> None:
        """Add terms of the institution, which are searched for in all notes.

        entries (Iterable[LocalEntry]): any number of entries, read as a stream.
        RAISES: ConfigError (D163) for an invalid label, rule or condition.
        """
        for term, number in prepare_entries(entries, self._tags, self.skipped):
            self._institution.add(term, number)

    def add_patient(self, patient_id: str, entries: Iterable[LocalEntry]) -> None:
        """Add terms of a patient, which are searched for in the patient's own notes.

        patient_id (str): the id of the patient, as in ``doc._.ehr["patient_id"]``; it is normalised.
        entries (Iterable[LocalEntry]): the entries of the patient.
        RAISES: ConfigError for an empty id (D160), or an invalid label, rule or condition (D163).
        """
        patient_id = normal_id(patient_id)
        if not patient_id:
            raise ConfigError(Errors.D160.format(path=self.folder, reason="a patient has no id"))
        ready = list(prepare_entries(entries, self._tags, self.skipped))
        known = self._old or self._base
        if known and patient_id not in self._replaced:
            ready = known.patients.tagged_terms(patient_id) + ready
            self._replaced.add(patient_id)
        self._patients.add(patient_id, [pack(ready)])

    def share(self, tags: Iterable[Tag]) -> tuple[Path, list[Tag]]:
        """Prepare a build in which other processes write the patients, each to its own file; `take` adds these files.

        tags (Iterable[Tag]): all tags (label, rule and condition) that these processes can need.
        RETURNS (tuple[Path, list[Tag]]): the folder for the files, and all tags in the order of their numbers, which
            begin at 1.
        """
        for tag in tags:
            self._tags.number(LocalEntry("", *tag))
        return self._build, list(self._tags.known)

    def take(self, part: PatientPart, patient_ids: Iterable[str] = ()) -> None:
        """Add patients that another process has written to a file of its own, after `share`.

        part (PatientPart): the rows in the file, which is removed.
        patient_ids (Iterable[str]): in an update, the ids of these patients. Their old terms are not copied.
        """
        self._patients.take(part)
        self._replaced.update(patient_ids)

    def remove_patient(self, patient_id: str) -> None:
        """In an update, drop the old terms of a patient. Terms that are added afterwards are kept.

        patient_id (str): the id of the patient.
        """
        self._replaced.add(normal_id(patient_id))

    def commit(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, which replaces the old dictionaries by the new ones in one step.

        manifest (dict): description of the sources: tables, columns, counts. Plain values, none of them from the EHR.
        """
        if self._old:
            assert isinstance(self._old.institution, Institution)  # a store with a base is temporary
            for keys, marks in self._old.institution.rows():
                self._institution.add_rows(keys, marks)
            self._old.added.copy(self._patients, self._replaced)
        sets = self._institution.finish()
        patients = self._patients.finish()
        numbers = {tag: number for number, tag in enumerate(self._tags.known, 1)}
        counts = {
            "institution_terms": self._institution.terms,
            "patients": patients,
            "patient_terms": self._patients.terms,
        }
        write_manifest(
            self.folder,
            self._build,
            {
                "version": VERSION,
                "build": self._build.name,
                **({"base": {"folder": str(base.folder), "build": base.build}} if (base := self._base) else {}),
                "counts": counts,
                "tags": self._tags.known,
                "sets": [[numbers[tag] for tag in tags] for tags in sets],
                "skipped": [{"rule": r, "reason": why, "count": n} for (r, why), n in sorted(self.skipped.items())],
                "manifest": manifest,
            },
        )


_NUMBERS = frozenset(
    "PHONE FAX EMAIL USERNAME SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID "
    "VEHICLE DEVICE BIOMETRIC ID_OTHER".split()
)
_SHORTEST = 5  # minimal letters and digits of a number that identifies a person


class KnownIdentities:
    """Checks with `value in identities` whether a surrogate is the name or a number of a real person in the
    dictionaries, so that it can be rejected.

    The patient index is keyed by patient id, whereas the question here is whether a value belongs to anyone. The names
    and numbers of all patients are therefore hashed at the first request, with a random key that exists only in this
    process, to a sorted array of 64-bit integers. Values with equal hashes are not distinguished; with ten million
    terms, one surrogate in 10¹² is rejected without reason. A single word does not identify a person: a hospital has
    every common surname on its lists.

    store (LocalStore): the dictionaries.
    """

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._base = store.base.identities if store.base else None
        self._key = secrets.token_bytes(16)

    def __repr__(self) -> str:
        """Return a description with the store, without any name."""
        return f"KnownIdentities({self._store!r})"

    def __reduce__(self) -> tuple[type["KnownIdentities"], tuple[LocalStore]]:
        """Pickle only the store. The copy hashes the names again, with its own key."""
        return KnownIdentities, (self._store,)

    def __contains__(self, value: object) -> bool:
        """Return whether a value is the full name or a number of a person in the dictionaries.

        value (str): the surrogate to check.
        """
        folded = normal_form(str(value))
        wanted = self._hash(folded, name=" " in folded) if folded else None
        if wanted is None:
            return False
        place = np.searchsorted(self._patients, wanted)
        if place < len(self._patients) and self._patients[place] == wanted:
            return True
        if self._base is not None and value in self._base:
            return True
        return any(
            match.start == 0 and match.end == len(folded) and match.label in PERSONS | _NUMBERS
            for match in self._store.institution.find(folded)
        )

    @cached_property
    def _patients(self) -> NDArray[np.uint64]:
        """Hashes of the names and numbers of all patients, sorted. Shape (n,), uint64."""
        return np.unique(np.fromiter(self._hashes(), dtype=np.uint64))

    def _hashes(self) -> Iterator[np.uint64]:
        """Yield the hashes of the names and numbers of all patients."""
        for term, tag in self._store.added.terms():
            if tag.label in PERSONS | _NUMBERS:
                hashed = self._hash(term, name=tag.label in PERSONS)
                if hashed is not None:
                    yield hashed

    def _hash(self, value: str, *, name: bool) -> np.uint64 | None:
        """Hash a name of several words or a number; return None for a value that does not identify a person."""
        folded = normal_form(value)
        if not (name and " " in folded and not any(char.isdigit() for char in folded)):
            folded = "".join(char for char in folded if char.isalnum())
            if len(folded) < _SHORTEST or not any(char.isdigit() for char in folded):
                return None
        data = folded.encode("utf-8", "surrogatepass")
        return np.uint64(int.from_bytes(hashlib.blake2b(data, digest_size=8, key=self._key).digest(), "big"))
