"""TODO."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

from .geometry import Box, Glyph, Run

# gaps in sizes of the font
WORD = 0.22  # a gap that is white space though no space character stands there
WIDE = 1.2  # a gap that parts columns or cells of a table
BACK = 0.5  # glyphs may overlap so far
APART = 4  # letters that stand apart are a word from so many on
ALIKE = 1.3  # how much wider than the others a gap between such letters may be


def make_runs(glyphs: Iterable[Glyph], turn: float) -> list[Run]:
    """Put glyphs together that follow one another on a line, in the order in which they come.

    glyphs (Iterable[Glyph]): in the order of the file, all of one turn.
    turn (float): their turn.
    RETURNS (list[Run]): the runs.
    """
    runs: list[list[Glyph]] = []
    for glyph in glyphs:
        if runs and _follows(runs[-1][-1], glyph):
            runs[-1].append(glyph)
        else:
            runs.append([glyph])
    joined = join_runs([Run(run, turn) for run in runs])
    for one in joined:
        one.glyphs = _drawn_together(one.glyphs)
    return joined


def _drawn_together(glyphs: list[Glyph]) -> list[Glyph]:
    """Make words of letters that are set apart for emphasis: each gets the gap behind it."""
    after = [has_space(left, right) for left, right in pairwise(glyphs)]
    alone = [
        len(glyph.text) == 1 and glyph.text.isalpha() and before and behind
        for glyph, before, behind in zip(glyphs, [True, *after], [*after, True], strict=True)
    ]
    out = list(glyphs)
    for is_alone, group in groupby(range(len(glyphs)), key=alone.__getitem__):
        letters = list(group)
        if is_alone and len(letters) >= APART:
            _close(out, letters)
    return out


def _close(glyphs: list[Glyph], letters: Sequence[int]) -> None:
    """Close the gaps between letters that are all alike; wider ones part words."""
    gaps = [glyphs[i + 1].box.x0 - glyphs[i].box.x1 for i in letters[:-1]]
    widest = ALIKE * median(gaps)
    for i, gap in zip(letters, gaps, strict=False):
        if gap <= widest:
            box = glyphs[i].box
            glyphs[i] = glyphs[i]._replace(box=box._replace(x1=max(box.x1, glyphs[i + 1].box.x0)))
            glyphs[i + 1] = glyphs[i + 1]._replace(space=False)


def _follows(last: Glyph, glyph: Glyph) -> bool:
    """Whether a glyph goes on where another ends. A raised or lowered one does."""
    em = max(last.em, glyph.em)
    gap = glyph.box.x0 - last.box.x1
    return abs(glyph.base - last.base) < 0.5 * em and -BACK * em < gap < WIDE * em


def join_runs(runs: list[Run]) -> list[Run]:
    """Join runs that stand on one line without a wide gap, wherever the file has them.

    runs (list[Run]): runs of one turn.
    RETURNS (list[Run]): the joined ones, from the top, then from the left.
    """
    joined: list[Run] = []
    for run in sorted(runs, key=lambda run: (run.box.x0, run.box.y0)):
        left = next((other for other in reversed(joined) if _continues(other, run)), None)
        if left is None:
            joined.append(run)
        else:
            _append(left, run)
    return sorted(joined, key=lambda run: (run.box.y0, run.box.x0))


def _continues(left: Run, run: Run) -> bool:
    """Whether a run goes on where another ends, or is the same text again, printed twice to look bold."""
    em = max(left.em, run.em)
    gap = run.box.x0 - left.box.x1
    level = abs(run.glyphs[0].base - left.glyphs[-1].base) < 0.3 * min(left.em, run.em)
    return level and (-BACK * em < gap < WIDE * em or _doubles(left, run))


def _doubles(left: Run, run: Run) -> bool:
    """Whether a run is printed over another one of the same text."""
    near = abs(run.box.x0 - left.box.x0) < 0.2 * left.em
    return near and [glyph.text for glyph in left.glyphs] == [glyph.text for glyph in run.glyphs]


def _append(left: Run, run: Run) -> None:
    """Add the glyphs of a run; those of a double only widen what is there."""
    if _doubles(left, run):
        pairs = zip(left.glyphs, run.glyphs, strict=True)
        left.glyphs = [glyph._replace(box=_around(glyph.box, other.box)) for glyph, other in pairs]
    else:
        left.glyphs += run.glyphs
    left.measure()


def _around(first: Box, second: Box) -> Box:
    """The smallest rectangle around two."""
    lows = map(min, first[:2], second[:2])
    return Box(*lows, *map(max, first[2:], second[2:]))


def has_space(last: Glyph, glyph: Glyph) -> bool:
    """Whether white space stands between two glyphs of a run."""
    return glyph.space or glyph.box.x0 - last.box.x1 > WORD * min(last.em, glyph.em)


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


def find_wrapped_rows(rows: list[Row]) -> list[bool]:
    """Tell for each row whether it goes on with the sentence of the row before.

    It does if the first word of the row would not have fitted at the end of the one before. The longest line of a form
    looks like that as well, so one full line is believed only if the next begins in lower case.

    rows (list[Row]): of one page, in order.
    RETURNS (list[bool]): for each row.
    """
    full = [False, *(_is_full(last, row) for last, row in pairwise(rows))]
    counts = Counter(row.column for row, is_full in zip(rows, full, strict=True) if is_full)
    return [is_full and (counts[row.column] > 1 or _goes_on(row)) for row, is_full in zip(rows, full, strict=True)]


def _is_full(last: Row, row: Row) -> bool:
    """Whether the first word of a row would not have fitted into the row before."""
    if len(last.runs) > 1 or len(row.runs) > 1 or last.column != row.column:
        return False
    above, below = last.runs[0], row.runs[0]
    em = max(above.em, below.em)
    close = abs(above.em - below.em) < 0.25 * em and 0 < below.glyphs[0].base - above.glyphs[-1].base < 2.2 * em
    return close and above.box.x1 + 0.25 * em + _first_word(below) > last.right + 0.1 * em


def _goes_on(row: Row) -> bool:
    """Whether a row begins within a sentence."""
    return row.runs[0].glyphs[0].text[:1].islower()


def _first_word(run: Run) -> float:
    """Width of the first word of a run."""
    last = run.glyphs[0]
    for glyph in run.glyphs[1:]:
        if has_space(last, glyph):
            break
        last = glyph
    return last.box.x1 - run.box.x0
