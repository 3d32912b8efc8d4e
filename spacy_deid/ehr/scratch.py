"""Rows of many tables, brought together by patient in bounded memory.

Rows come in the order of their tables and are needed patient by patient. They are written to a number of files by a
hash of the patient id, and each file is then read as a whole: of ten million rows, a sixty-fourth part.

The files have no name: they are unlinked as soon as they are open, so that nothing is left of them when the process
ends, in whatever way.
"""

import io
import marshal
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ..errors import Errors, InputError

__all__ = ["Scratch", "StoredRow", "read_part"]

_PARTS = 64
_HELD = 256  # rows of a file that are written together


class StoredRow(NamedTuple):
    """A row of a table.

    table (int): number of the table.
    row (int): number of the row there.
    values (tuple[str, ...]): the cells as text, in the order of the table's columns.
    """

    table: int
    row: int
    values: tuple[str, ...]

    def __repr__(self) -> str:
        """The place of the row without its values."""
        return f"StoredRow(table={self.table}, row={self.row})"


class Scratch:
    """Files that rows are sorted into.

    folder (Path): where there is room. Only files without a name are made there.
    rows (int): how many rows were written.
    """

    def __init__(self, folder: Path) -> None:
        self.rows = 0
        self._held: list[list[tuple[object, ...]]] = [[] for _ in range(_PARTS)]
        try:
            self._files = [tempfile.TemporaryFile(dir=folder) for _ in range(_PARTS)]  # noqa: SIM115 - closed by exit
        except OSError as error:
            raise InputError(Errors.D402.format(path=folder, reason=error.strerror)) from None

    def __enter__(self) -> "Scratch":
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the files go, and with them what is in them."""
        for file in self._files:
            file.close()

    def add(self, patient_id: str, row: StoredRow) -> None:
        """Write a row.

        patient_id (str): whose it is.
        row (StoredRow): the row.
        """
        part = zlib.crc32(patient_id.encode("utf-8", "surrogatepass")) % _PARTS
        held = self._held[part]
        held.append((patient_id, *row))
        self.rows += 1
        if len(held) == _HELD:
            self._write(part)

    def parts(self) -> Iterator[bytes]:
        """Yield what each file holds, for `read_part`, and empty it. All rows of a patient are in the same file."""
        for part, file in enumerate(self._files):
            self._write(part)
            file.seek(0)
            data = file.read()
            file.truncate(0)
            yield data

    def _write(self, part: int) -> None:
        """Write the rows of a file that are held."""
        marshal.dump(self._held[part], self._files[part])
        self._held[part] = []


def read_part(data: bytes) -> dict[str, list[StoredRow]]:
    """Bring the rows of a file together by patient.

    data (bytes): what `Scratch.parts` gave.
    RETURNS (dict[str, list[StoredRow]]): rows by patient id, in the order in which they were added.
    """
    found: dict[str, list[StoredRow]] = {}
    file = io.BytesIO(data)
    while file.tell() < len(data):
        for patient_id, *row in marshal.load(file):
            found.setdefault(patient_id, []).append(StoredRow(*row))
    return found
