"""Rows of many tables, brought together by patient in bounded memory.

Rows come in the order of their tables and are needed patient by patient. They are written to a number of files by a
hash of the patient id, and each file is then read as a whole: of ten million rows, a sixty-fourth part.

The files have no name: they are unlinked as soon as they are open, so that nothing is left of them when the process
ends, in whatever way.
"""

import marshal
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ..errors import Errors, InputError

__all__ = ["Scratch", "StoredRow"]

_PARTS = 64


class StoredRow(NamedTuple):
    """A row of a table.

    table (int): number of the table.
    row (int): number of the row there.
    values (tuple): pairs of the number of a column and a value.
    """

    table: int
    row: int
    values: tuple[tuple[int, str], ...]

    def __repr__(self) -> str:
        """The place of the row without its values."""
        return f"StoredRow(table={self.table}, row={self.row})"


class Scratch:
    """Files that rows are sorted into.

    folder (Path): where there is room. Only files without a name are made there.
    """

    def __init__(self, folder: Path) -> None:
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
        marshal.dump((patient_id, *row), self._files[part])

    def patients(self) -> Iterator[tuple[str, list[StoredRow]]]:
        """Yield each patient once, with all rows in the order in which they were added."""
        for file in self._files:
            file.seek(0)
            found: dict[str, list[StoredRow]] = {}
            while True:
                try:
                    patient_id, *row = marshal.load(file)
                except EOFError:
                    break
                found.setdefault(patient_id, []).append(StoredRow(*row))
            file.truncate(0)
            yield from found.items()
