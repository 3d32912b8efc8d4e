"""The rows of a JSONL file, read as a stream: one object a line, the note under one key. A bad row fails alone."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ..errors import Errors, InputError
from ..io import Job, whole_file
from .console import describe, say

__all__ = ["BadRow", "Rejects", "Row", "open_rejects", "read_rows", "write_row"]

_SHOWN = 20  # reasons on stderr, where there is no file of them
# In these a line break is not always the byte 0A, so that no line can be decoded by itself.
_STATEFUL = re.compile(r"utf-?_?7|iso-?2022|hz")


@dataclass(frozen=True, slots=True)
class Row:
    """One row. Its repr shows nothing of its content.

    number (int): the line, from 1.
    record (dict): the object.
    text (str): the note.
    start, end (str): the byte-order mark and the line's end, as the file has them.
    """

    number: int
    record: dict[str, Any] = field(repr=False)
    text: str = field(repr=False)
    start: str
    end: str


class BadRow(NamedTuple):
    """A row that cannot be redacted.

    number (int): the line, from 1.
    reason (str): why, without content.
    """

    number: int
    reason: str


def read_rows(path: Path, text_field: str, encoding: str) -> Iterator[Row | BadRow]:
    """Read the rows of a file. Lines of nothing but white space are left out.

    path (Path): the file.
    text_field (str): key of the note.
    encoding (str): encoding of the file.
    YIELDS (Row | BadRow): rows in the order of the file. A line that is not of the encoding, no JSON object or without
        a note is a `BadRow`.
    RAISES: InputError if the file cannot be read (D402). A file whose lines cannot be decoded one by one, as UTF-16,
        fails as a whole if it is not of the encoding (D400).
    """
    try:
        for number, line in enumerate(_lines(path, encoding), start=1):
            if line is None:
                yield BadRow(number, f"not {encoding} text")
                continue
            mark = "\ufeff" if number == 1 and line.startswith("\ufeff") else ""
            if line.strip("\ufeff \t\r\n"):
                yield _parse(line.removeprefix(mark), number, text_field, mark)
    except UnicodeError:
        raise InputError(Errors.D400.format(path=path, encoding=encoding)) from None
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=describe(error))) from None


def write_row(row: Row, record: dict[str, Any]) -> str:
    """Write a row as a line of JSON.

    row (Row): the row as it was read, for what stands before and after the object.
    record (dict): the object to write.
    RETURNS (str): the line.
    RAISES: InputError (D420) for an infinite number, which JSON does not have.
    """
    try:
        return row.start + json.dumps(record, ensure_ascii=False, allow_nan=False) + row.end
    except ValueError:
        raise InputError(Errors.D420) from None


def _lines(path: Path, encoding: str) -> Iterator[str | None]:
    """The lines of a file with their ends; None for one that cannot be decoded."""
    if "\n".encode(encoding) != b"\n" or _STATEFUL.match(encoding):
        with open(path, encoding=encoding, newline="\n") as file:
            yield from file
        return
    with open(path, "rb") as data:
        for line in data:
            try:
                yield line.decode(encoding)
            except UnicodeError:
                yield None


def _parse(line: str, number: int, text_field: str, mark: str) -> Row | BadRow:
    """Read one row."""
    try:
        # NaN is not JSON, but what Python writes for a missing value
        record = json.loads(line, parse_constant=lambda name: None if name == "NaN" else float(name))
    except (ValueError, RecursionError):
        return BadRow(number, "not JSON")  # the exception holds the line, and with it the note
    if not isinstance(record, dict):
        return BadRow(number, "not an object")
    text = record.get(text_field)
    if not isinstance(text, str):
        return BadRow(number, f"'{text_field}' is missing or no string")
    if any("\ud800" <= char <= "\udfff" for char in text):
        return BadRow(number, f"'{text_field}' holds half a surrogate pair")
    return Row(number, record, text, mark, line[len(line.rstrip("\r\n")) :])


class Rejects:
    """The rows that failed, with their reasons.

    count (int): how many there are.
    """

    def __init__(self, path: Path | None = None, file: TextIO | None = None) -> None:
        """Set up.

        path (Optional[Path]): name of the file, for the summary.
        file (Optional[TextIO]): a file that is open for writing; None to print the first reasons to stderr.
        """
        self.count = 0
        self._path, self._file = path, file

    def add(self, job: Job, row: BadRow) -> None:
        """Add a row.

        job (Job): its file.
        row (BadRow): the row.
        """
        self.count += 1
        if self._file:
            record = {"note": job.relative.as_posix(), "row": row.number, "reason": row.reason}
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        elif self.count <= _SHOWN:
            say(f"failed: {job.source}: {Errors.D405.format(row=row.number, reason=row.reason)}")

    def summarize(self) -> None:
        """Say on stderr how many rows failed and where they are listed."""
        if self.count and self._path:
            say(f"{self.count} row(s) failed, listed in {self._path}")
        elif self.count > _SHOWN:
            say(f"{self.count - _SHOWN} more row(s) failed. --rejects FILE lists them all")


@contextmanager
def open_rejects(path: Path | None) -> Iterator[Rejects]:
    """List the rows that fail.

    path (Optional[Path]): a JSONL file with "note", "row" and "reason", written whole or not at all and also if no
        row failed; None to print the first reasons to stderr.
    YIELDS (Rejects): takes the rows.
    """
    if path is None:
        yield Rejects()
        return
    with whole_file(path) as part, open(part, "w", encoding="utf-8", newline="\n") as file:
        yield Rejects(path, file)
