"""Drugs of the United States Food and Drug Administration: NDC ``product.txt`` and Orange Book ``products.txt``.

Both are in the public domain. NDC is tab-separated, with brand, generic and substance names; the Orange Book is
separated by tildes. Both are in Windows-1252, whatever they are said to be.
"""

from collections.abc import Iterator
from pathlib import Path

from ..dictionary import MedicalTerm
from .rows import Reading, lines, require

__all__ = ["read_ndc", "read_orange_book"]

_NDC = ("PRODUCTNDC", "PROPRIETARYNAME", "NONPROPRIETARYNAME", "SUBSTANCENAME")
_ORANGE = ("Ingredient", "Trade_Name", "Appl_No")


def read_ndc(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read brand names, generic names and substances.

    path (Path): ``product.txt`` of the National Drug Code directory.
    reading (Reading): the account. It is read as Windows-1252 unless another encoding was asked for.
    YIELDS (MedicalTerm): the names, each once.
    RAISES: ConfigError (D700).
    """
    yield from _read(path, reading, "\t", _NDC, "an NDC product file")


def read_orange_book(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read ingredients and trade names.

    path (Path): ``products.txt`` of the Orange Book.
    reading (Reading): the account.
    YIELDS (MedicalTerm): the names, each once.
    RAISES: ConfigError (D700).
    """
    yield from _read(path, reading, "~", _ORANGE, "an Orange Book products file")


def _read(
    path: Path, reading: Reading, separator: str, columns: tuple[str, ...], format: str
) -> Iterator[MedicalTerm]:
    """The names of a table of products."""
    if reading.encoding == "utf-8":
        reading.encoding = "cp1252"
    source = lines(path, reading)
    _, first = next(source, (1, ""))
    header = first.split(separator)
    places = require(header, columns, path, format)
    names = [places[column] for column in columns if column not in ("PRODUCTNDC", "Appl_No")]
    seen: set[str] = set()
    for row, line in source:
        reading.rows += 1
        cells = line.split(separator)
        if len(cells) != len(header):
            reading.skip(row, f"{len(cells)} columns where the header has {len(header)}")
            continue
        for name in (part.strip() for place in names for part in cells[place].split(";")):
            if name and name.casefold() not in seen:
                seen.add(name.casefold())
                yield MedicalTerm(name, "drug")
