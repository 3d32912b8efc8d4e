"""Rows in batches that fit into memory, and what every reader of them says when something is wrong."""

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
from ..notes.databases import lacks_file
from .mapping import Source, Table

BATCH = 5_000
"""Rows that are read together."""

Cells = Sequence[Any]


class Batch(NamedTuple):
    """Some rows.

    file (str): what an error calls where they are from; "" for a database.
    first (int): number of the first row, from 1; in a CSV file the header's is 1.
    rows (Sequence): cells by row, in the order of the columns that were asked for.
    """

    file: str
    first: int
    rows: Sequence[Cells]

    def __repr__(self) -> str:
        """The place of the rows without their cells."""
        return f"Batch({self.file!r}, first={self.first}, rows={len(self.rows)})"


Rows = Iterator[Batch]


def find_places(table: Table, header: list[str], *, named: bool = True) -> list[int]:
    """Where the wanted columns are: by name, or by name in another case if only one is so called.

    table (Table): the table; its columns are wanted.
    header (list[str]): the columns that are there.
    named (bool): whether the header is certain to hold names. The first line of a file without one holds a patient.
    RETURNS (list[int]): a place for each wanted column.
    RAISES: InputError (D174) if one is missing.
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
    """Import a package that is not needed for anything else.

    source (Source): what needs it.
    module (str): what is imported.
    package (str): what would have to be installed.
    RAISES: InputError (D182) if it is not there.
    """
    try:
        return import_module(module)
    except ImportError:
        raise InputError(Errors.D182.format(what=f"source '{source.name}'", package=package)) from None


def failed(source: Source, reason: str) -> InputError:
    """The error for a source that cannot be read.

    source (Source): the source.
    reason (str): what is wrong, without a value.
    RETURNS (InputError): D175.
    """
    return InputError(Errors.D175.format(source=source.name, reason=reason))


def read_database(table: Table) -> Rows:
    """Read a table or a query of a database.

    table (Table): what is read.
    YIELDS (Batch): the rows.
    RAISES: InputError (D174, D175, D178, D179, D182).
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
    if lacks_file(engine.url):
        raise failed(source, f"no such SQLite file, in {source.url_env}")
    # psycopg fetches a result whole unless it streams; a read-only transaction can do no harm.
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
    """The query as it is given, or one for the wanted columns of a table."""
    source = table.source
    if source.query:
        return sql.text(source.query)
    schema, _, name = source.table.rpartition(".")
    target = sql.table(name, schema=schema or None)
    with closing(connection.execute(sql.select(sql.text("*")).select_from(target).limit(0))) as nothing:
        header = list(nothing.keys())
    wanted = dict.fromkeys(header[place] for place in find_places(table, header))
    return sql.select(*(sql.column(column) for column in wanted)).select_from(target)


def _read_duckdb(table: Table, path: str) -> Rows:
    """Read a DuckDB file."""
    source = table.source
    duckdb = import_package(source, "duckdb", "duckdb")
    if not Path(path).is_file():
        raise failed(source, "no such DuckDB file")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in source.table.split("."))
    with _withheld(source), closing(duckdb.connect(path, read_only=True)) as connection:
        result = connection.execute(source.query or f"SELECT * FROM {quoted}")
        header = [column[0] for column in result.description]
        yield from _batches(table, header, lambda: result.fetchmany(BATCH))


def _batches(table: Table, header: list[str], fetch: Any) -> Rows:
    """Batches of the wanted columns of a result, for as long as it has rows."""
    places = find_places(table, header)
    first = 1
    while rows := fetch():
        yield Batch("", first, [[row[place] for place in places] for row in rows])
        first += len(rows)


@contextmanager
def _withheld(source: Source) -> Iterator[None]:
    """Turn what a database raises into an error that says its kind alone."""
    try:
        yield
    except (DeidError, GeneratorExit, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:  # the driver that the address names
        wrong = Errors.D182.format(what=f"source '{source.name}'", package=error.name)
    except Exception as error:
        wrong = Errors.D179.format(source=source.name, kind=type(error).__name__)
    else:
        return
    # Outside the handler, so that the message does not travel on as a context.
    raise InputError(wrong)


_SNIFFED = 1 << 20  # bytes of a file that are looked at for its encoding
_MAX_CELL = 1 << 20  # characters of a cell; one more is a quote that was never closed
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
    csv.field_size_limit(_MAX_CELL)
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
        raise failed(source, f"{path.name}: {_system_reason(error)}") from None
    except EOFError:
        raise failed(source, f"{path.name}: not a whole .gz file") from None


def _open_file(path: Path) -> IO[bytes]:
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
