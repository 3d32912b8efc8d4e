"""What ``redact`` keeps in a vault, so that released notes can be turned back."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..patient_ids import normal_id
from ..vault.vault import Change, Entry, Vault, changes_from_edits

__all__ = ["Undoing", "VaultKey", "VaultPath", "make_entry", "open_vault", "take_undoing"]

VaultPath = Annotated[
    Path | None,
    typer.Option("--vault", help="Sealed file that keeps what each released note was, made if it is not there."),
]
VaultKey = Annotated[
    Path | None, typer.Option(help="File of the vault's key, in another folder. 'key new' makes one; see 'vault'.")
]


class Undoing(NamedTuple):
    """What is needed to turn a released note back. Its repr shows nothing.

    patient (str): id of the patient, "" if the note names none.
    changes (tuple[Change, ...]): all that is not as it was.
    """

    patient: str = ""
    changes: tuple[Change, ...] = ()

    def __repr__(self) -> str:
        return f"Undoing({len(self.changes)} changes)"


def open_vault(path: Path | None, key: Path | None, output: Path | None) -> Vault | None:
    """Open the vault of a run, or make it.

    path (Optional[Path]): the file; None for no vault.
    key (Optional[Path]): the file of its key.
    output (Optional[Path]): the folder of what is released.
    RETURNS (Optional[Vault]): the vault.
    RAISES: ConfigError if an option is missing (D410, D411), both files lie in one folder (D648), the key cannot be
        used (D640 - D642) or is another one (D647).
    """
    if path is None or key is None:
        if path or key:
            raise ConfigError(Errors.D411.format(option="vault-key" if path else "vault"))
        return None
    if output is None:
        raise ConfigError(Errors.D410.format(option="vault"))
    return Vault.open_or_create(path, key)


def take_undoing(doc: Doc) -> Undoing:
    """Copy out of a Doc what is needed to turn its released text back.

    doc (Doc): a note that was redacted.
    RETURNS (Undoing): plain values.
    """
    return Undoing(normal_id(doc._.ehr.get("patient_id")), changes_from_edits(doc.text, doc._.deid_edits))


def make_entry(undoing: Undoing, note: Path, original: str, released: str, row: int = 0) -> Entry:
    """Make the entry of a released note.

    undoing (Undoing): what `take_undoing` gave.
    note (Path): the file, as it was found in the folder that was given.
    original, released (str): the note before and after.
    row (int): row of a JSONL file, else 0.
    RETURNS (Entry): the entry.
    """
    return Entry.of(undoing.patient, note.as_posix(), original, released, undoing.changes, row)
