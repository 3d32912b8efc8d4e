"""Tables of notes in CSV and JSONL files. Rows are counted from 1 over all files, without header and blank lines."""

import csv
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .source import Columns, Key

__all__ = ["CsvSource", "JsonlSource"]


class _Files:
    """What the two kinds share: rows as mappings, files one after the other."""

    def __init__(self, path: Path, files: Sequence[Path], encoding: str) -> None:
        self.name = str(path)
        self._files = files
        self._named = encoding
        # A mark at the head of a file is no part of the first column's name.
        self._encoding = "utf-8-sig" if encoding == "utf-8" else encoding
        self.columns: Sequence[str] = self._head()

    def _head(self) -> list[str]:
        """The columns that every file has."""
        raise NotImplementedError

    def _read(self, file: Path) -> Iterator[Mapping[str, Any]]:
        """The rows of a file."""
        raise NotImplementedError

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """All rows with their numbers."""
        row = 0
        for file in self._files:
            try:
                for values in self._read(file):
                    row += 1
                    yield row, values
            except OSError as error:
                raise self._broken(file, os.strerror(error.errno or 0)) from None
            except UnicodeError:
                raise self._broken(file, self._not_text(f" behind row {row}")) from None

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """See `NoteSource.scan`."""
        for _, values in self._rows():
            yield tuple(values.get(column) for column in columns)

    def texts(self, keys: Sequence[Key], columns: Columns) -> Iterator[tuple[int, Any]]:
        """See `NoteSource.texts`. The files are read once, up to the last of the rows."""
        wanted = {key.row for key in keys}
        for row, values in self._rows():
            if row in wanted:
                wanted.discard(row)
                yield row, values.get(columns.text)
            if not wanted:
                return

    def close(self) -> None:
        """Nothing is held open."""

    def _not_text(self, where: str = "") -> str:
        """What is wrong with a file in another encoding."""
        return f"not {self._named} text{where}. Name the encoding with --encoding"

    @staticmethod
    def _broken(file: Path, reason: str) -> InputError:
        """The error for a file that cannot be read."""
        return InputError(Errors.D740.format(source=file, reason=reason))


class CsvSource(_Files):
    """CSV files with a header: RFC 4180. An empty cell is a missing value.

    path (Path): what was named: the file or the folder.
    files (Sequence[Path]): the files, in order.
    encoding (str): their encoding.
    """

    def _head(self) -> list[str]:
        """The header; that of all files must be the same."""
        heads = []
        for file in self._files:
            try:
                with file.open(encoding=self._encoding, newline="") as stream:
                    heads.append([name.strip() for name in next(csv.reader(stream), [])])
            except OSError as error:
                raise self._broken(file, os.strerror(error.errno or 0)) from None
            except UnicodeError:
                raise self._broken(file, self._not_text()) from None
            except csv.Error:
                raise self._broken(file, "the header is not CSV") from None
        if any(head != heads[0] for head in heads):
            raise self._broken(Path(self.name), "the files have different columns")
        if len(set(heads[0])) != len(heads[0]):
            raise self._broken(self._files[0], "a column stands twice in the header")
        return heads[0]

    def _read(self, file: Path) -> Iterator[Mapping[str, Any]]:
        """The rows of a file."""
        with file.open(encoding=self._encoding, newline="") as stream, _long_cells():
            reader = csv.reader(stream, strict=True)
            next(reader, None)
            try:
                for cells in reader:
                    if cells and len(cells) != len(self.columns):
                        reason = f"line {reader.line_num}: {len(cells)} cells where the header has {len(self.columns)}"
                        raise self._broken(file, reason)
                    if cells:
                        yield {name: cell or None for name, cell in zip(self.columns, cells, strict=True)}
            except csv.Error:
                raise self._broken(file, f"line {reader.line_num}: not CSV, or a quote is missing") from None


class JsonlSource(_Files):
    """JSONL files: an object a line. The columns are the keys of the first row of each file.

    path (Path): what was named: the file or the folder.
    files (Sequence[Path]): the files, in order.
    encoding (str): their encoding.
    """

    def _head(self) -> list[str]:
        """The keys of the first rows."""
        self.columns = []
        keys: dict[str, None] = {}
        for file in self._files:
            try:
                keys |= dict.fromkeys(next(iter(self._read(file)), {}))
            except OSError as error:
                raise self._broken(file, os.strerror(error.errno or 0)) from None
            except UnicodeError:
                raise self._broken(file, self._not_text()) from None
        return list(keys)

    def _read(self, file: Path) -> Iterator[Mapping[str, Any]]:
        """The rows of a file."""
        with file.open(encoding=self._encoding, newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError):  # its message holds the line, and with it the note
                    values = None
                if not isinstance(values, dict):
                    raise self._broken(file, f"line {number}: not a JSON object")
                yield values


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let a cell be longer than the 131,072 characters that `csv` takes."""
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)
