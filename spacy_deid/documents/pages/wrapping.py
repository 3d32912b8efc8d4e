"""Which lines of a page go on in the next one, so that the two belong to one sentence."""

from collections import Counter
from itertools import pairwise

from .glyphs import Run
from .order import Row
from .runs import has_space

__all__ = ["wrapped_rows"]


def wrapped_rows(rows: list[Row]) -> list[bool]:
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
