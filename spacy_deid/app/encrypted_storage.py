"""The storage of the files of jobs: encrypted if the service has a key for them, otherwise in plain form.

The place of a file is the associated data of its encryption, so that one file cannot replace another. For the format
see `vault.encryption`.
"""

import os
import shutil
from pathlib import Path

from ..errors import DeidError, Errors, InputError
from ..io import write_whole
from ..surrogates.keys import ProjectKey
from ..vault.encryption import Cipher, DecryptionError

_PURPOSE = "app files 1"


class NotKept(DeidError):
    """A file could not be written, for example because the disk is full. The request itself was valid."""


class EncryptedStorage:
    """Encrypts and decrypts bytes and files.

    key (Optional[ProjectKey]): the key; None to store everything in plain form.
    RAISES: ConfigError (D649) if there is a key and the package `cryptography` is not installed.
    """

    def __init__(self, key: ProjectKey | None = None) -> None:
        self._cipher = None if key is None else Cipher(key.derive(_PURPOSE))

    def encrypt(self, data: bytes, place: str) -> bytes:
        """Encrypt bytes for a place.

        data (bytes): the content.
        place (str): name of the place; `decrypt` needs the same.
        RETURNS (bytes): the encrypted content; the content itself without a key.
        """
        return data if self._cipher is None else self._cipher.encrypt(data, place.encode())

    def decrypt(self, data: bytes, place: str) -> bytes:
        """Decrypt bytes that were encrypted for a place.

        data (bytes): the encrypted content.
        place (str): name of the place.
        RETURNS (bytes): the content.
        RAISES: InputError (D903) for another key, another place, or damaged bytes.
        """
        if self._cipher is None:
            return data
        try:
            return self._cipher.decrypt(data, place.encode())
        except DecryptionError:
            raise InputError(Errors.D903.format(path="the folder of the service")) from None

    def write(self, path: Path, data: bytes, place: str) -> None:
        """Write a file, completely or not at all, readable by its owner only.

        path (Path): the file; missing folders are created.
        data (bytes): the content.
        place (str): name of the place.
        RAISES: NotKept (D929) if the file cannot be written.
        """
        encrypted = self.encrypt(data, place)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, encrypted)
            os.chmod(path, 0o600)
        except OSError as error:
            raise NotKept(Errors.D929.format(reason=os.strerror(error.errno or 0))) from None
        except InputError as error:  # clients must not see the path, which the message begins with
            raise NotKept(Errors.D929.format(reason=str(error).removeprefix(f"{path}: "))) from None

    def read(self, path: Path, place: str) -> bytes | None:
        """Read a file.

        path (Path): the file.
        place (str): name of the place.
        RETURNS (Optional[bytes]): the content; None if the file does not exist.
        RAISES: InputError (D903) as `decrypt`.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        return self.decrypt(data, place)

    def remove(self, folder: Path) -> None:
        """Remove a folder with its files. Errors are ignored."""
        shutil.rmtree(folder, ignore_errors=True)
