"""Letters that are set apart, as in "B r a u l i o   S a n z": which blanks between them are not read."""

import re
from collections.abc import Iterator
from itertools import pairwise

__all__ = ["wide_blanks"]

_BLANK = "[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
# four and more single letters or digits with blanks between; a sign may stand at either edge
_RUN = re.compile(rf"(?<![\w@.,/+-])[^\W_](?:{_BLANK}{{1,8}}[^\W_](?![^\W_])){{3,}}(?![-/@+]\w)")
_BLANKS = re.compile(f"{_BLANK}+")
_FEWEST_DIGITS = 8  # a row of fewer single digits is a scale, a score or a row of teeth
_DISTINCT = 3  # different letters that a word has; "x x o x" are boxes that were ticked
_LONGEST = 3  # letters that the longest word must have
_WIDEST = 2  # blanks between the letters of a word


def wide_blanks(text: str) -> Iterator[tuple[int, int, str]]:
    """Find the blanks between letters that are set apart.

    The narrowest gap of a run stands within words; wider ones stand between them. Where all gaps are alike, a capital
    behind a small letter begins a word. Runs of letters in the order of the alphabet, of one or two different letters,
    and of digits that count up, are no words.

    text (str): any text.
    YIELDS (tuple[int, int, str]): start and end of blanks; what is read instead, nothing or a blank between words.
    """
    for found in _RUN.finditer(text):
        gaps = list(_BLANKS.finditer(text, found.start(), found.end()))
        narrow = min(gap.end() - gap.start() for gap in gaps)
        within = [gap for gap in gaps if gap.end() - gap.start() == narrow]
        letters = _BLANKS.sub("", found[0])
        if narrow > _WIDEST or len(within) * 3 < len(gaps) * 2 or not _is_word(letters):
            continue
        wide = [gap.end() - gap.start() > narrow or _begins(text, gap.start(), gap.end()) for gap in gaps]
        if _longest(wide) < _LONGEST:
            continue
        for gap, between in zip(gaps, wide, strict=True):
            if not between or gap[0] != " ":
                yield gap.start(), gap.end(), " " * between


def _begins(text: str, start: int, end: int) -> bool:
    """Whether a capital behind a small letter begins a word behind a gap."""
    return text[start - 1].islower() and text[end].isupper()


def _longest(wide: list[bool]) -> int:
    """Letters of the longest word, from which gaps part words."""
    longest = length = 1
    for between in wide:
        length = 1 if between else length + 1
        longest = max(longest, length)
    return longest


def _is_word(letters: str) -> bool:
    """Whether letters that are set apart can be words or a number, and no row of marks, options or scores."""
    folded = letters.casefold()
    digits = sum(map(str.isdigit, letters))
    if len(set(folded)) < _DISTINCT:
        return False
    steps = {ord(after) - ord(before) for before, after in pairwise(folded)}
    if steps in ({1}, {-1}):
        return False
    if digits:
        # a number with at most two letters, as the check letter of an identity card
        return digits >= _FEWEST_DIGITS and len(letters) - digits <= 2 and max(filter(str.isdigit, letters)) > "5"
    return True
