"""How the files of jobs are stored: encrypted if the service has a key for them, otherwise in plain form.

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
    """Something could not be written, as on a full disk. It is not the fault of whoever asked."""


class Vessel:
    """Seals and opens bytes.

    key (Optional[ProjectKey]): what the files are sealed with; None to leave them as they are.
    """

    def __init__(self, key: ProjectKey | None = None) -> None:
        self._cipher = None if key is None else Cipher(key.derive(_PURPOSE))

    def seal(self, data: bytes, place: str) -> bytes:
        """Seal bytes for a place."""
        if self._cipher is None:
            return data
        return self._cipher.encrypt(data, place.encode())

    def open(self, data: bytes, place: str) -> bytes:
        """Open what was sealed for a place. RAISES: InputError (D903) for another key, or damage."""
        if self._cipher is None:
            return data
        try:
            return self._cipher.decrypt(data, place.encode())
        except DecryptionError:
            raise InputError(Errors.D903.format(path="the folder of the service")) from None

    def write(self, path: Path, data: bytes, place: str) -> None:
        """Write a file whole or not at all, for its owner alone. RAISES: NotKept (D929)."""
        sealed = self.seal(data, place)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, sealed)
            os.chmod(path, 0o600)
        except OSError as error:
            raise NotKept(Errors.D929.format(reason=os.strerror(error.errno or 0))) from None
        except InputError as error:  # names the path, which is nobody's business
            raise NotKept(Errors.D929.format(reason=str(error).removeprefix(f"{path}: "))) from None

    def read(self, path: Path, place: str) -> bytes | None:
        """Read a file; None if it is not there."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        return self.open(data, place)

    def remove(self, folder: Path) -> None:
        """Remove a folder of files."""
        shutil.rmtree(folder, ignore_errors=True)
