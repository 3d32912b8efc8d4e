"""Read tables of notes from databases: through SQLAlchemy from servers and SQLite files, through duckdb from DuckDB
files.

Statements contain only names of tables and columns, the user's query, and the ids of requested notes as parameters.
Errors give the type of a database error but not its message, which quotes the statement with the ids, or values.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..errors import Errors, InputError
from .source import Columns, NoteKey

_BATCH = 10_000  # rows per fetch
_KEYS = 500  # keys per statement; SQLite allows 999 values


def is_missing_sqlite_file(url: Any) -> bool:
    """Check whether a URL names a SQLite file that does not exist. On connection, SQLite would create an empty one.

    url (sqlalchemy.URL): the parsed URL of a database.
    RETURNS (bool): True if the file does not exist; False for other databases, databases in memory, and "file:" URLs
        with a mode, such as "mode=ro".
    """
    name = url.database or ":memory:"
    if url.get_backend_name() != "sqlite" or name == ":memory:":
        return False
    if name.startswith("file:"):
        return "mode" not in url.query and not Path(name.removeprefix("file:").partition("?")[0]).is_file()
    return not Path(name).is_file()


class _Connector(Protocol):
    """The interface that `SqlSource` needs of a connection; SQLAlchemy and duckdb differ in these operations.

    name (str): name of the source in error messages.
    """

    name: str

    def quote(self, name: str) -> str:
        """Return the name of a table or column, quoted for a statement."""

    def marks(self, count: int) -> str:
        """Return the placeholders for a number of values, separated by commas."""

    def head(self, statement: str) -> list[str]:
        """Return the names of the columns of a query."""

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, fetched in batches. The values replace the placeholders of `marks`."""

    def close(self) -> None:
        """Close the connection."""


class SqlConnector:
    """A connection to a database through SQLAlchemy. It is set to read-only on PostgreSQL.

    url (str): URL in SQLAlchemy's syntax.
    name (str): name of the source in errors; "" for the URL without user and password.
    RAISES: InputError if SQLAlchemy or the driver is not installed (D749), the URL is invalid or its SQLite file does
        not exist (D740), or the connection fails (D748).
    """

    def __init__(self, url: str, name: str = "") -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise InputError(Errors.D749.format(package="SQLAlchemy", source=name or "a database")) from None
        try:
            made = sqlalchemy.make_url(url)
        except Exception:
            raise InputError(Errors.D740.format(source="the database URL", reason="invalid URL")) from None
        self.name = name or f"{made.get_backend_name()}://{made.host or ''}/{made.database or ''}"
        self._text = sqlalchemy.text
        if is_missing_sqlite_file(made):
            raise InputError(Errors.D740.format(source=self.name, reason="file not found"))
        try:
            self._engine = sqlalchemy.create_engine(made)
            self._connection = self._engine.connect().execution_options(**self._options(made.get_backend_name()))
        except ImportError as error:
            raise InputError(Errors.D749.format(package=error.name or "its driver", source=self.name)) from None
        except Exception as error:
            raise self._withheld(error) from None

    @staticmethod
    def _options(backend: str) -> dict[str, Any]:
        """Return connection options: results are streamed; on PostgreSQL, all queries read the same snapshot."""
        options: dict[str, Any] = {"stream_results": True, "max_row_buffer": _BATCH}
        if backend == "postgresql":
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return options

    def quote(self, name: str) -> str:
        """Quote the name of a table or column for a statement; see `_Connector`."""
        quoted = str(self._engine.dialect.identifier_preparer.quote_identifier(name))
        return quoted.replace(":", "\\:")  # SQLAlchemy interprets a colon as a bound parameter

    def marks(self, count: int) -> str:
        """Return placeholders for a number of values; see `_Connector`."""
        return ", ".join(f":k{i}" for i in range(count))

    def head(self, statement: str) -> list[str]:
        """Return the column names of the result of a statement; see `_Connector`."""
        try:
            with self._connection.execute(self._text(statement)) as found:
                return list(found.keys())
        except Exception as error:
            raise self._withheld(error) from None

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the result of a statement without loading all of them; see `_Connector`."""
        try:
            given = {f"k{i}": value for i, value in enumerate(values)}
            with self._connection.execute(self._text(statement), given) as found:
                for rows in found.partitions(_BATCH):
                    yield from map(tuple, rows)
        except Exception as error:
            raise self._withheld(error) from None

    def _withheld(self, error: Exception) -> InputError:
        """Return an error (D748) that names the type of a database error but not its message."""
        kind = type(getattr(error, "orig", None) or error).__name__
        return InputError(Errors.D748.format(source=self.name, kind=kind))

    def close(self) -> None:
        """Close the connection; see `_Connector`."""
        self._connection.close()
        self._engine.dispose()


class DuckConnector:
    """A read-only connection to a DuckDB file.

    path (Path): the DuckDB file.
    RAISES: InputError if duckdb is not installed (D749) or the file cannot be opened (D748).
    """

    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise InputError(Errors.D749.format(package="duckdb", source=path)) from None
        self.name = str(path)
        try:
            self._connection = duckdb.connect(str(path), read_only=True)
        except Exception as error:
            raise InputError(Errors.D748.format(source=path, kind=type(error).__name__)) from None

    def quote(self, name: str) -> str:
        """Quote the name of a table or column for a statement; see `_Connector`."""
        return '"' + name.replace('"', '""') + '"'

    def marks(self, count: int) -> str:
        """Return placeholders for a number of values; see `_Connector`."""
        return ", ".join("?" * count)

    def head(self, statement: str) -> list[str]:
        """Return the column names of the result of a statement; see `_Connector`."""
        try:
            return [column[0] for column in self._connection.execute(statement).description or []]
        except Exception as error:
            raise InputError(Errors.D748.format(source=self.name, kind=type(error).__name__)) from None

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the result of a statement without loading all of them; see `_Connector`."""
        try:
            cursor = self._connection.cursor().execute(statement, list(values) or None)
            while rows := cursor.fetchmany(_BATCH):
                yield from rows
        except Exception as error:
            raise InputError(Errors.D748.format(source=self.name, kind=type(error).__name__)) from None

    def close(self) -> None:
        """Close the connection; see `_Connector`."""
        self._connection.close()


