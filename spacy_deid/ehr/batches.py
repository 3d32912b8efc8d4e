"""Rows in batches that fit into memory, and what every reader of them says when something is wrong."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from .mapping import Source, Table

__all__ = ["BATCH", "Batch", "Cells", "Rows", "failed", "find_places", "import_package"]

BATCH = 5_000
"""Rows that are read together."""

Cells = Sequence[Any]


class Batch(NamedTuple):
    """Some rows.

    file (str): what an error calls where they are from; "" for a database.
    first (int): number of the first row, from 1; in a CSV file the header's is 1.
    rows (Sequence): cells by row, in the order of the columns that were asked for.
    """

    file: str
    first: int
    rows: Sequence[Cells]

    def __repr__(self) -> str:
        """The place of the rows without their cells."""
        return f"Batch({self.file!r}, first={self.first}, rows={len(self.rows)})"


Rows = Iterator[Batch]


def find_places(table: Table, header: list[str], *, named: bool = True) -> list[int]:
    """Where the wanted columns are: by name, or by name in another case if only one is so called.

    table (Table): the table; its columns are wanted.
    header (list[str]): the columns that are there.
    named (bool): whether the header is certain to hold names. The first line of a file without one holds a patient.
    RETURNS (list[int]): a place for each wanted column.
    RAISES: InputError (D174) if one is missing.
    """
    lower = [name.lower() for name in header]
    places, missing = [], []
    for name in table.wanted:
        known, wanted = (header, name) if name in header else (lower, name.lower())
        if known.count(wanted) == 1:
            places.append(known.index(wanted))
        else:
            missing.append(f"'{name}'")
    if missing:
        known_columns = ", ".join(header) if named else f"{len(header)}; is its first line a header?"
        values = {"table": table.name, "source": table.source.name, "missing": ", ".join(missing)}
        raise InputError(Errors.D174.format(**values, known=known_columns))
    return places


def import_package(source: Source, module: str, package: str) -> Any:
    """Import a package that is not needed for anything else.

    source (Source): what needs it.
    module (str): what is imported.
    package (str): what would have to be installed.
    RAISES: InputError (D182) if it is not there.
    """
    try:
        return import_module(module)
    except ImportError:
        raise InputError(Errors.D182.format(what=f"source '{source.name}'", package=package)) from None


def failed(source: Source, reason: str) -> InputError:
    """The error for a source that cannot be read.

    source (Source): the source.
    reason (str): what is wrong, without a value.
    RETURNS (InputError): D175.
    """
    return InputError(Errors.D175.format(source=source.name, reason=reason))
