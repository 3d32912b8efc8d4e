"""Read and write measured figures as rows of the JSON files metrics/NAME.json.

The documentation quotes figures only from these files.
"""

import json
import math
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import Errors, InputError
from .documents import read_text, write_text

# appended to the name of a row to name the rows of its interval
ENDS = (", lower end of the 95 % interval", ", upper end of the 95 % interval")
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A measured figure with its target, its data and the command that repeats the measurement.

    name (str): name of the figure, such as "character recall".
    value (float): the figure.
    target (float): value to reach; None if there is no target.
    better (str): whether "higher" or "lower" values are better.
    data (str): corpus and version.
    split (str): "train", "dev", "test", …
    command (str): command that repeats the measurement.
    date (str): date of the measurement, ISO 8601.
    RAISES: InputError (D313) if a field has the wrong type or a number is not finite.
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
        numbers = (isinstance(figure, int | float) and not isinstance(figure, bool) for figure in figures)
        if not (all(numbers) and all(map(math.isfinite, figures))):
            raise InputError(Errors.D313.format(name=self.name, reason="value and target must be finite numbers"))
        if self.better not in ("higher", "lower"):
            raise InputError(Errors.D313.format(name=self.name, reason="'better' must be 'higher' or 'lower'"))
        if not all(isinstance(text, str) for text in (self.name, self.data, self.split, self.command, self.date)):
            raise InputError(Errors.D313.format(name=self.name, reason="all but value and target must be strings"))

    @property
    def key(self) -> Key:
        """Name, data and split, which identify a row within its file."""
        return self.name, self.data, self.split

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None if there is no target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


def with_interval(row: MetricRow, interval: Sequence[float] | None) -> list[MetricRow]:
    """Add the bounds of a confidence interval to a row, as two rows without a target.

    row (MetricRow): the figure.
    interval (Sequence[float] | None): lower and upper bound; None if there is no interval.
    RETURNS (list[MetricRow]): the row, followed by the rows of the bounds.
    """
    ends = zip(ENDS, interval or (), strict=False)
    return [row, *(replace(row, name=row.name + end, value=round(value, 5), target=None) for end, value in ends)]


def read_rows(path: str | Path) -> list[MetricRow]:
    """Read the metric rows of a JSON file.

    path (str | Path): path of the file.
    RETURNS (list[MetricRow]): rows in the order of the file.
    RAISES: InputError if the file cannot be read or is not a list of rows (D303), or a row is invalid (D313).
    """
    path = Path(path)
    try:
        records: Any = json.loads(read_text(path))
        return [MetricRow(**record) for record in records]
    except (json.JSONDecodeError, TypeError):
        raise InputError(Errors.D303.format(path=path, reason="not a list of metric rows")) from None


def write_rows(path: str | Path, rows: Iterable[MetricRow]) -> list[MetricRow]:
    """Add metric rows to a file. A row replaces an existing one with the same name, data and split; others are kept.

    The file is written atomically. If the existing file cannot be read, it is left unchanged.

    path (str | Path): the file; its folder is created if missing.
    rows (Iterable[MetricRow]): new rows; of two with the same name, data and split the later one is kept.
    RETURNS (list[MetricRow]): all rows of the file after writing.
    RAISES: InputError as `read_rows`.
    """
    path = Path(path)
    return _write(path, [*(read_rows(path) if path.exists() else []), *rows])


def replace_rows(path: str | Path, rows: Iterable[MetricRow]) -> list[MetricRow]:
    """Replace all rows of a file that have the same data and split as the new rows.

    path (str | Path): the file; its folder is created if missing.
    rows (Iterable[MetricRow]): new rows.
    RETURNS (list[MetricRow]): all rows of the file after writing.
    RAISES: InputError as `read_rows`.
    """
    path, rows = Path(path), list(rows)
    measured = {(row.data, row.split) for row in rows}
    others = [row for row in (read_rows(path) if path.exists() else []) if (row.data, row.split) not in measured]
    return _write(path, [*others, *rows])


def _write(path: Path, rows: Iterable[MetricRow]) -> list[MetricRow]:
    """Write rows as JSON. If two have the same key, only the later one is kept, at the position of the first."""
    table = {row.key: row for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [asdict(row) for row in table.values()]
    write_text(path, json.dumps(records, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return list(table.values())


def command_line(module: str, context: Any, leave_out: Collection[str] = ("with_text", "metrics")) -> str:
    """Rebuild the command line of the running command, so that the measurement can be repeated (`MetricRow.command`).

    module (str): module to run, and its subcommand: "benchmarks.evaluate corpus".
    context (click.Context): context of the running command.
    leave_out (Collection[str]): names of parameters to omit, because they do not change the figures.
    RETURNS (str): "python -m MODULE" and the arguments and options that were given. A path below the working directory
        is made relative to it; of any other absolute path only the file name is kept.
    """
    words = ["python", "-m", *module.split()]
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
            path = Path(str(one))
            local = path.is_absolute() and path.is_relative_to(Path.cwd())
            word = str(path.relative_to(Path.cwd())) if local else path.name if path.is_absolute() else str(one)
            words += [*flags, word]
    return shlex.join(words)
