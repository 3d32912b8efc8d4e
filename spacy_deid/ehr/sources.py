"""Read rows of CSV and Parquet files and of databases, in batches that fit into memory.

Error messages name the source, file, row and column, never a value. The messages of databases are not passed on: they
quote the statement, the URL with its password, and rows.
"""

import codecs
import csv
import glob
import gzip
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..errors import DeidError, Errors, InputError
from ..notes.databases import is_missing_sqlite_file
from .mapping import Source, Table

BATCH = 5_000
"""Rows per batch."""

Cells = Sequence[Any]


class Batch(NamedTuple):
    """Up to `BATCH` consecutive rows of a table, with the position at which they were read.

    file (str): name of the file, for error messages; "" for a database.
    first (int): number of the first row in the source, from 1. In a CSV file the header is row 1.
    rows (Sequence): for each row its cells, in the order of `Table.wanted`.
    """

    file: str
    first: int
    rows: Sequence[Cells]

    def __repr__(self) -> str:
        """Show the file and the row numbers without the cells."""
        return f"Batch({self.file!r}, first={self.first}, rows={len(self.rows)})"


Rows = Iterator[Batch]


def find_columns(table: Table, header: list[str], *, named: bool = True) -> list[int]:
    """Find the positions of a table's columns in its source. A name that is not found is compared ignoring case.

    table (Table): the table, whose `wanted` columns are searched for.
    header (list[str]): the names of the columns in the source.
    named (bool): whether `header` is known to contain column names. False for a CSV file, whose first line could be a
        patient if the header is missing; the error message then does not quote it.
    RETURNS (list[int]): index in `header` of each wanted column.
    RAISES: InputError (D174) if wanted columns are not in the header, or match several names that differ in case only.
    """
    lower = [name.lower() for name in header]
    places, missing = [], []
    for name in table.wanted:
        known, wanted = (header, name) if name in header else (lower, name.lower())
        if known.count(wanted) == 1:
            places.append(known.index(wanted))
        else:
            missing.append(f"'{name}'")
    if missing:
        known_columns = ", ".join(header) if named else f"{len(header)}; is its first line a header?"
        values = {"table": table.name, "source": table.source.name, "missing": ", ".join(missing)}
        raise InputError(Errors.D174.format(**values, known=known_columns))
    return places


