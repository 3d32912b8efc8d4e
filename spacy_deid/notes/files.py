"""Read tables of notes from CSV, JSONL and Parquet files, and from folders of text files with an index table.

Rows are numbered from 1 over all files; headers and blank lines do not count.
"""

import csv
import json
import os
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .source import Columns, NoteKey, NoteSource, as_id, require_columns


class _Files:
    """Base class of CSV and JSONL tables. It reads the files one after the other as one table.

    path (Path): the file or folder that the user named; shown in errors.
    files (Sequence[Path]): the files of the table, in the order in which they are read.
    encoding (str): the encoding of the files.
    """

    def __init__(self, path: Path, files: Sequence[Path], encoding: str) -> None:
        self.name = str(path)
        self._files = files
        self._named = encoding
        # A byte order mark is not part of the first column's name.
        self._encoding = "utf-8-sig" if encoding == "utf-8" else encoding
        self.columns: Sequence[str] = self._head()

    def _head(self) -> list[str]:
        """Return the names of the columns. Called once, when the table is opened."""
        raise NotImplementedError

    def _read(self, file: Path) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of one file, each as a mapping from column to value."""
        raise NotImplementedError

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the rows of all files with their numbers, which continue from file to file."""
        row = 0
        for file in self._files:
            try:
                for values in self._read(file):
                    row += 1
                    yield row, values
            except OSError as error:
                raise self._broken(file, os.strerror(error.errno or 0)) from None
            except UnicodeError:
                raise self._broken(file, self._not_text(f" after row {row}")) from None

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the values of the given columns for every note, without its text; see `NoteSource.scan`."""
        for _, values in self._rows():
            yield tuple(values.get(column) for column in columns)

    def texts(self, keys: Sequence[NoteKey], columns: Columns) -> Iterator[tuple[int, Any]]:
        """Yield the number of a key and the text of its note; see `NoteSource.texts`. The files are read once, up to
        the last requested row.
        """
        wanted = {key.row for key in keys}
        for row, values in self._rows():
            if row in wanted:
                wanted.discard(row)
                yield row, values.get(columns.text)
            if not wanted:
                return

    def close(self) -> None:
        """Close the files of the source; see `NoteSource.close`. Files are closed after each pass, so there is nothing
        to do.
        """

    def _not_text(self, where: str = "") -> str:
        """Return the message of a decoding error."""
        return f"not valid {self._named}{where}. Set the encoding with --encoding"

    @staticmethod
    def _broken(file: Path, reason: str) -> InputError:
        """Return the error (D740) for a file that cannot be read."""
        return InputError(Errors.D740.format(source=file, reason=reason))


class CsvSource(_Files):
    """CSV files with a header (RFC 4180). An empty cell is a missing value. For the arguments see `_Files`.

    RAISES: InputError (D740) if a file cannot be read or decoded, the files have different headers, or a column name
        occurs twice. Row errors name the file and the line.
    """

    def _head(self) -> list[str]:
        """Return the header. RAISES: InputError (D740) if it is not the same in all files or cannot be read."""
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
                raise self._broken(file, "the header is not valid CSV") from None
        if any(head != heads[0] for head in heads):
            raise self._broken(Path(self.name), "the files have different columns")
        if len(set(heads[0])) != len(heads[0]):
            raise self._broken(self._files[0], "the header has a repeated column")
        return heads[0]

    def _read(self, file: Path) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of one file as mappings from column to cell; None for an empty cell."""
        with file.open(encoding=self._encoding, newline="") as stream, long_cells():
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
                raise self._broken(
                    file, f"line {reader.line_num}: invalid CSV: a quote is missing or misplaced"
                ) from None


class JsonlSource(_Files):
    """JSONL files: one JSON object per line. The columns are the keys of the first row of each file. For the arguments
    see `_Files`.

    RAISES: InputError (D740) if a file cannot be read or decoded, or a line is not a JSON object.
    """

    def _head(self) -> list[str]:
        """Return the keys of the first row of each file, each once."""
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
        """Yield the objects of one file. RAISES: InputError (D740) for a line that is not a JSON object."""
        with file.open(encoding=self._encoding, newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError):  # its message contains the line
                    values = None
                if not isinstance(values, dict):
                    raise self._broken(file, f"line {number}: not a JSON object")
                yield values


@contextmanager
def long_cells() -> Iterator[None]:
    """Within this context, `csv` accepts cells with more than its default of 131,072 characters."""
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


_BATCH = 1_000  # rows per batch; a row group may have a million


