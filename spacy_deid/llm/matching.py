"""Where a string stands in a text: letter by letter, in other capitals, or with slips of the pen.

Texts are compared by their letters and digits alone, without case and accents: accents may be characters of their own,
a line may break a word, and what a program extracted has invisible characters. What stands between them only decides
how a match is called.
"""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache

__all__ = ["LONG_NUMBER", "Found", "Letters"]

LONG_NUMBER = 4  # digits from which on a number is more than a value or a house
_SHORTEST = 4  # letters and digits of a string that is looked for with slips of the pen
_MOST_WORDS = 24  # of such a string: no name and no address has more
_WRITTEN_APART = 7  # digits from which on a number may be grouped in another way, as telephone numbers are
_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufeff"
_WITHIN = frozenset("\u00ad\u200c\u200d\u2060\ufeff")  # U+200B, a space of no width, parts words
_LETTER = r"[^\W\d_]"
# a line ends within a word
_BROKEN = re.compile(rf"[{_UNSEEN}]|(?<={_LETTER})[-\u2010]\s*\n\s*(?={_LETTER})")
_DECIMAL_BEFORE, _DECIMAL_AFTER = re.compile(r"\d[.,]$"), re.compile(r"[.,]\d")


@dataclass(frozen=True, slots=True)
class Found:
    """A string in its place. Holds offsets, never text.

    start, end (int): characters.
    label (str): canonical label.
    score (float): 1.0 if it stands there letter by letter, else how alike it is.
    rule (str): "exact", "case", "fuzzy" or "beside" (a bare number beside what it belongs to).
    """

    start: int
    end: int
    label: str
    score: float = 1.0
    rule: str = "exact"