class SqlSource:
    """A table of notes in a database: a table, a view or the result of a query.

    connector (_Connector): the connection; `close` closes it.
    table (str): "table" or "schema.table"; ignored if there is a query.
    query (str): a SELECT statement to read instead of a table; "" to read the table.
    RAISES: InputError (D748) if the table does not exist or the query is invalid.
    """

    def __init__(self, connector: _Connector, table: str, query: str = "") -> None:
        self._connector = connector
        self.name = f"{connector.name}, " + ("query" if query else f"table {table}")
        self._table = f"({query}) AS notes" if query else ".".join(map(connector.quote, table.split(".")))
        self.columns: Sequence[str] = connector.head(f"SELECT * FROM {self._table} WHERE 1 = 0")

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the values of the given columns for every note, without its text; see `NoteSource.scan`."""
        return self._connector.stream(f"SELECT {', '.join(map(self._connector.quote, columns))} FROM {self._table}")

    def cut(self, column: str, size: int) -> Iterator[Any]:
        """Divide the table into ranges of ids, so that `scan_range` can read one part after the other.

        column (str): column with ids, which are sorted by the database. Rows without an id are in no range.
        size (int): minimum number of rows per range, except for the last. Rows with the same id are in one range.
        YIELDS (Any): the last id of each range, in ascending order.
        """
        name = self._connector.quote(column)
        statement = f"SELECT {name} FROM {self._table} WHERE {name} IS NOT NULL ORDER BY {name}"
        count, last = 0, None
        for (value,) in self._connector.stream(statement):
            if count >= size and value != last:
                yield last
                count = 0
            count, last = count + 1, value
        if count:
            yield last

    def scan_range(self, columns: Sequence[str], column: str, low: Any, high: Any) -> Iterator[tuple[Any, ...]]:
        """Read the rows of one range of ids, in ascending order of the ids.

        columns (Sequence[str]): the columns to read.
        column (str): column with the ids.
        low (Any): the range begins with the first id after this one; None to begin with the first id of the table.
        high (Any): the last id of the range; None to read the rows without an id instead of a range.
        YIELDS (tuple): the values of the columns for a row.
        """
        name = self._connector.quote(column)
        values = [value for value in (low, high) if value is not None] if high is not None else []
        marks = self._connector.marks(len(values)).split(", ")
        tests = [f"{name} {test} {mark}" for test, mark in zip(("> ", "<= ")[-len(values) :], marks, strict=False)]
        where = " AND ".join(tests) if values else f"{name} IS NULL"
        selected = ", ".join(map(self._connector.quote, columns))
        statement = f"SELECT {selected} FROM {self._table} WHERE {where} ORDER BY {name}"
        return self._connector.stream(statement, values)

    def texts(self, keys: Sequence[NoteKey], columns: Columns) -> Iterator[tuple[int, Any]]:
        """Yield the number of a key and the text of its note; see `NoteSource.texts`. If an id occurs in several rows,
        each of them is yielded.
        """
        if not columns.note_id:
            raise InputError(Errors.D740.format(source=self.name, reason="a database requires a column with note ids"))
        ident, text = self._connector.quote(columns.note_id), self._connector.quote(columns.text)
        for first in range(0, len(keys), _KEYS):
            part = keys[first : first + _KEYS]
            rows = {key.note_id: key.row for key in part}
            statement = (
                f"SELECT {ident}, {text} FROM {self._table} WHERE {ident} IN ({self._connector.marks(len(part))})"
            )
            for note_id, value in self._connector.stream(statement, [key.note_id for key in part]):
                if note_id in rows:  # a case-insensitive database returns other rows as well
                    yield rows[note_id], value

    def close(self) -> None:
        """Close the connection; see `NoteSource.close`."""
        self._connector.close()
