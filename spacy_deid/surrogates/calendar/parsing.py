"""Parse the dates of a note, and infer the format in which the note writes dates.

A single date can be ambiguous: 3/4 is 3 April or 4 March. `find_conventions` decides from all dates of the note
whether the day or the month comes first, and whether numbers have leading zeros and names are abbreviated.
"""

import re
from calendar import isleap
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from .grammar import FIRST_SPOKEN_YEAR, NAME_KINDS, Calendar, DateExpression, Grammar

_MOST_AHEAD = 10  # a year of two digits is at most so many years after the note
_YEARS_APART = 2  # years between the note and what a pair such as 6/10 would mean as month and year
_FIRST, _LAST = 1900, 2099  # plausible years of a note; others are typing errors


@dataclass(frozen=True, slots=True)
class ParsedDate:
    """The mention of a date, split into date expressions such as a day, month or range.

    text (str): the mention, with typing errors corrected.
    expressions (Sequence[DateExpression]): the dates and parts of dates in the mention, in order.
    born (bool): whether it is a date of birth according to the text before it ("born", "nacido el").
    """

    text: str
    expressions: Sequence[DateExpression]
    born: bool = False

    def __repr__(self) -> str:
        """Show the kinds of expressions, never the text of a note."""
        return f"ParsedDate({[expression.kind for expression in self.expressions]})"


def parse_date(text: str, before: str, grammar: Grammar) -> ParsedDate | None:
    """Parse a mention of a date, after the correction of typing errors if necessary.

    text (str): the mention as written.
    before (str): the text before it, which may show that it is a year or a date of birth.
    grammar (Grammar): grammar of the language.
    RETURNS (Optional[ParsedDate]): the parsed mention; None if it cannot be parsed completely.
    """
    settings = grammar.calendar.settings
    text = grammar.read_names(grammar.join_lines(text))
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


def resolve_order(
    parsed: ParsedDate,
    month_first: bool,
    calendar: Calendar,
    month_year: bool | None = None,
    iso: bool = False,
) -> ParsedDate:
    """Resolve pairs of numbers in a date, such as 3/4: day and month, month and day, or month and year.

    parsed (ParsedDate): a parsed mention.
    month_first (bool): whether the month comes first in ambiguous dates of the note.
    calendar (Calendar): calendar of the language.
    month_year (Optional[bool]): whether a pair of numbers up to 12 is a month and a year; None for the setting of the
        language.
    iso (bool): whether the note writes dates as 2016-04-18, so that 02-17 is 17 February.
    RETURNS (ParsedDate): the mention in which each pair of fields "a" and "b" (two numbers of unknown meaning) is
        renamed to "d" and "m" (day and month) or "m" and "y" (month and year).
    """
    if month_year is None:
        month_year = calendar.settings["pair"] == "month_year"
    resolved = []
    whole = any(expression.kind == "day" for expression in parsed.expressions)
    for expression in parsed.expressions:
        if whole and _is_time(expression):
            expression = replace(expression, kind="kept", fields={})
        elif iso and _is_month_and_day(expression):
            fields = {"m": expression.fields["a"], "d": expression.fields["b"]}
            expression = replace(expression, kind="day", fields=fields)
        elif "a" in expression.fields:
            a, b, kind = expression.number("a"), expression.number("b"), expression.kind
            dotted = "." in expression.field_text("s")
            rest = {field: span for field, span in expression.fields.items() if field not in "abs"}
            swapped = order(a, b, month_first and not dotted)
            first, second = ("m", "d") if swapped else ("d", "m")
            if kind == "pair":
                year = month_year and len(expression.field_text("b")) == 2
                month_last = calendar.settings["pair"] == "month_year"  # "05/13" is May 2013
                no_day = b > 31 or (b > 12 and (month_last or not swapped)) or b == 0 or year
                kind = "day"
                if not dotted and a <= 12 and "H" not in rest and no_day:
                    kind, first, second = "month", "m", "y"
            fields = rest | {first: expression.fields["a"], second: expression.fields["b"]}
            expression = replace(expression, kind=kind, fields=fields)
        resolved.append(expression)
    return replace(parsed, expressions=resolved)


