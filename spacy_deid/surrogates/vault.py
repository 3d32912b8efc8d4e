"""The vault: which surrogate stands for which original, for those who may find a patient again.

Nobody needs one: without it a surrogate leads nowhere. With it, whoever has the file and the project key can undo the
de-identification, so the two must never lie together (`check_apart`), and every use is logged (`SealedFile.log`).

    vault = Vault.create("hospital.vault", key)      # once
    vault = Vault.open("hospital.vault", key)
    vault.add([Entry("4711", "note-1", "PATIENT", "Ana Ruiz", "Eva Gil")])
    vault.export("4711")
    vault.purge("4711")
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from ..errors import ConfigError, Errors
from .keys import ProjectKey
from .sealed import SealedFile, check_apart

__all__ = ["Entry", "Vault", "check_apart"]


class Entry(NamedTuple):
    """One original and its surrogate.

    patient (str): id of the patient.
    note (str): name of the note.
    label (str): canonical label.
    original, surrogate (str): as written in the note before and after.
    """

    patient: str
    note: str
    label: str
    original: str
    surrogate: str

    def __repr__(self) -> str:
        """The label; never an original."""
        return f"Entry({self.label})"


class Vault:
    """A vault. Make one with `create`, use it with `open`; every method reads the file anew.

    file (SealedFile): the file.
    """

    def __init__(self, file: SealedFile) -> None:
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
        file = SealedFile(path, key, "vault", user)
        with file.alone():
            if file.path.exists():
                raise ConfigError(Errors.D647.format(kind="vault", path=path, reason="there already"))
            file.record("create", 0)
            file.write([])
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
        file = SealedFile(path, key, "vault", user)
        if not file.path.exists():  # no log where there is no vault
            raise ConfigError(Errors.D647.format(kind="vault", path=path, reason="no such file"))
        vault = cls(file)
        file.record("open", len(vault._read("open")))
        return vault

    def add(self, entries: Iterable[Entry]) -> int:
        """Add entries; those that are there already stay one. Give many at once: the file is written each time.

        RETURNS (int): how many were new.
        """
        with self._file.alone():
            old = dict.fromkeys(self._read("add"))
            new = [entry for entry in dict.fromkeys(entries) if entry not in old]
            self._file.record("add", len(new))
            if new:
                self._file.write([*old, *new])
        return len(new)

    def list(self) -> Counter[tuple[str, str]]:
        """Count the entries by patient and label."""
        entries = self._read("list")
        self._file.record("list", len(entries))
        return Counter((entry.patient, entry.label) for entry in entries)

    def export(self, patient: str | None = None) -> Sequence[Entry]:
        """Give entries out.

        patient (Optional[str]): id of the only patient; None for all.
        RETURNS (Sequence[Entry]): in the order in which they were added.
        """
        entries = [entry for entry in self._read("export") if patient is None or entry.patient == patient]
        self._file.record("export", len(entries))
        return entries

    def purge(self, patient: str | None = None) -> int:
        """Remove entries for good. Backups of the file still have them.

        patient (Optional[str]): id of the only patient; None for all.
        RETURNS (int): how many were removed.
        """
        with self._file.alone():
            old = self._read("purge")
            left = [] if patient is None else [entry for entry in old if entry.patient != patient]
            self._file.record("purge", len(old) - len(left))
            if len(left) < len(old):
                self._file.write(left)
        return len(old) - len(left)

    def _read(self, action: str) -> Sequence[Entry]:
        return [Entry(*row) for row in self._file.read(action)]
