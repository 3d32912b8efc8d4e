"""Reads and writes JSONL files as streams of rows: one object per line, with the note under one key.

A row that cannot be read or released fails alone; `Rejects` lists it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeVar

from ..errors import Errors, InputError, describe
from ..io import Job, whole_file
from .console import say

Item = TypeVar("Item")

_SHOWN = 20  # number of reasons to print if there is no file for them
_BATCH_CHARACTERS = 1_000_000  # so that ten notes of 5 MB are not in memory at once
# With worker processes batches are larger, because some processes are idle at the end of each batch.
_BATCHES_PER_PROCESS = 8
# Encodings in which a line break is not always the byte 0A, so that a line cannot be decoded alone.
_STATEFUL = re.compile(r"utf-?_?7|iso-?2022|hz")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a JSONL file. Its repr shows no content.

    number (int): number of the line, from 1.
    record (dict): the JSON object.
    text (str): the note.
    start, end (str): byte-order mark (or "") and line end, as in the file.
    """

    number: int
    record: dict[str, Any] = field(repr=False)
    text: str = field(repr=False)
    start: str
    end: str


class BadRow(NamedTuple):
    """A row that cannot be de-identified.

    number (int): number of the line, from 1.
    reason (str): why it cannot be de-identified, without content.
    """

    number: int
    reason: str


def cut(
    items: Iterable[Item], size: Callable[[Item], int], *, batch_size: int, n_process: int
) -> Iterator[list[Item]]:
    """Cut a stream into batches, limited by their number of notes and to about a million characters per process.

    items (Iterable): the stream, which is read only as far as the current batch needs.
    size (Callable): returns the number of characters of an item.
    batch_size, n_process (int): as in `Deidentifier.pipe`.
    YIELDS (list): batches that are not empty.
    """
    batch: list[Item] = []
    characters = 0
    factor = 1 if n_process == 1 else n_process * _BATCHES_PER_PROCESS
    for item in items:
        batch.append(item)
        characters += size(item)
        if len(batch) >= batch_size * factor or characters >= _BATCH_CHARACTERS * n_process:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def read_rows(path: Path, text_field: str, encoding: str) -> Iterator[Row | BadRow]:
    """Read the rows of a file. Blank lines are skipped.

    path (Path): the file.
    text_field (str): key of the note.
    encoding (str): encoding of the file.
    YIELDS (Row | BadRow): rows in the order of the file. A line that is not in the encoding, is not a JSON object
        or has no note is yielded as a `BadRow`.
    RAISES: InputError if the file cannot be read (D402), or if it is not in an encoding whose lines cannot be decoded
        one by one, such as UTF-16 (D400).
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

    row (Row): the row that was read. Its byte-order mark and line end are kept.
    record (dict): the JSON object to write.
    RETURNS (str): the line with its line end.
    RAISES: InputError (D420) for an infinite number, which JSON cannot represent.
    """
    try:
        return row.start + json.dumps(record, ensure_ascii=False, allow_nan=False) + row.end
    except ValueError:
        raise InputError(Errors.D420) from None


def _lines(path: Path, encoding: str) -> Iterator[str | None]:
    """Yield the lines of a file with their line ends, or None for a line that cannot be decoded."""
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
    """Parse one line of a JSONL file; a `BadRow` if it is not a JSON object with a note."""
    try:
        # NaN is not JSON, but what Python writes for a missing value
        record = json.loads(line, parse_constant=lambda name: None if name == "NaN" else float(name))
    except (ValueError, RecursionError):
        return BadRow(number, "not JSON")  # the exception holds the line, and with it the note
    if not isinstance(record, dict):
        return BadRow(number, "not an object")
    text = record.get(text_field)
    if not isinstance(text, str):
        return BadRow(number, f"'{text_field}' is missing or no string (set --text-field to the key of the note)")
    if any("\ud800" <= char <= "\udfff" for char in text):
        return BadRow(number, f"'{text_field}' holds half a surrogate pair")
    return Row(number, record, text, mark, line[len(line.rstrip("\r\n")) :])


class Rejects:
    """Writes the rows that failed and their reasons to a file or, without a file, the first ones to stderr.

    path (Optional[Path]): path of the list, for the summary.
    file (Optional[TextIO]): list that is open for writing; None to print the first reasons to stderr.
    """

    def __init__(self, path: Path | None = None, file: TextIO | None = None) -> None:
        self.count = 0
        self._path, self._file = path, file

    def add(self, job: Job, row: BadRow) -> None:
        """Record a failed row of a file."""
        self.count += 1
        if self._file:
            record = {"note": job.relative.as_posix(), "row": row.number, "reason": row.reason}
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        elif self.count <= _SHOWN:
            say(f"failed: {job.source}: {Errors.D405.format(row=row.number, reason=row.reason)}")

    def summarize(self) -> None:
        """Print how many rows failed and where they are listed."""
        if self.count and self._path:
            say(f"{self.count} row(s) failed, listed in {self._path}")
        elif self.count > _SHOWN:
            say(f"{self.count - _SHOWN} more row(s) failed. --rejects FILE lists them all")


@contextmanager
def open_rejects(path: Path | None) -> Iterator[Rejects]:
    """Open the list of failed rows, which is a `Rejects`.

    path (Optional[Path]): a JSONL file with the keys "note", "row" and "reason", which is written completely or not at
        all, and also if no row fails; None to print the first reasons to stderr.
    """
    if path is None:
        yield Rejects()
        return
    with whole_file(path) as part, open(part, "w", encoding="utf-8", newline="\n") as file:
        yield Rejects(path, file)
