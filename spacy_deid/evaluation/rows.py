"""Measured figures as rows of a JSON file, metrics/NAME.json: what a document may quote is what stands there."""

import json
import math
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import Errors, InputError
from .files import read_text, write_text

__all__ = ["ENDS", "MetricRow", "read_rows", "replace_rows", "with_interval", "write_rows"]

# what the rows of an interval's two ends are called after the row that it belongs to
ENDS = (", lower end of the 95 % interval", ", upper end of the 95 % interval")
Key = tuple[str, str, str]


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
    def key(self) -> Key:
        """What tells a row from the others of its file: name, data and split."""
        return self.name, self.data, self.split

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None if there is none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


def _is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def with_interval(row: MetricRow, interval: Sequence[float] | None) -> list[MetricRow]:
    """A row and the two ends of its interval, as rows of their own without a target.

    row (MetricRow): the figure.
    interval (Sequence[float] | None): lower and upper end; None if there is none.
    RETURNS (list[MetricRow]): the row, then the ends.
    """
    ends = zip(ENDS, interval or (), strict=False)
    return [row, *(replace(row, name=row.name + end, value=round(value, 5), target=None) for end, value in ends)]


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
    """Put rows into a file. A row replaces the one of the same name, data and split in its place; others stay.

    The file is replaced whole or not at all. One that cannot be read is an error and is left as it is.

    path (str | Path): the file; its folder is made if it is not there.
    rows (Iterable[MetricRow]): new rows; of two with the same name, data and split the later one stays.
    RETURNS (list[MetricRow]): all rows that the file holds now.
    RAISES: InputError as `read_rows`.
    """
    path = Path(path)
    return _write(path, [*(read_rows(path) if path.exists() else []), *rows])


def replace_rows(path: str | Path, rows: Iterable[MetricRow]) -> list[MetricRow]:
    """Put rows into a file in place of all that it holds of the same data and split: no old figure stays beside them.

    path (str | Path): the file; its folder is made if it is not there.
    rows (Iterable[MetricRow]): new rows.
    RETURNS (list[MetricRow]): all rows that the file holds now.
    RAISES: InputError as `read_rows`.
    """
    path, rows = Path(path), list(rows)
    measured = {(row.data, row.split) for row in rows}
    others = [row for row in (read_rows(path) if path.exists() else []) if (row.data, row.split) not in measured]
    return _write(path, [*others, *rows])


def _write(path: Path, rows: Iterable[MetricRow]) -> list[MetricRow]:
    """Write rows, of two with the same key the later one in the place of the first."""
    table = {row.key: row for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [asdict(row) for row in table.values()]
    write_text(path, json.dumps(records, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return list(table.values())


def command_line(module: str, context: Any, leave_out: Collection[str] = ("with_text", "metrics")) -> str:
    """Rebuild the command that runs a measurement again, for `MetricRow.command`.

    module (str): module to run, "benchmarks.evaluate".
    context (click.Context): context of the running command.
    leave_out (Collection[str]): names of parameters that change no figure.
    RETURNS (str): "python -m MODULE" and the arguments and options that were given. A path below the working directory
        is made relative to it; of any other absolute path only the file name is kept.
    """
    words = ["python", "-m", module]
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if not source or source.name != "COMMANDLINE" or name in leave_out:
            continue
        flag, value = parameter.opts[0], context.params[name]
        flags = [flag] if parameter.param_type_name == "option" else []
        if value is True:
            words.append(flag)
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [*flags, _local_path(str(one))]
    return shlex.join(words)


def _local_path(word: str) -> str:
    """Make an absolute path relative to the working directory, or reduce it to its file name."""
    path = Path(word)
    if not path.is_absolute():
        return word
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name
