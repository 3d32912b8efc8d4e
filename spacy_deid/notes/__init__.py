"""Read tables of notes: CSV, JSONL and Parquet files, folders of text files, and SQL databases.

The readers are our own rather than DuckDB's: DuckDB needs an extension from the network to read Windows code pages and
SQLite, its messages quote the row that is broken, and its dialect detection accepts files that should be refused.
"""

import os
from pathlib import Path

from ..errors import Errors, InputError
from .databases import DuckConnector, SqlConnector, SqlSource
from .files import CsvSource, JsonlSource, ParquetSource
from .source import NoteSource

_SQLITE = {".db", ".sqlite", ".sqlite3"}
_DUCKDB = {".duckdb", ".ddb"}
_FILES = {".csv", ".jsonl", ".parquet"}


def open_source(where: str, *, table: str = "", query: str = "", encoding: str = "utf-8") -> NoteSource:
    """Open a table of notes.

    where (str): the location of the table: a .csv, .jsonl or .parquet file, or a folder of files of one of these
        types; a .duckdb, .db or .sqlite file; a database URL in SQLAlchemy's syntax; or "env:NAME" to read any of
        these from an environment variable, which keeps a password off the command line.
    table (str): "table" or "schema.table"; required for databases, unless there is a query.
    query (str): a SELECT statement to read instead of a table of a database.
    encoding (str): encoding of CSV and JSONL files.
    RETURNS (NoteSource): the opened table; close it with `close`.
    RAISES: InputError if the location is not a supported source or cannot be read (D740), the database returns an
        error (D748), or a package is not installed (D749).
    """
    if where.startswith("env:"):
        where = _variable(where)
    if "://" in where:
        return _with_table(SqlConnector(where), table, query)
    path = Path(where)
    if path.suffix.lower() in _SQLITE | _DUCKDB:
        if not path.is_file():
            raise InputError(Errors.D740.format(source=path, reason="file not found"))
        if path.suffix.lower() in _DUCKDB:
            return _with_table(DuckConnector(path), table, query)
        return _with_table(SqlConnector(f"sqlite:///file:{path.resolve()}?mode=ro&uri=true", str(path)), table, query)
    files, suffix = _find(path)
    if suffix == ".parquet":
        return ParquetSource(path, files)
    return (CsvSource if suffix == ".csv" else JsonlSource)(path, files, encoding)


def _variable(where: str) -> str:
    """Return the value of the environment variable in "env:NAME". RAISES: InputError (D740) if it is not set."""
    value = os.environ.get(where.removeprefix("env:"), "")
    if not value:
        raise InputError(Errors.D740.format(source=where, reason="the environment variable is not set"))
    return value


def _with_table(connector: SqlConnector | DuckConnector, table: str, query: str) -> NoteSource:
    """Return the source for a table or query of a database. The connection is closed if that fails."""
    if not table and not query:
        connector.close()
        raise InputError(
            Errors.D740.format(source=connector.name, reason="the name of a table is required for a database")
        )
    if isinstance(connector, SqlConnector):
        query = query.replace(":", "\\:")  # SQLAlchemy interprets a colon as a bound parameter
    try:
        return SqlSource(connector, table, query)
    except BaseException:
        connector.close()
        raise


def _find(path: Path) -> tuple[list[Path], str]:
    """Return the files of a table, sorted by name, and their common suffix.

    RAISES: InputError (D740) if the path does not exist, a file has an unsupported type, or a folder does not contain
        .csv, .jsonl or .parquet files of one type.
    """
    if path.is_dir():
        files = sorted(f for f in path.iterdir() if f.suffix.lower() in _FILES and not f.name.startswith("."))
        if len({file.suffix.lower() for file in files}) != 1:
            reason = "the folder must contain .csv, .jsonl or .parquet files, all of one type"
            raise InputError(Errors.D740.format(source=path, reason=reason))
        return files, files[0].suffix.lower()
    if not path.is_file():
        raise InputError(Errors.D740.format(source=path, reason="file or folder not found"))
    if path.suffix.lower() not in _FILES:
        reason = "unsupported source. Use a .csv, .jsonl, .parquet, .duckdb, .db or .sqlite file, or a database URL"
        raise InputError(Errors.D740.format(source=path, reason=reason))
    return [path], path.suffix.lower()
