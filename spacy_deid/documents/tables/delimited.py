"""CSV and its kin: the sign between cells is told by the first line."""

import csv
import io
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
_MARK = "\ufeff"


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
    RAISES: InputError (D400, D715, D722).
    """
    sheet, shape = _parse(data, name, settings)
    return make_document(name, "csv", [sheet], settings, shape)


def _parse(data: bytes, name: str, settings: ReadSettings) -> tuple[Sheet, _Shape]:
    """Cut a file into cells."""
    text, encoding = decode(data, encoding_of(data, settings), name)
    mark = _MARK if text.startswith(_MARK) else ""
    text = text.removeprefix(_MARK)
    first = text.partition("\n")[0]
    sign = max(_SIGNS, key=first.count)
    csv.field_size_limit(max(csv.field_size_limit(), min(settings.max_bytes, 2**31 - 1)))
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True))
    except csv.Error:
        raise InputError(Errors.D715.format(path=name, reason="not a table: quotes are not closed, or NUL")) from None
    return Sheet([list(row) for row in rows]), _Shape(encoding, mark, sign, "\r\n" if first.endswith("\r") else "\n")


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
    csv.writer(out, delimiter=shape.sign, lineterminator=shape.end).writerows(edit_tables(tables, edits)[0].rows)
    return encode(shape.mark + out.getvalue(), shape.encoding, document.name)


def extract(data: bytes, settings: WriteSettings) -> Iterator[Found]:
    """All cells but those of columns that are kept as they are."""
    sheet, _ = _parse(data, "copy", settings.read)
    yield Found("a cell", table_text([sheet], settings.read.columns)[0].text)


FORMAT = Format(read, write, extract)
