"""The encryption shared by the vault, the salts and the files of the service, and the log of their use.

All of them encrypt with AES-256-GCM (NIST SP 800-38D) and store the same byte string:

    nonce, 12 bytes │ ciphertext │ authentication tag, 16 bytes

The associated data names the place of the byte string, so that one ciphertext cannot replace another.
"""

import getpass
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ..errors import ConfigError, Errors

NONCE_BYTES = 12


class DecryptionError(Exception):
    """The key is wrong, or the ciphertext or its place was changed."""


class Cipher:
    """AES-256-GCM with random nonces.

    key (bytes): 32 bytes.
    RAISES: ConfigError (D649) if the package `cryptography` is not installed.
    """

    def __init__(self, key: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise ConfigError(Errors.D649) from None
        self._aes = AESGCM(key)

    def encrypt(self, data: bytes, place: bytes) -> bytes:
        """Encrypt and authenticate bytes.

        data (bytes): the plaintext.
        place (bytes): the associated data; `decrypt` needs the same.
        RETURNS (bytes): nonce, ciphertext and tag; different at every call.
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._aes.encrypt(nonce, data, place)

    def decrypt(self, data: bytes, place: bytes) -> bytes:
        """Decrypt what `encrypt` returned.

        data (bytes): nonce, ciphertext and tag.
        place (bytes): the associated data.
        RETURNS (bytes): the plaintext.
        RAISES: DecryptionError for another key, another place, or changed bytes.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return self._aes.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], place)
        except (InvalidTag, TypeError, ValueError):
            raise DecryptionError from None


class UseLog:
    """The log of every use of an encrypted file: a JSON Lines file beside it with time, user, action and count.

    Lines are only appended. They contain nothing of the encrypted content.

    path (Path): the encrypted file. The log has the same name with ".log" appended.
    user (Optional[str]): name of the user; None for the name of the operating system's account.
    make_error (Callable[[str], ConfigError]): makes the error for a reason.
    """

    def __init__(self, path: Path, user: str | None, make_error: Callable[[str], ConfigError]) -> None:
        self.path = path.with_name(f"{path.name}.log")
        if user is None:
            try:
                user = getpass.getuser()
            except (OSError, KeyError, ImportError):
                user = "unknown"
        self._user = user
        self._make_error = make_error

    def record(self, action: str, count: int) -> None:
        """Append a line and flush it to the disk. Call it before the action, so that no use goes unlogged.

        action (str): what is done, such as "export".
        count (int): number of entries that it concerns.
        RAISES: ConfigError (D647) if the line cannot be written.
        """
        time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        line = json.dumps({"time": time, "user": self._user, "action": action, "count": count}) + "\n"
        with self._open() as handle:
            try:
                os.write(handle, line.encode())
                os.fsync(handle)
            except OSError as error:
                raise self._refusal(error) from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold an exclusive lock, so that no other process creates or replaces the encrypted file meanwhile.

        Windows has no such lock; the database of the file serializes writers there too.
        RAISES: ConfigError (D647) if the log cannot be opened.
        """
        with self._open() as handle:
            with suppress(ImportError):
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _open(self) -> Iterator[int]:
        """Open the log for appending. YIELDS (int): its file descriptor."""
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        except OSError as error:
            raise self._refusal(error) from None
        try:
            yield handle
        finally:
            os.close(handle)

    def _refusal(self, error: OSError) -> ConfigError:
        return self._make_error(f"its log cannot be written: {os.strerror(error.errno or 0)}")


def check_apart(path: str | Path, key_path: str | Path) -> None:
    """Check that an encrypted file and its key are in different folders, so that no copied folder has both.

    path (Union[str, Path]): the encrypted file.
    key_path (Union[str, Path]): the file of the key.
    RAISES: ConfigError (D648) if both are in one folder.
    """
    if Path(path).resolve().parent == Path(key_path).resolve().parent:
        raise ConfigError(Errors.D648.format(key=key_path, path=path))


def check_outside(path: str | Path, folder: str | Path, what: str) -> None:
    """Check that a secret is not in a folder that is copied or released.

    path (Union[str, Path]): file of a key, of salts or of a vault.
    folder (Union[str, Path]): the folder. If it is a file, nothing is checked.
    what (str): what the folder holds, for the error.
    RAISES: ConfigError (D653) if the file is in the folder or below it, also through a symbolic link.
    """
    for place in {Path(path).absolute(), Path(path).resolve()}:
        if Path(folder).resolve() in place.parents or Path(folder).absolute() in place.parents:
            raise ConfigError(Errors.D653.format(path=path, folder=folder, what=what))
