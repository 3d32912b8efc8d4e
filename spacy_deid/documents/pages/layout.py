"""Layout analysis: group glyphs into runs and rows, determine the reading order, and detect wrapped lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

from .geometry import Glyph, Run, bounding_box

# gaps in font sizes
WORD = 0.22  # gap that is white space even without a space character
WIDE = 1.2  # gap that separates columns or table cells
BACK = 0.5  # largest overlap of glyphs
APART = 4  # fewest spaced letters that form a word
ALIKE = 1.3  # largest ratio of a gap between such letters to the median


def make_runs(glyphs: Iterable[Glyph], turn: float) -> list[Run]:
    """Group consecutive glyphs of a line.

    glyphs (Iterable[Glyph]): glyphs of one turn, in the order of the file.
    turn (float): their rotation in degrees clockwise.
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
        one.glyphs = _join_spaced_letters(one.glyphs)
    return joined


def _join_spaced_letters(glyphs: list[Glyph]) -> list[Glyph]:
    """Form words of letters that are spaced for emphasis: each letter is extended over the gap after it."""
    after = [has_space(left, right) for left, right in pairwise(glyphs)]
    alone = [
        len(glyph.text) == 1 and glyph.text.isalpha() and before and behind
        for glyph, before, behind in zip(glyphs, [True, *after], [*after, True], strict=True)
    ]
    out = list(glyphs)
    for is_alone, group in groupby(range(len(glyphs)), key=alone.__getitem__):
        letters = list(group)
        if is_alone and len(letters) >= APART:
            _close_gaps(out, letters)
    return out


def _close_gaps(glyphs: list[Glyph], letters: Sequence[int]) -> None:
    """Close the gaps between spaced letters, except for wider gaps, which separate words."""
    gaps = [glyphs[i + 1].box.x0 - glyphs[i].box.x1 for i in letters[:-1]]
    widest = ALIKE * median(gaps)
    for i, gap in zip(letters, gaps, strict=False):
        if gap <= widest:
            box = glyphs[i].box
            glyphs[i] = glyphs[i]._replace(box=box._replace(x1=max(box.x1, glyphs[i + 1].box.x0)))
            glyphs[i + 1] = glyphs[i + 1]._replace(space=False)


def _follows(last: Glyph, glyph: Glyph) -> bool:
    """Whether a glyph continues the line of another one, possibly as superscript or subscript."""
    em = max(last.em, glyph.em)
    gap = glyph.box.x0 - last.box.x1
    return abs(glyph.base - last.base) < 0.5 * em and -BACK * em < gap < WIDE * em


