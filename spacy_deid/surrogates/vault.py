"""The vault: which surrogate stands for which original, for those who may find a patient again.

Nobody needs one: without it a surrogate leads nowhere. With it, whoever has the file and its key can undo the
de-identification, so the two must never lie together (`check_apart`), and every use is logged (`use_log`).

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
from ..patient_ids import normal_id
from .keys import ProjectKey
from .sealed import check_apart
from .vault_file import Records, VaultFile

__all__ = ["Change", "Entry", "Vault", "check_apart"]


class Change(NamedTuple):
    """One stretch of a released note that is not as it was.

    start (int): where it starts in the released text.
    label (str): canonical label; "" for a word that goes with a value, as "an" with "Irish".
    original, surrogate (str): as written in the note before and after.
    """

    start: int
    label: str
    original: str
    surrogate: str

    def __repr__(self) -> str:
        """The label; never an original."""
        return f"Change({self.label})"


class Entry(NamedTuple):
    """One released note.

    patient (str): id of the patient; "" if the note names none.
    note (str): name of the note.
    row (int): row of a file of many notes, from 1; else 0.
    original, released (str): SHA-256 of the text before and after, in hexadecimal.
    changes (tuple[Change, ...]): all that is not as it was, in the order of the text.
    """

    patient: str
    note: str
    row: int
    original: str
    released: str
    changes: tuple[Change, ...]

    def __repr__(self) -> str:
        """How many changes; never an original."""
        return f"Entry({len(self.changes)} changes)"

    @classmethod
    def of(
        cls, patient: str, note: str, original: str, released: str, changes: Iterable[Change], row: int = 0
    ) -> Self:
        """Make the entry of a note from its text before and after; see the class."""
        return cls(patient, note, row, _digest(original), _digest(released), tuple(changes))

    def reverse(self, text: str) -> str:
        """Turn the released text back.

        text (str): the released text.
        RETURNS (str): the text as it was.
        RAISES: DeidError (D651) if that is not what comes out.
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
    """A vault. Make one with `create`, use it with `open`; every method reads the file anew.

    file (VaultFile): the file.
    """

    def __init__(self, file: VaultFile) -> None:
        self._file = file

    def __repr__(self) -> str:
        return f"Vault({str(self._file.path)!r})"

    @classmethod
    def create(cls, path: str | Path, key: ProjectKey, user: str | None = None) -> Self:
        """Make an empty vault.

        path (Union[str, Path]): a new file.
        key (ProjectKey): what it will open with. Lost, the vault is lost.
        user (Optional[str]): for the log; None: who is logged in.
        RETURNS (Vault): the vault.
        RAISES: ConfigError (D647) if a file is there.
        """
        file = VaultFile(path, key, user)
        file.make()
        return cls(file)

    @classmethod
    def open(cls, path: str | Path, key: ProjectKey, user: str | None = None) -> Self:
        """Open a vault.

        path (Union[str, Path]): the file.
        key (ProjectKey): the key that it was made with.
        user (Optional[str]): for the log; None: who is logged in.
        RETURNS (Vault): the vault.
        RAISES: ConfigError (D647) if the key is another one or the file is damaged. Nothing is changed then.
        """
        file = VaultFile(path, key, user)
        if not file.path.exists():  # no log where there is no vault
            raise file.refusal("no such file")
        with file.open("open") as records:
            file.log.record("open", records.count)
        return cls(file)

    @contextmanager
    def adding(self) -> Iterator[Callable[[Iterable[Entry]], int]]:
        """Add entries, all of them or, if anything is raised meanwhile, none.

        YIELDS (Callable): adds entries and tells how many were new; those that are there already stay one.
        """
        added = 0
        with self._file.open("add", write=True) as records:

            def add(entries: Iterable[Entry]) -> int:
                nonlocal added
                new = sum(records.add(entry, entry.released) for entry in entries)
                added += new
                return new

            yield add
            self._file.log.record("add", added)

    def add(self, entries: Iterable[Entry]) -> int:
        """Add entries; see `adding`.

        RETURNS (int): how many were new.
        """
        with self.adding() as add:
            return add(entries)

    def check(self) -> int:
        """Read the whole vault.

        RETURNS (int): how many notes it has.
        RAISES: ConfigError (D647) if anything in it was changed.
        """
        with self._file.open("check") as records:
            records.check()
            self._file.log.record("check", records.count)
            return records.count

    def list(self) -> Counter[tuple[str, str]]:
        """Count the changes by patient and label."""
        counts: Counter[tuple[str, str]] = Counter()
        with self._file.open("list") as records:
            for _, row in records.read():
                patient, *_, changes = row
                counts.update((normal_id(patient), label) for _, label, *_ in changes if label)
            self._file.log.record("list", records.count)
        return counts

    def export(self, patient: str | None = None) -> Iterator[Entry]:
        """Give entries out, one after the other, after all were read and found whole.

        patient (Optional[str]): id of the only patient; None for all.
        YIELDS (Entry): in the order in which they were added.
        """
        with self._file.open("export") as records:
            count = sum(_is_of(row, patient) for _, row in records.read())
            self._file.log.record("export", count)
            yield from (_entry(row) for _, row in records.read() if _is_of(row, patient))

    def reverse(self, notes: Sequence[tuple[str, int, str]]) -> Sequence[str | InputError]:
        """Turn released notes back.

        notes (Sequence[tuple]): name, row and released text of each. The name counts only where the vault has more
            than one note that was released as this text.
        RETURNS (Sequence): for each the text as it was, or the error (D650, D652) if it cannot be told.
        """
        with self._file.open("reverse") as records:
            self._file.log.record("reverse", len(notes))
            return [_reverse(records, *note) for note in notes]

    def purge(self, patient: str | None = None) -> int:
        """Remove entries for good. Backups of the file still have them.

        patient (Optional[str]): id of the only patient; None for all.
        RETURNS (int): how many were removed.
        """
        with self._file.open("purge", write=True) as records:
            chosen = [number for number, row in records.read() if _is_of(row, patient)]
            self._file.log.record("purge", len(chosen))
            for number in chosen:
                records.remove(number)
        return len(chosen)


def _reverse(records: Records, note: str, row: int, text: str) -> str | InputError:
    """Turn a released note back."""
    found = [_entry(content) for content in records.find(_digest(text))]
    if len({entry.original for entry in found}) > 1:
        found = [entry for entry in found if (entry.note, entry.row) == (note, row)]
        if len({entry.original for entry in found}) != 1:
            return InputError(Errors.D652)
    return found[0].reverse(text) if found else InputError(Errors.D650)


def _is_of(row: Any, patient: str | None) -> bool:
    """Whether an entry is of a patient; every entry is if none is named."""
    return patient is None or normal_id(row[0]) == normal_id(patient)


def _entry(row: Any) -> Entry:
    patient, note, number, original, released, changes = row
    return Entry(patient, note, number, original, released, tuple(Change(*change) for change in changes))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
