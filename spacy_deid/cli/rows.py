"""The rows of a JSONL file, read as a stream: one object a line, the note under one key."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .console import describe

__all__ = ["Row", "read_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row. What it holds is left out of the repr.

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


def read_rows(path: Path, text_field: str, encoding: str) -> Iterator[Row]:
    """Read the rows of a file; lines of white space alone are left out.

    path (Path): the file.
    text_field (str): key of the note.
    encoding (str): the file's encoding.
    YIELDS (Row): rows in the order of the file.
    RAISES: InputError if the file cannot be read (D402), is not of the encoding (D400) or a row is not an object with
        a note (D405).
    """
    try:
        with open(path, encoding=encoding, newline="\n") as file:
            for number, line in enumerate(file, start=1):
                mark = "\ufeff" if number == 1 and line.startswith("\ufeff") else ""
                if line.strip("\ufeff \t\r\n"):
                    yield _parse(line.removeprefix(mark), number, text_field, mark)
    except UnicodeError:
        raise InputError(Errors.D400.format(path=path, encoding=encoding)) from None
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=describe(error))) from None


def _parse(line: str, number: int, text_field: str, mark: str) -> Row:
    """Read one row."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        # The exception holds the line, and with it the note.
        raise InputError(Errors.D405.format(row=number, reason="not JSON")) from None
    if not isinstance(record, dict):
        raise InputError(Errors.D405.format(row=number, reason="not an object"))
    text = record.get(text_field)
    if not isinstance(text, str):
        raise InputError(Errors.D405.format(row=number, reason=f"'{text_field}' is missing or no string"))
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InputError(Errors.D405.format(row=number, reason=f"'{text_field}' holds half a surrogate pair"))
    return Row(number, record, text, mark, line[len(line.rstrip("\r\n")) :])