class ParquetSource:
    """A table of notes in one or more Parquet files. Only the requested columns and row groups are read.

    path (Path): the file or folder that the user named; shown in errors.
    files (Sequence[Path]): the files, in the order in which they are read. The table has the columns that all files
        share.
    RAISES: InputError if pyarrow is not installed (D749) or a file is not valid Parquet (D740).
    """

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise InputError(Errors.D749.format(package="pyarrow", source=path)) from None
        self.name = str(path)
        self._files: list[Any] = []
        for file in files:
            try:
                self._files.append(ParquetFile(file))
            except Exception:  # pyarrow's messages may quote values
                self.close()
                raise InputError(Errors.D740.format(source=file, reason="not a valid Parquet file")) from None
        names = [file.schema_arrow.names for file in self._files]
        self.columns: Sequence[str] = [name for name in names[0] if all(name in other for other in names)]

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the values of the given columns for every note, without its text; see `NoteSource.scan`."""
        for file in self._files:
            for batch in self._checked(file.iter_batches(batch_size=_BATCH, columns=list(dict.fromkeys(columns)))):
                yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)

    def texts(self, keys: Sequence[NoteKey], columns: Columns) -> Iterator[tuple[int, Any]]:
        """Yield the number of a key and the text of its note; see `NoteSource.texts`."""
        groups = [(file, i) for file in self._files for i in range(file.num_row_groups)]
        sizes = [file.metadata.row_group(i).num_rows for file, i in groups]
        starts = [0, *accumulate(sizes)]
        wanted: dict[int, list[int]] = {}
        for key in keys:
            if 0 < key.row <= starts[-1]:
                wanted.setdefault(bisect_right(starts, key.row - 1) - 1, []).append(key.row)
        for number, rows in sorted(wanted.items()):
            file, i = groups[number]
            yield from self._pick(file, i, sorted(row - 1 - starts[number] for row in rows), starts[number], columns)

    def _pick(
        self, file: Any, group: int, places: list[int], start: int, columns: Columns
    ) -> Iterator[tuple[int, Any]]:
        """Yield the row number and the text of some notes of a row group, given by their positions in the group."""
        first = 0
        batches = file.iter_batches(batch_size=_BATCH, row_groups=[group], columns=[columns.text])
        for batch in self._checked(batches):
            inside = places[bisect_left(places, first) : bisect_left(places, first + len(batch))]
            texts = batch.column(0).take([place - first for place in inside]) if inside else []
            yield from ((start + place + 1, text.as_py()) for place, text in zip(inside, texts, strict=True))
            first += len(batch)
            if first > places[-1]:
                return

    def _checked(self, tables: Iterator[Any]) -> Iterator[Any]:
        """Yield the batches unchanged. An error of pyarrow, whose message may quote values, is replaced by one that
        names only the source.
        """
        try:
            yield from tables
        except Exception:
            raise InputError(Errors.D740.format(source=self.name, reason="damaged Parquet file")) from None

    def close(self) -> None:
        """Close the files of the source; see `NoteSource.close`."""
        for file in self._files:
            file.close()


class FolderSource:
    """A table of notes whose texts are .txt files in a folder. An index table has one row per file; the text of the
    file is added to it as a column.

    folder (Path): the folder; files can be in subfolders.
    index (NoteSource): the index table.
    note_id (str): the column of the index table with the path of the file, relative to the folder, with or without
        ".txt".
    text (str): the name for the column of texts; it replaces a column of the index table with this name.
    encoding (str): encoding of the files.
    RAISES: InputError (D741) if the index table does not have the column.
    """

    def __init__(self, folder: Path, index: NoteSource, note_id: str, text: str, encoding: str = "utf-8") -> None:
        require_columns(index, [note_id])
        self.name = str(folder)
        self.columns: Sequence[str] = [*(name for name in index.columns if name != text), text]
        self._folder, self._index, self._note_id, self._text, self._encoding = folder, index, note_id, text, encoding

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the values of the given columns for every note, without its text; see `NoteSource.scan`. RAISES:
        InputError (D742) for a row whose file cannot be read.
        """
        asked = [self._note_id if name == self._text else name for name in columns]
        for row, values in enumerate(self._index.scan(asked), start=1):
            pairs = zip(columns, values, strict=True)
            yield tuple(self._read(value, row) if name == self._text else value for name, value in pairs)

    def texts(self, keys: Sequence[NoteKey], columns: Columns) -> Iterator[tuple[int, Any]]:
        """Yield the number of a key and the text of its note; see `NoteSource.texts`."""
        return ((key.row, self._read(key.note_id, key.row)) for key in keys)

    def count_unnamed(self) -> int:
        """Count the files that are missing from the index table.

        RETURNS (int): number of .txt files in the folder and its subfolders that no row names.
        """
        named = {self._path(name) for (name,) in self._index.scan([self._note_id])}
        return sum(path not in named for path in self._folder.rglob("*.txt"))

    def _path(self, name: Any) -> Path:
        """Return the path of the file for the note id of a row."""
        return self._folder / f"{(as_id(name) or '').removesuffix('.txt')}.txt"

    def _read(self, name: Any, row: int) -> str:
        """Read the file of a row. RAISES: InputError (D742) if it cannot be read or is outside the folder."""
        path = self._path(name)
        reason = "its file cannot be read"
        try:
            if path.resolve().is_relative_to(self._folder.resolve()):
                return path.read_bytes().decode(self._encoding)
        except UnicodeError:
            reason = f"its file is not valid {self._encoding}"
        except (OSError, ValueError):  # ValueError: the name contains a NUL
            pass
        raise InputError(Errors.D742.format(source=self._index.name, row=row, reason=reason))

    def close(self) -> None:
        """Close the files of the source; see `NoteSource.close`."""
        self._index.close()
