"""Encrypt the vault, the salts and the files of the web service, and log every use of them.

All of them encrypt with AES-256-GCM (NIST SP 800-38D) and store byte strings of the same format:

    nonce, 12 bytes │ ciphertext │ authentication tag, 16 bytes

The associated data identifies where a byte string is stored, such as its record. Decryption fails if someone copies it
to another place.
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
    """Raised if the key is wrong, or if the ciphertext was changed or moved to another place."""


class Cipher:
    """Encrypts and authenticates byte strings with AES-256-GCM and random nonces.

    key (bytes): the secret key, 32 bytes.
    RAISES: ConfigError (D649) if the package `cryptography` is not installed.
    """

    def __init__(self, key: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise ConfigError(Errors.D649) from None
        self._aes = AESGCM(key)

    def encrypt(self, data: bytes, place: bytes) -> bytes:
        """Encrypt a byte string, so that any change to it is detected.

        data (bytes): the plaintext.
        place (bytes): the associated data, which identifies where the result is stored. `decrypt` requires the same.
        RETURNS (bytes): nonce, ciphertext and tag; different at every call, because the nonce is random.
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._aes.encrypt(nonce, data, place)

    def decrypt(self, data: bytes, place: bytes) -> bytes:
        """Decrypt bytes that `encrypt` returned, and check that they were not changed.

        data (bytes): nonce, ciphertext and tag.
        place (bytes): the associated data that was given to `encrypt`.
        RETURNS (bytes): the plaintext.
        RAISES: DecryptionError if the key or the place is another one, or the bytes were changed.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return self._aes.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], place)
        except (InvalidTag, TypeError, ValueError):
            raise DecryptionError from None


class UseLog:
    """Logs every use of an encrypted file: one line of JSON with time, user, action and number of records.

    Lines are only appended, never changed. They contain nothing of the encrypted content.

    path (Path): the encrypted file. The log has the same name with ".log" appended.
    user (Optional[str]): name of the user; None for the name of the operating system's account.
    make_error (Callable[[str], ConfigError]): makes the error to raise from the reason why the log cannot be written.
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
        """Append a line and flush it to the disk. Call this before the action, so that no use remains unlogged.

        action (str): what is done, such as "export".
        count (int): number of records that the action reads or changes.
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
        """Hold an exclusive lock on the log, so that no other process creates or replaces the encrypted file.

        On Windows nothing is locked; there only the database's own locks separate writers.
        RAISES: ConfigError (D647) if the log cannot be opened.
        """
        with self._open() as handle:
            with suppress(ImportError):
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _open(self) -> Iterator[int]:
        """Open the log for appending, and create it if it is missing. YIELDS (int): its file descriptor."""
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
    """Check that an encrypted file and its key are in different folders, so that nobody copies both with one folder.

    path (Union[str, Path]): the encrypted file.
    key_path (Union[str, Path]): the file of the key.
    RAISES: ConfigError (D648) if both are in the same folder.
    """
    if Path(path).resolve().parent == Path(key_path).resolve().parent:
        raise ConfigError(Errors.D648.format(key=key_path, path=path))


def check_outside(path: str | Path, folder: str | Path, what: str) -> None:
    """Check that a secret is not in a folder that is copied or released.

    path (Union[str, Path]): the file of a key, of salts or of a vault.
    folder (Union[str, Path]): the folder that is copied or released. If this is a file, the check always passes.
    what (str): what the folder contains, for the error message.
    RAISES: ConfigError (D653) if the file is in the folder or below it, also through a symbolic link.
    """
    for place in {Path(path).absolute(), Path(path).resolve()}:
        if Path(folder).resolve() in place.parents or Path(folder).absolute() in place.parents:
            raise ConfigError(Errors.D653.format(path=path, folder=folder, what=what))