def import_package(source: Source, module: str, package: str) -> Any:
    """Import an optional package that is needed to read a source.

    source (Source): the source, for the error message.
    module (str): name of the module to import.
    package (str): name of the distribution to install, for the error message.
    RETURNS (Any): the module.
    RAISES: InputError (D182) if the package is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise InputError(Errors.D182.format(what=f"source '{source.name}'", package=package)) from None


def source_error(source: Source, reason: str) -> InputError:
    """Make the error for a source that cannot be read.

    source (Source): the source.
    reason (str): the reason, which must not contain a value of the source.
    RETURNS (InputError): the error (D175), to be raised by the caller.
    """
    return InputError(Errors.D175.format(source=source.name, reason=reason))


def read_database(table: Table) -> Rows:
    """Read a table or the result of a query from a database, in batches.

    table (Table): the table; its source names the environment variable with the URL of the database.
    YIELDS (Batch): the rows, in the order of the database.
    RAISES: InputError if a column is missing (D174), a database file does not exist (D175), the environment variable
        is not set (D178), the database reports an error (D179), or a package is not installed (D182).
    """
    source = table.source
    url = os.environ.get(source.url_env, "")
    if not url:
        raise InputError(Errors.D178.format(source=source.name, variable=source.url_env))
    if url.startswith("duckdb:"):
        yield from _read_duckdb(table, url.removeprefix("duckdb:").removeprefix("///"))
        return
    sql = import_package(source, "sqlalchemy", "sqlalchemy")
    with _withheld(source):
        engine = sql.create_engine(url)
    if is_missing_sqlite_file(engine.url):
        raise source_error(source, f"the SQLite file in {source.url_env} does not exist")
    # Without streaming, psycopg would fetch the whole result.
    options = {"stream_results": True, "max_row_buffer": BATCH}
    options |= {"postgresql_readonly": True} if engine.dialect.name == "postgresql" else {}
    try:
        with (
            _withheld(source),
            engine.connect().execution_options(**options) as connection,
            closing(connection.execute(_statement(sql, table, connection))) as result,
        ):
            yield from _batches(table, list(result.keys()), lambda: result.fetchmany(BATCH))
    finally:
        engine.dispose()


def _statement(sql: Any, table: Table, connection: Any) -> Any:
    """Return the configured query, or a query for the wanted columns of a table."""
    source = table.source
    if source.query:
        return sql.text(source.query)
    schema, _, name = source.table.rpartition(".")
    target = sql.table(name, schema=schema or None)
    with closing(connection.execute(sql.select(sql.text("*")).select_from(target).limit(0))) as nothing:
        header = list(nothing.keys())
    wanted = dict.fromkeys(header[place] for place in find_columns(table, header))
    return sql.select(*(sql.column(column) for column in wanted)).select_from(target)


def _read_duckdb(table: Table, path: str) -> Rows:
    """Read a DuckDB file."""
    source = table.source
    duckdb = import_package(source, "duckdb", "duckdb")
    if not Path(path).is_file():
        raise source_error(source, "the DuckDB file does not exist")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in source.table.split("."))
    with _withheld(source), closing(duckdb.connect(path, read_only=True)) as connection:
        result = connection.execute(source.query or f"SELECT * FROM {quoted}")
        header = [column[0] for column in result.description]
        yield from _batches(table, header, lambda: result.fetchmany(BATCH))


def _batches(table: Table, header: list[str], fetch: Any) -> Rows:
    """Yield the wanted columns of a result in batches."""
    places = find_columns(table, header)
    first = 1
    while rows := fetch():
        yield Batch("", first, [[row[place] for place in places] for row in rows])
        first += len(rows)


@contextmanager
def _withheld(source: Source) -> Iterator[None]:
    """Replace a database error by one that names only the type of the exception."""
    try:
        yield
    except (DeidError, GeneratorExit, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:  # the driver in the URL is not installed
        wrong = Errors.D182.format(what=f"source '{source.name}'", package=error.name)
    except Exception as error:
        wrong = Errors.D179.format(source=source.name, kind=type(error).__name__)
    else:
        return
    # Raised outside the handler, so that the message is not kept as the context of this error.
    raise InputError(wrong)


_SNIFFED = 1 << 20  # bytes at the start of a file to check its encoding
_MAX_CELL = 1 << 20  # maximal characters of a cell; a longer one means an unclosed quote
_CSV = {".csv": ",", ".tsv": "\t", ".txt": ","}
_BY_UNIT = ("utf-16", "utf-32")  # encodings whose lines cannot be decoded separately


def read_rows(table: Table) -> Rows:
    """Read the wanted columns of a table from its file or database, in batches.

    table (Table): the table.
    YIELDS (Batch): the rows, in the order of the source.
    RAISES: ConfigError or InputError: file not found (D175), invalid row (D176), wrong encoding (D177, D187), missing
        column (D174), database error (D178, D179), package not installed (D182), no rows (D180).
    """
    source = table.source
    count = 0
    for batch in _read_files(table) if source.path else read_database(table):
        count += len(batch.rows)
        yield batch
    if not count and not source.may_be_empty:
        raise InputError(Errors.D180.format(source=source.name))


def _read_files(table: Table) -> Rows:
    """Read the file of a source, or all files that match its pattern, in order."""
    source = table.source
    paths = sorted(map(Path, glob.glob(str(source.path)))) or [source.path or Path()]
    for path in paths:
        name = path.name.removesuffix(".gz")
        suffix = Path(name).suffix.lower()
        if not path.is_file():
            raise source_error(source, f"file not found: {path.name}")
        if suffix == ".parquet":
            yield from _read_parquet(table, path)
        elif suffix in _CSV:
            yield from _read_csv(table, path, source.delimiter or _CSV[suffix])
        else:
            raise source_error(source, f"{path.name}: unsupported file type. Use .csv, .csv.gz, .tsv or .parquet")


def _read_csv(table: Table, path: Path, delimiter: str) -> Rows:
    """Read a CSV file. A row with a different number of cells than the header is an error, because its cells may be
    shifted.
    """
    source = table.source
    csv.field_size_limit(_MAX_CELL)
    reader = csv.reader(_decode(source, path), delimiter=delimiter, strict=True)
    rows: list[Cells] = []
    first = 2
    try:
        header = [name.strip() for name in next(reader, [])]
        places = find_columns(table, header, named=False)
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
        reason = "invalid CSV: a quote is missing or misplaced"
        raise InputError(_row_message(source, path, reader.line_num, reason)) from None
    if rows:
        yield Batch(path.name, first, rows)


def _row_message(source: Source, path: Path, row: int, reason: str) -> str:
    """Return the error message (D176) for an invalid row."""
    return Errors.D176.format(source=source.name, file=path.name, row=row, reason=reason)


def _decode(source: Source, path: Path) -> Iterator[str]:
    """Yield the decoded lines of a file. They are decoded one by one, so that a decoding error can name the row."""
    encoding = _check_encoding(source)
    row = 0
    try:
        with _open_file(path) as file:
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
        raise source_error(source, f"{path.name}: {_system_reason(error)}") from None
    except EOFError:
        raise source_error(source, f"{path.name}: incomplete .gz file") from None


def _open_file(path: Path) -> IO[bytes]:
    """Open a file, decompressing it if it ends in .gz."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _check_encoding(source: Source) -> str:
    """Return Python's name of the source's encoding."""
    try:
        return codecs.lookup(source.encoding).name.replace("utf-8-sig", "utf-8")
    except LookupError:
        raise source_error(source, f"unknown text encoding '{ascii(source.encoding)[1:-1]}'") from None


def _check_utf8(source: Source, path: Path, encoding: str, file: IO[bytes]) -> None:
    """Refuse a UTF-8 file that is declared as something else: "García" would become "GarcÃ­a" and never match."""
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
    """Read the wanted columns of a Parquet file in batches."""
    source = table.source
    parquet = import_package(source, "pyarrow.parquet", "pyarrow")
    first = 1
    try:
        with parquet.ParquetFile(path) as file:
            header = file.schema_arrow.names
            wanted = [header[place] for place in find_columns(table, header)]
            for batch in file.iter_batches(batch_size=BATCH, columns=list(dict.fromkeys(wanted))):
                columns = [batch.column(name).to_pylist() for name in wanted]
                yield Batch(path.name, first, list(zip(*columns, strict=True)))
                first += batch.num_rows
    except DeidError:
        raise
    except OSError as error:
        raise source_error(source, f"{path.name}: {_system_reason(error)}") from None
    except Exception as error:  # pyarrow's errors, whose messages may contain values
        raise source_error(
            source, f"{path.name}: not a Parquet file that can be read ({type(error).__name__})"
        ) from None


def _system_reason(error: OSError) -> str:
    """The operating system's message without the path."""
    return os.strerror(error.errno) if error.errno else "cannot be read"
