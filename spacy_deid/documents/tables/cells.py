"""Tables as text: column policies, and cells separated by blank lines."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ConfigError, Errors, InputError
from ...offsets import Edit, apply_edits
from ..document import Document, ReadSettings
from ..placed_text import PlacedText

TEXT, KEEP, DROP = "text", "keep", "drop"
_LABEL = "label:"


def read_columns(path: Path, labels: Iterable[str]) -> dict[str, str]:
    """Read column policies from a file.

    path (Path): TOML file with a table "columns" that maps column names to "text", "keep", "drop" or "label:NAME".
    labels (Iterable[str]): known labels.
    RETURNS (dict[str, str]): for `ReadSettings.columns`.
    RAISES: ConfigError (D721).
    """
    try:
        with open(path, "rb") as file:
            columns = tomllib.load(file).get("columns")
    except (OSError, tomllib.TOMLDecodeError, UnicodeError):
        raise ConfigError(Errors.D721.format(path=path, reason="it cannot be read or is not TOML")) from None
    if not isinstance(columns, dict) or not columns:
        raise ConfigError(Errors.D721.format(path=path, reason="it has no table [columns]"))
    known = {TEXT, KEEP, DROP, *(_LABEL + label for label in labels)}
    for column, action in columns.items():
        if action not in known:
            reason = f'column \'{column}\' must be "text", "keep", "drop" or "label:NAME" with a known label'
            raise ConfigError(Errors.D721.format(path=path, reason=reason))
    return columns


def check_columns(columns: Mapping[str, str], headers: Iterable[str], name: str) -> None:
    """Raise an error if a column policy names a missing column, since a misspelt name would leave the column to
    detection.

    columns (Mapping[str, str]): the column policies.
    headers (Iterable[str]): names of all columns.
    name (str): file name.
    RAISES: InputError (D722).
    """
    missing = set(columns) - set(headers)
    if missing:
        raise InputError(Errors.D722.format(path=name, missing=", ".join(sorted(missing))))


def label_of(action: str) -> str:
    """Return the label of all cells of a column, or ""."""
    return action.removeprefix(_LABEL) if action.startswith(_LABEL) else ""


TITLE = -1  # row number of the sheet name
MAX_CELLS = 20_000_000  # cells of a table, including empty ones


class Cell(NamedTuple):
    """The place of a text: a cell, or the name of a sheet, which has the row `TITLE`. Row 0 has the column names."""

    sheet: int
    row: int
    column: int


@dataclass(slots=True)
class Sheet:
    """A table.

    rows (list[list[Any]]): cell values by row; row 0 has the column names.
    title (str): name of the sheet, or "".
    """

    rows: list[list[Any]] = field(repr=False)
    title: str = field(default="", repr=False)

    def actions(self, columns: Mapping[str, str]) -> list[str]:
        """Return the policy of each column, for as many columns as the widest row has."""
        width = max(map(len, self.rows), default=0)
        heads = [cell_text(head) for head in self.rows[0]] if self.rows else []
        return [columns.get(head, TEXT) for head in heads] + [TEXT] * (width - len(heads))


class TableParts(NamedTuple):
    """What is needed to write a file of tables.

    sheets (list[Sheet]): the tables.
    columns (Mapping[str, str]): the column policies.
    extra (Any): other data of the format.
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
    """Create the document of a file of tables.

    name, kind (str): as in `Document`.
    sheets (list[Sheet]): the tables.
    settings (ReadSettings): the column policies.
    extra (Any): other data that the format needs to write the file.
    warnings (Iterable[str]): as in `Document`.
    RETURNS (Document): the document, with a mark for each cell of a column that has a label.
    RAISES: InputError (D722).
    """
    heads = [cell_text(head) for sheet in sheets for head in (sheet.rows[0] if sheet.rows else ())]
    check_columns(settings.columns, heads, name)
    text, marks = table_text(sheets, settings.columns)
    parts = TableParts(sheets, settings.columns, extra)
    return Document(name, kind, text.text, (), tuple(dict.fromkeys(warnings)), parts, marks)


def table_text(
    sheets: Sequence[Sheet], columns: Mapping[str, str]
) -> tuple[PlacedText, tuple[tuple[int, int, str], ...]]:
    """Return the text of tables and its marks. Names of sheets and columns are included, since they can contain
    PHI.
    """
    text = PlacedText()
    marks: list[tuple[int, int, str]] = []
    for number, sheet in enumerate(sheets):
        _add(text, sheet.title, Cell(number, TITLE, 0))
        actions = sheet.actions(columns)
        for index, row in enumerate(sheet.rows):
            for column, value in enumerate(row):
                if actions[column] == DROP or (actions[column] == KEEP and index):
                    continue
                before = len(text.pieces)
                _add(text, cell_text(value), Cell(number, index, column))
                if index and label_of(actions[column]) and len(text.pieces) > before:
                    marks.append((*text.pieces[-1][:2], label_of(actions[column])))
    return text, tuple(marks)


def _add(text: PlacedText, shown_text: str, cell: Cell) -> None:
    """Add a cell as a separate paragraph, so that no entity spans two cells."""
    if shown_text.strip():
        text.gap("\n\n")
        text.add(shown_text, cell)


def edit_tables(tables: TableParts, edits: Sequence[Edit]) -> list[Sheet]:
    """Apply edits to copies of the tables, and remove columns with the policy "drop".

    tables (TableParts): the tables.
    edits (Sequence[Edit]): edits in the order of the text.
    RETURNS (list[Sheet]): the tables. Edited cells are strings.
    RAISES: DeidError (D003, D004).
    """
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
