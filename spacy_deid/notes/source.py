"""What a table of notes is to whoever reads it, and how its values become plain strings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..errors import Errors, InputError

# In a file without a header the first note stands in its place.
_NAME = re.compile(r"[^\W\d]\w{0,39}")


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column says what; "" for a column that the table does not have.

    note_id, text, patient_id, note_type, date (str): names of columns.
    words (str): column with the number of words of a note, so that the text need not be read to count them.
    """

    note_id: str = "note_id"
    text: str = "text"
    patient_id: str = "patient_id"
    note_type: str = "note_type"
    date: str = "date"
    words: str = ""

    def named(self) -> list[str]:
        """The columns that have a name."""
        fields = (self.note_id, self.text, self.patient_id, self.note_type, self.date, self.words)
        return [name for name in fields if name]


class Key(NamedTuple):
    """How to find a note again: files by the row, counted from 1; databases by the id, as they gave it."""

    row: int
    note_id: Any


class NoteSource(Protocol):
    """A table of notes that can be read more than once."""

    name: str
    columns: Sequence[str]

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield each row's values of some columns, in the order of the rows, nothing else being read."""

    def texts(self, keys: Sequence[Key], columns: Columns) -> Iterator[tuple[int, Any]]:
        """Yield row and text of some notes, in any order; a note that is not found again is left out."""

    def close(self) -> None:
        """Let go of files and connections."""


def require_columns(source: NoteSource, names: Iterable[str]) -> None:
    """Make sure that a table has some columns.

    source (NoteSource): the table.
    names (Iterable[str]): the columns.
    RAISES: InputError (D741) naming the first that is missing, or for an empty file (D740).
    """
    if not source.columns:
        raise InputError(Errors.D740.format(source=source.name, reason="empty: it has neither columns nor rows"))
    for name in names:
        if name not in source.columns:
            known = ", ".join(source.columns)
            if not all(map(_NAME.fullmatch, source.columns)):
                known = f"{len(source.columns)}, not shown, because not all are plain names. Is the header missing?"
            raise InputError(Errors.D741.format(source=source.name, column=name, known=known))


def as_id(value: Any) -> str | None:
    """An id as a string.

    value (Any): as the table has it. Whole numbers that came as floating-point ones, as those of a column with nulls
        do, are whole again.
    RETURNS (Optional[str]): the id; None where there is none.
    """
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() or None


def as_text(value: Any) -> str:
    """A text as a string: "" for null. RAISES: TypeError for what is no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value