def _is_time(expression: DateExpression) -> bool:
    """Whether a pair of numbers beside a full date is a time: "07.31 / 18.2.2010"."""
    a, b = expression.number("a"), expression.number("b")
    return expression.kind == "pair" and "." in expression.field_text("s") and a < 24 and 12 < b < 60


def _is_month_and_day(expression: DateExpression) -> bool:
    """Whether a pair of numbers has the form of the month and day of an ISO 8601 date: "02-17"."""
    a, b = expression.number("a"), expression.number("b")
    plain = expression.kind == "pair" and expression.field_text("s") == "-" and "H" not in expression.fields
    return plain and 1 <= a <= 12 and 1 <= b <= 31 and len(expression.field_text("a")) == 2


def order(a: int, b: int, month_first: bool) -> bool:
    """Whether the first of two numbers in a date is the month, and the second one the day.

    A number over 12 must be the day. If neither exceeds 12, `month_first` decides; if both do, the day is first.
    """
    if a > 12 or b > 12:
        return b > 12 >= a
    return month_first


def day_of(year: int, month: int, day: int) -> date:
    """Return the date of a year, month and day. Days after the end of a month count on: 31 April is 1 May.

    RAISES: ValueError or OverflowError for a year that `date` cannot represent.
    """
    return date(year, (month - 1) % 12 + 1, 1) + timedelta(days=day - 1)


def nearest(month: int, day: int, to: date) -> date:
    """Return the date with the given month and day, in any year, that is nearest to the date `to`."""
    leap = (month, day) == (2, 29)
    years = range(to.year - 7, to.year + 8) if leap else range(to.year - 1, to.year + 2)
    days = [day_of(year, month, day) for year in years if not leap or isleap(year)]
    return min(days, key=lambda found: abs((found - to).days))


def full_year(digits: str, today: date, born: bool = False) -> int:
    """Convert a written year to a full year: "2014", "2.014" (2014) or "14" (a year near the note).

    digits (str): the year as written. Two digits are completed to the latest year that is possible.
    today (date): date of the note. A year of two digits is at most ten years after it.
    born (bool): whether it is a year of birth, which cannot be after the note.
    RETURNS (int): the year.
    """
    year = int(digits.replace(".", ""))
    if len(digits) > 2:
        return year
    last = today.year + (0 if born else _MOST_AHEAD)
    return last - (last - year) % 100


def written_year(expression: DateExpression, calendar: Calendar) -> str:
    """Return the year of a date expression in digits, as in the text or converted from words; "" if it has none."""
    for field, first in (("J", FIRST_SPOKEN_YEAR), ("Q", 0)):
        if found := calendar.names[NAME_KINDS[field]].find(expression.field_text(field)):
            return f"{first + found[0][1]:02}"
    return expression.field_text("y")


def find_days(dates: Sequence[ParsedDate], calendar: Calendar, today: date) -> list[date]:
    """Find the full dates of a note.

    dates (Sequence[ParsedDate]): parsed mentions after `resolve_order`.
    calendar (Calendar): calendar of the language.
    today (date): date of the note, for years of two digits.
    RETURNS (list[date]): the dates in the order of the text, without impossible ones.
    """
    days = []
    for parsed in dates:
        for expression in parsed.expressions:
            digits = written_year(expression, calendar)
            if expression.kind == "day" and digits:
                year = str(full_year(digits, today, parsed.born))
                days.append(_read_day(expression, year, calendar))
    return [day for day in days if day]


# --- conventions of a note ---


@dataclass(frozen=True, slots=True)
class DateConventions:
    """The format of the dates in a note, used where a single date does not determine it.

    month_first (bool): whether the month comes first, so that 3/4 is 4 March.
    padded (Mapping[tuple[bool, str], bool]): (whether the month is written as a word, field "d" for days or "m" for
        months) → whether numbers below 10 have a leading zero.
    families (Mapping[str, Sequence[int]]): field of a name, such as "M" for months → the name families (full names,
        abbreviations …) that the note uses, as indices into `Vocabulary.families`, most frequent first.
    """

    month_first: bool
    padded: Mapping[tuple[bool, str], bool]
    families: Mapping[str, Sequence[int]]


