"""Excel workbooks: values and simple formatting are copied to a new workbook; everything else is left out."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font
from openpyxl.utils import column_index_from_string, get_column_letter

from ...errors import Errors, InputError
from ...offsets import Edit
from ..archive import open_archive
from ..document import Document, ExtractedText, Format, ReadSettings, WriteSettings
from ..markup import parse, texts_and_attributes
from .cells import DROP, MAX_CELLS, Sheet, TableParts, edit_tables, make_document, table_text

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_TITLE = str.maketrans("[]:*?/\\'", "()-----_")
_LONGEST_TITLE = 31
_LONGEST = 32_767  # most characters of a cell
_DECLARED = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_PARTS = {"drawing": "drawings and pictures", "comments": "comments", "pivot": "pivot tables", "chart": "charts"}
_PARTS |= {"embeddings": "embedded objects", "externallink": "links to other workbooks", "vba": "macros"}
_LEAST_ATTRIBUTE = 5
_MOST_FILLED = 5_000_000  # non-empty cells, each of which takes several hundred bytes
_COUNTED = re.compile(rb"<(?:\w+:)?(?:c|row|si)[\s/>]")
_STRICT = b"http://purl.oclc.org/ooxml/"
_HEAD = 4096


class _Formatting(NamedTuple):
    """The formatting of a sheet.

    widths (dict[int, float]): column widths by column number.
    cells (dict[tuple[int, int], tuple[str, bool]]): number format and boldness by row and column.
    """

    widths: dict[int, float]
    cells: dict[tuple[int, int], tuple[str, bool]]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a workbook. The first row of each sheet has the column names.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): limits and column policies.
    RETURNS (Document): names of sheets and cells as text.
    RAISES: InputError (D715, D722).
    """
    members = _checked(data, name, settings)
    sheets, looks = [], []
    book = _load(data, name)
    for table in book.worksheets:
        sheets.append(_to_sheet(table, name))
        looks.append(_formatting_of(table))
    notes = [f"{what} are removed" for part, what in _PARTS.items() if any(part in m.lower() for m in members)]
    if any(b"<f>" in part or b"<f " in part for m, part in members.items() if "worksheets/" in m):
        notes.append("formulas are replaced by their cached values")
    if not book.worksheets:
        raise InputError(Errors.D715.format(path=name, reason="it has no sheet with cells"))
    if len(book.worksheets) < len(book.sheetnames):
        notes.append("chart sheets are removed")
    return make_document(name, "xlsx", sheets, settings, looks, notes)


def _checked(data: bytes, name: str, settings: ReadSettings) -> dict[str, bytes]:
    """Return the members of the file after checking them for attacks and excessive size."""
    members = open_archive(data, name, settings)
    if any(_DECLARED.search(part.replace(b"\0", b"")) for m, part in members.items() if m.endswith((".xml", ".rels"))):
        reason = "its XML declares a document type, as in entity-expansion attacks"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    sheets = [part for member, part in members.items() if "worksheets/" in member.lower()]
    if any(_STRICT in part[:_HEAD] for part in sheets):
        reason = "not a workbook in transitional Office Open XML. Save it again as .xlsx"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    counted = [*sheets, *(part for member, part in members.items() if "sharedstrings" in member.lower())]
    if sum(len(_COUNTED.findall(part)) for part in counted) > _MOST_FILLED:
        raise InputError(
            Errors.D715.format(path=name, reason=f"more than {_MOST_FILLED} cells, rows and shared strings")
        )
    return members


@cache
def _constants() -> frozenset[tuple[str, str]]:
    """Return the texts and attributes of an empty workbook. They occur in every copy and can coincide with names."""
    book = Workbook()
    for value in (datetime(2000, 1, 1), True):
        cell = book.active.cell(1, 1)
        cell.value, cell.font = value, Font(bold=True)
    out = io.BytesIO()
    book.save(out)
    members = open_archive(out.getvalue(), "empty", ReadSettings())
    return frozenset(pair for part in members.values() for pair in texts_and_attributes(parse(part, "empty")))


