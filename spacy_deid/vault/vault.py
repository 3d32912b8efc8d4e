"""The vault: the original of every change in a released note, for those who are allowed to re-identify patients.

The vault is optional: without it, surrogates cannot be traced back. Anyone who has the file and its key can undo the
de-identification, so `check_apart` refuses to keep both in one folder, and every use is logged.

    vault = Vault.create("hospital.vault", key)      # once
    vault = Vault.open("hospital.vault", key)
    vault.add([Entry.of("4711", "note-1.txt", original, released, changes)])
    vault.reverse([("note-1.txt", 0, released)])
    vault.purge("4711")
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from ..errors import DeidError, Errors, InputError
from ..offsets import Edit
from ..patient_ids import normal_id
from ..surrogates.keys import ProjectKey
from .encryption import check_apart
from .store import EncryptedStore, Records


class Change(NamedTuple):
    """A replaced stretch of a released note.

    start (int): character offset of the surrogate in the released text.
    label (str): canonical label; "" for a word that changed with a value, such as "a" to "an" before "Irish".
    original, surrogate (str): the text of the note before and after.
    """

    start: int
    label: str
    original: str
    surrogate: str

    def __repr__(self) -> str:
        """Show the label only, never the original."""
        return f"Change({self.label})"


def changes_from_edits(text: str, edits: Sequence[Edit]) -> tuple[Change, ...]:
    """Convert the edits of a note to changes, with offsets in the released text.

    text (str): the original text.
    edits (Sequence[Edit]): the edits, disjoint and in the order of the text.
    RETURNS (tuple[Change, ...]): one change for each edit.
    """
    changes, shift = [], 0
    for edit in edits:
        original = text[edit.start : edit.end]
        changes.append(Change(edit.start + shift, edit.label, original, edit.replacement))
        shift += len(edit.replacement) - len(original)
    return tuple(changes)


class Entry(NamedTuple):
    """A released note.

    patient (str): patient id; "" if unknown.
    note (str): name of the note.
    row (int): row in a file of many notes, counted from 1; 0 for a file of one note.
    original, released (str): SHA-256 of the text before and after, in hexadecimal.
    changes (tuple[Change, ...]): all changes, in the order of the text.
    """

    patient: str
    note: str
    row: int
    original: str
    released: str
    changes: tuple[Change, ...]

    def __repr__(self) -> str:
        """Show the number of changes only, never an original."""
        return f"Entry({len(self.changes)} changes)"

    @classmethod
    def of(
        cls, patient: str, note: str, original: str, released: str, changes: Iterable[Change], row: int = 0
    ) -> Self:
        """Make the entry of a note from its text before and after. For the arguments see the class."""
        return cls(patient, note, row, _digest(original), _digest(released), tuple(changes))

    def reverse(self, text: str) -> str:
        """Restore the original text.

        text (str): the released text.
        RETURNS (str): the original text.
        RAISES: DeidError (D651) if the result does not have the digest of the original.
        """
        parts, last = [], 0
        for change in self.changes:
            parts += [text[last : change.start], change.original]
            last = change.start + len(change.surrogate)
        restored = "".join([*parts, text[last:]])
        if _digest(restored) != self.original:
            raise DeidError(Errors.D651)
        return restored


class Vault:
    """A vault. Make one with `create` or `open`. Every method opens the file anew.

    store (EncryptedStore): the file.
    """

    def __init__(self, store: EncryptedStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"Vault({str(self._store.path)!r})"

    @classmethod
    def create(cls, path: str | Path, key: ProjectKey, user: str | None = None) -> Self:
        """Create an empty vault.

        path (Union[str, Path]): a new file.
        key (ProjectKey): the key that encrypts it. If the key is lost, the vault is lost.
        user (Optional[str]): name for the log; None for the operating system's account.
        RETURNS (Vault): the vault.
        RAISES: ConfigError (D647) if the file exists or cannot be written.
        """
        store = EncryptedStore(path, key, "vault", user)
        store.create()
        return cls(store)

    @classmethod
    def open(cls, path: str | Path, key: ProjectKey, user: str | None = None) -> Self:
        """Open a vault.

        path (Union[str, Path]): the file.
        key (ProjectKey): the key that encrypts it.
        user (Optional[str]): name for the log; None for the operating system's account.
        RETURNS (Vault): the vault.
        RAISES: ConfigError (D647) if the file is missing, damaged or encrypted with another key.
        """
        store = EncryptedStore(path, key, "vault", user)
        if not store.path.exists():  # checked first, so that no log is created for a missing vault
            raise store.refusal("no such file")
        with store.open("open") as records:
            store.log.record("open", records.count)
        return cls(store)

    @classmethod
    def open_or_create(cls, path: str | Path, key_path: str | Path) -> Self:
        """Open a vault, or create it if the file does not exist.

        path (Union[str, Path]): the file.
        key_path (Union[str, Path]): the file of its key.
        RETURNS (Vault): the vault.
        RAISES: ConfigError if both files are in one folder (D648), the key cannot be used (D640 - D642), or the vault
            cannot be opened with it (D647).
        """
        check_apart(path, key_path)
        key = ProjectKey.from_file(key_path)
        return cls.open(path, key) if Path(path).exists() else cls.create(path, key)

    @contextmanager
    def adding(self) -> Iterator[Callable[[Iterable[Entry]], int]]:
        """Add entries in one transaction: an exception within it undoes all of them.

        YIELDS (Callable[[Iterable[Entry]], int]): adds entries and returns how many were new; an entry that the vault
            already has is not added again.
        """
        added = 0
        with self._store.open("add", write=True) as records:

            def add(entries: Iterable[Entry]) -> int:
                nonlocal added
                new = sum(records.add(entry, entry.released) for entry in entries)
                added += new
                return new

            yield add
            self._store.log.record("add", added)

    def add(self, entries: Iterable[Entry]) -> int:
        """Add entries in one transaction; see `adding`.

        entries (Iterable[Entry]): the entries.
        RETURNS (int): number of entries that were new.
        """
        with self.adding() as add:
            return add(entries)

    def check(self) -> int:
        """Read the whole vault and verify it.

        RETURNS (int): number of notes.
        RAISES: ConfigError (D647) if anything in it was changed.
        """
        with self._store.open("check") as records:
            records.check()
            self._store.log.record("check", records.count)
            return records.count

    def list(self) -> Counter[tuple[str, str]]:
        """Count the changes by patient and label.

        RETURNS (Counter[tuple[str, str]]): (patient id, label) → number of changes.
        """
        counts: Counter[tuple[str, str]] = Counter()
        with self._store.open("list") as records:
            for _, row in records.read():
                patient, *_, changes = row
                counts.update((normal_id(patient), label) for _, label, *_ in changes if label)
            self._store.log.record("list", records.count)
        return counts

    def export(self, patient: str | None = None) -> Iterator[Entry]:
        """Return entries one at a time, after all records were verified.

        patient (Optional[str]): id of the only patient; None for all patients.
        YIELDS (Entry): in the order in which they were added.
        """
        with self._store.open("export") as records:
            count = sum(_is_of(row, patient) for _, row in records.read())
            self._store.log.record("export", count)
            yield from (_entry(row) for _, row in records.read() if _is_of(row, patient))

    def reverse(self, notes: Sequence[tuple[str, int, str]]) -> Sequence[str | InputError]:
        """Restore the originals of released notes.

        notes (Sequence[tuple[str, int, str]]): name, row and released text of each. The name and the row are used
            only if several notes were released as the same text.
        RETURNS (Sequence[Union[str, InputError]]): for each note its original, or the error: the vault does not have
            it (D650), or several notes match (D652).
        """
        with self._store.open("reverse") as records:
            self._store.log.record("reverse", len(notes))
            return [_restore(records, *note) for note in notes]

    def purge(self, patient: str | None = None) -> int:
        """Remove entries permanently. Backups of the file still have them.

        patient (Optional[str]): id of the only patient; None for all patients.
        RETURNS (int): number of entries removed.
        """
        with self._store.open("purge", write=True) as records:
            chosen = [number for number, row in records.read() if _is_of(row, patient)]
            self._store.log.record("purge", len(chosen))
            for number in chosen:
                records.remove(number)
        return len(chosen)


def _restore(records: Records, note: str, row: int, text: str) -> str | InputError:
    """Restore the original of one released note; see `Vault.reverse`."""
    found = [_entry(content) for _, content in records.find(_digest(text))]
    if len({entry.original for entry in found}) > 1:
        found = [entry for entry in found if (entry.note, entry.row) == (note, row)]
        if len({entry.original for entry in found}) != 1:
            return InputError(Errors.D652)
    return found[0].reverse(text) if found else InputError(Errors.D650)


def _is_of(row: Any, patient: str | None) -> bool:
    """Whether a record is of a patient; None stands for all patients."""
    return patient is None or normal_id(row[0]) == normal_id(patient)


def _entry(row: Any) -> Entry:
    """Make an entry from the content of a record."""
    patient, note, number, original, released, changes = row
    return Entry(patient, note, number, original, released, tuple(Change(*change) for change in changes))


def _digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
