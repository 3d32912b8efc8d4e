"""Convert tables to text and edited text back to tables, according to column policies, and read and write delimited
files such as CSV.

A column policy says whether a column is searched, kept, dropped or treated as identifiers; see `ReadSettings.columns`.
"""

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConfigError, Errors, InputError
from ..io import decode, encode
from ..offsets import Edit, apply_edits
from .document import Document, ExtractedText, Format, PlacedText, ReadSettings, WriteSettings
from .plain import encoding_of

TEXT, KEEP, DROP = "text", "keep", "drop"
_LABEL = "label:"


def read_columns(path: Path, labels: Iterable[str]) -> dict[str, str]:
    """Read column policies, which say how each column of a table is treated, from a TOML file.

    path (Path): TOML file with a table "columns" that maps column names to "text", "keep", "drop" or "label:NAME".
    labels (Iterable[str]): known labels.
    RETURNS (dict[str, str]): for `ReadSettings.columns`.
    RAISES: ConfigError (D721) if the file cannot be read, has no table "columns" or contains an unknown action.
    """
    try:
        with open(path, "rb") as file:
            columns = tomllib.load(file).get("columns")
    except (OSError, ValueError, RecursionError):
        raise ConfigError(Errors.D721.format(path=path, reason="it cannot be read or is not TOML")) from None
    if not isinstance(columns, dict) or not columns:
        raise ConfigError(Errors.D721.format(path=path, reason="it has no table [columns]"))
    known = {TEXT, KEEP, DROP, *(_LABEL + label for label in labels)}
    for column, action in columns.items():
        if action not in known:
            reason = f'column \'{column}\' must be "text", "keep", "drop" or "label:NAME" with a known label'
            raise ConfigError(Errors.D721.format(path=path, reason=reason))
    return columns


TITLE = -1  # row number of the sheet name
MAX_CELLS = 20_000_000  # cells of a table, including empty ones


class Cell(NamedTuple):
    """The place of a text in a file of tables: indices of sheet, row and column.

    Row 0 has the column names. The row `TITLE` stands for the name of the sheet.
    """

    sheet: int
    row: int
    column: int


@dataclass(slots=True)
class Sheet:
    """A table, such as a CSV file or a sheet of a workbook.

    rows (list[list[Any]]): cell values by row; row 0 has the column names.
    title (str): name of the sheet, or "".
    """

    rows: list[list[Any]] = field(repr=False)
    title: str = field(default="", repr=False)

    @property
    def headers(self) -> list[str]:
        """The column names, which are the cells of row 0 as text."""
        return [cell_text(head) for head in self.rows[0]] if self.rows else []

    def actions(self, columns: Mapping[str, str]) -> list[str]:
        """Return the policy of each column, "text" by default, for as many columns as the longest row has."""
        width = max(map(len, self.rows), default=0)
        actions = [columns.get(head, TEXT) for head in self.headers]
        return actions + [TEXT] * (width - len(actions))


class TableParts(NamedTuple):
    """The data that is needed to write a file of tables.

    sheets (list[Sheet]): the tables.
    columns (Mapping[str, str]): the column policies.
    extra (Any): other data that the format needs, such as the delimiter of a CSV file.
    """

    sheets: list[Sheet]
    columns: Mapping[str, str]
    extra: Any = None

    def __repr__(self) -> str:
        return f"Tables({len(self.sheets)} sheets)"


def cell_text(value: Any) -> str:
    """Convert a cell value to text. Dates are written in ISO 8601."""
    if value is None:
        return ""
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second or value.microsecond):
        return value.date().isoformat()
    return value.isoformat(*" " * isinstance(value, datetime)) if isinstance(value, date) else str(value)


def make_document(
    name: str, kind: str, sheets: list[Sheet], settings: ReadSettings, extra: Any = None, warnings: Iterable[str] = ()
) -> Document:
    """Create the `Document` of a file of tables.

    name, kind (str): as in `Document`.
    sheets (list[Sheet]): the tables.
    settings (ReadSettings): the column policies.
    extra (Any): other data that the format needs to write the file.
    warnings (Iterable[str]): as in `Document`.
    RETURNS (Document): the document, with a mark for each cell of a column that has a label.
    RAISES: InputError (D722) if a policy names a missing column, since a misspelt name would leave the column to
        detection.
    """
    missing = set(settings.columns).difference(*(sheet.headers for sheet in sheets))
    if missing:
        raise InputError(Errors.D722.format(path=name, missing=", ".join(sorted(missing))))
    text, marks = table_text(sheets, settings.columns)
    parts = TableParts(sheets, settings.columns, extra)
    return Document(name, kind, text.text, (), tuple(dict.fromkeys(warnings)), parts, marks)


