"""The file of a vault: an SQLite database whose records are sealed, so that notes are added without writing the rest.

Each record is sealed with AES-256-GCM (NIST SP 800-38D) under a key that is derived for this one file (HKDF, RFC 5869,
with its own salt). A sealed state has the number of the records and a sum over them, so that one that was taken away
or put back is missed. Without the key the file tells how many notes it has, how long they are about, and no more.

    vault   version │ fingerprint of the key │ salt │ state
    notes   number │ id: HMAC of the content │ released: HMAC of the released text │ sealed: nonce, ciphertext and tag
"""

import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from .keys import ProjectKey, hkdf
from .sealed import aes
from .use_log import UseLog

__all__ = ["Records", "VaultFile"]

VERSION = 2
_NONCE, _SALT, _WAIT = 12, 16, 600.0  # bytes, bytes, seconds that another process may write
_DAMAGED = "damaged, or changed by somebody without the key. Nothing was changed"
_FOREIGN = "not a vault file of this version"
# What is no fault of the file: the disk is full, another process is writing, nobody may write.
_OUTSIDE = frozenset({"PERM", "BUSY", "LOCKED", "READONLY", "IOERR", "FULL", "CANTOPEN"})
_TABLES = """
BEGIN;
CREATE TABLE vault(version INTEGER, fingerprint BLOB, salt BLOB, state BLOB);
CREATE TABLE notes(number INTEGER PRIMARY KEY, id BLOB UNIQUE, released BLOB, sealed BLOB);
CREATE INDEX by_released ON notes(released);
INSERT INTO vault VALUES ({version}, x'{fingerprint}', x'{salt}', x'{state}');
COMMIT;
"""


class _DamagedError(Exception):
    """Something in the file is not what was written."""


class Records:
    """The records of an open vault, within one transaction.

    connection (Connection): the database.
    key (bytes): the key of this file.
    """

    def __init__(self, connection: sqlite3.Connection, key: bytes, state: bytes | None = None) -> None:
        self._connection = connection
        self._cipher, self._mac = aes(hkdf(key, b"", b"records")), hkdf(key, b"", b"names")
        found = connection.execute("SELECT state FROM vault").fetchone()[0] if state is None else state
        self.count: int
        self._sum: int
        self.count, self._sum = self._unseal(found, b"state") if found else (0, 0)

    def add(self, content: Any, released: str) -> bool:
        """Add a record; one that is there already stays one.

        content: anything that JSON can hold.
        released (str): what it is found by.
        RETURNS (bool): whether it was new.
        """
        text = _dump(content)
        name = self._name(b"content", text)
        sealed = self._seal(text, name)
        row = (name, self._name(b"released", released.encode()), sealed)
        if not self._connection.execute("INSERT OR IGNORE INTO notes VALUES (NULL, ?, ?, ?)", row).rowcount:
            return False
        self._count(sealed, 1)
        return True

    def find(self, released: str) -> list[Any]:
        """The records that were added with what they are found by, in order."""
        name = self._name(b"released", released.encode())
        rows = self._connection.execute("SELECT sealed, id FROM notes WHERE released = ? ORDER BY number", (name,))
        return [self._unseal(*row) for row in rows]

    def read(self) -> Iterator[tuple[int, Any]]:
        """All records with their numbers, in order, one after the other.

        YIELDS (tuple): number and content.
        RAISES: at the end, if there are more or fewer than were added.
        """
        count = total = 0
        for number, name, sealed in self._connection.execute("SELECT number, id, sealed FROM notes ORDER BY number"):
            count, total = count + 1, total ^ self._share(sealed)
            yield number, self._unseal(sealed, name)
        if (count, total) != (self.count, self._sum):
            raise _DamagedError

    def check(self) -> None:
        """Read everything, what SQLite keeps beside the records too. RAISES: if anything was changed."""
        if self._connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise _DamagedError
        for _ in self.read():
            pass

    def remove(self, number: int) -> None:
        """Remove a record. SQLite writes zeros in its place."""
        (sealed,) = self._connection.execute("SELECT sealed FROM notes WHERE number = ?", (number,)).fetchone()
        self._connection.execute("DELETE FROM notes WHERE number = ?", (number,))
        self._count(sealed, -1)

    def state(self) -> bytes:
        """How many records there are and their sum, sealed."""
        return self._seal(_dump([self.count, self._sum]), b"state")

    def _count(self, sealed: bytes, step: int) -> None:
        self.count, self._sum = self.count + step, self._sum ^ self._share(sealed)

    def _share(self, sealed: bytes) -> int:
        """What a record adds to the sum; whoever lacks the key cannot choose it."""
        if not isinstance(sealed, bytes):
            raise _DamagedError
        return int.from_bytes(self._name(b"sum", sealed), "big")

    def _name(self, purpose: bytes, data: bytes) -> bytes:
        return hmac.digest(self._mac, purpose + b"\0" + data, "sha256")

    def _seal(self, text: bytes, name: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return nonce + bytes(self._cipher.encrypt(nonce, text, name))

    def _unseal(self, sealed: bytes, name: bytes) -> Any:
        from cryptography.exceptions import InvalidTag

        try:
            return json.loads(self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], name))
        except (InvalidTag, TypeError, ValueError):
            raise _DamagedError from None


