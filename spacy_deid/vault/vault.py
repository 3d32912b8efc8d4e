"""Store the originals of all replaced values, so that authorized persons can restore released notes.

The vault is optional: without it, a surrogate cannot be traced back to its original. Anyone who has the file and its
key can undo the de-identification. So `check_apart` refuses a vault in the same folder as its key, and every use is
logged.

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
    """One replacement in a note: what was replaced, by what, and where.

    start (int): character offset of the surrogate in the released text.
    label (str): canonical label of the replaced value; "" for a word beside it that had to change too, such as "a",
        which becomes "an" before "Irish".
    original, surrogate (str): the replaced text, and the text in its place.
    """

    start: int
    label: str
    original: str
    surrogate: str

    def __repr__(self) -> str:
        """Show only the label, because the original text is confidential."""
        return f"Change({self.label})"


def changes_from_edits(text: str, edits: Sequence[Edit]) -> tuple[Change, ...]:
    """Convert edits, whose offsets refer to the original text, to changes with offsets in the released text.

    text (str): the original text.
    edits (Sequence[Edit]): all edits of the note; they must not overlap and must be in the order of the text.
    RETURNS (tuple[Change, ...]): one change for each edit.
    """
    changes, shift = [], 0
    for edit in edits:
        original = text[edit.start : edit.end]
        changes.append(Change(edit.start + shift, edit.label, original, edit.replacement))
        shift += len(edit.replacement) - len(original)
    return tuple(changes)


class Entry(NamedTuple):
    """The record of one released note: all that is needed to restore the original from the released text.

    patient (str): patient id; "" if unknown.
    note (str): name of the note, such as its file name.
    row (int): row of the note in a file of many notes, counted from 1; 0 for a file of one note.
    original, released (str): SHA-256 of the original and of the released text, in hexadecimal.
    changes (tuple[Change, ...]): all replacements in the note, in the order of the text.
    """

    patient: str
    note: str
    row: int
    original: str
    released: str
    changes: tuple[Change, ...]

    def __repr__(self) -> str:
        """Show only the number of changes, because originals and patient ids are confidential."""
        return f"Entry({len(self.changes)} changes)"

    @classmethod
    def of(
        cls, patient: str, note: str, original: str, released: str, changes: Iterable[Change], row: int = 0
    ) -> Self:
        """Make an entry from the original and the released text, which are hashed. For the rest see the class."""
        return cls(patient, note, row, _digest(original), _digest(released), tuple(changes))

    def reverse(self, text: str) -> str:
        """Undo all changes in the released text.

        text (str): the released text, unchanged since the release.
        RETURNS (str): the original text.
        RAISES: DeidError (D651) if the result is not the original, which its SHA-256 shows.
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
    """An encrypted file with an `Entry` for each released note, from which original texts can be restored.

    Make a vault with `create` or `open`. Each method opens the file, works in one transaction and logs the use.

    store (EncryptedStore): the encrypted file.
    """

    def __init__(self, store: EncryptedStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"Vault({str(self._store.path)!r})"

    @classmethod
    def create(cls, path: str | Path, key: ProjectKey, user: str | None = None) -> Self:
        """Create an empty vault.

        path (Union[str, Path]): the file to create.
        key (ProjectKey): the key that encrypts it. If the key is lost, the vault cannot be read any more.
        user (Optional[str]): name for the log; None for the operating system's account.
        RETURNS (Vault): the vault.
        RAISES: ConfigError (D647) if the file exists or cannot be written.
        """
        store = EncryptedStore(path, key, "vault", user)
        store.create()
        return cls(store)

    @classmethod
    def open(cls, path: str | Path, key: ProjectKey, user: str | None = None) -> Self:
        """Open an existing vault, and check that the key fits.

        path (Union[str, Path]): the file of the vault.
        key (ProjectKey): the key that it was created with.
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

        path (Union[str, Path]): the file of the vault.
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
        """Open a transaction for adding entries in several steps. An exception in the `with` block undoes all of them.

        YIELDS (Callable[[Iterable[Entry]], int]): a function that adds entries and returns how many were new. An entry
            that the vault already has is not added again.
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
        """Add entries: all of them, or none if an exception occurs.

        entries (Iterable[Entry]): the entries. Those that the vault already has are not added again.
        RETURNS (int): number of entries that were new.
        """
        with self.adding() as add:
            return add(entries)

    def check(self) -> int:
        """Read the whole vault and verify that nothing was changed without the key.

        RETURNS (int): number of entries.
        RAISES: ConfigError (D647) if anything was changed.
        """
        with self._store.open("check") as records:
            records.check()
            self._store.log.record("check", records.count)
            return records.count

    def list(self) -> Counter[tuple[str, str]]:
        """Count the replaced values in the vault by patient and label.

        RETURNS (Counter[tuple[str, str]]): (patient id, label) → number of replaced values.
        """
        counts: Counter[tuple[str, str]] = Counter()
        with self._store.open("list") as records:
            for _, row in records.read():
                patient, *_, changes = row
                counts.update((normal_id(patient), label) for _, label, *_ in changes if label)
            self._store.log.record("list", records.count)
        return counts

    def export(self, patient: str | None = None) -> Iterator[Entry]:
        """Read entries one at a time. The whole vault is verified before the first one.

        patient (Optional[str]): id of the patient whose entries are read; None for all patients.
        YIELDS (Entry): the entries, in the order in which they were added.
        """
        with self._store.open("export") as records:
            count = sum(_is_of(row, patient) for _, row in records.read())
            self._store.log.record("export", count)
            yield from (_entry(row) for _, row in records.read() if _is_of(row, patient))

    def reverse(self, notes: Sequence[tuple[str, int, str]]) -> Sequence[str | InputError]:
        """Restore the original texts of released notes.

        notes (Sequence[tuple[str, int, str]]): name, row and released text of each note. A note is found by its text;
            name and row are used only if several originals were released as the same text.
        RETURNS (Sequence[Union[str, InputError]]): for each note its original text, or an error that is not raised:
            the vault has no entry with this text (D650), or name and row do not single out one original (D652).
        RAISES: DeidError (D651) if an entry does not restore its original.
        """
        with self._store.open("reverse") as records:
            self._store.log.record("reverse", len(notes))
            return [_restore(records, *note) for note in notes]

    def purge(self, patient: str | None = None) -> int:
        """Remove entries permanently from the file. Backups of the file still contain them.

        patient (Optional[str]): id of the patient whose entries are removed; None for all patients.
        RETURNS (int): number of entries removed.
        """
        with self._store.open("purge", write=True) as records:
            chosen = [number for number, row in records.read() if _is_of(row, patient)]
            self._store.log.record("purge", len(chosen))
            for number in chosen:
                records.remove(number)
        return len(chosen)


def _restore(records: Records, note: str, row: int, text: str) -> str | InputError:
    """Restore the original of one released note, or return the error; see `Vault.reverse`."""
    found = [_entry(content) for _, content in records.find(_digest(text))]
    if len({entry.original for entry in found}) > 1:
        found = [entry for entry in found if (entry.note, entry.row) == (note, row)]
        if len({entry.original for entry in found}) != 1:
            return InputError(Errors.D652)
    return found[0].reverse(text) if found else InputError(Errors.D650)


def _is_of(row: Any, patient: str | None) -> bool:
    """Whether a record belongs to a patient; always True if the patient is None."""
    return patient is None or normal_id(row[0]) == normal_id(patient)


def _entry(row: Any) -> Entry:
    """Convert the JSON content of a record back to an `Entry`."""
    patient, note, number, original, released, changes = row
    return Entry(patient, note, number, original, released, tuple(Change(*change) for change in changes))


def _digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
