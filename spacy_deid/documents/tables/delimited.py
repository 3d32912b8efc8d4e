"""CSV and its kin: the sign between cells is told by the first line."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import Errors, InputError
from ...io import decode, encode
from ...offsets import Edit
from ..document import Document, Format, Found, ReadSettings, WriteSettings
from ..plain import encoding_of
from .cells import Sheet, Tables, edit_tables, make_document, table_text

__all__ = ["FORMAT"]

_SIGNS = ",;\t|"
_SPECIAL = _SIGNS + '"\r\n'
_ONE_COLUMN = "\x1f"  # a sign that no text has
_MARK = "\ufeff"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_HEAD = 100_000  # characters that are looked at for the sign between cells


class _Shape(NamedTuple):
    """How a file is written: its encoding, its byte-order mark, the sign between cells, its line ends."""

    encoding: str
    mark: str
    sign: str
    end: str


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a table. The first line names the columns.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): encoding and policy of columns.
    RETURNS (Document): its cells as text.
    RAISES: InputError (D400, D701, D722).
    """
    sheet, shape = _parse(data, name, settings)
    return make_document(name, "csv", [sheet], settings, shape)


def _parse(data: bytes, name: str, settings: ReadSettings) -> tuple[Sheet, _Shape]:
    """Cut a file into cells."""
    text, encoding = decode(data, encoding_of(data, settings), name)
    mark = _MARK if text.startswith(_MARK) else ""
    text = text.removeprefix(_MARK)
    plain = _QUOTED.sub("", text[:_HEAD])
    first = plain.partition("\n")[0]
    sign = _sign(plain.splitlines()[: -1 if len(text) > _HEAD else None], '"' in text)
    csv.field_size_limit(max(csv.field_size_limit(), min(settings.max_bytes, 2**31 - 1)))
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True))
    except csv.Error:
        reason = "not a table: quotes are not closed, or close within a cell, or NUL"
        raise InputError(Errors.D701.format(path=name, row=len(rows) + 1, reason=reason)) from None
    return Sheet([*rows]), _Shape(encoding, mark, sign, "\r\n" if first.endswith("\r") else "\n")


def _sign(lines: Sequence[str], quoted: bool) -> str:
    """The sign between cells: the most frequent one of the first line. If that has none, it can be a title, and the
    sign is one that every other line has as often, or there is one column, whose cells are quoted for a comma or not.

    lines (Sequence[str]): without what is quoted.
    quoted (bool): whether something is.
    """
    first = lines[0] if lines else ""
    if any(sign in first for sign in _SIGNS):
        return max(_SIGNS, key=first.count)
    counts = {sign: {line.count(sign) for line in lines[1:] if line} for sign in _SIGNS}
    return next(
        (sign for sign, seen in counts.items() if len(seen) == 1 and 0 not in seen), "," if quoted else _ONE_COLUMN
    )


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a table. Cells are quoted where they must be, not where they were.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order.
    settings (WriteSettings): not needed.
    RETURNS (bytes): the file.
    RAISES: DeidError (D003, D004), InputError (D413).
    """
    tables: Tables = document.parts
    shape: _Shape = tables.about
    out = io.StringIO(newline="")
    rows = edit_tables(tables, edits)[0].rows
    # heads are quoted if they hold any sign that could be taken for the one between cells
    out.writelines(shape.sign.join(map(_quoted, row)) + shape.end for row in rows[:1])
    csv.writer(out, delimiter=shape.sign, lineterminator=shape.end).writerows(rows[1:])
    return encode(shape.mark + out.getvalue(), shape.encoding, document.name)


def _quoted(cell: str) -> str:
    """A cell in quotes if it must be."""
    return '"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in _SPECIAL) else cell


def extract(data: bytes, settings: WriteSettings) -> Iterator[Found]:
    """All cells but those of columns that are kept as they are."""
    sheet, _ = _parse(data, "copy", settings.read)
    yield Found("a cell", table_text([sheet], settings.read.columns)[0].text)


FORMAT = Format(read, write, extract)
