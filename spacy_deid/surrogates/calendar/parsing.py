"""Parsing of the dates of a note, and how the note writes them.

A single date does not always show whether the day or the month comes first. `find_conventions` decides it from all
dates of the note, together with leading zeros and short or long names.
"""

import re
from calendar import isleap
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from .grammar import NAME_KINDS, Calendar, DateExpression, Grammar

_MOST_AHEAD = 10  # years after the note that a year of two digits may mean
_FIRST, _LAST = 1900, 2099  # plausible years of a note; others are typing errors


@dataclass(frozen=True, slots=True)
class ParsedDate:
    """A parsed mention of a date.

    text (str): the mention, with typing errors corrected.
    expressions (Sequence[DateExpression]): its expressions, in order.
    born (bool): whether the text before it announces a date of birth.
    """

    text: str
    expressions: Sequence[DateExpression]
    born: bool = False

    def __repr__(self) -> str:
        """Show the kinds of expressions, never the text of a note."""
        return f"ParsedDate({[expression.kind for expression in self.expressions]})"


def parse_date(text: str, before: str, grammar: Grammar) -> ParsedDate | None:
    """Parse a mention of a date.

    text (str): as written.
    before (str): text before it.
    grammar (Grammar): grammar of the language.
    RETURNS (Optional[ParsedDate]): the parsed mention; None if it cannot be parsed to its end.
    """
    settings = grammar.calendar.settings
    born = bool(re.search(settings["birth"], before, re.IGNORECASE))
    expressions = grammar.parse(text)
    if not expressions:
        corrected = grammar.correct(text)
        if corrected is None:
            return None
        text, expressions = corrected, grammar.parse(corrected) or []
    first = expressions[0]
    alone = len(expressions) == 1 and first.kind == "alone" and len(first.field_text("d")) == 2
    # Two digits alone are a year if they exceed 31, or a word such as "año" is before them.
    if alone and (first.number("d") > 31 or re.search(settings["year_cue"], before, re.IGNORECASE)):
        expressions = [replace(first, kind="year", fields={"y": first.fields["d"]})]
    return ParsedDate(text, expressions, born)


def resolve_order(parsed: ParsedDate, month_first: bool, calendar: Calendar) -> ParsedDate:
    """Decide which of two numbers is the month, and whether they are day and month at all.

    parsed (ParsedDate): a parsed mention.
    month_first (bool): convention of the note, for ambiguous dates.
    calendar (Calendar): calendar of the language.
    RETURNS (ParsedDate): the mention with fields d and m, or m and y, instead of a and b.
    """
    resolved = []
    for expression in parsed.expressions:
        if "a" in expression.fields:
            a, b, kind = expression.number("a"), expression.number("b"), expression.kind
            dotted = "." in expression.field_text("s")
            rest = {field: span for field, span in expression.fields.items() if field not in "abs"}
            swapped = order(a, b, month_first and not dotted)
            first, second = ("m", "d") if swapped else ("d", "m")
            if kind == "pair":
                no_day = b > 31 or (b > 12 and not swapped) or b == 0 or calendar.settings["pair"] == "month_year"
                kind = "day"
                if not dotted and a <= 12 and "H" not in rest and no_day:
                    kind, first, second = "month", "m", "y"
            fields = rest | {first: expression.fields["a"], second: expression.fields["b"]}
            expression = replace(expression, kind=kind, fields=fields)
        resolved.append(expression)
    return replace(parsed, expressions=resolved)


def order(a: int, b: int, month_first: bool) -> bool:
    """Whether the first of two numbers is the month: if one exceeds 12, else by the convention of the note."""
    if a > 12 or b > 12:
        return b > 12 >= a
    return month_first


def day_of(year: int, month: int, day: int) -> date:
    """Return the date of a year, month and day; a day that does not exist (31 February) runs into the next month.

    RAISES: ValueError or OverflowError for a year that `date` cannot represent.
    """
    return date(year, (month - 1) % 12 + 1, 1) + timedelta(days=day - 1)


def nearest(month: int, day: int, to: date) -> date:
    """Return the date with a month and day, of any year, that is nearest to a date."""
    leap = (month, day) == (2, 29)
    years = range(to.year - 7, to.year + 8) if leap else range(to.year - 1, to.year + 2)
    days = [day_of(year, month, day) for year in years if not leap or isleap(year)]
    return min(days, key=lambda found: abs((found - to).days))


