"""ICD-10 and other lists of codes: CSV files with a code and names, and the CMS "order file" of ICD-10-CM.

A CSV list has a column ``code`` and a name for each language, ``name_fi``, ``name_en``, or one column ``name``. Codes
of ICD-10 from U on are external causes, places and circumstances of life, so their names are left out: "Koulu".
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import ConfigError, Errors
from ..dictionary import MedicalTerm
from .rows import Reading, lines, require

__all__ = ["read_cms_order", "read_code_list"]

_NOT_ICD10_DISEASE = re.compile(r"[U-Z]\d\d")
_ORDER = re.compile(r"(\d{5}) ([A-Z][0-9A-Z]{2,6}) +([01]) (.{60}) (.+)")
_QUALIFIER = re.compile(r"\s*(\[[^\]]*\]|\([^)]*\))")


def read_code_list(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read the names of one language from a CSV list of codes.

    path (Path): the list.
    reading (Reading): language, kind of the terms, and account.
    YIELDS (MedicalTerm): the names; those with something in brackets also without it.
    RAISES: ConfigError (D700) if there is no code or no name in this language.
    """
    reader = csv.reader(line for _, line in lines(path, reading))
    header = _header(reader, path)
    wanted = f"name_{reading.lang}" if f"name_{reading.lang}" in header else "name"
    places = require(header, ("code", wanted), path, "a CSV list of codes")
    while (cells := _next(reader, reading)) is not None:
        if len(cells) != len(header):
            reading.skip(reader.line_num, f"{len(cells)} columns where the header has {len(header)}")
            continue
        code, name = cells[places["code"]], cells[places[wanted]].strip()
        if name in ("", "NA") or (reading.kind == "disease" and _NOT_ICD10_DISEASE.match(code)):
            reading.left_out += 1
        else:
            yield from _names(name, reading.kind)


def read_cms_order(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read the descriptions of an order file, ``icd10cm_order_2024.txt`` or ``icd10pcs_order_2024.txt``.

    Columns by place: order number 1 – 5, code 7 – 13, whether it is a code to bill 15, short description 17 – 76, long
    description from 78 (CMS, "ICD-10-CM Order File Format").

    path (Path): the file.
    reading (Reading): kind of the terms, and account.
    YIELDS (MedicalTerm): the long descriptions.
    """
    for row, line in lines(path, reading):
        reading.rows += 1
        if (found := _ORDER.fullmatch(line.rstrip())) is None:
            reading.skip(row, "not order number, code, flag and two descriptions in their places")
        elif reading.kind == "disease" and _NOT_ICD10_DISEASE.match(found[2]):
            reading.left_out += 1
        else:
            yield from _names(found[5].strip(), reading.kind)


def _names(name: str, kind: str) -> Iterator[MedicalTerm]:
    """A name, and without what it has in brackets."""
    yield MedicalTerm(name, kind)
    if (bare := _QUALIFIER.sub("", name).strip()) and bare != name:
        yield MedicalTerm(bare, kind)


def _header(reader: Any, path: Path) -> list[str]:
    """The first row, in lower case."""
    try:
        return [column.strip().lower() for column in next(reader, [])]
    except csv.Error:
        raise ConfigError(Errors.D700.format(path=path, format="a CSV list of codes", reason="not CSV")) from None


def _next(reader: Any, reading: Reading) -> list[str] | None:
    """The next row that is CSV, or None at the end."""
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            reading.rows += 1
            reading.skip(reader.line_num, "not CSV")
            continue
        if cells is None or cells:
            reading.rows += cells is not None
            return cells
