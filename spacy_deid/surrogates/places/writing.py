"""How a value is written: its capitals, blanks, line breaks and the marks around it go over to its surrogate."""

import re
import string
from collections.abc import Sequence

from ..keys import Draw

__all__ = ["capitalised", "dress", "redraw", "split_marks", "tokens"]

_EDGES = re.compile(r"^(\W*)(.*?)(\W*)$", re.DOTALL)
_BLANKS = re.compile(r"\s+")
_TOKEN = re.compile(r"\d+[ºªo]?|[^\W\d_]+(?:['’][^\W\d_]+)*['’]?|_")
_NUMBER = re.compile(r"\d+")
_LETTER = re.compile(
    r"(?<![^\W\d_:'’])(?![ªº])[^\W\d_](?![^\W\d_])(?!/n\b)(?<!\bs/n)(?<!\d (?-i:y)(?= \d))(?<!n(?=°))", re.IGNORECASE
)


def split_marks(text: str) -> tuple[str, str, str]:
    """Part a mention from the marks and blanks at its ends.

    text (str): as written.
    RETURNS (tuple[str, str, str]): marks before, the value, marks after; a full stop of "S.A." is one of them.
    """
    found = _EDGES.match(text)
    assert found is not None  # every part may be empty
    return found[1], found[2], found[3]


def tokens(text: str) -> list[tuple[str, str]]:
    """Part a value into words and numbers.

    text (str): as written.
    RETURNS (list[tuple[str, str]]): (what stands before, word); the last word may be empty.
    """
    out, end = [], 0
    for found in _TOKEN.finditer(text):
        out.append((text[end : found.start()], found.group()))
        end = found.end()
    return [*out, (text[end:], "")] if end < len(text) else out


def capitalised(text: str) -> str:
    """A text with its first letter as a capital, the others as they are."""
    return text[:1].upper() + text[1:]


def dress(value: str, like: str, *, noun: bool = False) -> str:
    """Write a surrogate as the original was written.

    value (str): surrogate in its usual capitals.
    like (str): the original.
    noun (bool): whether they are common nouns: these keep capitals of their own ("IT consultant").
    RETURNS (str): all capitals, all small or first capital as the original; its line breaks and wide blanks kept.
    """
    letters = [c for c in like if c.isalpha()]
    if len(letters) > 1 and all(c == c.upper() for c in letters):
        value = value.upper()
    elif letters and all(c == c.lower() for c in letters):
        value = value if noun else value.lower()
    elif letters and letters[0].isupper() and not (noun and like.split()[0].isupper()):
        value = capitalised(value)
    return _blanks(value, _BLANKS.findall(like))


def _blanks(value: str, blanks: Sequence[str]) -> str:
    """Put the unusual blanks of the original where the surrogate has blanks; line breaks that are left go behind."""
    if all(blank == " " for blank in blanks):
        return value
    words = _BLANKS.split(value)
    gaps = [*blanks[: len(words) - 1], *[" "] * (len(words) - 1 - len(blanks))]
    joined = "".join(word + gap for word, gap in zip(words, [*gaps, ""], strict=True))
    return joined + "".join(c for blank in blanks[len(words) - 1 :] for c in blank if c in "\r\n")


def redraw(text: str, draw: Draw, *, letters: str = string.ascii_uppercase[:8]) -> str:
    """Draw the numbers and the single letters of a text anew: "12B, 3.º izq" becomes "47D, 5.º izq".

    text (str): as written.
    draw (Draw): chance.
    letters (str): what a single letter becomes.
    RETURNS (str): as many digits as before, none of them 0 at the beginning of a number that had none there.
    """

    def number(found: re.Match[str]) -> str:
        first, rest = found.group()[0], found.group()[1:]
        start = "0" if first == "0" else str(1 + draw.below(9))
        return start + "".join(str(draw.below(10)) for _ in rest)

    def letter(found: re.Match[str]) -> str:
        new = draw.choice(letters)
        return new if found.group().isupper() else new.lower()

    return _LETTER.sub(letter, _NUMBER.sub(number, text))
