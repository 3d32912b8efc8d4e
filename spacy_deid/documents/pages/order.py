"""The order in which a page is read: rows from the top, columns of prose one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from .glyphs import Run

__all__ = ["Row", "reading_order"]

ROWS = 3  # a column has at least so many lines
LETTERS = 18  # of at least so many characters, else it is one of a table, which is read by rows


@dataclass(slots=True)
class Row:
    """Runs that are read from left to right.

    runs (list[Run]): them.
    right (float): where the column that it belongs to ends.
    column (int): which one that is; rows of one column come one after the other.
    """

    runs: list[Run]
    right: float
    column: int


def reading_order(runs: Sequence[Run]) -> list[Row]:
    """Put the runs of a page in order.

    runs (Sequence[Run]): runs of one turn.
    RETURNS (list[Row]): rows in the order in which they are read.
    """
    rows: list[Row] = []
    for column, block in enumerate(_blocks(list(runs))):
        right = max((run.box.x1 for row in block for run in row), default=0.0)
        rows += [Row(row, right, column) for row in block]
    return rows


def _blocks(runs: list[Run]) -> list[list[list[Run]]]:
    """Columns, and what stands between them over the whole width, each as its rows."""
    rows = _rows(runs)
    blocks: list[list[list[Run]]] = [[]]
    i = 0
    while i < len(rows):
        end, gutter = _slab(rows, i)
        if gutter is None:
            blocks[-1].append(rows[i])
            i += 1
            continue
        inside = [run for row in rows[i:end] for run in row]
        blocks += _blocks([run for run in inside if run.box.x1 <= gutter])
        blocks += [*_blocks([run for run in inside if run.box.x1 > gutter]), []]
        i = end
    return [block for block in blocks if block]


def _rows(runs: list[Run]) -> list[list[Run]]:
    """Runs that stand side by side; one row is over where the next one begins."""
    rows: list[list[Run]] = []
    bottom = 0.0
    for run in sorted(runs, key=lambda run: _middle(run)):
        if rows and _middle(run) < bottom:
            rows[-1].append(run)
        else:
            rows.append([run])
            bottom = _middle(run) + 0.45 * run.em
    return [sorted(row, key=lambda run: run.box.x0) for row in rows]


def _middle(run: Run) -> float:
    """Where a run stands, whatever letters it has."""
    return run.glyphs[0].base


def _slab(rows: list[list[Run]], first: int) -> tuple[int, float | None]:
    """The rows from one on that a gutter runs through, if what stands beside it is columns of prose.

    RETURNS (tuple[int, float | None]): the row behind them, and a place in the gutter.
    """
    for low, high in _gaps(rows[first]):
        end = first
        left, right = low, high
        for row in rows[first:]:
            inside = _narrowed(row, left, right)
            if inside is None:
                break
            left, right = inside
            end += 1
        gutter = (left + right) / 2
        if _is_prose(rows[first:end], gutter):
            return end, gutter
    return first, None


def _gaps(row: list[Run]) -> list[tuple[float, float]]:
    """The gaps between the runs of a row."""
    return [(left.box.x1, right.box.x0) for left, right in pairwise(row)]


def _narrowed(row: list[Run], left: float, right: float) -> tuple[float, float] | None:
    """What a row leaves of a gutter; None if it crosses it."""
    for run in row:
        if run.box.x0 >= right or run.box.x1 <= left:
            continue
        middle = (left + right) / 2
        if run.box.x1 <= middle or run.box.x0 >= middle:
            left, right = (max(left, run.box.x1), right) if run.box.x1 <= middle else (left, min(right, run.box.x0))
            continue
        return None
    smallest = min(run.em for run in row)
    return (left, right) if right - left > 0.6 * smallest else None


def _letters(run: Run) -> int:
    """How many characters a run has."""
    return sum(len(glyph.text) for glyph in run.glyphs)


def _is_prose(rows: list[list[Run]], gutter: float) -> bool:
    """Whether both sides of a gutter are columns of long lines."""
    sides = [[run for row in rows for run in row if (run.box.x1 <= gutter) == left] for left in (True, False)]
    return all(len(side) >= ROWS and median(map(_letters, side)) >= LETTERS for side in sides)
