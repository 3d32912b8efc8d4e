"""Files that only the holder of a project key can read, with a log of every use beside them.

A file is sealed with AES-256-GCM (NIST SP 800-38D) under a key that is derived for it and for this one writing
(HKDF, RFC 5869, with a fresh salt). It is written whole or not at all. The key is never in it nor in its log.

    magic │ fingerprint of the key, 8 │ salt, 16 │ nonce, 12 │ ciphertext and tag, 16
"""

import hmac
import json
import os
import secrets
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from .keys import ProjectKey, hkdf
from .use_log import UseLog

__all__ = ["SealedFile", "aes", "check_apart", "check_outside"]

_FINGERPRINT, _SALT, _NONCE = 8, 16, 12


def check_apart(path: str | Path, key_path: str | Path) -> None:
    """Make sure that a key does not lie beside what it opens.

    path (Union[str, Path]): the sealed file.
    key_path (Union[str, Path]): the file of the key.
    RAISES: ConfigError (D648) if both lie in one folder: whoever copies the folder has everything.
    """
    if Path(path).resolve().parent == Path(key_path).resolve().parent:
        raise ConfigError(Errors.D648.format(key=key_path, path=path))


def check_outside(path: str | Path, folder: str | Path, what: str) -> None:
    """Make sure that a secret does not lie in a folder that is copied or released.

    path (Union[str, Path]): file of a key, of salts or of a vault.
    folder (Union[str, Path]): the folder. A file instead of a folder is never refused.
    what (str): what the folder holds, for the error.
    RAISES: ConfigError (D653) if the file lies in the folder or below it, also by way of a link.
    """
    for place in {Path(path).absolute(), Path(path).resolve()}:
        if Path(folder).resolve() in place.parents or Path(folder).absolute() in place.parents:
            raise ConfigError(Errors.D653.format(path=path, folder=folder, what=what))


class SealedFile:
    """One sealed file.

    path (Union[str, Path]): the file.
    key (ProjectKey): what it is sealed with.
    kind (str): what the file holds, such as "salts".
    user (Optional[str]): who uses it, for the log; None: who is logged in.
    """

    def __init__(self, path: str | Path, key: ProjectKey, kind: str, user: str | None = None) -> None:
        self.path = Path(path)
        self._key, self._kind = key, kind
        self._log = UseLog(self.path, user, self._refusal)
        self._magic = f"spacy_deid {kind} 1\n".encode()

    def __repr__(self) -> str:
        return f"SealedFile({str(self.path)!r}, {self._kind})"

    def read(self, action: str) -> Any:
        """Open the file.

        action (str): what for. A refusal is logged.
        RETURNS: what was written.
        RAISES: ConfigError if it is not there, sealed with another key, damaged or of another version (D647).
        """
        try:
            return json.loads(self._unseal(self._bytes()))
        except ConfigError:
            with suppress(ConfigError):  # the reason of the refusal is what counts
                self.record(f"{action} refused", 0)
            raise

    def write(self, content: Any) -> None:
        """Seal the file anew, whole or not at all.

        content: anything that JSON can hold.
        RAISES: ConfigError (D647) if it cannot be written; the old file stays.
        """
        salt, nonce = secrets.token_bytes(_SALT), secrets.token_bytes(_NONCE)
        head = self._magic + self._fingerprint() + salt + nonce
        # A lone half of a surrogate pair is no UTF-8: JSON writes it as an escape.
        text = json.dumps(content, separators=(",", ":")).encode("ascii")
        data = head + aes(self._file_key(salt)).encrypt(nonce, text, head)
        temporary = self.path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with open(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            raise self._refusal(os.strerror(error.errno or 0)) from None
        finally:
            with suppress(OSError):
                temporary.unlink()

    def record(self, action: str, count: int) -> None:
        """Add a line to the log; see `UseLog.record`."""
        self._log.record(action, count)

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes from changing the file meanwhile."""
        return self._log.alone()

    def _bytes(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise self._refusal(os.strerror(error.errno or 0)) from None

    def _unseal(self, data: bytes) -> bytes:
        """The text of the file."""
        start = len(self._magic)
        end = start + _FINGERPRINT + _SALT + _NONCE
        if not data.startswith(self._magic) or len(data) < end:
            raise self._refusal(f"not a {self._kind} file of this version")
        if not hmac.compare_digest(data[start : start + _FINGERPRINT], self._fingerprint()):
            raise self._refusal("sealed with another key. Nothing was changed")
        salt, nonce = data[end - _NONCE - _SALT : end - _NONCE], data[end - _NONCE : end]
        cipher = aes(self._file_key(salt))
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(cipher.decrypt(nonce, data[end:], data[:end]))
        except InvalidTag:
            raise self._refusal("damaged, or changed by somebody without the key. Nothing was changed") from None

    def _fingerprint(self) -> bytes:
        return self._key.derive(f"{self._kind} fingerprint", _FINGERPRINT)

    def _file_key(self, salt: bytes) -> bytes:
        return hkdf(self._key.derive(self._kind), salt, b"file")

    def _refusal(self, reason: str) -> ConfigError:
        return ConfigError(Errors.D647.format(kind=self._kind, path=self.path, reason=reason))


def aes(key: bytes) -> Any:
    """AES-256-GCM.

    RAISES: ConfigError (D649) if the package is not installed.
    """
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ConfigError(Errors.D649) from None
    return AESGCM(key)
