"""Read and write the file of a vault or of salts: an SQLite database of encrypted records.

A record is added or removed without rewriting the others. Each record is encrypted with a key that is derived for this
file (HKDF, RFC 5869, with the salt of the file). An encrypted state contains the number of records and their checksum.
If someone without the key removes a record or puts an old one back, number or checksum no longer match, and reading
all records fails. Without the key, the file reveals only how many records it has and about how long they are.

    vault   version │ fingerprint of the key │ salt │ state
    notes   number │ id: HMAC of the content │ released: HMAC of the lookup value │ sealed: the encrypted content
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
from ..surrogates.keys import ProjectKey, hkdf
from .encryption import Cipher, DecryptionError, UseLog

VERSION = 2
# SQLite's "application_id" of each kind of file. The first vaults were written without one, so that of vaults is 0.
_KINDS = {"vault": 0, "salts": 0x53444C54}
_SALT_BYTES = 16
_WAIT = 600.0  # seconds to wait for another process that writes
_DAMAGED = "damaged, or changed without the key. Nothing was changed"
OTHER_KEY = "encrypted with another key. Nothing was changed"
# SQLite errors that do not mean a damaged file: full disk, missing permission, another writer.
_ENVIRONMENT_ERRORS = frozenset({"PERM", "BUSY", "LOCKED", "READONLY", "IOERR", "FULL", "CANTOPEN"})
_SCHEMA = """
BEGIN;
PRAGMA application_id = {application};
CREATE TABLE vault(version INTEGER, fingerprint BLOB, salt BLOB, state BLOB);
CREATE TABLE notes(number INTEGER PRIMARY KEY, id BLOB UNIQUE, released BLOB, sealed BLOB);
CREATE INDEX by_released ON notes(released);
INSERT INTO vault VALUES ({version}, x'{fingerprint}', x'{salt}', x'{state}');
COMMIT;
"""


class _DamagedError(Exception):
    """The content of the file is not what this package wrote. `EncryptedStore.open` converts it to a ConfigError."""


class Records:
    """Adds, finds, reads and removes the encrypted records of an open file, within one transaction.

    Number and checksum of the records change with each call; the caller writes them to the file with `state`.

    connection (Connection): the database.
    key (bytes): the key derived for this file.
    state (Optional[bytes]): the encrypted number and checksum; b"" for a new file, None to read them from the file.
    """

    def __init__(self, connection: sqlite3.Connection, key: bytes, state: bytes | None = None) -> None:
        self._connection = connection
        self._cipher, self._mac_key = Cipher(hkdf(key, b"", b"records")), hkdf(key, b"", b"names")
        found = connection.execute("SELECT state FROM vault").fetchone()[0] if state is None else state
        self.count: int
        self._checksum: int
        self.count, self._checksum = self._decrypt(found, b"state") if found else (0, 0)

    def add(self, content: Any, lookup: str) -> bool:
        """Add a record, unless the store already has one with the same content.

        content (Any): any value that can be encoded as JSON.
        lookup (str): a value by which `find` returns the record. Several records can have the same one.
        RETURNS (bool): whether the record was added.
        """
        text = _to_json(content)
        name = self._mac(b"content", text)
        encrypted = self._cipher.encrypt(text, name)
        row = (name, self._mac(b"released", lookup.encode()), encrypted)
        if not self._connection.execute("INSERT OR IGNORE INTO notes VALUES (NULL, ?, ?, ?)", row).rowcount:
            return False
        self._update_state(encrypted, 1)
        return True

    def find(self, lookup: str) -> list[tuple[int, Any]]:
        """Find the records that were added with a lookup value.

        lookup (str): the value that was given to `add`.
        RETURNS (list[tuple[int, Any]]): number and content of each record, in the order in which they were added.
        """
        name = self._mac(b"released", lookup.encode())
        query = "SELECT number, sealed, id FROM notes WHERE released = ? ORDER BY number"
        rows = self._connection.execute(query, (name,))
        return [(number, self._decrypt(encrypted, place)) for number, encrypted, place in rows]

    def read(self) -> Iterator[tuple[int, Any]]:
        """Read all records, one at a time, and at the end compare their number and checksum with the state.

        YIELDS (tuple[int, Any]): number and content of a record, in the order in which they were added.
        RAISES: _DamagedError if a record was changed, removed or restored.
        """
        count = checksum = 0
        rows = self._connection.execute("SELECT number, id, sealed FROM notes ORDER BY number")
        for number, name, encrypted in rows:
            count, checksum = count + 1, checksum ^ self._share(encrypted)
            yield number, self._decrypt(encrypted, name)
        if (count, checksum) != (self.count, self._checksum):
            raise _DamagedError

    def check(self) -> None:
        """Verify the database file and all records. RAISES: _DamagedError if anything was changed."""
        if self._connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise _DamagedError
        for _ in self.read():
            pass

    def remove(self, number: int) -> None:
        """Remove the record with a number that `find` or `read` returned. SQLite overwrites it with zeros."""
        (encrypted,) = self._connection.execute("SELECT sealed FROM notes WHERE number = ?", (number,)).fetchone()
        self._connection.execute("DELETE FROM notes WHERE number = ?", (number,))
        self._update_state(encrypted, -1)

    def state(self) -> bytes:
        """Return the number of records and their checksum, encrypted, as the file stores them."""
        return self._cipher.encrypt(_to_json([self.count, self._checksum]), b"state")

    def _update_state(self, encrypted: bytes, step: int) -> None:
        self.count, self._checksum = self.count + step, self._checksum ^ self._share(encrypted)

    def _share(self, encrypted: bytes) -> int:
        """Return the share of one record in the checksum, an XOR over all records. It requires the key."""
        if not isinstance(encrypted, bytes):
            raise _DamagedError
        return int.from_bytes(self._mac(b"sum", encrypted), "big")

    def _mac(self, purpose: bytes, data: bytes) -> bytes:
        return hmac.digest(self._mac_key, purpose + b"\0" + data, "sha256")

    def _decrypt(self, encrypted: bytes, place: bytes) -> Any:
        try:
            return json.loads(self._cipher.decrypt(encrypted, place))
        except (DecryptionError, TypeError, ValueError):
            raise _DamagedError from None


class EncryptedStore:
    """An encrypted file of records, which is read and changed in transactions.

    Creation and refused uses are logged here; a caller logs any other use with `log.record`.

    path (Union[str, Path]): the file. It need not exist yet.
    key (ProjectKey): the project key, from which the key of the file is derived.
    kind (str): "vault" or "salts". A file of one kind cannot be opened as the other.
    user (Optional[str]): name for the log; None for the operating system's account.
    """

    def __init__(self, path: str | Path, key: ProjectKey, kind: str, user: str | None = None) -> None:
        self.path, self._key, self._kind = Path(path), key, kind
        self.log = UseLog(self.path, user, self.refusal)

    def refusal(self, reason: str) -> ConfigError:
        """Return the error (D647) for the caller to raise: the file cannot be used, for this reason."""
        return ConfigError(Errors.D647.format(kind=self._kind, path=self.path, reason=reason))

    def create(self) -> None:
        """Create an empty file of records. If that fails, no partial file remains.

        RAISES: ConfigError (D647) if the file exists or cannot be written.
        """
        Cipher(bytes(32))  # fails before anything is written if the package is missing
        with self.log.lock():
            if self.path.exists():
                raise self.refusal("the file exists already")
            self.log.record("create", 0)
            self.write_new([])

    def write_new(self, records: list[tuple[Any, str]]) -> None:
        """Write a new file with the given records. It replaces an existing file only when it is complete.

        records (list[tuple[Any, str]]): content and lookup value of each record; see `Records.add`.
        RAISES: ConfigError (D647) if the file cannot be written; an existing file is then unchanged.
        """
        salt = secrets.token_bytes(_SALT_BYTES)
        temporary = self.path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(self._connect(temporary)) as connection:
                state = Records(connection, self._file_key(salt), b"").state()
                values = {"fingerprint": self.fingerprint().hex(), "salt": salt.hex(), "state": state.hex()}
                connection.executescript(_SCHEMA.format(version=VERSION, application=_KINDS[self._kind], **values))
                if records:
                    connection.execute("BEGIN IMMEDIATE")
                    filled = Records(connection, self._file_key(salt))
                    for content, lookup in records:
                        filled.add(content, lookup)
                    connection.execute("UPDATE vault SET state = ?", (filled.state(),))
                    connection.execute("COMMIT")
            os.replace(temporary, self.path)
        except OSError as error:
            raise self.refusal(os.strerror(error.errno or 0)) from None
        except sqlite3.Error as error:
            raise self.refusal(_reason(error, self._kind)) from None
        finally:
            with suppress(OSError):
                temporary.unlink()

    @contextmanager
    def open(self, action: str, *, write: bool = False) -> Iterator[Records]:
        """Open the file for one transaction. An exception in the `with` block undoes all changes.

        action (str): name of the action, such as "export". It is logged only if the file is refused.
        write (bool): whether records are added or removed. Other processes that write wait until the block ends.
        YIELDS (Records): the records of the file.
        RAISES: ConfigError (D647) if the file is missing, damaged, of another version or encrypted with another key.
        """
        try:
            with closing(self._connect(self.path)) as connection:
                key = self._unlock(connection, action)
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                records = Records(connection, key)
                yield records
                if write:
                    connection.execute("UPDATE vault SET state = ?", (records.state(),))
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self.refuse(action, _reason(error, self._kind)) from None
        except _DamagedError:
            raise self.refuse(action, _DAMAGED) from None

    def refuse(self, action: str, reason: str) -> ConfigError:
        """Log that an action was refused, and return the error (D647) for the caller to raise."""
        with suppress(ConfigError):  # the first reason is the one to report
            self.log.record(f"{action} refused", 0)
        return self.refusal(reason)

    def fingerprint(self) -> bytes:
        """Return eight bytes that show which project key a file of this kind has, and reveal nothing about the key."""
        return self._key.derive(f"{self._kind} fingerprint", 8)

    def _connect(self, path: Path) -> sqlite3.Connection:
        """Connect to an existing database, with deleted records overwritten and each commit flushed to the disk."""
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)
        try:
            for setting in ("secure_delete = ON", "synchronous = FULL", "trusted_schema = OFF"):
                connection.execute(f"PRAGMA {setting}")
        except BaseException:  # a damaged file
            connection.close()
            raise
        return connection

    def _unlock(self, connection: sqlite3.Connection, action: str) -> bytes:
        """Check kind, version and project key of the file. RETURNS (bytes): the key derived for this file."""
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            rows = connection.execute("SELECT version, fingerprint, salt FROM vault").fetchall()
        except sqlite3.DatabaseError as error:
            if _reason(error, self._kind) != _DAMAGED:
                raise
            application, rows = 0, []
        if len(rows) != 1 or rows[0][0] != VERSION or application != _KINDS[self._kind]:
            raise self.refuse(action, _foreign(self._kind))
        _, fingerprint, salt = rows[0]
        if not (isinstance(fingerprint, bytes) and isinstance(salt, bytes)):
            raise _DamagedError
        if not hmac.compare_digest(fingerprint, self.fingerprint()):
            raise self.refuse(action, OTHER_KEY)
        return self._file_key(salt)

    def _file_key(self, salt: bytes) -> bytes:
        return hkdf(self._key.derive(self._kind), salt, b"file")


def _to_json(content: Any) -> bytes:
    """Encode as JSON in ASCII, because UTF-8 cannot encode unpaired UTF-16 surrogates; in ASCII they are escaped."""
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def _foreign(kind: str) -> str:
    return f"not a {kind} file of this version"


def _reason(error: sqlite3.Error, kind: str) -> str:
    """Convert an SQLite error to the reason that the error message (D647) gives."""
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
    return str(error) if name in _ENVIRONMENT_ERRORS else _foreign(kind) if name == "NOTADB" else _DAMAGED
