"""Text functions for all languages: compare spellings, split text, and write a surrogate in the style of the original.

None of them depends on a language. They let a surrogate keep the capitals, the blanks, the line breaks and the
surrounding punctuation of the value that it replaces.
"""

import re
import string
import unicodedata
from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
DIGITS = "0123456789"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Draw(Protocol):
    """A source of random numbers. The package derives it from a key, so that a decision can be repeated."""

    def below(self, n: int, /) -> int:
        """Draw an integer from 0 to n - 1."""
        ...

    def choice(self, options: Sequence[T], /) -> T:
        """Draw one of several options."""
        ...

    def chance(self, share: float, /) -> bool:
        """Return True with a probability of ``share`` (0 – 1)."""
        ...


def fold(text: str) -> str:
    """Remove differences of case, accents and white space, so that two spellings of a value can be compared.

    text (str): any text.
    RETURNS (str): casefolded text without accents, its words separated by single blanks.
    """
    plain = text.lower() if text.isascii() else text.translate(_PLAIN)
    return plain if plain.isalnum() else " ".join(plain.split())


class _Plain(dict[int, int | str]):
    """Translation table that folds each character when it first occurs, and caches it; five times as fast as folding
    each text."""

    def __missing__(self, code: int) -> int | str:
        folded = "".join(
            c for c in unicodedata.normalize("NFKD", chr(code)) if not unicodedata.combining(c)
        ).casefold()
        self[code] = plain = ord(folded) if len(folded) == 1 else folded
        return plain


_PLAIN = _Plain()


_EDGES = re.compile(r"^(\W*)(.*?)(\W*)$", re.DOTALL)
_BLANKS = re.compile(r"\s+")
_TOKEN = re.compile(r"\d+[ºªo]?|[^\W\d_]+(?:['’][^\W\d_]+)*['’]?|_")
_NUMBER = re.compile(r"\d+")
# A letter that stands alone, as of a door or a staircase. Not "s/n" (no number), "º", "y" between numbers, "n°".
_LETTER = re.compile(
    r"(?<![^\W\d_:'’])(?![ªº])[^\W\d_](?![^\W\d_])(?!/n\b)(?<!\bs/n)(?<!\d (?-i:y)(?= \d))(?<!n(?=°))", re.IGNORECASE
)


def split_marks(text: str) -> tuple[str, str, str]:
    """Split a mention into its value and the punctuation and white space around it.

    text (str): a mention, as written.
    RETURNS (tuple[str, str, str]): characters before the value, value, characters after it. The final full stop of
        "S.A." counts as punctuation.
    """
    found = _EDGES.match(text)
    assert found is not None  # every part may be empty
    return found[1], found[2], found[3]


def tokens(text: str) -> list[tuple[str, str]]:
    """Split a value into words and numbers, keeping the text between them.

    text (str): the value as written.
    RETURNS (list[tuple[str, str]]): (text between the previous word and this one, word or number). Joined, the pairs
        give the text again; the last word is "" if the text ends in something else.
    """
    out, end = [], 0
    for found in _TOKEN.finditer(text):
        out.append((text[end : found.start()], found.group()))
        end = found.end()
    return [*out, (text[end:], "")] if end < len(text) else out


def capitalize(text: str) -> str:
    """Return a text with its first letter as a capital and the others unchanged."""
    return text[:1].upper() + text[1:]


def match_style(value: str, like: str, *, noun: bool = False) -> str:
    """Write a surrogate with the capitals and the white space of the original.

    value (str): surrogate, in its usual capitals.
    like (str): the original, as written.
    noun (bool): whether both are common nouns. If the original is then in lower case, the surrogate keeps its own
        capitals ("IT consultant").
    RETURNS (str): the surrogate in capitals, in lower case or with an initial capital, like the original, and with
        the original's line breaks and wide blanks.
    """
    letters = [c for c in like if c.isalpha()]
    if len(letters) > 1 and all(c == c.upper() for c in letters):
        value = value.upper()
    elif letters and all(c == c.lower() for c in letters):
        value = value if noun else value.lower()
    elif letters and letters[0].isupper() and not (noun and like.split()[0].isupper()):
        value = capitalize(value)
    return _copy_blanks(value, _BLANKS.findall(like))


def _copy_blanks(value: str, blanks: Sequence[str]) -> str:
    """Replace the blanks of a surrogate by those of the original, and append line breaks for which it has no blank."""
    if all(blank == " " for blank in blanks):
        return value
    words = _BLANKS.split(value)
    gaps = [*blanks[: len(words) - 1], *[" "] * (len(words) - 1 - len(blanks))]
    joined = "".join(word + gap for word, gap in zip(words, [*gaps, ""], strict=True))
    return joined + "".join(c for blank in blanks[len(words) - 1 :] for c in blank if c in "\r\n")


def redraw(text: str, draw: Draw, *, letters: str = string.ascii_uppercase[:8]) -> str:
    """Replace the numbers and the single letters of a text by random ones: "12B, 3.º izq" becomes "47D, 5.º izq".

    text (str): the text as written.
    draw (Draw): source of random numbers; all numbers are drawn before the letters.
    letters (str): capital letters that can replace a single letter.
    RETURNS (str): text of the same length. A number keeps its first digit if that is 0, and does not start with 0
        otherwise.
    """

    def number(found: re.Match[str]) -> str:
        first, rest = found.group()[0], found.group()[1:]
        start = "0" if first == "0" else str(1 + draw.below(9))
        return start + "".join(str(draw.below(10)) for _ in rest)

    def letter(found: re.Match[str]) -> str:
        new = draw.choice(letters)
        return new if found.group().isupper() else new.lower()

    return _LETTER.sub(letter, _NUMBER.sub(number, text))
