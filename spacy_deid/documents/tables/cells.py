"""TODO."""

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
    """Read a policy of columns.

    path (Path): TOML file with a table "columns": name of a column = "text", "keep", "drop" or "label:NAME".
    labels (Iterable[str]): the labels that there are.
    RETURNS (dict[str, str]): for `ReadSettings.columns`.
    RAISES: ConfigError (D721).
    """
    try:
        with open(path, "rb") as file:
            columns = tomllib.load(file).get("columns")
    except (OSError, tomllib.TOMLDecodeError, UnicodeError):
        raise ConfigError(Errors.D721.format(path=path, reason="cannot be read, or is not TOML")) from None
    if not isinstance(columns, dict) or not columns:
        raise ConfigError(Errors.D721.format(path=path, reason="no table [columns] in it"))
    known = {TEXT, KEEP, DROP, *(_LABEL + label for label in labels)}
    for column, action in columns.items():
        if action not in known:
            reason = f'column \'{column}\': it is "text", "keep", "drop" or "label:NAME" with a known label'
            raise ConfigError(Errors.D721.format(path=path, reason=reason))
    return columns


def check_columns(columns: Mapping[str, str], headers: Iterable[str], name: str) -> None:
    """Make sure that every column that is named is there: a slip of the pen would leave another one to the search.

    columns (Mapping[str, str]): the policy.
    headers (Iterable[str]): names of all columns.
    name (str): name of the file.
    RAISES: InputError (D722).
    """
    missing = set(columns) - set(headers)
    if missing:
        raise InputError(Errors.D722.format(path=name, missing=", ".join(sorted(missing))))


def label_of(action: str) -> str:
    """The label that all cells of a column are of, "" if there is none."""
    return action.removeprefix(_LABEL) if action.startswith(_LABEL) else ""


TITLE = -1  # row of a sheet's name
MAX_CELLS = 20_000_000  # cells of a table, empty ones too


class Cell(NamedTuple):
    """A place: a cell, or a sheet's name, which is above row 0. Row 0 has the names of the columns."""

    sheet: int
    row: int
    column: int


@dataclass(slots=True)
class Sheet:
    """A table.

    rows (list[list[Any]]): cells row by row; row 0 has the names of the columns.
    title (str): name of the sheet, "" if it has none.
    """

    rows: list[list[Any]] = field(repr=False)
    title: str = field(default="", repr=False)

    def actions(self, columns: Mapping[str, str]) -> list[str]:
        """What becomes of each column, as wide as the widest row."""
        width = max(map(len, self.rows), default=0)
        heads = [cell_text(head) for head in self.rows[0]] if self.rows else []
        return [columns.get(head, TEXT) for head in heads] + [TEXT] * (width - len(heads))


class TableParts(NamedTuple):
    """What is needed to write a file of tables.

    sheets (list[Sheet]): the tables.
    columns (Mapping[str, str]): the policy.
    about (Any): what else the format needs.
    """

    sheets: list[Sheet]
    columns: Mapping[str, str]
    extra: Any = None

    def __repr__(self) -> str:
        return f"Tables({len(self.sheets)} sheets)"


def cell_text(value: Any) -> str:
    """A cell as text."""
    if value is None:
        return ""
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second or value.microsecond):
        return value.date().isoformat()
    return value.isoformat(*" " * isinstance(value, datetime)) if isinstance(value, date) else str(value)


def make_document(
    name: str, kind: str, sheets: list[Sheet], settings: ReadSettings, extra: Any = None, warnings: Iterable[str] = ()
) -> Document:
    """Make the document of a file of tables.

    name, kind (str): as in `Document`.
    sheets (list[Sheet]): the tables.
    settings (ReadSettings): has the policy of columns.
    about (Any): what the format needs beside.
    warnings (Iterable[str]): as in `Document`.
    RETURNS (Document): with a mark for each cell of a column that has a label.
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
    """The text of tables, and the marks on it. Names of sheets and columns are text too: they may be no names."""
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
    """Add a cell; nothing is read across its edges."""
    if shown_text.strip():
        text.gap("\n\n")
        text.add(shown_text, cell)


def edit_tables(tables: TableParts, edits: Sequence[Edit]) -> list[Sheet]:
    """Make edits in copies of tables, without the columns that are dropped.

    tables (Tables): the tables.
    edits (Sequence[Edit]): in the order of the text.
    RETURNS (list[Sheet]): the tables; a cell that was edited is text.
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
