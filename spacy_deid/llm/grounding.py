"""Find the strings that a language model returned in the note, to get their offsets (grounding).

Language models give offsets unreliably, so they are only asked for strings.

Texts are compared by their letters and digits only, ignoring case and accents, because accents can be separate
characters, a line break can split a word, and extracted text can contain invisible characters. The other characters
only determine the rule of a match, which states how well it fits.

A bare number needs context: the house number 12 must not redact a haemoglobin of 12 (in Wiest et al. 2024 house
numbers cost most of the precision). It matches next to its address or a word for age, or if it is long enough to
identify somebody.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from ..lang import shared_words

LONG_NUMBER = 4  # digits from which on a number is more than a value or a house
_SHORTEST = 4  # letters and digits of a string that is looked for with slips of the pen
_MOST_WORDS = 24  # of such a string: no name and no address has more
_WRITTEN_APART = 7  # digits from which on the grouping of a number can differ, as it does for telephone numbers
_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufeff"
_WITHIN = frozenset("\u00ad\u200c\u200d\u2060\ufeff")  # not U+200B, the zero-width space, which separates words
_LETTER = r"[^\W\d_]"
# a line ends within a word
_BROKEN = re.compile(rf"[{_UNSEEN}]|(?<={_LETTER})[-\u2010]\s*\n\s*(?={_LETTER})")
_DECIMAL_BEFORE, _DECIMAL_AFTER = re.compile(r"\d[.,]$"), re.compile(r"[.,]\d")


@dataclass(frozen=True, slots=True)
class Found:
    """A string of the model's answer that was found in the note. It contains offsets, never text.

    start, end (int): character offsets in the note, end exclusive.
    label (str): canonical label.
    score (float): 1.0 for an exact match, otherwise the similarity.
    rule (str): how the match was found: "exact", "case" (only the case differs), "fuzzy", or "beside" (a short number
        next to an address or a word for age).
    """

    start: int
    end: int
    label: str
    score: float = 1.0
    rule: str = "exact"


class Letters:
    """An index of the letters and digits of a text, without case and accents, in which strings can be found.

    folded (str): the letters and digits without case, accents, spaces and punctuation.
    """

    def __init__(self, text: str) -> None:
        """Index a text.

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
        """int: Number of words in the text."""
        return len(self._words)

    def find(self, string: str, label: str, *, loose: bool) -> list[Found]:
        """Find the occurrences of a string at word boundaries, by its letters and digits.

        string (str): the string.
        label (str): canonical label of the matches.
        loose (bool): whether accents, punctuation and spaces may differ; such matches have the rule "fuzzy".
        RETURNS (list[Found]): disjoint matches in the order of the text.
        """
        wanted, found, at = Letters(string), [], 0
        while wanted.folded and (at := self.folded.find(wanted.folded, at)) >= 0:
            last = at + len(wanted.folded)
            hit = self._check(at, last, wanted, label, loose) if self._stands_alone(at, last, wanted.folded) else None
            found += [hit] if hit else []
            at = last if hit else self._edges[bisect_right(self._edges, at)]
        return found

    def alike(self, string: str, label: str, least: float) -> list[Found]:
        """Find runs of words that are similar to a string, such as misspelt ones.

        string (str): the string.
        label (str): canonical label of the matches.
        least (float): minimum similarity, 0 to 100.
        RETURNS (list[Found]): matches with the rule "fuzzy", most similar first; they may overlap.
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
        """Return a match with its rule; None if it differs too much from the wanted string."""
        start, end = self._place(first, last)
        # punctuation at the start and end of the wanted string belongs to the match
        head, tail = wanted._text[: wanted._places[0]], wanted._text[wanted._place(0, len(wanted.folded))[1] :]
        if head and self._text.endswith(head, 0, start):
            start -= len(head)
        end += len(tail) if self._text.startswith(tail, end) else 0
        rule = _rule(self._text[start:end], wanted._text)
        short = len(wanted.folded) < _SHORTEST
        if rule == "fuzzy" and (not loose or short or not _same_digits(self._text[start:end], wanted._text)):
            return None
        return Found(start, end, label, 1.0, rule)

    def _stands_alone(self, first: int, last: int, folded: str) -> bool:
        """Return whether a match is not a part of a longer word or number.

        A long number may touch letters ("NHC44712"). A short one must not be a part of a decimal: the 12 in 12.4 is
        another number.
        """
        long = sum(map(str.isdigit, folded)) >= LONG_NUMBER
        for at in (first, last):
            if self._continues(at) and not (long and self._changes(at)):
                return False
        return not (folded.isdigit() and len(folded) <= LONG_NUMBER and self._touches_decimals(first, last))

    def _touches_decimals(self, first: int, last: int) -> bool:
        """Return whether a number is the integer or the fractional part of a decimal."""
        start, end = self._place(first, last)
        before = _DECIMAL_BEFORE.search(self._text, max(0, start - 2), start)
        return bool(before or _DECIMAL_AFTER.match(self._text, end))

    def _continues(self, i: int) -> bool:
        """Return whether a letter continues the word of the previous one."""
        if not 0 < i < len(self._places):
            return False
        return all(map(_joins, self._text[self._places[i - 1] + 1 : self._places[i]]))

    def _changes(self, i: int) -> bool:
        """Return whether a letter precedes a digit here, or a digit a letter."""
        return 0 < i < len(self.folded) and self.folded[i - 1].isdigit() != self.folded[i].isdigit()

    def _place(self, first: int, last: int) -> tuple[int, int]:
        """Return the character offsets of letters, including combining accents after the last one."""
        start, end = self._places[first], self._places[last - 1] + 1
        while end < len(self._text) and unicodedata.category(self._text[end]).startswith("M"):
            end += 1
        return start, end

    def _end_of(self, word: int) -> int:
        """Return the end of the preceding word."""
        return self._words[word] if word < len(self._words) else len(self.folded)

    def _make_runs(self, count: int) -> list[str]:
        """Return the letters of every run of `count` words."""
        firsts = self._words[: max(0, len(self._words) - count + 1)]
        return [self.folded[first : self._end_of(i + count)] for i, first in enumerate(firsts)]


@cache
def _fold(char: str) -> str:
    """Return the letters and digits of a character without case and accents; nothing for ordinal signs ("nº")."""
    apart = unicodedata.normalize("NFKD", char.casefold())
    return "" if char in "ºª" else "".join(filter(str.isalnum, apart))


@cache
def _joins(char: str) -> bool:
    """Return whether a non-letter is a part of a word: an accent or an invisible character."""
    return char in _WITHIN or unicodedata.category(char).startswith("M")


def _rule(found: str, string: str) -> str:
    """Return the rule of a match: "exact" if only white space differs, "case", or "fuzzy"."""
    one, two = (_BROKEN.sub("", unicodedata.normalize("NFC", text)).split() for text in (found, string))
    if one == two:
        return "exact"
    return "case" if " ".join(one).casefold() == " ".join(two).casefold() else "fuzzy"


def _same_digits(found: str, string: str) -> bool:
    """Return whether two strings have the same digits, and the same groups of digits if they are few: a blood pressure
    of 120/80 is not the postal code 12080.
    """
    one, two = (re.findall(r"\d+", text) for text in (found, string))
    digits = "".join(two)
    return one == two or ("".join(one) == digits and (len(digits) >= _WRITTEN_APART or not string.isdigit()))


def _is_derived(found: str, string: str) -> bool:
    """Return whether a word in lower case only begins like a name: "costal" is not a misspelling of "Costa"."""
    one, two = "".join(map(_fold, found)), "".join(map(_fold, string))
    return found.islower() and not string.islower() and one != two and (one.startswith(two) or two.startswith(one))


_ADDRESS = frozenset({"STREET", "CITY", "STATE", "ZIP", "TERRITORY", "COUNTRY", "LOCATION_OTHER"})
# label of a bare number → labels of the matches that it must be next to; for other labels, their own label
_NEIGHBOURS = dict.fromkeys(_ADDRESS, _ADDRESS) | {"STREET": frozenset({"STREET", "LOCATION_OTHER"})}
_BARE = re.compile(r"(?:\d{1,4}[a-zA-Z]?|[a-zA-Z]\d?|\d{1,3} ?[-/–] ?\d{1,3})[.,;:ºª°]*")
_DAY = re.compile(r"(?:[0-2]?\d|3[01])[-/–](?:0?\d|1[0-2])|(?:0?\d|1[0-2])[-/–](?:[0-2]?\d|3[01])")
_FAR = 24  # characters between a number and what it belongs to
_GAP = re.compile(r"[ \t,]{0,3}")


@dataclass(slots=True)
class Grounding:
    """The result of `ground`: the matches in the note, and the numbers of strings without a match.

    found (list[Found]): matches in the order of the text.
    strings (int): number of distinct strings that the model returned.
    ungrounded (int): number of strings that the note does not contain.
    unplaced (int): number of short numbers that the note contains, but never next to an address or a word for age, so
        that they were not matched.
    """

    found: list[Found] = field(default_factory=list)
    strings: int = 0
    ungrounded: int = 0
    unplaced: int = 0


def ground(text: str, answers: Mapping[str, Sequence[str]], *, fuzzy: float | None = 90.0) -> Grounding:
    """Find the strings that a language model returned in a note.

    text (str): the note.
    answers (Mapping): label → strings returned by the model.
    fuzzy (Optional[float]): minimum similarity of a match with a different spelling, 0 to 100; None to accept only
        differences of case and white space.
    RETURNS (Grounding): the matches, and counts of strings without a match.
    """
    asked = list(dict.fromkeys((label, string) for label, given in answers.items() for string in given))
    bare = [(label, string) for label, string in asked if _is_bare(string, label)]
    result, letters = Grounding(strings=len(asked)), Letters(text)
    # strings of as many words one after the other, because they are compared with the same runs of words
    for label, string in sorted(set(asked) - set(bare), key=lambda key: (len(key[1].split()), key)):
        found = letters.find(string, label, loose=fuzzy is not None)
        if fuzzy is not None:
            found = _add_apart(found, letters.alike(string, label, fuzzy))
        result.found += found
        result.ungrounded += not found
    _place(text, letters, bare, result)
    result.found = _join(text, sorted(set(result.found), key=lambda item: (item.start, item.end, item.label)))
    return result


def _join(text: str, found: Sequence[Found]) -> list[Found]:
    """Join a bare number with the adjacent match of the same label: street and number form one address."""
    joined: list[Found] = []
    for item in found:
        last = joined[-1] if joined else item
        if (
            joined
            and last.label == item.label
            and "beside" in (last.rule, item.rule)
            and _GAP.fullmatch(text, min(last.end, item.start), item.start)
        ):
            joined[-1] = Found(last.start, max(last.end, item.end), item.label, min(last.score, item.score), "beside")
        else:
            joined.append(item)
    return joined


def _is_bare(string: str, label: str) -> bool:
    """Return whether a string is a short number or a letter, which needs context. A day with its month needs none."""
    somebody = label not in _ADDRESS and label != "AGE" and sum(map(str.isdigit, string)) >= LONG_NUMBER
    return bool(_BARE.fullmatch(string)) and not somebody and not (label == "DATE" and _DAY.fullmatch(string))


def _add_apart(found: list[Found], others: Iterable[Found]) -> list[Found]:
    """Insert the matches that do not overlap existing ones. The given matches are disjoint and in the order of the
    text.
    """
    for other in others:
        at = bisect_right(found, other.start, key=lambda item: item.start)
        after_last = at == 0 or found[at - 1].end <= other.start
        if after_last and (at == len(found) or other.end <= found[at].start):
            found.insert(at, other)
    return found


def _place(text: str, letters: Letters, bare: Sequence[tuple[str, str]], result: Grounding) -> None:
    """Match bare numbers next to an address or a word for age. A matched number supports the next, as in "12, 3 B"."""
    left = {key: letters.find(key[1], key[0], loose=False) for key in bare}
    result.ungrounded += sum(not spots for spots in left.values())
    placed: set[tuple[str, str]] = set()
    grown = True
    while grown:
        grown = False
        for key, spots in left.items():
            near = _age_words if key[0] == "AGE" else _Neighbours(result.found, _NEIGHBOURS.get(key[0], {key[0]}))
            fitting = [spot for spot in spots if near(text, spot.start, spot.end)]
            left[key] = list({*spots} - {*fitting})
            result.found += [Found(spot.start, spot.end, spot.label, 1.0, "beside") for spot in fitting]
            placed |= {key} if fitting else set()
            grown |= bool(fitting)
    result.unplaced += sum(bool(spots) and key not in placed for key, spots in left.items())


@cache
def _between() -> re.Pattern[str]:
    """Compile the pattern of the characters between a street and its number, such as "No." or a comma.

    They do not include the end of a sentence or line, after which a dose can follow.
    """
    words = "|".join(shared_words("note_words.toml", "numbers", "before_house_number"))
    return re.compile(rf"[ \t,/#(–-]{{0,3}}(?:(?:{words})\b[.ºª°:]*)?[ \t,/#(–-]{{0,3}}", re.IGNORECASE)


class _Neighbours:
    """Checks whether a number is next to a match with one of the given labels."""

    def __init__(self, found: Iterable[Found], labels: Container[str]) -> None:
        wanted = [item for item in found if item.label in labels]
        self._starts, self._ends = {item.start for item in wanted}, {item.end for item in wanted}

    def __call__(self, text: str, start: int, end: int) -> bool:
        """Return whether only characters that can separate a street and its number are between number and match."""
        before = any(
            _between().fullmatch(text, at, start) for at in range(start - _FAR, start + 1) if at in self._ends
        )
        return before or any(
            _between().fullmatch(text, end, at) for at in range(end, end + _FAR + 1) if at in self._starts
        )


def _age_words(text: str, start: int, end: int) -> bool:
    """Return whether a number is next to a word for age."""
    before, after = _age_patterns()
    return bool(after.match(text, end) or before.search(text[max(0, start - 12) : start]))


@cache
def _age_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of words before and after an age, for all languages."""
    before, after = ("|".join(shared_words("note_words.toml", "numbers", key)) for key in ("before_age", "after_age"))
    return (
        re.compile(rf"\b(?:{before})\W{{1,3}}$", re.IGNORECASE),
        re.compile(rf"[\s-]*(?:{after})(?!\w)", re.IGNORECASE),
    )
