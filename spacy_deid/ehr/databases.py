"""Rows of tables and queries of databases, through SQLAlchemy, and of DuckDB files.

The messages of databases are withheld: they quote the statement, the address with its password, and rows.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..errors import DeidError, Errors, InputError
from ..notes.sql import lacks_file
from .batches import BATCH, Batch, Rows, failed, find_places, import_package
from .mapping import Source, Table

__all__ = ["read_database"]


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
