"""The database of jobs: its tables, and how they are read and changed."""

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = ["Database"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
    id TEXT PRIMARY KEY, created REAL NOT NULL, settings BLOB NOT NULL, started INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS file (
    id TEXT PRIMARY KEY, job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE, position INTEGER NOT NULL,
    name BLOB NOT NULL, size INTEGER NOT NULL, state TEXT NOT NULL, task TEXT, claimed REAL,
    worker INTEGER, attempts INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
    about TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS file_of_job ON file (job, position);
CREATE INDEX IF NOT EXISTS file_with_task ON file (task) WHERE task IS NOT NULL;
CREATE TABLE IF NOT EXISTS decision (
    made REAL NOT NULL, job TEXT NOT NULL, file TEXT NOT NULL, action TEXT NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, label TEXT NOT NULL
)
"""


class Database:
    """An SQLite database that several threads and processes use. Connections are cheap, and none is shared.

    path (Path): the file; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # held open: whoever closes the last connection would write all changes from their log into the database
        keeper = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, keeper.close)
        keeper.execute("PRAGMA journal_mode = WAL")
        keeper.execute("SELECT * FROM sqlite_master").fetchall()
        with self.change() as database:
            for statement in SCHEMA.split(";"):
                database.execute(statement)
            if "worker" not in {column["name"] for column in database.execute("PRAGMA table_info(file)")}:
                database.execute(
                    "ALTER TABLE file ADD COLUMN worker INTEGER"
                )  # of a service before there were several

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection that only reads."""
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as database:
            database.row_factory = sqlite3.Row
            yield database

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it happens, or nothing. What is deleted is overwritten in the file."""
        with self.read() as database:
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("PRAGMA secure_delete = ON")
            database.execute("PRAGMA synchronous = NORMAL")  # a loss of power may undo the last changes, never damage
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def forget(self) -> None:
        """Empty the log of changes, which still holds rows that were deleted."""
        with self.read() as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
