"""Read texts from open corpora: .txt, .jsonl and .csv files, also compressed (.gz, .bz2, .xz), and folders of them.

Files are read as a stream. A row that cannot be used is skipped and counted; a file without any usable row is an
error, because then a setting is wrong.
"""

import bz2
import csv
import gzip
import json
import lzma
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import Errors, InputError

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LONGEST = 1 << 20  # bytes of a line that are read at once
SUFFIXES = (".txt", ".jsonl", ".csv")

Row = tuple[int, dict[str, str]]


class CorpusReader:
    """Reads the texts of corpora as a stream, and counts the rows and files that it skips.

    fields (Sequence[str]): keys of JSONL rows and columns of CSV files to read; the first one contains the text.
    skipped (Counter[str]): reason → number of skipped rows or files.
    rows (int): number of rows that were read.
    """

    def __init__(self, fields: Sequence[str] = ("text",)) -> None:
        self.fields = tuple(fields)
        self.skipped: Counter[str] = Counter()
        self.rows = 0

    def texts(self, paths: Sequence[Path]) -> Iterator[str]:
        """Read the texts of files and folders, without their other fields.

        paths (Sequence[Path]): files and folders.
        YIELDS (str): each line of a .txt file, and the text field of each row of a .jsonl or .csv file.
        RAISES: InputError as `read`.
        """
        for path in paths:
            for _, values in self.read(path):
                yield values[self.fields[0]]

    def read(self, path: Path) -> Iterator[Row]:
        """Read the rows of a file or a folder.

        path (Path): the file or folder.
        YIELDS (Row): row number from 1, and field → value. A line of a .txt file has only the first field.
        RAISES: InputError (D707) if the path does not exist, or is damaged or without usable rows.
        """
        if not path.is_dir():
            yield from self._file(path)
            return
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        taken = [file for file in files if _kind(file) in SUFFIXES]
        self.skipped["files of another kind"] += len(files) - len(taken)
        if not taken:
            raise InputError(Errors.D707.format(path=path, reason=f"no {', '.join(SUFFIXES)} files in it"))
        for file in taken:
            yield from self._file(file)

    def _file(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file. RAISES: InputError (D707) if it is damaged or has no usable row."""
        readers = {".txt": self._lines, ".jsonl": self._jsonl, ".csv": self._csv}
        if _kind(path) not in readers:
            raise InputError(Errors.D707.format(path=path, reason=f"not one of {', '.join(SUFFIXES)}"))
        found = 0
        try:
            with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
                for row in readers[_kind(path)](file, path):
                    found += 1
                    yield row
        except (OSError, EOFError, lzma.LZMAError) as error:
            reason = "no such file" if isinstance(error, FileNotFoundError) else "cannot be read, or is damaged"
            raise InputError(Errors.D707.format(path=path, reason=reason)) from None
        self.rows += found
        if not found and self.skipped and path.stat().st_size:
            raise InputError(Errors.D707.format(path=path, reason="no row can be used (wrong encoding or field?)"))

    def _decoded(self, file: BinaryIO) -> Iterator[tuple[int, str]]:
        """Yield number and text of the lines of a file, skipping those that are not valid UTF-8."""
        number = 0
        while line := file.readline(_LONGEST):
            number += 1
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                self.skipped["not UTF-8"] += 1

    def _lines(self, file: BinaryIO, path: Path) -> Iterator[Row]:
        """Yield the lines of a text file that are not blank."""
        for number, line in self._decoded(file):
            if line.strip():
                yield number, {self.fields[0]: line}

    def _jsonl(self, file: BinaryIO, path: Path) -> Iterator[Row]:
        """Yield the chosen fields of the objects in a JSONL file."""
        for number, line in self._decoded(file):
            try:
                values = json.loads(line) if line.strip() else {}
            except ValueError:
                values = None
            if not isinstance(values, dict):
                self.skipped["not a JSON object"] += 1
            elif values:
                yield from self._chosen(number, values)

    def _csv(self, file: BinaryIO, path: Path) -> Iterator[Row]:
        """Yield the chosen columns of the rows in a CSV file with a header."""
        reader = csv.DictReader(line for _, line in self._decoded(file))
        if not set(self.fields) <= set(reader.fieldnames or ()):
            raise InputError(Errors.D701.format(path=path, row=1, reason=f"no column '{self._missing(reader)}'"))
        while True:
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error:
                self.skipped["not CSV"] += 1
                continue
            yield from self._chosen(reader.line_num, values)

    def _chosen(self, number: int, values: dict[str, Any]) -> Iterator[Row]:
        """Yield a row with the chosen fields only, or skip it if one of them is missing or empty."""
        chosen = {field: values.get(field) for field in self.fields}
        if all(isinstance(value, str | int) and str(value).strip() for value in chosen.values()):
            yield number, {field: str(value) for field, value in chosen.items()}
        else:
            self.skipped["a field is missing or empty"] += 1

    def _missing(self, reader: "csv.DictReader[str]") -> str:
        """Return the first chosen column that the header does not have."""
        return next(field for field in self.fields if field not in (reader.fieldnames or ()))


def _kind(path: Path) -> str:
    """Return the suffix of a file that names its format, such as ".csv" of "a.csv.gz"."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _OPENERS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