class Letters:
    """The letters and digits of a text without case and accents, and where each of them stands."""

    def __init__(self, text: str) -> None:
        """Take a text apart.

        text (str): the text.
        """
        self._text = text
        pairs = [(part, place) for place, char in enumerate(text) for part in _fold(char)]
        self.folded, self._places = "".join(part for part, _ in pairs), [place for _, place in pairs]
        self._words = [i for i in range(len(pairs)) if not self._continues(i)]
        self._edges = [i for i in range(len(pairs) + 1) if not self._continues(i) or self._changes(i)]
        self._runs = lru_cache(maxsize=3)(self._make_runs)  # a long text has many, so only the last are kept

    @property
    def words(self) -> int:
        """How many words there are."""
        return len(self._words)

    def find(self, string: str, label: str, *, loose: bool) -> list[Found]:
        """Where the letters and digits of a string stand, at the edges of words, in the order of the text.

        string (str): what to look for.
        label (str): canonical label of what is found.
        loose (bool): whether accents, signs and blanks may differ; what is found so has the rule "fuzzy".
        RETURNS (list[Found]): disjoint places.
        """
        wanted, found, at = Letters(string), [], 0
        while wanted.folded and (at := self.folded.find(wanted.folded, at)) >= 0:
            last = at + len(wanted.folded)
            hit = self._check(at, last, wanted, label, loose) if self._stands_alone(at, last, wanted.folded) else None
            found += [hit] if hit else []
            at = last if hit else self._edges[bisect_right(self._edges, at)]
        return found

    def alike(self, string: str, label: str, least: float) -> list[Found]:
        """Where words stand that are like a string; the likest first. They may overlap.

        string (str): what to look for.
        label (str): canonical label of what is found.
        least (float): likeness from 0 to 100 at which words count.
        RETURNS (list[Found]): places, with the rule "fuzzy".
        """
        from rapidfuzz import fuzz, process

        wanted, hits = Letters(string), []
        fit = len(wanted.folded) >= _SHORTEST and wanted.words <= _MOST_WORDS
        for count in range(max(1, wanted.words - 1), wanted.words + 2) if fit else ():
            for _, score, i in process.extract(
                wanted.folded, self._runs(count), scorer=fuzz.ratio, score_cutoff=least, limit=None
            ):
                start, end = self._place(self._words[i], self._end_of(i + count))
                if _same_digits(self._text[start:end], string) and not _is_derived(self._text[start:end], string):
                    hits.append(Found(start, end, label, round(score / 100, 4), "fuzzy"))
        return sorted(hits, key=lambda item: (-item.score, item.start, item.end))

    def _check(self, first: int, last: int, wanted: "Letters", label: str, loose: bool) -> Found | None:
        """A match with its rule, or none if it is too far from what is wanted."""
        start, end = self._place(first, last)
        start, end = self._add_signs(start, end, wanted)
        rule = _rule(self._text[start:end], wanted._text)
        short = len(wanted.folded) < _SHORTEST
        if rule == "fuzzy" and (not loose or short or not _same_digits(self._text[start:end], wanted._text)):
            return None
        return Found(start, end, label, 1.0, rule)

    def _stands_alone(self, first: int, last: int, folded: str) -> bool:
        """Whether letters are no part of a word, and digits no part of a number.

        What has a long number may touch letters with a digit ("NHC44712"); a short one may not be the half of a
        decimal: the 12 of 12.4 is another number.
        """
        long = sum(map(str.isdigit, folded)) >= LONG_NUMBER
        for at in (first, last):
            if self._continues(at) and not (long and self._changes(at)):
                return False
        return not (folded.isdigit() and len(folded) <= LONG_NUMBER and self._touches_decimals(first, last))

    def _touches_decimals(self, first: int, last: int) -> bool:
        """Whether a number is the whole or the broken part of a decimal."""
        start, end = self._place(first, last)
        before = _DECIMAL_BEFORE.search(self._text, max(0, start - 2), start)
        return bool(before or _DECIMAL_AFTER.match(self._text, end))

    def _continues(self, i: int) -> bool:
        """Whether a letter goes on with the word of the one before it."""
        if not 0 < i < len(self._places):
            return False
        return all(map(_joins, self._text[self._places[i - 1] + 1 : self._places[i]]))

    def _changes(self, i: int) -> bool:
        """Whether a letter stands before a digit, or a digit before a letter."""
        return 0 < i < len(self.folded) and self.folded[i - 1].isdigit() != self.folded[i].isdigit()

    def _place(self, first: int, last: int) -> tuple[int, int]:
        """Where letters stand, with the accents after the last one."""
        start, end = self._places[first], self._places[last - 1] + 1
        while end < len(self._text) and unicodedata.category(self._text[end]).startswith("M"):
            end += 1
        return start, end

    def _add_signs(self, start: int, end: int, wanted: "Letters") -> tuple[int, int]:
        """Take in the signs that a string begins and ends with, where they stand there too."""
        head, tail = wanted._text[: wanted._places[0]], wanted._text[wanted._place(0, len(wanted.folded))[1] :]
        if head and self._text.endswith(head, 0, start):
            start -= len(head)
        return start, end + len(tail) if self._text.startswith(tail, end) else end

    def _end_of(self, word: int) -> int:
        """Where the word before one ends."""
        return self._words[word] if word < len(self._words) else len(self.folded)

    def _make_runs(self, count: int) -> list[str]:
        """The letters of every run of so many words."""
        firsts = self._words[: max(0, len(self._words) - count + 1)]
        return [self.folded[first : self._end_of(i + count)] for i, first in enumerate(firsts)]


@cache
def _fold(char: str) -> str:
    """Letters and digits of a character without case and accents; none of the signs of ordinals ("nº")."""
    apart = unicodedata.normalize("NFKD", char.casefold())
    return "" if char in "ºª" else "".join(filter(str.isalnum, apart))


@cache
def _joins(char: str) -> bool:
    """Whether a character that is no letter stands within a word: an accent, or what is not seen."""
    return char in _WITHIN or unicodedata.category(char).startswith("M")


def _rule(found: str, string: str) -> str:
    """What differs between a match and its string: nothing but white space, case, or more."""
    one, two = (_BROKEN.sub("", unicodedata.normalize("NFC", text)).split() for text in (found, string))
    if one == two:
        return "exact"
    return "case" if " ".join(one).casefold() == " ".join(two).casefold() else "fuzzy"


def _same_digits(found: str, string: str) -> bool:
    """Whether two have the same digits, in the same groups if they are few: another number is another number, and
    a pressure of 120/80 is not the postal code 12080.
    """
    one, two = (re.findall(r"\d+", text) for text in (found, string))
    digits = "".join(two)
    return one == two or ("".join(one) == digits and (len(digits) >= _WRITTEN_APART or not string.isdigit()))


def _is_derived(found: str, string: str) -> bool:
    """Whether a word in small letters only begins like a name: "costal" is no slip of Costa."""
    one, two = "".join(map(_fold, found)), "".join(map(_fold, string))
    return found.islower() and not string.islower() and one != two and (one.startswith(two) or two.startswith(one))
