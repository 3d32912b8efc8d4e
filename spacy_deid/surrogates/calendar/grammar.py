"""Reads a mention as dates and what may stand around them. What cannot be read to its end is not read at all.

A mention is a row of atoms (a date, month, year, range, weekday …) and fillers (blanks, punctuation, the words "of",
"el", "vuonna" …). A word or number that is neither makes the whole mention unreadable: half a date must not stay.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz.distance import DamerauLevenshtein

from .words import Words, load_words

__all__ = ["Atom", "Grammar", "Places", "load_grammar"]

Places = Mapping[str, tuple[int, int]]

_LONGEST = 200  # characters of a mention; more is no date
_SEP = r"\s*(?P<s>//|\.\.|--|[/.\-–])\s*"
_SEP2 = r"\s*[/.\-–]{1,2}\s*"
_YEAR = r"['’]?(?P<y>\d{4}(?!\d)|\d\.\d{3}(?!\d)|\d\d(?!\d|\s?[/.]\s?\d|-\d{4}))"
_YEAR4 = r"(?:(?P<y>\d{4})|['’](?P<y2>\d\d))(?!\d)"
_SURE = r"(?:1[89]|20|21)\d\d"

# What is written in numbers alone. The groups a and b are day and month, in an order that the note tells.
_DATES = (
    ("day", r"(?P<y>\d{4})(?P<s>[-/.]|\s)(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)"),
    ("day", rf"(?P<y>{_SURE})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d)"),
    ("day", rf"(?P<a>\d{{1,2}}){_SEP}(?P<b>0?\d{{1,2}}){_SEP2}{_YEAR}"),
    ("day", rf"<HH>(?P<a>\d{{1,2}}){_SEP}(?P<b>0?\d{{1,2}}){_SEP2}{_YEAR}"),
    ("day", rf"(?P<a>\d{{1,2}})(?P<s>\s+)(?P<b>\d{{1,2}})\s+{_YEAR}"),
    ("day", rf"(?P<a>\d{{1,2}}){_SEP}(?P<b>\d{{1,2}})\s+(?P<y>{_SURE})(?!\d)"),
    ("day", r"(?P<m>\d{1,2})(?P<s>/)<HH>(?P<d>\d{1,2})/(?P<y>\d{4})(?!\d)"),
    ("year", r"(?P<y>\d{4})\s*[-–/]\s*['’]?(?P<z>1[3-9]|[2-9]\d)(?!\d)"),
    ("month", r"(?P<m>0?\d|1[0-2])\s*[/.\-]\s*(?P<y>\d{4})(?!\d)"),
    ("month", r"(?P<y>\d{4})\s*[/.\-]\s*(?P<m>0[1-9]|1[0-2])(?!\d)"),
)
_LOOSE = (
    ("pair", rf"(?P<a>\d{{1,2}}){_SEP}(?P<b>\d{{1,2}})(?!\d)"),
    ("pair", rf"<HH>(?P<a>\d{{1,2}}){_SEP}(?P<b>\d{{1,2}})(?!\d)"),
    ("day", rf"(?P<a>\d{{1,2}}){_SEP}(?P<b>0?\d{{1,2}}){_SEP2}(?P<x>\d{{3}}|\d{{5}})(?!\d)"),
    ("kept", r"T?\d{1,2}[:.h]\d{2}(?:[:.]\d{2}(?:\.\d+)?)?\s*(?:Z|[+-]\d\d:?\d\d)?(?!\w)"),
    ("year", rf"(?P<y>{_SURE})(?!\d)"),
    ("year", r"(?P<y>[12]\.\d{3})(?!\d)"),
    ("year", r"['’\-](?P<y>\d\d)(?!\d)"),
)
_WEEKDAY = (("weekday", r"<WW>(?=[.,]?\s*\d{1,2}\s*[/.\-]\s*\d)"), ("weekday", "<WW>"))
# Only where no other figures stand beside it.
_LONE = (
    ("day", r"(?P<a>0[1-9]|[12]\d|3[01])(?P<b>0[1-9]|1[0-2])(?P<y>\d{4}|\d\d)(?!\d)"),
    ("day", r"(?P<a>0[1-9]|1[0-2])(?P<b>0[1-9]|[12]\d|3[01])(?P<y>\d{4}|\d\d)(?!\d)"),
    ("year", r"(?P<y>[1-9]\d{3})(?!\d)"),
    ("alone", r"(?P<d>\d{1,2})(?!\d)<OO>"),
)

# The kinds of the word patterns of a language's file, in the order that they are tried in.
_KINDS = ("day", "month", "season", "decade", "week", "holiday", "kept")

# Slips of the pen: the 7 is the slash of a Spanish keyboard without its shift; a slash or a point is missing.
_SLIPS = (
    (r"(\d\d)[7&(](\d\d)/(\d{4})", r"\1/\2/\3"),
    (r"(\d\d)/(\d\d)[7&(](\d{4})", r"\1/\2/\3"),
    (r"(\d\d)/(\d\d)(\d{4})", r"\1/\2/\3"),
    (r"(\d\d)(\d\d)([/.\-])(\d{4})", r"\1\3\2\3\4"),
    (r"(\d\d)(\d)([./])(\d{4}|\d\d)", r"\1\3\2\3\4"),
    (r"(\d{1,2})([/.\-])\d(\d\d)\2(\d{4})", r"\1\2\3\2\4"),
    (r"(\d{1,2})([/.\-])(\d\d)\d\2(\d{4})", r"\1\2\3\2\4"),
    (r"(\d\d?)\.([01]?\d)([12][089]\d\d)", r"\1.\2.\3"),
    (r"(\d\d?)\.([1-9])(\d\d)", r"\1.\2.\3"),
    (r"([1-9])([1-9])\.(\d{4})", r"\1.\2.\3"),
    (r"(.+?)\s+['’`´]\s+(.+)", r"\1 \2"),
    (r"([0-3]?\d)[,;:*\\|_+](?:\s*)([01]?\d)[,;:*\\|_+/](?:\s*)(\d{4})", r"\1/\2/\3"),
)


_LIKE_FIGURES = (("Oo", "0"), ("lI", "1"), ("S", "5"), ("B", "8"))  # letters that a scanner reads for figures
_LONG_FORM = 6  # letters of a case form that a slip is looked for in


@dataclass(frozen=True, slots=True)
class Atom:
    """One date, or part of one.

    kind (str): "day", "pair" (two numbers: day and month, or month and year), "month", "year", "season", "decade",
        "week", "weekday", "holiday", "alone" (the day of an untold month), or "kept" for what tells no date.
    start, end (int): where it stands in the mention.
    places (Places): field → where it stands: d, m, y; a and b for day and month in unknown order; M, W, S, N, T, F
        for names; w for the name of a month with its ending; H for the days before the last of a range; z for the
        second year.
    """

    kind: str
    start: int
    end: int
    places: Places


class Grammar:
    """The patterns of a language.

    words (Words): its words.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        own = words.settings["patterns"]
        self._slots = self._fill()
        own_rows = ((kind, _spaced(p)) for kind in _KINDS for p in own.get(kind, []))
        rows = (*_DATES, *own_rows, *_LOOSE, _WEEKDAY[1])
        self._patterns = [(kind, self._compile(p), False) for kind, p in (_WEEKDAY[0], *rows)]
        self._patterns += [(kind, self._compile(p), True) for kind, p in _LONE]
        fillers = "|".join(sorted(map(_spaced, words.settings["fillers"]), key=len, reverse=True))
        self._filler = self._compile(rf"\s+|[^\w\s]|(?:{fillers})(?!\w)")

    def _fill(self) -> dict[str, str]:
        """What the slots of patterns stand for: the names of the language."""
        names, settings = self.words.names, self.words.settings
        ordinal, link = str(settings["ordinal"]), _spaced(str(settings["link"]))
        kinds = (("MM", "months"), ("WW", "weekdays"), ("SS", "seasons"), ("NN", "days"), ("TT", "tens"))
        slots = {slot: names[kind].pattern(slot[0]) for slot, kind in (*kinds, ("FF", "holidays"))}
        return slots | {
            "MM": f"(?P<w>{slots['MM']})",
            "BB": f"(?P<w>{names['months'].pattern('M', bare=True)})",
            "DD": r"(?P<d>0?\d{1,2})(?!\d)",
            "EE": r"(?P<e>(?:1[89]|20)?\d0)",
            "HH": rf"(?P<H>(?:\d{{1,2}}{ordinal}\s*(?:[-–—,&+]|(?:{link})(?!\w))\s*)+)",
            "KK": r"(?P<k>\d{1,2})(?!\d)",
            "OO": rf"(?P<o>{ordinal})",
            "YY": _YEAR,
            "YYYY": _YEAR4,
        }

    def _compile(self, pattern: str) -> re.Pattern[str]:
        """Fill the slots of a pattern."""
        return re.compile(re.sub(r"(?<!P)<([A-Z]+)>", lambda slot: self._slots[slot[1]], pattern), re.IGNORECASE)

    def read(self, text: str) -> list[Atom] | None:
        """Read a mention.

        text (str): as written.
        RETURNS (Optional[list[Atom]]): its atoms in order, or None if it cannot be read to its end.
        """
        atoms = self._read(text, 0, set()) if len(text) <= _LONGEST else None
        return atoms or None

    def mend(self, text: str) -> str | None:
        """Undo a slip of the pen, if there is one that can be told.

        RETURNS (Optional[str]): text that can be read.
        """
        mended = (re.sub(rf"^\s*{slip}\s*$", better, text) for slip, better in _SLIPS)
        figures = text
        for letters, figure in _LIKE_FIGURES:
            figures = re.sub(rf"(?<=\d)[{letters}]|[{letters}](?=\d)", figure, figures)
        for candidate in (*mended, figures, self._spelled(text)):
            if candidate != text and self.read(candidate):
                return candidate
        return None

    def _spelled(self, text: str) -> str:
        """Words that are almost a month or weekday, as they are spelled."""

        def best(match: re.Match[str]) -> str:
            word = match[0].lower()
            if len(word) == 2 and not self._filler.fullmatch(word) and self._filler.fullmatch(word[::-1]):
                return word[::-1]  # "fo" for "of"
            known = len(word) < 4 or self._filler.fullmatch(word)
            return match[0] if known else min(self._near(word), default=(0, match[0]))[1]

        return re.sub(r"[^\W\d_]+", best, text)

    def _near(self, word: str) -> Iterator[tuple[int, str]]:
        """Names of months and weekdays that a word may be, with the ending that it has: (slips, name)."""
        for kind in ("months", "weekdays"):
            first, *others = self.words.names[kind].families
            cases = [form for family in others if not family.tail for form in family.forms if len(form) > _LONG_FORM]
            for length in range(len(word), len(word) - (6 if first.tail else 1), -1):
                for form in (*first.forms, *(cases if length == len(word) else ())):
                    slips = DamerauLevenshtein.distance(word[:length], form, score_cutoff=2)
                    if slips <= 1 + (len(form) > 6):
                        yield slips, form + word[length:]

    def _read(self, text: str, at: int, dead: set[int]) -> list[Atom] | None:
        """Read from a place on; places that nothing can be read from are remembered."""
        if at == len(text):
            return []
        if at in dead:
            return None
        for atom, end in self._options(text, at):
            rest = self._read(text, end, dead)
            if rest is not None:
                return [atom, *rest] if atom else rest
        dead.add(at)
        return None

    def _options(self, text: str, at: int) -> Iterator[tuple[Atom | None, int]]:
        """All that may begin at a place: atoms first, then fillers (None)."""
        if not (at and text[at - 1].isalpha() and text[at].isalpha()):
            for kind, pattern, lone in self._patterns:
                match = pattern.match(text, at)
                if match and match.end() > at and not (lone and _has_figures(text, match)):
                    yield Atom(kind, at, match.end(), _places(match)), match.end()
            match = self._filler.match(text, at)
            if match and match.end() > at:
                yield None, match.end()


def _has_figures(text: str, match: re.Match[str]) -> bool:
    """Whether there are figures beside a match."""
    return re.search(r"\d", text[: match.start()] + text[match.end() :]) is not None


def _places(match: re.Match[str]) -> Places:
    """Where the fields stand; a name is in the group of its family ("M0")."""
    groups = match.re.groupindex.items()
    return {name[0]: match.span(i) for name, i in groups if match.start(i) < match.end(i)}


def _spaced(pattern: str) -> str:
    """Let any blanks stand where one does; "_" is where none must."""
    return pattern.replace(" ", r"\s+").replace("_", r"\s*")


@lru_cache
def load_grammar(lang: str) -> Grammar:
    """The grammar of a language. RAISES: ConfigError (D662)."""
    return Grammar(load_words(lang))
