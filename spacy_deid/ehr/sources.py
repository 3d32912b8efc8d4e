"""Rows of CSV files, Parquet files and databases, in batches that fit into memory.

What goes wrong is said by source, file, row and column, never by a value.
"""

import codecs
import csv
import glob
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import DeidError, Errors, InputError
from .batches import BATCH, Batch, Cells, Rows, failed, find_places, import_package
from .databases import read_database
from .mapping import Source, Table

__all__ = ["Batch", "Rows", "read_rows"]

_SNIFFED = 1 << 20  # bytes of a file that are looked at for its encoding
_CELL = 1 << 20  # characters of a cell; one more is a quote that was never closed
_CSV = {".csv": ",", ".tsv": "\t", ".txt": ","}
_BY_UNIT = ("utf-16", "utf-32")  # no line of these can be decoded by itself


def read_rows(table: Table) -> Rows:
    """Read a table in batches.

    table (Table): what is read, and which of its columns.
    YIELDS (Batch): the rows, in the order of the source.
    RAISES: ConfigError or InputError: no such file (D175), a broken row (D176), wrong encoding (D177, D187), a missing
        column (D174), a database that cannot be read (D178, D179), a package that is not there (D182), no rows (D180).
    """
    source = table.source
    count = 0
    for batch in _read_files(table) if source.path else read_database(table):
        count += len(batch.rows)
        yield batch
    if not count and not source.may_be_empty:
        raise InputError(Errors.D180.format(source=source.name))


def _read_files(table: Table) -> Rows:
    """Read the file of a source, or all that its pattern names, in order."""
    source = table.source
    paths = sorted(map(Path, glob.glob(str(source.path)))) or [source.path or Path()]
    for path in paths:
        name = path.name.removesuffix(".gz")
        suffix = Path(name).suffix.lower()
        if not path.is_file():
            raise failed(source, f"no such file: {path.name}")
        if suffix == ".parquet":
            yield from _read_parquet(table, path)
        elif suffix in _CSV:
            yield from _read_csv(table, path, source.delimiter or _CSV[suffix])
        else:
            raise failed(source, f"{path.name} is neither a .csv, .csv.gz, .tsv nor a .parquet file")


def _read_csv(table: Table, path: Path, delimiter: str) -> Rows:
    """Read a CSV file. A row with other columns than the header is an error: its values may be in the wrong place."""
    source = table.source
    csv.field_size_limit(_CELL)
    reader = csv.reader(_decode(source, path), delimiter=delimiter, strict=True)
    rows: list[Cells] = []
    first = 2
    try:
        header = [name.strip() for name in next(reader, [])]
        places = find_places(table, header, named=False)
        for cells in reader:
            if len(cells) != len(header):
                if not cells:
                    continue
                reason = f"{len(cells)} columns where the header has {len(header)}"
                raise InputError(_row_message(source, path, reader.line_num, reason))
            rows.append([cells[place] for place in places])
            if len(rows) == BATCH:
                yield Batch(path.name, first, rows)
                rows, first = [], reader.line_num + 1
    except csv.Error:
        reason = "not CSV: a quote is missing, or a character does not belong"
        raise InputError(_row_message(source, path, reader.line_num, reason)) from None
    if rows:
        yield Batch(path.name, first, rows)


def _row_message(source: Source, path: Path, row: int, reason: str) -> str:
    """What is wrong with a row."""
    return Errors.D176.format(source=source.name, file=path.name, row=row, reason=reason)


def _decode(source: Source, path: Path) -> Iterator[str]:
    """Decode a file line by line, so that what is not of the encoding can be told by its row."""
    encoding = _check_encoding(source)
    row = 0
    try:
        with _open(path) as file:
            _check_utf8(source, path, encoding, file)
            if encoding.startswith(_BY_UNIT):
                with io.TextIOWrapper(file, encoding=encoding, newline="") as lines:
                    for line in lines:
                        row += 1
                        yield line
                return
            for data in file:
                row += 1
                yield data.decode("utf-8-sig" if encoding == "utf-8" and row == 1 else encoding)
    except UnicodeError:
        row += encoding.startswith(_BY_UNIT)
        raise InputError(Errors.D177.format(source=source.name, file=path.name, row=row, encoding=encoding)) from None
    except OSError as error:
        raise failed(source, f"{path.name}: {_system_reason(error)}") from None
    except EOFError:
        raise failed(source, f"{path.name}: not a whole .gz file") from None


def _open(path: Path) -> IO[bytes]:
    """Open a file, packed or not."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _check_encoding(source: Source) -> str:
    """The encoding in Python's spelling."""
    try:
        return codecs.lookup(source.encoding).name.replace("utf-8-sig", "utf-8")
    except LookupError:
        raise failed(source, f"unknown text encoding '{ascii(source.encoding)[1:-1]}'") from None


def _check_utf8(source: Source, path: Path, encoding: str, file: IO[bytes]) -> None:
    """Refuse UTF-8 that would be read as something else: "García" would become "GarcÃ­a" and match nothing."""
    if encoding.startswith("utf"):
        return
    head = file.read(_SNIFFED)
    file.seek(0)
    try:
        utf8 = not head.isascii() and bool(codecs.getincrementaldecoder("utf-8")().decode(head))
    except UnicodeDecodeError:
        utf8 = False
    if utf8:
        raise InputError(Errors.D187.format(source=source.name, file=path.name, encoding=source.encoding))


def _read_parquet(table: Table, path: Path) -> Rows:
    """Read a Parquet file by batches of the columns that are wanted."""
    source = table.source
    parquet = import_package(source, "pyarrow.parquet", "pyarrow")
    first = 1
    try:
        with parquet.ParquetFile(path) as file:
            header = file.schema_arrow.names
            wanted = [header[place] for place in find_places(table, header)]
            for batch in file.iter_batches(batch_size=BATCH, columns=list(dict.fromkeys(wanted))):
                columns = [batch.column(name).to_pylist() for name in wanted]
                yield Batch(path.name, first, list(zip(*columns, strict=True)))
                first += batch.num_rows
    except DeidError:
        raise
    except OSError as error:
        raise failed(source, f"{path.name}: {_system_reason(error)}") from None
    except Exception as error:  # pyarrow's own errors, whose messages may hold values
        raise failed(source, f"{path.name}: not a Parquet file that can be read ({type(error).__name__})") from None


def _system_reason(error: OSError) -> str:
    """The system's message without a path."""
    return os.strerror(error.errno) if error.errno else "cannot be read"