def _load(data: bytes, name: str) -> Any:
    """Load a workbook with the cached values of its formulas."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_workbook(io.BytesIO(data), data_only=True, keep_links=False, rich_text=False)
    except Exception:  # openpyxl raises many types of exceptions for damaged files
        raise InputError(Errors.D715.format(path=name, reason="damaged: the workbook cannot be read")) from None


def _cells(table: Any) -> list[Any]:
    """Return the cells of a sheet that have a value. Iterating over its rows would create the empty ones."""
    return [cell for cell in table._cells.values() if cell.value is not None]


def _to_sheet(table: Any, name: str) -> Sheet:
    """Convert a sheet to rows."""
    cells = _cells(table)
    height, width = max((cell.row for cell in cells), default=0), max((cell.column for cell in cells), default=0)
    if height * width > MAX_CELLS:
        raise InputError(Errors.D715.format(path=name, reason=f"a sheet extends over more than {MAX_CELLS} cells"))
    rows: list[list[Any]] = [[None] * width for _ in range(height)]
    for cell in cells:
        rows[cell.row - 1][cell.column - 1] = cell.value
    return Sheet(rows, table.title)


def _formatting_of(table: Any) -> _Formatting:
    """Return the formatting of a sheet, without number formats that contain text."""
    sizes = table.column_dimensions.items()
    widths = {column_index_from_string(letter): size.width for letter, size in sizes if size.width}
    looks = {}
    for cell in _cells(table):
        if cell.has_style:
            wanted = cell.number_format if cell.is_date else "General"
            plain = wanted if '"' not in wanted and "\\" not in wanted else "yyyy-mm-dd"
            looks[cell.row, cell.column] = (plain, bool(cell.font.b))
    return _Formatting(widths, looks)


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a new workbook with values, column widths, date formats and bold type.

    document (Document): a document from `read`.
    edits (Sequence[Edit]): edits in the order of the text.
    settings (WriteSettings): not used.
    RETURNS (bytes): the content of the file.
    RAISES: DeidError (D003, D004).
    """
    tables: TableParts = document.parts
    book = Workbook()
    book.remove(book.active)
    for i, sheet in enumerate(edit_tables(tables, edits)):
        table = book.create_sheet(sheet.title.translate(_TITLE)[:_LONGEST_TITLE] or f"Sheet{i + 1}")
        kept = [n for n, action in enumerate(tables.sheets[i].actions(tables.columns), 1) if action != DROP]
        _fill(table, sheet, tables.extra[i], kept)
    book.properties.creator = book.properties.lastModifiedBy = ""
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _fill(table: Any, sheet: Sheet, look: _Formatting, kept: Sequence[int]) -> None:
    """Write the cells of a sheet. `kept` are the original numbers of its columns."""
    for column, original in enumerate(kept, 1):
        if original in look.widths:
            table.column_dimensions[get_column_letter(column)].width = look.widths[original]
    for number, row in enumerate(sheet.rows, 1):
        for column, (value, original) in enumerate(zip(row, kept, strict=False), 1):
            if value is None:
                continue
            cell = table.cell(number, column)
            cell.value = _ILLEGAL.sub("\ufffd", value)[:_LONGEST] if isinstance(value, str) else value
            if isinstance(value, str):
                cell.data_type = "s"  # never a formula
            form, bold = look.cells.get((number, original), ("General", False))
            cell.number_format = form
            if bold:
                cell.font = Font(bold=True)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield all cells except those of columns with the policy "keep", and all text in other parts."""
    members = _checked(data, "copy", settings.read)
    sheets = [_to_sheet(table, "copy") for table in _load(data, "copy").worksheets]
    yield ExtractedText("a cell", table_text(sheets, settings.read.columns)[0].text)
    for member, content in members.items():
        if "worksheets/" in member or member.endswith("sharedStrings.xml"):
            continue  # the cells
        for attribute, value in (
            texts_and_attributes(parse(content, "copy")) if member.endswith((".xml", ".rels")) else ()
        ):
            if (attribute, value) not in _constants():
                yield ExtractedText(member, value, _LEAST_ATTRIBUTE if attribute else 3)


FORMAT = Format(read, write, extract)
