"""Read Excel workbooks (.xlsx), and write only their values and simple formatting to a new workbook."""

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

from ..errors import Errors, InputError
from ..offsets import Edit
from .archive import open_archive
from .document import Document, ExtractedText, Format, ReadSettings, WriteSettings
from .markup import LEAST_ATTRIBUTE, parse, texts_and_attributes
from .tables import DROP, MAX_CELLS, Sheet, TableParts, edit_tables, make_document, table_text

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_TITLE = str.maketrans("[]:*?/\\'", "()-----_")
_LONGEST_TITLE = 31
_LONGEST = 32_767  # most characters of a cell
_DECLARED = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_PARTS = {"drawing": "drawings and pictures", "comments": "comments", "pivot": "pivot tables", "chart": "charts"}
_PARTS |= {"embeddings": "embedded objects", "externallink": "links to other workbooks", "vba": "macros"}
_MOST_FILLED = 5_000_000  # non-empty cells, each of which takes several hundred bytes
_COUNTED = re.compile(rb"<(?:\w+:)?(?:c|row|si)[\s/>]")
_STRICT = b"http://purl.oclc.org/ooxml/"
_HEAD = 4096


class _Formatting(NamedTuple):
    """The formatting of a sheet that is copied: column widths by column number, and for each cell with a style, by row
    and column, its number format and whether it is bold.
    """

    widths: dict[int, float]
    cells: dict[tuple[int, int], tuple[str, bool]]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read the names and cells of all sheets. The first row of each sheet has the column names.

    RAISES: InputError (D722) if a column policy names a missing column.
    """
    members, book = _open(data, name, settings)
    sheets = [_to_sheet(table, name) for table in book.worksheets]
    looks = []
    for table in book.worksheets:
        sizes = table.column_dimensions.items()
        widths = {column_index_from_string(letter): size.width for letter, size in sizes if size.width}
        cells = {}
        for cell in table._cells.values():
            if cell.value is not None and cell.has_style:
                form = cell.number_format if cell.is_date else "General"
                plain = form if '"' not in form and "\\" not in form else "yyyy-mm-dd"  # a format may contain text
                cells[cell.row, cell.column] = (plain, bool(cell.font.b))
        looks.append(_Formatting(widths, cells))
    notes = [f"{what} are removed" for part, what in _PARTS.items() if any(part in m.lower() for m in members)]
    if any(b"<f>" in part or b"<f " in part for m, part in members.items() if "worksheets/" in m):
        notes.append("formulas are replaced by their cached values")
    if not book.worksheets:
        raise InputError(Errors.D715.format(path=name, reason="it has no sheet with cells"))
    if len(book.worksheets) < len(book.sheetnames):
        notes.append("chart sheets are removed")
    return make_document(name, "xlsx", sheets, settings, looks, notes)


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[dict[str, bytes], Any]:
    """Open a workbook after checking it for attacks and excessive size. Returns the files in its archive by name, and
    the workbook of openpyxl, in which formulas have their cached values.
    """
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
        reason = f"more than {_MOST_FILLED} cells, rows and shared strings"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return members, load_workbook(io.BytesIO(data), data_only=True, keep_links=False, rich_text=False)
    except Exception:  # openpyxl raises many types of exceptions for damaged files
        raise InputError(Errors.D715.format(path=name, reason="damaged: the workbook cannot be read")) from None


@cache
def _constants() -> frozenset[tuple[str, str]]:
    """Return the texts and attributes that openpyxl writes to every workbook. They are not searched in copies, because
    they can coincide with names.
    """
    book = Workbook()
    for value in (datetime(2000, 1, 1), True):
        cell = book.active.cell(1, 1)
        cell.value, cell.font = value, Font(bold=True)
    out = io.BytesIO()
    book.save(out)
    members = open_archive(out.getvalue(), "empty", ReadSettings())
    return frozenset(pair for part in members.values() for pair in texts_and_attributes(parse(part, "empty")))


def _to_sheet(table: Any, name: str) -> Sheet:
    """Convert a worksheet of openpyxl to a `Sheet`. RAISES: InputError (D715) if it extends over too many cells."""
    # iterating over its rows would create the empty cells
    cells = [cell for cell in table._cells.values() if cell.value is not None]
    height, width = max((cell.row for cell in cells), default=0), max((cell.column for cell in cells), default=0)
    if height * width > MAX_CELLS:
        raise InputError(Errors.D715.format(path=name, reason=f"a sheet extends over more than {MAX_CELLS} cells"))
    rows: list[list[Any]] = [[None] * width for _ in range(height)]
    for cell in cells:
        rows[cell.row - 1][cell.column - 1] = cell.value
    return Sheet(rows, table.title)


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write the edited sheets to a new workbook, with column widths, date formats and bold type of the original."""
    tables: TableParts = document.parts
    book = Workbook()
    book.remove(book.active)
    for i, sheet in enumerate(edit_tables(tables, edits)):
        table = book.create_sheet(sheet.title.translate(_TITLE)[:_LONGEST_TITLE] or f"Sheet{i + 1}")
        look: _Formatting = tables.extra[i]
        # original numbers of the columns
        kept = [n for n, action in enumerate(tables.sheets[i].actions(tables.columns), 1) if action != DROP]
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
                cell.number_format, bold = look.cells.get((number, original), ("General", False))
                if bold:
                    cell.font = Font(bold=True)
    book.properties.creator = book.properties.lastModifiedBy = ""
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield all cells of a copy except those of columns with the policy "keep", and the text of its other parts."""
    members, book = _open(data, "copy", settings.read)
    sheets = [_to_sheet(table, "copy") for table in book.worksheets]
    yield ExtractedText("a cell", table_text(sheets, settings.read.columns)[0].text)
    for member, content in members.items():
        if "worksheets/" in member or member.endswith("sharedStrings.xml"):
            continue  # the cells
        for attribute, value in (
            texts_and_attributes(parse(content, "copy")) if member.endswith((".xml", ".rels")) else ()
        ):
            if (attribute, value) not in _constants():
                yield ExtractedText(member, value, LEAST_ATTRIBUTE if attribute else 3)


FORMAT = Format(read, write, extract)