def find_conventions(dates: Sequence[ParsedDate], calendar: Calendar) -> tuple[DateConventions, list[ParsedDate]]:
    """Infer the format of the dates in a note by majority votes of its dates.

    dates (Sequence[ParsedDate]): parsed mentions of the note.
    calendar (Calendar): calendar of the language. Its settings decide if the dates of the note do not.
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
    # In a note with "28/11" or "4. marraskuuta", "4/11" is a day and a month too, and not April 2011.
    every = [expression for parsed in dates for expression in parsed.expressions]
    pairs = [(each.number("a"), each.number("b")) for each in every if each.kind == "pair"]
    names = calendar.names["months"]
    named = {(each.number("d"), found[0][1] + 1) for each in every if (found := names.find(each.field_text("M")))}
    days = any(a > 12 >= b > 0 or (a, b) in named for a, b in pairs)
    days = days or any(each.kind == "day" and "a" in each.fields and "/" in each.field_text("s") for each in every)
    month_year = calendar.settings["pair"] == "month_year" and not days
    iso = any(_is_iso(each) for each in every)
    near = _months_near(every) if month_year else frozenset()
    resolved = []
    for parsed in dates:
        own = {(each.number("a"), each.number("b")) for each in parsed.expressions if each.kind == "pair"}
        resolved.append(resolve_order(parsed, month_first, calendar, month_year and near.isdisjoint(own), iso))
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


def _is_iso(expression: DateExpression) -> bool:
    """Whether an expression is a full date such as 2016-04-18."""
    in_order = all(field in expression.fields for field in "ymd") and expression.fields["y"] < expression.fields["m"]
    return expression.kind == "day" and in_order and expression.field_text("s") == "-"


def _months_near(expressions: Sequence[DateExpression]) -> frozenset[tuple[int, int]]:
    """Return the pairs of day and month that are within a month of a full date of the note and, read as month and
    year, years away from all of them: "6/10" beside "2017-10-04".
    """
    days = [each for each in expressions if each.kind == "day" and each.number("y") > _FIRST]
    written = [(each.number("y"), each.number("m" if "m" in each.fields else "b")) for each in days]
    full = [(year, month) for year, month in written if 1 <= month <= 12]
    latest = max(full, default=(0, 0))
    months = {(latest[1] + step - 1) % 12 + 1 for step in (-1, 0, 1)}
    return frozenset(
        (a, b)
        for each in expressions
        if each.kind == "pair" and full
        for a, b in [(each.number("a"), each.number("b"))]
        if b in months and abs(2000 + b - latest[0]) > _YEARS_APART
    )


def find_reference(dates: Sequence[ParsedDate], calendar: Calendar, year: int) -> date | None:
    """Estimate the date of a note from the dates in it.

    It is the latest full date that is not a date of birth (dates with a year of four digits are preferred). Without a
    full date it is 31 December of `year`, or else of the latest year in the note.

    dates (Sequence[ParsedDate]): parsed mentions after `resolve_order`.
    calendar (Calendar): calendar of the language.
    year (int): year for a note without a full date; 0: unknown.
    RETURNS (Optional[date]): the date; None if it is unknown.
    """
    expressions = [expression for parsed in dates if not parsed.born for expression in parsed.expressions]
    days: dict[int, list[date]] = {4: [], 2: []}  # by the number of digits of the year
    years = []
    for expression in expressions:
        digits = written_year(expression, calendar).replace(".", "")
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
    """Return the date of an expression with the given year; None without a day or month, or for an impossible year."""
    month, day = expression.number("m"), expression.number("d")
    for field in "MPR":
        if found := calendar.names[NAME_KINDS[field]].find(expression.field_text(field)):
            month = found[0][1] + 1
    if found := calendar.names["days"].find(expression.field_text("N")):
        day = found[0][1] + 1
    try:
        return day_of(full_year(year, date(2030, 12, 31)), month, day) if month and day else None
    except (ValueError, OverflowError):
        return None
