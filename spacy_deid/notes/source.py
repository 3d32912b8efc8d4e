"""Define the interface that all tables of notes have, and convert the values in them to strings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..errors import Errors, InputError

# Names that an error may show: without a header, the first line of a file would be a note.
_NAME = re.compile(r"[^\W\d]\w{0,39}")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns to read from a table of notes. A name is "" if the table does not have the column.

    note_id (str): column with the ids of the notes.
    text (str): column with their texts.
    patient_id (str): column with the ids of their patients.
    note_type (str): column with their types.
    date (str): column with their dates.
    words (str): column with the number of words of each note. If it is given, notes are not read to count their words.
    """

    note_id: str = "note_id"
    text: str = "text"
    patient_id: str = "patient_id"
    note_type: str = "note_type"
    date: str = "date"
    words: str = ""

    def named(self) -> list[str]:
        """Return the names that are not "", in the order of the attributes, with `text` after `note_id`."""
        fields = (self.note_id, self.text, self.patient_id, self.note_type, self.date, self.words)
        return [name for name in fields if name]


class NoteKey(NamedTuple):
    """Identifies a note of a table, so that its text can be read later with `NoteSource.texts`.

    row (int): number of the row, from 1; tables in files are read by it.
    note_id (Any): the id as the table returned it; databases and folders of text files are read by it.
    """

    row: int
    note_id: Any


class NoteSource(Protocol):
    """A table of notes that can be read more than once.

    name (str): name of the source in error messages.
    columns (Sequence[str]): names of the columns.
    """

    name: str
    columns: Sequence[str]

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the values of the given columns for every row, in row order. Other columns are not read."""

    def texts(self, keys: Sequence[NoteKey], columns: Columns) -> Iterator[tuple[int, Any]]:
        """Yield the row number and the text of each of the given notes, in any order. Notes that no longer exist are
        left out.
        """

    def close(self) -> None:
        """Close files and connections."""


def require_columns(source: NoteSource, names: Iterable[str]) -> None:
    """Check that a table has the given columns.

    source (NoteSource): the table.
    names (Iterable[str]): names of the columns that it must have.
    RAISES: InputError (D741) naming the first missing column, or (D740) if the file is empty.
    """
    if not source.columns:
        raise InputError(Errors.D740.format(source=source.name, reason="the source is empty: no columns and no rows"))
    for name in names:
        if name not in source.columns:
            known = ", ".join(source.columns)
            if not all(map(_NAME.fullmatch, source.columns)):
                known = f"{len(source.columns)}, not shown, because not all are plain names. Is the header missing?"
            raise InputError(Errors.D741.format(source=source.name, column=name, known=known))


def as_id(value: Any) -> str | None:
    """Convert the id of a note or patient to a string.

    value (Any): the value in the table. A whole number stored as a float (typical for columns with nulls) loses its
        fractional part.
    RETURNS (Optional[str]): the id without surrounding space, or None if the value is null or blank.
    """
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() or None


def as_text(value: Any) -> str:
    """Return the text of a note, which must be a string or null.

    value (Any): the value in the table.
    RETURNS (str): the text of the note; "" for null.
    RAISES: TypeError if the value is not a string.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value
