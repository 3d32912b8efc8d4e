"""Stores the files of the service, encrypted if there is a key, and its database of jobs.

With a key, files are encrypted in the format of `vault.encryption` (AES-256-GCM) with their place as associated data,
so that a file cannot be replaced by another one. Without a key they are stored unencrypted.
"""

import os
import shutil
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..errors import DeidError, Errors, InputError
from ..io import write_whole
from ..surrogates.keys import ProjectKey
from ..vault.encryption import Cipher, DecryptionError

_PURPOSE = "app files 1"


class StorageError(DeidError):
    """A file could not be written, for example because the disk is full."""


class EncryptedStorage:
    """Writes and reads files, encrypted if there is a key.

    key (Optional[ProjectKey]): the key; None to store files unencrypted.
    """

    def __init__(self, key: ProjectKey | None = None) -> None:
        self._cipher = None if key is None else Cipher(key.derive(_PURPOSE))

    def encrypt(self, data: bytes, place: str) -> bytes:
        """Encrypt bytes.

        data (bytes): the content.
        place (str): name under which the bytes are stored; `decrypt` requires the same name.
        RETURNS (bytes): the ciphertext; without a key, the content itself.
        """
        return data if self._cipher is None else self._cipher.encrypt(data, place.encode())

    def decrypt(self, data: bytes, place: str) -> bytes:
        """Decrypt the result of `encrypt`.

        data (bytes): the ciphertext.
        place (str): name that was given to `encrypt`.
        RETURNS (bytes): the content.
        RAISES: InputError (D903) if the key or the name is wrong, or the bytes were changed.
        """
        if self._cipher is None:
            return data
        try:
            return self._cipher.decrypt(data, place.encode())
        except DecryptionError:
            raise InputError(Errors.D903.format(path="the folder of the service")) from None

    def write(self, path: Path, data: bytes, place: str) -> None:
        """Write a file that only its owner can read. The file is complete or not changed at all.

        path (Path): the file; its folder is created.
        place (str): see `encrypt`.
        RAISES: StorageError (D929) if it cannot be written.
        """
        encrypted = self.encrypt(data, place)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, encrypted)
            os.chmod(path, 0o600)
        except OSError as error:
            raise StorageError(Errors.D929.format(reason=os.strerror(error.errno or 0))) from None
        except InputError as error:  # its message names the path, which clients must not see
            raise StorageError(Errors.D929.format(reason=str(error).removeprefix(f"{path}: "))) from None

    def read(self, path: Path, place: str) -> bytes | None:
        """Read a file that `write` wrote.

        path (Path): the file.
        place (str): see `decrypt`.
        RETURNS (Optional[bytes]): the content; None if the file does not exist.
        RAISES: InputError (D903), see `decrypt`.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        return self.decrypt(data, place)

    def remove(self, folder: Path) -> None:
        """Remove a folder with its files. Errors are ignored."""
        shutil.rmtree(folder, ignore_errors=True)


SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
    id TEXT PRIMARY KEY, created REAL NOT NULL, settings BLOB NOT NULL, started INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT ''
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
);
CREATE TABLE IF NOT EXISTS request (
    key TEXT PRIMARY KEY, digest BLOB NOT NULL, job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS webhook (
    job TEXT PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE, url BLOB NOT NULL, number INTEGER NOT NULL DEFAULT 1,
    attempts INTEGER NOT NULL DEFAULT 0, due REAL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY, at REAL NOT NULL, user TEXT NOT NULL, action TEXT NOT NULL, job TEXT NOT NULL,
    file TEXT NOT NULL, digest TEXT NOT NULL, seal TEXT NOT NULL
)
"""

ADDED = (("file", "worker", "INTEGER"), ("job", "owner", "TEXT NOT NULL DEFAULT ''"))
"""Columns that databases of older versions do not have: table, name, type."""


class Database:
    """A SQLite database that several threads and processes use. Each use opens its own connection.

    path (Path): the file; it is created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # keep one connection open: closing the last one would write the whole log into the database each time
        keeper = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, keeper.close)
        keeper.execute("PRAGMA journal_mode = WAL")
        keeper.execute("SELECT * FROM sqlite_master").fetchall()
        with self.change() as database:
            for statement in SCHEMA.split(";"):
                database.execute(statement)
            for table, column, kind in ADDED:
                if column not in {row["name"] for row in database.execute(f"PRAGMA table_info({table})")}:
                    database.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for reading. YIELDS (sqlite3.Connection): its rows can be indexed by column name."""
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as database:
            database.row_factory = sqlite3.Row
            yield database

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Open a write transaction, which an exception rolls back. Deleted rows are overwritten in the file."""
        with self.read() as database:
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("PRAGMA secure_delete = ON")
            # a power failure may undo the last changes but not damage the file
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def truncate_log(self) -> None:
        """Empty the write-ahead log, which still contains deleted rows."""
        with self.read() as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
