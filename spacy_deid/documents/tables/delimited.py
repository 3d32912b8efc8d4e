"""CSV and other delimited text. The delimiter is detected."""

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
_ONE_COLUMN = "\x1f"  # does not occur in text
_MARK = "\ufeff"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_HEAD = 100_000  # characters examined to detect the delimiter


class _Shape(NamedTuple):
    """How a file is written.

    encoding (str): its encoding.
    mark (str): its byte-order mark, or "".
    delimiter (str): the character between cells.
    end (str): the line end.
    """

    encoding: str
    mark: str
    delimiter: str
    end: str


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a table. The first line has the column names.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): encoding and column policies.
    RETURNS (Document): the cells as text.
    RAISES: InputError (D400, D701, D722).
    """
    sheet, shape = _parse(data, name, settings)
    return make_document(name, "csv", [sheet], settings, shape)


def _parse(data: bytes, name: str, settings: ReadSettings) -> tuple[Sheet, _Shape]:
    """Split a file into cells."""
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
        reason = "not a table: it has unbalanced quotes or NUL characters"
        raise InputError(Errors.D701.format(path=name, row=len(rows) + 1, reason=reason)) from None
    return Sheet([*rows]), _Shape(encoding, mark, delimiter, "\r\n" if first.endswith("\r") else "\n")


def _detect_delimiter(lines: Sequence[str], quoted: bool) -> str:
    """Detect the delimiter: the most frequent candidate in the first line. If the first line has none, it may be a
    title; then the delimiter is one that all other lines contain equally often. Otherwise the file has a single
    column, in which quotes may protect commas.

    lines (Sequence[str]): the lines without quoted text.
    quoted (bool): whether the file has quoted text.
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
    """Write an edited table. Cells are quoted where necessary, not where they were quoted in the original.

    document (Document): a document from `read`.
    edits (Sequence[Edit]): edits in the order of the text.
    settings (WriteSettings): not used.
    RETURNS (bytes): the content of the file.
    RAISES: DeidError (D003, D004), InputError (D413).
    """
    tables: TableParts = document.parts
    shape: _Shape = tables.extra
    out = io.StringIO(newline="")
    rows = edit_tables(tables, edits)[0].rows
    # quote headers that contain any candidate delimiter, so that the delimiter is detected again
    for row in rows[:1]:
        quoted = (any(char in _SPECIAL for char in cell) for cell in row)
        cells = ['"' + cell.replace('"', '""') + '"' if q else cell for cell, q in zip(row, quoted, strict=True)]
        out.write(shape.delimiter.join(cells) + shape.end)
    csv.writer(out, delimiter=shape.delimiter, lineterminator=shape.end).writerows(rows[1:])
    return encode(shape.mark + out.getvalue(), shape.encoding, document.name)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield all cells except those of columns with the policy "keep"."""
    sheet, _ = _parse(data, "copy", settings.read)
    yield ExtractedText("a cell", table_text([sheet], settings.read.columns)[0].text)


FORMAT = Format(read, write, extract)