class VaultFile:
    """The file, and the log beside it.

    path (Union[str, Path]): the file.
    key (ProjectKey): what it opens with.
    user (Optional[str]): who uses it, for the log; None: who is logged in.
    """

    def __init__(self, path: str | Path, key: ProjectKey, user: str | None = None) -> None:
        self.path, self._key = Path(path), key
        self.log = UseLog(self.path, user, self.refusal)

    def refusal(self, reason: str) -> ConfigError:
        """The error for a reason."""
        return ConfigError(Errors.D647.format(kind="vault", path=self.path, reason=reason))

    def make(self) -> None:
        """Make an empty vault, whole or not at all.

        RAISES: ConfigError (D647) if a file is there or none can be written.
        """
        salt = secrets.token_bytes(_SALT)
        aes(salt)  # refused before anything is written, if the package is missing
        temporary = self.path.with_name(f".{secrets.token_hex(8)}.tmp")
        with self.log.alone():
            if self.path.exists():
                raise self.refusal("there already")
            self.log.record("create", 0)
            try:
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                with closing(self._connect(temporary)) as connection:
                    state = Records(connection, self._file_key(salt), b"").state()
                    values = {"fingerprint": self._fingerprint().hex(), "salt": salt.hex(), "state": state.hex()}
                    connection.executescript(_TABLES.format(version=VERSION, **values))
                os.replace(temporary, self.path)
            except OSError as error:
                raise self.refusal(os.strerror(error.errno or 0)) from None
            except sqlite3.Error as error:
                raise self.refusal(_reason(error)) from None
            finally:
                with suppress(OSError):
                    temporary.unlink()

    @contextmanager
    def open(self, action: str, *, write: bool = False) -> Iterator[Records]:
        """Open the vault for one transaction: what is raised within it undoes all of it.

        action (str): what for. A refusal is logged.
        write (bool): whether records are added or removed. Other processes that want to do so wait meanwhile.
        YIELDS (Records): the records.
        RAISES: ConfigError (D647) if it is not there, has another key, is damaged or of another version.
        """
        try:
            with closing(self._connect(self.path)) as connection:
                key = self._check(connection, action)
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                records = Records(connection, key)
                yield records
                if write:
                    connection.execute("UPDATE vault SET state = ?", (records.state(),))
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._refused(action, _reason(error)) from None
        except _DamagedError:
            raise self._refused(action, _DAMAGED) from None

    def _connect(self, path: Path) -> sqlite3.Connection:
        """The database, which is there."""
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)
        connection.executescript("PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;")
        return connection

    def _check(self, connection: sqlite3.Connection, action: str) -> bytes:
        """The key of the file, if it opens this one."""
        try:
            rows = connection.execute("SELECT version, fingerprint, salt FROM vault").fetchall()
        except sqlite3.DatabaseError as error:
            if _reason(error) != _DAMAGED:
                raise
            rows = []
        if len(rows) != 1 or rows[0][0] != VERSION:
            raise self._refused(action, _FOREIGN)
        _, fingerprint, salt = rows[0]
        if not (isinstance(fingerprint, bytes) and isinstance(salt, bytes)):
            raise _DamagedError
        if not hmac.compare_digest(fingerprint, self._fingerprint()):
            raise self._refused(action, "sealed with another key. Nothing was changed")
        return self._file_key(salt)

    def _refused(self, action: str, reason: str) -> ConfigError:
        """The error for a reason, after it was logged."""
        with suppress(ConfigError):  # the reason of the refusal is what counts
            self.log.record(f"{action} refused", 0)
        return self.refusal(reason)

    def _fingerprint(self) -> bytes:
        return self._key.derive("vault fingerprint", 8)

    def _file_key(self, salt: bytes) -> bytes:
        return hkdf(self._key.derive("vault"), salt, b"file")


def _dump(content: Any) -> bytes:
    """JSON. A lone half of a surrogate pair is no UTF-8: it is written as an escape."""
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def _reason(error: sqlite3.Error) -> str:
    """What SQLite says, if the file is sound."""
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
    return str(error) if name in _OUTSIDE else _FOREIGN if name == "NOTADB" else _DAMAGED
