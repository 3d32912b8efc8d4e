"""CSV and its kin: the sign between cells is told by the first line."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import Errors, InputError
from ...io import decode, encode
from ...offsets import Edit
from ..document import Document, ExtractedText, Format, ReadSettings, WriteSettings
from ..plain import encoding_of
from .cells import Sheet, TableParts, edit_tables, make_document, table_text

_DELIMITERS = ",;\t|"
_SPECIAL = _DELIMITERS + '"\r\n'
_ONE_COLUMN = "\x1f"  # a sign that no text has
_MARK = "\ufeff"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_HEAD = 100_000  # characters that are looked at for the sign between cells


class _Shape(NamedTuple):
    """How a file is written: its encoding, its byte-order mark, the sign between cells, its line ends."""

    encoding: str
    mark: str
    delimiter: str
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
    delimiter = _detect_delimiter(plain.splitlines()[: -1 if len(text) > _HEAD else None], '"' in text)
    csv.field_size_limit(max(csv.field_size_limit(), min(settings.max_bytes, 2**31 - 1)))
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        reason = "not a table: quotes are not closed, or close within a cell, or NUL"
        raise InputError(Errors.D701.format(path=name, row=len(rows) + 1, reason=reason)) from None
    return Sheet([*rows]), _Shape(encoding, mark, delimiter, "\r\n" if first.endswith("\r") else "\n")


def _detect_delimiter(lines: Sequence[str], quoted: bool) -> str:
    """The sign between cells: the most frequent one of the first line. If that has none, it can be a title, and the
    sign is one that every other line has as often, or there is one column, whose cells are quoted for a comma or not.

    lines (Sequence[str]): without what is quoted.
    quoted (bool): whether something is.
    """
    first = lines[0] if lines else ""
    if any(delimiter in first for delimiter in _DELIMITERS):
        return max(_DELIMITERS, key=first.count)
    counts = {delimiter: {line.count(delimiter) for line in lines[1:] if line} for delimiter in _DELIMITERS}
    return next(
        (delimiter for delimiter, seen in counts.items() if len(seen) == 1 and 0 not in seen),
        "," if quoted else _ONE_COLUMN,
    )


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a table. Cells are quoted where they must be, not where they were.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order.
    settings (WriteSettings): not needed.
    RETURNS (bytes): the file.
    RAISES: DeidError (D003, D004), InputError (D413).
    """
    tables: TableParts = document.parts
    shape: _Shape = tables.extra
    out = io.StringIO(newline="")
    rows = edit_tables(tables, edits)[0].rows
    # heads are quoted if they hold any sign that could be taken for the one between cells
    out.writelines(shape.delimiter.join(map(_quoted, row)) + shape.end for row in rows[:1])
    csv.writer(out, delimiter=shape.delimiter, lineterminator=shape.end).writerows(rows[1:])
    return encode(shape.mark + out.getvalue(), shape.encoding, document.name)


def _quoted(cell: str) -> str:
    """A cell in quotes if it must be."""
    return '"' + cell.replace('"', '""') + '"' if any(delimiter in cell for delimiter in _SPECIAL) else cell


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """All cells but those of columns that are kept as they are."""
    sheet, _ = _parse(data, "copy", settings.read)
    yield ExtractedText("a cell", table_text([sheet], settings.read.columns)[0].text)


FORMAT = Format(read, write, extract)
