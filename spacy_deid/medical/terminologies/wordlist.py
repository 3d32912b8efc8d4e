"""Lists of our own: CSV with the columns ``term,kind`` and, where it matters, ``form``."""

import csv
from collections.abc import Iterator
from pathlib import Path

from ..dictionary import FORMS, KINDS, MedicalTerm
from .rows import Reading, lines, require

__all__ = ["read_word_list"]


def read_word_list(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read a list of terms.

    path (Path): CSV with the columns term and kind, and form.
    reading (Reading): the account.
    YIELDS (MedicalTerm): the terms.
    RAISES: ConfigError (D700) if there are no such columns.
    """
    reader = csv.reader(line for _, line in lines(path, reading))
    header = [column.strip().lower() for column in next(reader, [])]
    require(header, ("term", "kind"), path, "a list of terms")
    for cells in reader:
        if not cells:
            continue
        reading.rows += 1
        values = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        form = values.get("form") or "term"
        if len(cells) > len(header) or not values["term"] or values.get("kind") not in KINDS or form not in FORMS:
            reading.skip(reader.line_num, f"no term, a kind that is not of {', '.join(KINDS)}, or an unknown form")
            continue
        yield MedicalTerm(values["term"], values["kind"], form)
