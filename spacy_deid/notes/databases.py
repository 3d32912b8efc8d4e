"""Tables of notes in databases: any that SQLAlchemy speaks to, and DuckDB files by their own library.

Only column names and the keys of wanted notes go to the database. What it answers to a broken statement is withheld,
because it quotes the statement with the keys in it, or a value that does not fit.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..errors import Errors, InputError
from .source import Columns, Key

_BATCH = 10_000  # rows that are fetched at once
_KEYS = 500  # keys in a statement: SQLite takes 999 values


def lacks_file(url: Any) -> bool:
    """Whether an address is of a SQLite file that is not there. SQLite would make an empty one.

    url (sqlalchemy.URL): the address.
    RETURNS (bool): whether there is no such file; False for databases in memory and for "file:" addresses with a mode.
    """
    name = url.database or ":memory:"
    if url.get_backend_name() != "sqlite" or name == ":memory:":
        return False
    if name.startswith("file:"):
        return "mode" not in url.query and not Path(name.removeprefix("file:").partition("?")[0]).is_file()
    return not Path(name).is_file()


class _Connector(Protocol):
    """What differs between libraries."""

    name: str

    def quote(self, name: str) -> str:
        """Write a name so that it is one, whatever is in it."""

    def marks(self, count: int) -> str:
        """Write the places of values."""

    def head(self, statement: str) -> list[str]:
        """The columns that a statement gives."""

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement gives, fetched in pieces. Values stand as `marks` in it."""

    def close(self) -> None:
        """Hang up."""


class SqlConnector:
    """A connection by SQLAlchemy, read only where the database can.

    url (str): as SQLAlchemy takes it.
    name (str): what errors call it; without it the URL less user and password.
    RAISES: InputError if SQLAlchemy or a driver is missing (D749) or there is no connection (D748).
    """

    def __init__(self, url: str, name: str = "") -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise InputError(Errors.D749.format(package="SQLAlchemy", source=name or "a database")) from None
        try:
            made = sqlalchemy.make_url(url)
        except Exception:
            raise InputError(Errors.D740.format(source="the database URL", reason="not a URL")) from None
        self.name = name or f"{made.get_backend_name()}://{made.host or ''}/{made.database or ''}"
        self._text = sqlalchemy.text
        if lacks_file(made):
            raise InputError(Errors.D740.format(source=self.name, reason="no such file"))
        try:
            self._engine = sqlalchemy.create_engine(made)
            self._connection = self._engine.connect().execution_options(**self._options(made.get_backend_name()))
        except ImportError as error:
            raise InputError(Errors.D749.format(package=error.name or "its driver", source=self.name)) from None
        except Exception as error:
            raise self._withheld(error) from None

    @staticmethod
    def _options(backend: str) -> dict[str, Any]:
        """One state of the database for all passes, where it can be had."""
        options: dict[str, Any] = {"stream_results": True, "max_row_buffer": _BATCH}
        if backend == "postgresql":
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return options

    def quote(self, name: str) -> str:
        """See `_Connector`."""
        quoted = str(self._engine.dialect.identifier_preparer.quote_identifier(name))
        return quoted.replace(":", "\\:")  # SQLAlchemy takes a colon in a statement for a value

    def marks(self, count: int) -> str:
        """See `_Connector`."""
        return ", ".join(f":k{i}" for i in range(count))

    def head(self, statement: str) -> list[str]:
        """See `_Connector`."""
        try:
            with self._connection.execute(self._text(statement)) as found:
                return list(found.keys())
        except Exception as error:
            raise self._withheld(error) from None

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """See `_Connector`."""
        try:
            given = {f"k{i}": value for i, value in enumerate(values)}
            with self._connection.execute(self._text(statement), given) as found:
                for rows in found.partitions(_BATCH):
                    yield from map(tuple, rows)
        except Exception as error:
            raise self._withheld(error) from None

    def _withheld(self, error: Exception) -> InputError:
        """The kind of an error without what it says."""
        kind = type(getattr(error, "orig", None) or error).__name__
        return InputError(Errors.D748.format(source=self.name, kind=kind))

    def close(self) -> None:
        """See `_Connector`."""
        self._connection.close()
        self._engine.dispose()


class DuckConnector:
    """A connection to a DuckDB file, read only.

    path (Path): the file.
    RAISES: InputError if duckdb is missing (D749) or there is no connection (D748).
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
        """See `_Connector`."""
        return '"' + name.replace('"', '""') + '"'

    def marks(self, count: int) -> str:
        """See `_Connector`."""
        return ", ".join("?" * count)

    def head(self, statement: str) -> list[str]:
        """See `_Connector`."""
        try:
            return [column[0] for column in self._connection.execute(statement).description or []]
        except Exception as error:
            raise InputError(Errors.D748.format(source=self.name, kind=type(error).__name__)) from None

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """See `_Connector`."""
        try:
            cursor = self._connection.cursor().execute(statement, list(values) or None)
            while rows := cursor.fetchmany(_BATCH):
                yield from rows
        except Exception as error:
            raise InputError(Errors.D748.format(source=self.name, kind=type(error).__name__)) from None

    def close(self) -> None:
        """See `_Connector`."""
        self._connection.close()


class SqlSource:
    """A table or view of a database.

    connector (_Connector): the connection.
    table (str): "table" or "schema.table".
    RAISES: InputError (D748) if there is no such table.
    """

    def __init__(self, connector: _Connector, table: str) -> None:
        self._connector = connector
        self.name = f"{connector.name}, table {table}"
        self._table = ".".join(map(connector.quote, table.split(".")))
        self.columns: Sequence[str] = connector.head(f"SELECT * FROM {self._table} WHERE 1 = 0")

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """See `NoteSource.scan`."""
        return self._connector.stream(f"SELECT {', '.join(map(self._connector.quote, columns))} FROM {self._table}")

    def texts(self, keys: Sequence[Key], columns: Columns) -> Iterator[tuple[int, Any]]:
        """See `NoteSource.texts`. An id that stands twice by now is given twice."""
        if not columns.note_id:
            raise InputError(Errors.D740.format(source=self.name, reason="a database needs a column of note ids"))
        ident, text = self._connector.quote(columns.note_id), self._connector.quote(columns.text)
        for first in range(0, len(keys), _KEYS):
            part = keys[first : first + _KEYS]
            rows = {key.note_id: key.row for key in part}
            statement = (
                f"SELECT {ident}, {text} FROM {self._table} WHERE {ident} IN ({self._connector.marks(len(part))})"
            )
            for note_id, value in self._connector.stream(statement, [key.note_id for key in part]):
                if note_id in rows:  # a database that does not tell "a" from "A" gives more than was asked for
                    yield rows[note_id], value

    def close(self) -> None:
        """See `NoteSource.close`."""
        self._connector.close()
