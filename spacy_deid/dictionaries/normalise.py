"""Normalise texts and terms so that different spellings compare as equal, and map offsets back to the original text.

Case is folded. Accents and other combining marks are removed (NFKD without marks, Unicode Standard Annex 15).
Ligatures and some letters are spelled out (ß ss, æ ae, ø o, ł l). Every apostrophe becomes "'"; hyphens, dashes and
any white space become a single space. Invisible characters (soft hyphen, joiners, byte order mark) are removed. So
"GARCÍA‐López", "García  Lopez" and "García\\nLópez" all become "garcia lopez".

A text is normalised with one lookup per character in a table of all Unicode code points, in NumPy, at about 80 million
characters per second. Each normalised character stores the offset of the original character.
"""

import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

_APOSTROPHES = frozenset("'`\u00b4\u02b9\u02bb\u02bc\u02bd\u02c8\u2018\u2019\u201b\u2032\uff07")
_HYPHENS = frozenset("\u2043\u2212")  # hyphen bullet and minus sign, in addition to category Pd
_ZERO_WIDTH_SPACE = "\u200b"  # of category Cf, but it separates words
_LETTERS = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ŋ": "n"}
)

# Only characters in these ranges change: two planes, the compatibility ideographs, the tag characters.
_RANGES = ((0, 0x20000), (0x2F800, 0x2FA20), (0xE0000, 0xE0200))
_UNICODE = sys.maxunicode + 1
_FREQUENT = 0x3000  # code points below this are those of alphabets and of punctuation
_SPACE = ord(" ")
_DROPPED = _UNICODE  # table value of a character that is removed
_SEVERAL = _UNICODE + 1  # table values from here on are indices of normal forms with several characters

_OTHER, _LOWER, _UPPER, _DIGIT, _MARK = range(5)
_KIND = np.array([0, 1, 1, 2, 0], dtype=np.uint8)  # index is the class: letters are 1, digits 2
# Whether there is a word edge between a character of class i (row) and one of class j (column): the tokenizer's rules.
_EDGE = np.array(
    # other, lower, upper, digit
    [[1, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1], [1, 1, 1, 0]],
    dtype=bool,
).ravel()


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised text of n characters, with the data to map its offsets to the original text.

    text (str): the normalised text.
    origin (NDArray): for each normalised character the offset of its original character; the last item is the length
        of the original. Shape (n + 1,).
    edges (NDArray): whether a word can start or end before each normalised character, and at the end. Shape (n + 1,),
        bool.
    classes (NDArray): for each character of the original whether it is a capital, another letter, a digit, a combining
        mark or anything else, as a number. Shape (length of the original,), uint8.
    """

    text: str
    origin: NDArray[np.int64]
    edges: NDArray[np.bool_]
    classes: NDArray[np.uint8]

    def original(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Map spans of the normalised text to the original, including combining marks after the last letter.

        starts, ends (NDArray): spans of the normalised text, end exclusive and greater than start. Shape (k,).
        RETURNS (tuple[list[int], list[int]]): starts and ends in the original, end exclusive.
        """
        first = self.origin[starts]
        last = self.origin[ends - 1] + 1
        kinds = np.append(self.classes, np.uint8(_OTHER))
        while (marked := kinds[last] == _MARK).any():
            last += marked
        return first.tolist(), last.tolist()

    def is_lowercase(self, places: Sequence[int]) -> NDArray[np.bool_]:
        """Check whether characters of the original are letters other than capitals.

        places (Sequence[int]): k offsets in the original.
        RETURNS (NDArray): the answer for each offset. Shape (k,), bool.
        """
        small: NDArray[np.bool_] = self.classes.take(places) == _LOWER
        return small

    def capitalised_share(self) -> float:
        """Compute the share of words in the original that start with a capital.

        RETURNS (float): the share between 0 and 1; 0 for a text without words.
        """
        letter = (self.classes == _LOWER) | (self.classes == _UPPER)
        begins = letter.copy()
        begins[1:] &= self.classes[:-1] == _OTHER
        count = np.count_nonzero(begins)
        return np.count_nonzero(begins & (self.classes == _UPPER)) / count if count else 0.0


_MARKS = frozenset({"Mn", "Me"})


def _fold(char: str) -> str:
    """Normalise one character. The result has no, one or several characters."""
    if (simple := _fold_mark(char)) is not None:
        return simple
    # Remove marks before folding case: casefold turns the Greek iota subscript, a mark, into a letter.
    bare = "".join(part for part in unicodedata.normalize("NFKD", char) if unicodedata.category(part) not in _MARKS)
    folded = unicodedata.normalize("NFKD", bare.casefold()).translate(_LETTERS)
    return "".join(part if (simple := _fold_mark(part)) is None else simple for part in folded)


