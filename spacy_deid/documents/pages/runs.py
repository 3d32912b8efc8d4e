"""Glyphs into runs: pieces of a line between wide gaps."""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from statistics import median

from .glyphs import Box, Glyph, Run

__all__ = ["has_space", "join_runs", "make_runs"]

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