def table_text(
    sheets: Sequence[Sheet], columns: Mapping[str, str]
) -> tuple[PlacedText, tuple[tuple[int, int, str], ...]]:
    """Join the cells of tables to one text, in which each cell is a paragraph, so that no entity spans two cells.

    Names of sheets and columns are included, since they can contain PHI. The cells of columns to keep are
    not, and nothing of columns to drop is.

    RETURNS (tuple[PlacedText, tuple[tuple[int, int, str], ...]]): the text, whose places are of type `Cell`, and
        start, end and label of each cell of a column with the policy "label:NAME".
    """
    text = PlacedText()
    marks: list[tuple[int, int, str]] = []
    for number, sheet in enumerate(sheets):
        titles = [(TITLE, 0, TEXT, sheet.title)]
        actions = sheet.actions(columns)
        cells = (
            (i, j, actions[j], cell_text(value)) for i, row in enumerate(sheet.rows) for j, value in enumerate(row)
        )
        for row, column, action, shown in chain(titles, cells):
            if action == DROP or (action == KEEP and row) or not shown.strip():
                continue
            text.gap("\n\n")
            text.add(shown, Cell(number, row, column))
            if row and action.startswith(_LABEL):
                marks.append((*text.pieces[-1][:2], action.removeprefix(_LABEL)))
    return text, tuple(marks)


def edit_tables(tables: TableParts, edits: Sequence[Edit]) -> list[Sheet]:
    """Return edited copies of the tables, without columns to drop. Edited cells become strings."""
    sheets = [Sheet([list(row) for row in sheet.rows], sheet.title) for sheet in tables.sheets]
    for piece, local in table_text(tables.sheets, tables.columns)[0].edits_by_piece(edits):
        cell: Cell = piece.place
        sheet = sheets[cell.sheet]
        if cell.row == TITLE:
            sheet.title = apply_edits(sheet.title, local)
        else:
            sheet.rows[cell.row][cell.column] = apply_edits(cell_text(sheet.rows[cell.row][cell.column]), local)
    for sheet, original in zip(sheets, tables.sheets, strict=True):
        kept = [action != DROP for action in original.actions(tables.columns)]
        sheet.rows = [[value for value, keep in zip(row, kept, strict=False) if keep] for row in sheet.rows]
    return sheets


_DELIMITERS = ",;\t|"
_SPECIAL = _DELIMITERS + '"\r\n'
_ONE_COLUMN = "\x1f"  # does not occur in text
_MARK = "\ufeff"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_HEAD = 100_000  # characters examined to detect the delimiter


class _Shape(NamedTuple):
    """The form of a delimited file that a copy keeps: encoding, byte-order mark or "", delimiter, and line end."""

    encoding: str
    mark: str
    delimiter: str
    end: str


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a delimited file, such as CSV. The first line has the column names.

    RAISES: InputError if the file is not in its encoding (D400), its quotes are unbalanced (D701), or a column that
        the policies name is missing (D722).
    """
    sheet, shape = _parse(data, name, settings)
    return make_document(name, "csv", [sheet], settings, shape)


def _parse(data: bytes, name: str, settings: ReadSettings) -> tuple[Sheet, _Shape]:
    """Decode a delimited file and split it into cells.

    RAISES: InputError if it is not valid in its encoding (D400), or has unbalanced quotes or NUL characters (D701).
    """
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
    """Return the delimiter of a file: the most frequent candidate in the first line. If that line has none, it may be
    a title; then the delimiter is one that all other lines contain equally often. Otherwise the file has a single
    column, in which quotes may protect commas. `quoted` says whether the file has quoted text.
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
    """Write the edited table as delimited text; only cells that need quotes get them.

    RAISES: InputError (D413) if the encoding of the file lacks a character of a replacement.
    """
    tables: TableParts = document.parts
    shape: _Shape = tables.extra
    out = io.StringIO(newline="")
    rows = edit_tables(tables, edits)[0].rows
    # quote headers that contain any candidate delimiter, so that the delimiter is detected again
    for row in rows[:1]:
        special = (any(char in _SPECIAL for char in cell) for cell in row)
        cells = [
            '"' + cell.replace('"', '""') + '"' if quoted else cell for cell, quoted in zip(row, special, strict=True)
        ]
        out.write(shape.delimiter.join(cells) + shape.end)
    csv.writer(out, delimiter=shape.delimiter, lineterminator=shape.end).writerows(rows[1:])
    return encode(shape.mark + out.getvalue(), shape.encoding, document.name)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield all cells of a copy except those of columns with the policy "keep"."""
    sheet, _ = _parse(data, "copy", settings.read)
    yield ExtractedText("a cell", table_text([sheet], settings.read.columns)[0].text)


FORMAT = Format(read, write, extract)
