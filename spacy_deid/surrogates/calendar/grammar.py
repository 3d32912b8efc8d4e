"""Parse dates in text with the names of months, weekdays and holidays and the patterns of a language.

The names and patterns of a language are in its ``calendar.toml``. The names of months and weekdays agree with CLDR,
which a test checks with Babel. No library is used: Babel has neither case forms nor a parser of running text,
and dateutil does not record how a date is written.

A mention is parsed as a sequence of date expressions (a date, month, year, range, weekday …) and fillers (blanks,
punctuation, words such as "of", "el", "vuonna"). A word or number that is neither makes the whole mention unreadable,
because no part of a date may remain in the released text.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from rapidfuzz.distance import DamerauLevenshtein

from ...errors import ConfigError, Errors
from ...lang import get_language, language_codes

NAME_KINDS = {
    "M": "months",
    "W": "weekdays",
    "S": "seasons",
    "N": "days",
    "T": "tens",
    "F": "holidays",
    "P": "month_numbers",
    "R": "roman",
    "J": "years",
    "Q": "short_years",
}
"""Field of a date expression → key in ``calendar.toml`` of the names that can fill it.

"roman" is the same in all languages; "years" and "short_years" are made from the table ``spoken`` of the language.
"""

FIRST_SPOKEN_YEAR = 1900
_SPOKEN_YEARS = range(FIRST_SPOKEN_YEAR, 2040)
_ROMAN = "I II III IV V VI VII VIII IX X XI XII"


@dataclass(frozen=True, slots=True)
class NameFamily:
    """The names of all months (or weekdays, seasons …) in one form, such as full names or abbreviations, in order.

    forms (tuple[str, ...]): the names.
    tail (str): regular expression of what can follow a name, such as a case ending; it is kept if the name changes.
    bare (bool): whether a name is a date by itself; "kesä" (summer) is a month only in "12. kesä".
    """

    forms: tuple[str, ...]
    tail: str = ""
    bare: bool = True


class Vocabulary:
    """All names of one kind, such as months, in all their forms: full names, abbreviations, case forms.

    families (Sequence[NameFamily]): families of names, the preferred first.
    """

    def __init__(self, families: Sequence[NameFamily]) -> None:
        self.families = families
        self._where: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, family in enumerate(families):
            for i, form in enumerate(family.forms):
                if (number, i) not in self._where[form.lower()]:
                    self._where[form.lower()].append((number, i))

    def find(self, form: str) -> list[tuple[int, int]]:
        """Look up a name. RETURNS: for each match, the index of its family and the index in the family."""
        return self._where.get(" ".join(form.lower().split()), [])

    def pattern(self, group: str, *, bare: bool = False) -> str:
        """Return a regular expression for any of the names and what can follow it, such as a case ending.

        group (str): prefix of the groups that hold the name alone; the number of the family is appended.
        bare (bool): whether only names that are dates by themselves match.
        """
        families = [family for family in self.families if family.bare or not bare]
        if not families:
            return "(?!)"
        options = []
        for n, family in enumerate(families):
            forms = sorted(set(family.forms), key=lambda form: (-len(form), form))
            names = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in forms)
            options.append(f"(?:(?P<{group}{n}>{names}){family.tail})")
        return f"(?:{'|'.join(options)})(?![^\\W\\d_])"


@dataclass(frozen=True, slots=True)
class Calendar:
    """The names in dates of a language, such as months and holidays, and settings for reading and writing dates.

    lang (str): language code.
    names (Mapping[str, Vocabulary]): "months", "weekdays", "seasons" (winter first), "days" (1 to 31 in words), "tens"
        (0 to 90), "holidays", "month_numbers" (1 to 12 in words, for "the third of the tenth"), "roman" (numbers of
        months), "years" (1900 to 2039 in words) and "short_years" (0 to 99 in words).
    holidays (Mapping[str, tuple[int, int]]): name in lower case → (month, day), a nominal one for movable holidays.
    settings (Mapping[str, Any]): content of ``calendar.toml``.
    """

    lang: str
    names: Mapping[str, Vocabulary]
    holidays: Mapping[str, tuple[int, int]]
    settings: Mapping[str, Any]


@lru_cache
def load_calendar(lang: str) -> Calendar:
    """Load the names and settings for dates of a language from its ``calendar.toml``; results are cached.

    lang (str): language code, with or without a region: "en" (of the United States), "en-GB".
    RETURNS (Calendar): names and settings; those of a region override those of its language.
    RAISES: ConfigError (D662) if the language has no ``calendar.toml``.
    """
    data = get_language(lang).read_toml("calendar.toml")
    if not data:
        raise ConfigError(Errors.D662.format(lang=lang, known=", ".join(language_codes("calendar.toml"))))
    names = {}
    for kind in NAME_KINDS.values():
        families = []
        for row in data.get(kind, []):
            forms = row["forms"].split("," if "," in row["forms"] else None)
            bare = bool(row.get("bare", True))
            families.append(NameFamily(tuple(map(str.strip, forms)), str(row.get("tail", "")), bare))
        names[kind] = Vocabulary(families)
    holidays = {}
    families = []
    for family in names["holidays"].families:  # "name=MM-DD"
        days = dict(form.split("=") for form in family.forms)
        holidays.update({name.lower(): (int(day[:2]), int(day[3:])) for name, day in days.items()})
        families.append(NameFamily(tuple(days), family.tail))
    names["holidays"] = Vocabulary(families)
    names["roman"] = Vocabulary([NameFamily(tuple(_ROMAN.split()), bare=False)])
    names |= _spoken_years(data.get("spoken", {}))
    return Calendar(lang, names, holidays, data)


def _spoken_years(spoken: Mapping[str, Any]) -> dict[str, Vocabulary]:
    """Make the vocabularies of years in words: all years from 1900 to 2039, and the numbers from 0 to 99.

    spoken (Mapping[str, Any]): the table ``spoken`` of ``calendar.toml``: "numbers", lists of the numbers from 0 to 99
        in words, and "years", tables of the words before them in the years of a century. "small" in such a table is
        the word before a number below 10 ("twenty oh five"). The last table has the words for 1900 and 2000.
    RETURNS (dict[str, Vocabulary]): "years" and "short_years"; empty vocabularies if the table is empty.
    """
    numbers = [[number.strip() for number in row.split(",")] for row in spoken.get("numbers", ())]
    years = []
    for words, row in product(spoken.get("years", ()), numbers):
        forms = []
        for year in _SPOKEN_YEARS:
            century, number = str(year // 100 * 100), year % 100
            small = words.get("small", "") if number < 10 else ""
            forms.append(words[century] + small + row[number] if number else spoken["years"][-1][century].strip())
        years.append(NameFamily(tuple(forms)))
    return {"years": Vocabulary(years), "short_years": Vocabulary([NameFamily(tuple(row)) for row in numbers])}


def match_case(new: str, like: str) -> str:
    """Write a word in the capitals of another one: all upper case, all lower case, or an initial capital."""
    if like.isupper() and sum(c.isalpha() for c in like) > 1:
        return new.upper()
    if like.islower():
        return new.lower()
    return new[:1].upper() + new[1:] if like[:1].isupper() else new


# --- parsing ---

FieldSpans = Mapping[str, tuple[int, int]]
"""Name of a field of a date expression (see `DateExpression`) → start and end of the field in the mention."""

_LONGEST = 200  # characters of a mention
_SEP = r"\s*(?P<s>//|\.\.|--|[/.\-–])\s*"
_SEP2 = r"\s*[/.\-–]{1,2}\s*"
_YEAR = r"['’]?(?P<y>\d{4}(?!\d)|\d\.\d{3}(?!\d)|\d\d(?!\d|\s?[/.]\s?\d|-\d{4}))"
_YEAR4 = r"(?:(?P<y>\d{4})|['’](?P<y2>\d\d))(?!\d)"
_SURE = r"(?:1[89]|20|21)\d\d"

# Dates in numbers. The groups a and b are day and month, in an order that the conventions of the note decide.
_DATES = (
    ("day", r"(?P<y>\d{4})(?P<s>[-/.]|\s)(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)"),
    ("day", rf"(?P<y>{_SURE})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d)"),
    ("day", rf"(?P<a>\d{{1,2}}){_SEP}(?P<b>0?\d{{1,2}}){_SEP2}{_YEAR}"),
    ("day", rf"<HH>(?P<a>\d{{1,2}}){_SEP}(?P<b>0?\d{{1,2}}){_SEP2}{_YEAR}"),
    ("day", rf"(?P<a>\d{{1,2}})(?P<s>\s+)(?P<b>\d{{1,2}})\s+{_YEAR}"),
    ("day", rf"(?P<a>\d{{1,2}}){_SEP}(?P<b>\d{{1,2}})\s+(?P<y>{_SURE})(?!\d)"),
    ("day", r"(?P<m>\d{1,2})(?P<s>/)<HH>(?P<d>\d{1,2})/(?P<y>\d{4})(?!\d)"),
    ("year", r"(?P<y>\d{4})\s*[-–/]\s*['’]?(?P<z>1[3-9]|[2-9]\d)(?!\d)"),
    ("day", rf"(?P<d>\d{{1,2}})\s*[-/.–\s]\s*<RR>\s*[-/.–\s]\s*{_YEAR}"),
    ("day", r"(?P<d>\d{1,2})\s*[-/]\s*<RR>(?![^\W_])"),
    ("month", r"<RR>\s*[-/]\s*(?P<y>\d{4})(?!\d)"),
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
    ("year", r"['’\-](?P<y>\d\d)(?!\d|[./]\d|(?:st|nd|rd|th)\b)"),  # not the day of "8.1.-25.1.2015"
)
_WEEKDAY = (("weekday", r"<WW>(?=[.,]?\s*\d{1,2}\s*[/.\-]\s*\d)"), ("weekday", "<WW>"))
# Only if there are no other digits in the mention.
_LONE = (
    ("day", r"(?P<a>0[1-9]|[12]\d|3[01])(?P<b>0[1-9]|1[0-2])(?P<y>\d{4}|\d\d)(?!\d)"),
    ("day", r"(?P<a>0[1-9]|1[0-2])(?P<b>0[1-9]|[12]\d|3[01])(?P<y>\d{4}|\d\d)(?!\d)"),
    ("year", r"(?P<y>[1-9]\d{3})(?!\d)"),
    ("alone", r"(?P<d>\d{1,2})(?!\d)<OO>"),
)

# Kinds of the patterns in a calendar.toml, in the order in which they are tried.
_KINDS = ("day", "month", "season", "decade", "week", "holiday", "kept", "year")

# Typing errors → corrected: 7 is the slash of a Spanish keyboard without shift; a slash or a point is missing.
_TYPOS = (
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


_CUT = re.compile(r"-[ \t]*\r?\n[ \t]*")  # a line break within a word or number
_TOKEN = re.compile(r"[^\W_]+")
_DAMAGED_NAME = re.compile(r"(?<![^\W_])[^\W\d_]{3,}0(?![^\W_])")  # no day is 0
_MISREAD = str.maketrans("OoQlIiSsZzBg", "000111552289")  # letters that OCR writes for digits
_MISREAD_DIGITS = str.maketrans("015829", "oisbzg")
_MISREAD_NAMES = (("rn", "m"), ("1", "l"), ("vv", "w"), ("ii", "n"))
_LONG_FORM = 6  # letters; only a longer case form is compared with a misspelled word


@dataclass(frozen=True, slots=True)
class DateExpression:
    """A date, or a part of a date such as a month or weekday, in a mention; see `Grammar.parse`.

    text (str): the mention.
    kind (str): "day", "pair" (two numbers: day and month, or month and year), "month", "year", "season", "decade",
        "week", "weekday", "holiday", "alone" (day of a month that is not named), or "kept" for text that is no date,
        such as a time of day.
    start, end (int): position in the mention.
    fields (FieldSpans): spans of its fields in the mention: d, m, y for day, month and year; a and b for day and month
        in unknown order; M, W, S, N, T, F for the names of months, weekdays, seasons, days, decades and holidays; w
        for the name of a month with its ending; H for the days before the last one of a range; z for a second year.
    """

    text: str
    kind: str
    start: int
    end: int
    fields: FieldSpans

    def __repr__(self) -> str:
        """Show the kind and the position, never the text of a note."""
        return f"DateExpression({self.kind!r}, {self.start}, {self.end})"

    def field_text(self, field: str) -> str:
        """Return the text of a field such as "y" (year); "" if the expression has no such field."""
        start, end = self.fields.get(field, (0, 0))
        return self.text[start:end]

    def number(self, field: str) -> int:
        """Return the number in a field such as "d" (day); 0 if the expression has no such field."""
        return int(self.field_text(field) or 0)


class Grammar:
    """Parses mentions of dates in a language, and corrects typing errors in them.

    calendar (Calendar): names and settings of the language.
    """

    def __init__(self, calendar: Calendar) -> None:
        self.calendar = calendar
        names, settings = calendar.names, calendar.settings
        ordinal, link = str(settings["ordinal"]), _spaced(str(settings["link"]))
        slots = {field * 2: names[kind].pattern(field) for field, kind in NAME_KINDS.items()}
        if numbers := [re.escape(form) for family in names["short_years"].families for form in family.forms]:
            # "twenty twenty" is not a year in "twenty twenty two"
            for slot in ("JJ", "QQ"):
                slots[slot] += rf"(?!\s+(?:and\s+)?(?:{'|'.join(numbers)})(?![^\W\d_]))"
        # The regular expression of each slot of the patterns ("MM", "YY").
        self._slots = slots | {
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
        own_rows = ((kind, _spaced(p)) for kind in _KINDS for p in settings["patterns"].get(kind, []))
        rows = (_WEEKDAY[0], *_DATES, *own_rows, *_LOOSE, _WEEKDAY[1])
        self._patterns = [(kind, self._compile(p), False) for kind, p in rows]
        self._patterns += [("alone", self._compile(_spaced(p)), False) for p in settings["patterns"].get("alone", [])]
        self._patterns += [(kind, self._compile(p), True) for kind, p in _LONE]
        fillers = "|".join(sorted(map(_spaced, settings["fillers"]), key=len, reverse=True))
        self._filler = self._compile(rf"\s+|[^\w\s]|(?:{fillers})(?!\w)")

    def _compile(self, pattern: str) -> re.Pattern[str]:
        """Compile a pattern after its slots, such as "<MM>", are replaced by their regular expressions."""
        return re.compile(re.sub(r"(?<!P)<([A-Z]+)>", lambda slot: self._slots[slot[1]], pattern), re.IGNORECASE)

    def parse(self, text: str) -> list[DateExpression] | None:
        """Parse the mention of a date completely.

        text (str): as written.
        RETURNS (Optional[list[DateExpression]]): its expressions in order; None if it has none, is longer than 200
            characters, or cannot be parsed to its end.
        """
        expressions = self._parse(text, 0, set()) if len(text) <= _LONGEST else None
        return expressions or None

    def join_lines(self, text: str) -> str:
        """Remove a line break within a number or word of a date: "10/3-\\n0/1949" is 10/30/1949.

        text (str): a mention. The hyphen before the break is removed, unless the date can only be read with it
            ("2020-02-\\n12").
        RETURNS (str): the mention without such breaks; unchanged if it has none, or if neither form is one date.
        """
        if not _CUT.search(text):
            return text
        within = _CUT.sub(lambda cut: "-" if self._is_separator(text, cut) else "", text)
        for joined in dict.fromkeys((within, _CUT.sub("-", text))):
            found = self.parse(joined)
            if found and len(found) == 1 and found[0].kind in ("day", "pair", "month", "year", "season"):
                return joined
        return text

    @staticmethod
    def _is_separator(text: str, cut: re.Match[str]) -> bool:
        """Whether a hyphen before a line break is between a number and a word: "25-MAR-\\n2009"."""
        return text[cut.start() - 1 : cut.start()].isdigit() != text[cut.end() : cut.end() + 1].isdigit()

    def read_names(self, text: str) -> str:
        """Return a mention in which a name that ends with a digit is read: "juni0" is "junio" and not "juni" and 0."""
        return _DAMAGED_NAME.sub(lambda token: self._undo_ocr_name(token[0]) or token[0], text)

    def correct(self, text: str) -> str | None:
        """Correct a typing error, an OCR error or a line break within a word in the mention of a date.

        text (str): a mention that cannot be parsed.
        RETURNS (Optional[str]): the first correction that can be parsed, None if there is none.
        """
        joined = _CUT.sub("", text)
        close = re.sub(r"(?<=\w) (?=[/.\-])|(?<=[/.\-]) (?=\w)", "", joined)  # "l5 /V/ l96B"
        for read in dict.fromkeys((text, joined, self._undo_ocr(joined), self._undo_ocr(close))):
            typos = (re.sub(rf"^\s*{typo}\s*$", better, read) for typo, better in _TYPOS)
            for candidate in (read, *typos, self._correct_spelling(read)):
                if candidate != text and self.parse(candidate):
                    return candidate
        return None

    def _undo_ocr(self, text: str) -> str:
        """Undo OCR errors: letters written for digits ("2O2l"), digits and wrong letters in names ("rnarz0")."""

        def read(match: re.Match[str]) -> str:
            token = match[0]
            number = token.translate(_MISREAD)
            if number.isdecimal() and (len(token) <= 2 or any(map(str.isdecimal, token))):
                return number
            suffix = re.fullmatch(r"(\w{1,2})(st|nd|rd|th)", token)
            if suffix and suffix[1].translate(_MISREAD).isdecimal():
                return suffix[1].translate(_MISREAD) + suffix[2]
            named = self._undo_ocr_name(token)
            return named or (token.translate(_MISREAD_DIGITS) if token[:2].isalpha() else token)  # "vk0"

        return _TOKEN.sub(read, text)

    def _undo_ocr_name(self, token: str) -> str | None:
        """Return the name of a month, weekday or season that a token with OCR errors is, or the word between the
        parts of a date; None if there is none.
        """
        forms = [token.lower()]
        for wrong, right in _MISREAD_NAMES:
            forms += [form.replace(wrong, right) for form in forms if wrong in form]
        forms += [form.translate(_MISREAD_DIGITS) for form in forms]
        forms += [form.replace("i", "l") for form in forms if "i" in form]
        forms += [form.replace("l", "i") for form in forms if "l" in form]
        for form in forms[1:]:
            named = any(self.calendar.names[kind].find(form) for kind in ("months", "weekdays", "seasons"))
            if named or self._filler.fullmatch(form):
                return match_case(form, token)
        return None

    def _correct_spelling(self, text: str) -> str:
        """Replace misspelled names of months and weekdays, and words with swapped letters ("fo" for "of")."""

        def best(match: re.Match[str]) -> str:
            word = match[0].lower()
            if len(word) == 2 and not self._filler.fullmatch(word) and self._filler.fullmatch(word[::-1]):
                return word[::-1]  # "fo" for "of"
            names = (self.calendar.names[kind] for kind in ("months", "weekdays", "days", "years", "holidays"))
            known = len(word) < 4 or self._filler.fullmatch(word) or any(name.find(word) for name in names)
            return match[0] if known else min(self._similar_names(word), default=(0, match[0]))[1]

        return re.sub(r"[^\W\d_]+", best, text)

    def _similar_names(self, word: str) -> Iterator[tuple[int, str]]:
        """Yield (edit distance, name) of months and weekdays that are similar to a word; the word's ending is kept."""
        for kind in ("months", "weekdays"):
            first, *others = self.calendar.names[kind].families
            cases = [form for family in others if not family.tail for form in family.forms if len(form) > _LONG_FORM]
            for length in range(len(word), len(word) - (6 if first.tail else 1), -1):
                for form in (*first.forms, *(cases if length == len(word) else ())):
                    errors = DamerauLevenshtein.distance(word[:length], form.lower(), score_cutoff=2)
                    if errors <= 1 + (len(form) > 6):
                        yield errors, form + word[length:]

    def _parse(self, text: str, at: int, dead: set[int]) -> list[DateExpression] | None:
        """Parse the text from an offset to its end; None if that is impossible.

        dead (set[int]): offsets from which parsing is known to fail. New ones are added, so that the time
            stays linear.
        """
        if at == len(text):
            return []
        if at in dead:
            return None
        for expression, end in self._options(text, at):
            rest = self._parse(text, end, dead)
            if rest is not None:
                return [expression, *rest] if expression else rest
        dead.add(at)
        return None

    def _options(self, text: str, at: int) -> Iterator[tuple[DateExpression | None, int]]:
        """Yield what can begin at an offset, and where it ends: date expressions first, then a filler (None)."""
        if at and text[at - 1].isalpha() and text[at].isalpha():
            return
        for kind, pattern, lone in self._patterns:
            match = pattern.match(text, at)
            if not match or match.end() == at:
                continue
            if lone and re.search(r"\d", text[:at] + text[match.end() :]):
                continue
            # the group of a name has the number of its family ("M0")
            groups = match.re.groupindex.items()
            fields = {name[0]: match.span(i) for name, i in groups if match.start(i) < match.end(i)}
            yield DateExpression(text, kind, at, match.end(), fields), match.end()
        match = self._filler.match(text, at)
        if match and match.end() > at:
            yield None, match.end()


def _spaced(pattern: str) -> str:
    """Expand the abbreviations in a pattern: a blank stands for any white space, "_" for optional white space."""
    return pattern.replace(" ", r"\s+").replace("_", r"\s*")


@lru_cache
def load_grammar(lang: str) -> Grammar:
    """Return the date parser of a language. RAISES: ConfigError (D662) if it has no ``calendar.toml``."""
    return Grammar(load_calendar(lang))