def full_year(digits: str, today: date, born: bool = False) -> int:
    """Return the year that digits mean: "2014", "2.014", or "14" of the nearest century.

    digits (str): year as written.
    today (date): a date of the note. A year of two digits is at most ten years after it.
    born (bool): whether it is a year of birth, which is not after the note.
    """
    year = int(digits.replace(".", ""))
    if len(digits) > 2:
        return year
    last = today.year + (0 if born else _MOST_AHEAD)
    return last - (last - year) % 100


# --- conventions of a note ---


@dataclass(frozen=True, slots=True)
class DateConventions:
    """How a note writes its dates.

    month_first (bool): whether 3/4 is 4 March.
    padded (Mapping[tuple[bool, str], bool]): (whether the month is a word, field) → whether it has a leading zero.
    families (Mapping[str, Sequence[int]]): field of a name → numbers of the families in the note, most frequent first.
    """

    month_first: bool
    padded: Mapping[tuple[bool, str], bool]
    families: Mapping[str, Sequence[int]]


def find_conventions(dates: Sequence[ParsedDate], calendar: Calendar) -> tuple[DateConventions, list[ParsedDate]]:
    """Find the conventions of a note.

    dates (Sequence[ParsedDate]): parsed mentions of the note.
    calendar (Calendar): calendar of the language, whose settings decide what the note leaves open.
    RETURNS (tuple[DateConventions, list[ParsedDate]]): the conventions, and the mentions with the order of day and
        month resolved.
    """
    votes = []
    for expression in (expression for parsed in dates for expression in parsed.expressions):
        a, b = expression.number("a"), expression.number("b")
        decisive = "y" in expression.fields and a and b and (a > 12) != (b > 12)
        if decisive and "." not in expression.field_text("s"):
            votes.append(order(a, b, False))
    default = not calendar.settings["day_first"]
    month_first = default if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)
    resolved = [resolve_order(parsed, month_first, calendar) for parsed in dates]
    padded: Counter[tuple[bool, str]] = Counter()
    seen: dict[str, defaultdict[int, float]] = {field: defaultdict(float) for field in "MWSN"}
    for expression in (expression for parsed in resolved for expression in parsed.expressions):
        for field in ("d", "m"):
            written, span = expression.field_text(field), expression.fields.get(field, (0, 0))
            year_first = expression.fields.get("y", span) < span
            if not year_first and (written.startswith("0") or len(written) == 1):
                padded["M" in expression.fields, field] += 1 if len(written) > 1 else -1
        for field, weights in seen.items():  # "sept" votes for one family, "jan" shares its vote among several
            names = calendar.names[NAME_KINDS[field]]
            numbers = {number for number, _ in names.find(expression.field_text(field))}
            for number in numbers if len(numbers) < len(names.families) else ():
                weights[number] += 1 / len(numbers)
    families = {field: sorted(found, key=lambda number: (-found[number], number)) for field, found in seen.items()}
    return DateConventions(month_first, {key: vote > 0 for key, vote in padded.items()}, families), resolved


def find_reference(dates: Sequence[ParsedDate], calendar: Calendar, year: int) -> date | None:
    """Guess the date of a note: its latest full date that is no date of birth, else the end of its latest year.

    dates (Sequence[ParsedDate]): parsed mentions, their order resolved.
    calendar (Calendar): calendar of the language.
    year (int): year for a note without any date; 0: none.
    RETURNS (Optional[date]): the date, None if it is unknown.
    """
    expressions = [expression for parsed in dates if not parsed.born for expression in parsed.expressions]
    days: dict[int, list[date]] = {4: [], 2: []}  # by the number of digits of the year
    years = []
    for expression in expressions:
        digits = expression.field_text("y").replace(".", "")
        if len(digits) == 4 and _FIRST <= int(digits) <= _LAST:
            years.append(int(digits))
        day = _read_day(expression, digits, calendar) if expression.kind == "day" and len(digits) in days else None
        if day and _FIRST <= day.year <= _LAST:
            days[len(digits)].append(day)
    if known := days[4] or days[2]:
        return max(known)
    if year:
        return date(year, 12, 31)
    return date(max(years), 12, 31) if years else None


def _read_day(expression: DateExpression, year: str, calendar: Calendar) -> date | None:
    """Return the date of an expression; None if it has no day or month, or the year cannot be represented."""
    month, day = expression.number("m"), expression.number("d")
    if found := calendar.names["months"].find(expression.field_text("M")):
        month = found[0][1] + 1
    if found := calendar.names["days"].find(expression.field_text("N")):
        day = found[0][1] + 1
    try:
        return day_of(full_year(year, date(2030, 12, 31)), month, day) if month and day else None
    except (ValueError, OverflowError):
        return None