def _fold_mark(char: str) -> str | None:
    """Normalise apostrophes, hyphens, white space, marks and invisible characters; None for any other character."""
    category = unicodedata.category(char)
    if char in _APOSTROPHES:
        return "'"
    if char in _HYPHENS or category == "Pd" or char.isspace() or char == _ZERO_WIDTH_SPACE:
        return " "
    if category in _MARKS or category == "Cf":
        return ""
    return None


class _Folding(dict[int, str]):
    """A table for `str.translate` from code points to normal forms, which is filled when a character first occurs."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold(chr(code))
        return folded


_FOLDING = _Folding()


def normal_form(term: str) -> str:
    """Convert a term to its normal form, in which it is stored and compared. Surrounding space is removed.

    term (str): the term in any spelling.
    RETURNS (str): the normal form; empty if the term has only spaces, hyphens and invisible characters.
    """
    if term.isascii():  # most terms; ten times as fast
        return " ".join(term.lower().replace("-", " ").replace("`", "'").split())
    return " ".join(term.translate(_FOLDING).split())


def code_points(text: str) -> NDArray[np.uint32]:
    """Convert a text to an array of its Unicode code points.

    text (str): a text of n characters.
    RETURNS (NDArray): the code points. Shape (n,), uint32.
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def classify(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Classify characters as letters, digits or others, without regard to capitals.

    codes (NDArray): code points of the characters. Shape (n,).
    RETURNS (NDArray): 1 for a letter, 2 for a digit, 0 for anything else. Shape (n,).
    """
    return _KIND.take(_find_tables(codes)[1].take(codes))


def normalise(text: str) -> Normalised:
    """Normalise a text for searching.

    text (str): the original text.
    RETURNS (Normalised): the normalised text, its word edges and the offsets of its characters in the original.
    """
    codes = code_points(text)
    table, classes, several = _find_tables(codes)
    folded = table.take(codes)
    kinds = classes.take(codes)
    origin = np.flatnonzero(folded != _DROPPED)
    folded = folded.take(origin)
    if len(folded) and folded.max() >= _SEVERAL:
        at = np.flatnonzero(folded >= _SEVERAL)  # characters whose normal form has several characters
        longer = [several[i] for i in (folded[at] - _SEVERAL).tolist()]
        lengths = np.ones(len(folded), dtype=np.int64)
        lengths[at] = [len(piece) for piece in longer]
        ends = np.cumsum(lengths)
        result = np.repeat(folded, lengths)
        for end, piece in zip(ends[at].tolist(), longer, strict=True):
            result[end - len(piece) : end] = [ord(char) for char in piece]
        folded, origin = result, np.repeat(origin, lengths)
    spaces = folded == _SPACE
    kept = np.ones(len(folded), dtype=bool)
    kept[1:] = ~(spaces[1:] & spaces[:-1])
    folded, origin = folded[kept], origin[kept]
    edges = _find_edges(kinds.take(origin), origin)
    return Normalised(
        folded.tobytes().decode("utf-32-le", "surrogatepass"), np.append(origin, len(text)), edges, kinds
    )


def _find_edges(kinds: NDArray[np.uint8], origin: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Find where words may start or end. There is no edge inside the normal form of one character ("ß" → "ss")."""
    edges = np.ones(len(kinds) + 1, dtype=bool)
    edges[1:-1] = _EDGE.take(kinds[:-1] * np.uint8(4) + kinds[1:]) & (origin[1:] != origin[:-1])
    return edges


def _find_tables(codes: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.uint8], list[str]]:
    """Return tables that are large enough for all code points of a text; see `_tables`."""
    return _tables(_UNICODE if codes.max(initial=0) >= _FREQUENT else _FREQUENT)


@cache
def _tables(size: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8], list[str]]:
    """Compute the tables of normal forms and classes for the first `size` code points, and the list of normal forms
    that have several characters. This takes 0.02 s for the code points of alphabets, and 0.3 s for all.
    """
    table = np.arange(size, dtype=np.uint32)
    classes = np.zeros(size, dtype=np.uint8)
    several: list[str] = []
    for first, last in _RANGES:
        for code in range(min(first, size), min(last, size)):
            char = chr(code)
            classes[code] = _classify(char)
            folded = _fold(char)
            if len(folded) > 1:
                table[code] = _SEVERAL + len(several)
                several.append(folded)
            elif folded != char:
                table[code] = ord(folded) if folded else _DROPPED
    return table, classes, several


def _classify(char: str) -> int:
    """Return the class of a character (capital, other letter, digit, mark or other), which determines word edges."""
    if unicodedata.category(char) in ("Mn", "Me"):
        return _MARK
    if char.isupper() or char.istitle():
        return _UPPER
    if char.isalpha():
        return _LOWER
    return _DIGIT if char.isdigit() else _OTHER
