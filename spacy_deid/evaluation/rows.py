"""Measured figures as rows of a JSON file, metrics/NAME.json: what a document may quote is what stands there."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import Errors, InputError
from .files import read_text, write_text

__all__ = ["MetricRow", "read_rows", "write_rows"]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One measured figure.

    name (str): what was measured, "character recall".
    value (float): the figure.
    target (float): what it should reach; None if there is no target.
    better (str): whether "higher" or "lower" figures are better.
    data (str): corpus and version.
    split (str): "train", "dev", "test", …
    command (str): command that measures it again.
    date (str): day of the measurement, ISO 8601.
    RAISES: InputError (D313) for a figure that is no number or another value of `better`.
    """

    name: str
    value: float
    target: float | None
    better: Literal["higher", "lower"]
    data: str
    split: str
    command: str
    date: str

    def __post_init__(self) -> None:
        figures = [self.value] if self.target is None else [self.value, self.target]
        if not all(map(_is_number, figures)):
            raise InputError(Errors.D313.format(name=self.name, reason="value and target must be finite numbers"))
        if self.better not in ("higher", "lower"):
            raise InputError(Errors.D313.format(name=self.name, reason="'better' must be 'higher' or 'lower'"))
        if not all(isinstance(text, str) for text in (self.name, self.data, self.split, self.command, self.date)):
            raise InputError(Errors.D313.format(name=self.name, reason="all but value and target must be strings"))

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None if there is none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


def _is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_rows(path: str | Path) -> list[MetricRow]:
    """Read the rows of a file.

    path (str | Path): the file.
    RETURNS (list[MetricRow]): in the order of the file.
    RAISES: InputError if it cannot be read or is no list of rows (D303), or a row is wrong (D313).
    """
    path = Path(path)
    try:
        records: Any = json.loads(read_text(path))
        return [MetricRow(**record) for record in records]
    except (json.JSONDecodeError, TypeError):
        raise InputError(Errors.D303.format(path=path, reason="not a list of metric rows")) from None


def write_rows(path: str | Path, rows: Iterable[MetricRow]) -> list[MetricRow]:
    """Put rows into a file. A row replaces the one of the same name and split in its place; others stay.

    The file is replaced whole or not at all. One that cannot be read is an error and is left as it is.

    path (str | Path): the file; its folder is made if it is not there.
    rows (Iterable[MetricRow]): new rows; of two with the same name and split the later one stays.
    RETURNS (list[MetricRow]): all rows that the file holds now.
    RAISES: InputError as `read_rows`.
    """
    path = Path(path)
    table = {(row.name, row.split): row for row in (read_rows(path) if path.exists() else [])}
    table |= {(row.name, row.split): row for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [asdict(row) for row in table.values()]
    write_text(path, json.dumps(records, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return list(table.values())