def join_runs(runs: list[Run]) -> list[Run]:
    """Join runs on the same line without a wide gap, regardless of their order in the file.

    runs (list[Run]): runs of one turn.
    RETURNS (list[Run]): joined runs, sorted from top to bottom and left to right.
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
    """Whether a run continues another one, or repeats it at the same place to look bold."""
    em = max(left.em, run.em)
    gap = run.box.x0 - left.box.x1
    level = abs(run.glyphs[0].base - left.glyphs[-1].base) < 0.3 * min(left.em, run.em)
    return level and (-BACK * em < gap < WIDE * em or _is_double_print(left, run))


def _is_double_print(left: Run, run: Run) -> bool:
    """Whether a run repeats another run at the same place."""
    near = abs(run.box.x0 - left.box.x0) < 0.2 * left.em
    return near and [glyph.text for glyph in left.glyphs] == [glyph.text for glyph in run.glyphs]


def _append(left: Run, run: Run) -> None:
    """Append the glyphs of a run. A double print only enlarges the existing boxes."""
    if _is_double_print(left, run):
        pairs = zip(left.glyphs, run.glyphs, strict=True)
        left.glyphs = [glyph._replace(box=bounding_box([glyph.box, other.box])) for glyph, other in pairs]
    else:
        left.glyphs += run.glyphs
    left.measure()


def has_space(last: Glyph, glyph: Glyph) -> bool:
    """Whether there is white space between two glyphs of a run."""
    return glyph.space or glyph.box.x0 - last.box.x1 > WORD * min(last.em, glyph.em)


ROWS = 3  # fewest lines of a column
LETTERS = 18  # fewest characters of its median line; columns of tables have less and are read by rows


@dataclass(slots=True)
class Row:
    """Runs that are read from left to right.

    runs (list[Run]): the runs.
    right (float): right edge of the column that the row belongs to.
    column (int): number of the column; rows of a column are consecutive.
    """

    runs: list[Run]
    right: float
    column: int


def reading_order(runs: Sequence[Run]) -> list[Row]:
    """Sort the runs of a page in reading order: rows from top to bottom, columns of prose one after the other.

    runs (Sequence[Run]): runs of one turn.
    RETURNS (list[Row]): rows in reading order.
    """
    rows: list[Row] = []
    for column, block in enumerate(_split_columns(list(runs))):
        right = max((run.box.x1 for row in block for run in row), default=0.0)
        rows += [Row(row, right, column) for row in block]
    return rows


def _split_columns(runs: list[Run]) -> list[list[list[Run]]]:
    """Split runs into columns and full-width blocks between them; each is returned as a list of rows."""
    rows = _rows(runs)
    blocks: list[list[list[Run]]] = [[]]
    i = 0
    while i < len(rows):
        end, gutter = _column_rows(rows, i)
        if gutter is None:
            blocks[-1].append(rows[i])
            i += 1
            continue
        inside = [run for row in rows[i:end] for run in row]
        blocks += _split_columns([run for run in inside if run.box.x1 <= gutter])
        blocks += [*_split_columns([run for run in inside if run.box.x1 > gutter]), []]
        i = end
    return [block for block in blocks if block]


def _rows(runs: list[Run]) -> list[list[Run]]:
    """Group runs that are side by side. A row ends where the next one starts."""
    rows: list[list[Run]] = []
    bottom = 0.0
    for run in sorted(runs, key=lambda run: _baseline(run)):
        if rows and _baseline(run) < bottom:
            rows[-1].append(run)
        else:
            rows.append([run])
            bottom = _baseline(run) + 0.45 * run.em
    return [sorted(row, key=lambda run: run.box.x0) for row in rows]


def _baseline(run: Run) -> float:
    """Return the baseline of a run, which does not depend on its letters."""
    return run.glyphs[0].base


def _column_rows(rows: list[list[Run]], first: int) -> tuple[int, float | None]:
    """Find the rows from `first` on that are split by a gutter between columns of prose.

    RETURNS (tuple[int, float | None]): index after the last of these rows and an x coordinate in the gutter, or
        `first` and None.
    """
    for before, after in pairwise(rows[first]):
        low, high = before.box.x1, after.box.x0
        end = first
        left, right = low, high
        for row in rows[first:]:
            inside = _narrow_gutter(row, left, right)
            if inside is None:
                break
            left, right = inside
            end += 1
        gutter = (left + right) / 2
        if _is_prose(rows[first:end], gutter):
            return end, gutter
    return first, None


def _narrow_gutter(row: list[Run], left: float, right: float) -> tuple[float, float] | None:
    """Return the part of a gutter that a row leaves free; None if the row crosses it."""
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


def _is_prose(rows: list[list[Run]], gutter: float) -> bool:
    """Whether both sides of a gutter are columns of long lines."""
    sides = [[run for row in rows for run in row if (run.box.x1 <= gutter) == left] for left in (True, False)]
    lengths = [[sum(len(glyph.text) for glyph in run.glyphs) for run in side] for side in sides]
    return all(len(side) >= ROWS and median(side) >= LETTERS for side in lengths)


def find_wrapped_rows(rows: list[Row]) -> list[bool]:
    """Determine for each row whether it continues the sentence of the row before.

    A row does so if its first word would not have fitted at the end of the row before. The longest line of a form can
    look the same, so a single full line counts only if the next one starts in lower case.

    rows (list[Row]): rows of one page in reading order.
    RETURNS (list[bool]): one value per row.
    """
    full = [False, *(_is_full(last, row) for last, row in pairwise(rows))]
    counts = Counter(row.column for row, is_full in zip(rows, full, strict=True) if is_full)
    return [
        is_full and (counts[row.column] > 1 or row.runs[0].glyphs[0].text[:1].islower())
        for row, is_full in zip(rows, full, strict=True)
    ]


def _is_full(last: Row, row: Row) -> bool:
    """Whether the first word of a row would not have fitted into the row before."""
    if len(last.runs) > 1 or len(row.runs) > 1 or last.column != row.column:
        return False
    above, below = last.runs[0], row.runs[0]
    em = max(above.em, below.em)
    close = abs(above.em - below.em) < 0.25 * em and 0 < below.glyphs[0].base - above.glyphs[-1].base < 2.2 * em
    return close and above.box.x1 + 0.25 * em + _first_word(below) > last.right + 0.1 * em


def _first_word(run: Run) -> float:
    """Return the width of the first word of a run."""
    last = run.glyphs[0]
    for glyph in run.glyphs[1:]:
        if has_space(last, glyph):
            break
        last = glyph
    return last.box.x1 - run.box.x0
