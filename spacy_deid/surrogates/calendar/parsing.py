"""Parsing of the dates of a note, and how the note writes them.

A single date does not always show whether the day or the month comes first. `find_conventions` decides it from all
dates of the note, together with leading zeros and short or long names.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from .grammar import Calendar, DateExpression, Grammar

_MOST_AHEAD = 10  # years after the note that a year of two digits may mean


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

    def field_text(self, expression: DateExpression, field: str) -> str:
        """Return the text of a field of an expression, "" if it has none."""
        start, end = expression.fields.get(field, (0, 0))
        return self.text[start:end]


def parse_date(text: str, before: str, grammar: Grammar) -> ParsedDate | None:
    """Parse a mention of a date.

    text (str): as written.
    before (str): text before it.
    grammar (Grammar): grammar of the language.
    RETURNS (Optional[ParsedDate]): the parsed mention; None if it cannot be parsed to its end.
    """
    born = bool(re.search(grammar.calendar.settings["birth"], before, re.IGNORECASE))
    expressions = grammar.parse(text)
    if not expressions:
        corrected = grammar.correct(text)
        if corrected is None:
            return None
        text, expressions = corrected, grammar.parse(corrected) or []
    if (
        len(expressions) == 1
        and expressions[0].kind == "alone"
        and _is_year_alone(text, expressions[0], before, grammar.calendar)
    ):
        expressions = [replace(expressions[0], kind="year", fields={"y": expressions[0].fields["d"]})]
    return ParsedDate(text, expressions, born)


def _is_year_alone(text: str, expression: DateExpression, before: str, calendar: Calendar) -> bool:
    """Whether two digits alone are a year: they exceed 31, or a word such as "año" is before them."""
    start, end = expression.fields["d"]
    cue = re.search(calendar.settings["year_cue"], before, re.IGNORECASE)
    return end - start == 2 and (int(text[start:end]) > 31 or cue is not None)


def resolve_order(parsed: ParsedDate, month_first: bool, calendar: Calendar) -> ParsedDate:
    """Decide which of two numbers is the month, and whether they are day and month at all.

    parsed (ParsedDate): a parsed mention.
    month_first (bool): convention of the note, for ambiguous dates.
    calendar (Calendar): calendar of the language.
    RETURNS (ParsedDate): the mention with fields d and m, or m and y, instead of a and b.
    """
    return replace(
        parsed,
        expressions=[_resolve_order(parsed, expression, month_first, calendar) for expression in parsed.expressions],
    )


def _resolve_order(
    parsed: ParsedDate, expression: DateExpression, month_first: bool, calendar: Calendar
) -> DateExpression:
    """Resolve the order of one expression."""
    if "a" not in expression.fields:
        return expression
    a, b = int(parsed.field_text(expression, "a")), int(parsed.field_text(expression, "b"))
    dotted = "." in parsed.field_text(expression, "s")
    rest = {field: place for field, place in expression.fields.items() if field not in "abs"}
    month_first = order(a, b, month_first and not dotted)
    if expression.kind == "pair":
        if (
            not dotted
            and a <= 12
            and "H" not in rest
            and (calendar.settings["pair"] == "month_year" or _is_year(b, month_first))
        ):
            return replace(
                expression, kind="month", fields=rest | {"m": expression.fields["a"], "y": expression.fields["b"]}
            )
        expression = replace(expression, kind="day")
    first, second = ("m", "d") if month_first else ("d", "m")
    return replace(expression, fields=rest | {first: expression.fields["a"], second: expression.fields["b"]})


def order(a: int, b: int, month_first: bool) -> bool:
    """Whether the first of two numbers is the month: if one exceeds 12, else by the convention of the note."""
    if a > 12 or b > 12:
        return b > 12 >= a
    return month_first


def _is_year(b: int, month_first: bool) -> bool:
    """Whether the second of two numbers is too large for a day or month."""
    return b > 31 or (b > 12 and not month_first) or b == 0


def day_of(year: int, month: int, day: int) -> date:
    """Return the date of a year, month and day; a day that does not exist (31 February) runs into the next month.

    RAISES: ValueError or OverflowError for a year that `date` cannot represent.
    """
    return date(year, (month - 1) % 12 + 1, 1) + timedelta(days=day - 1)


def nearest(month: int, day: int, to: date) -> date:
    """Return the date with a month and day, of any year, that is nearest to a date."""
    leap = (month, day) == (2, 29)
    years = range(to.year - 7, to.year + 8) if leap else range(to.year - 1, to.year + 2)
    days = [day_of(year, month, day) for year in years if not leap or _is_leap(year)]
    return min(days, key=lambda found: abs((found - to).days))


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


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

_FIRST, _LAST = 1900, 2099  # plausible years of a note; others are typing errors


@dataclass(frozen=True, slots=True)
class DateConventions:
    """How a note writes its dates.

    month_first (bool): whether 3/4 is 4 March.
    padded (Mapping[tuple[bool, str], bool]): (whether the month is a word, field) → whether it has a leading zero.
    families (Mapping[str, Sequence[int]]): kind of names → numbers of the families in the note, most frequent first.
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
    votes = [
        order(a, b, False)
        for parsed in dates
        for expression in parsed.expressions
        if "y" in expression.fields
        and (a := _number(parsed, expression, "a"))
        and (b := _number(parsed, expression, "b"))
        if (a > 12) != (b > 12) and "." not in parsed.field_text(expression, "s")
    ]
    default = not calendar.settings["day_first"]
    month_first = default if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)
    resolved = [resolve_order(parsed, month_first, calendar) for parsed in dates]
    return DateConventions(month_first, _padded(resolved), _families(resolved, calendar)), resolved


def _number(parsed: ParsedDate, expression: DateExpression, field: str) -> int:
    """Return the number in a field, 0 if there is none."""
    return int(parsed.field_text(expression, field) or 0)


def _padded(dates: Sequence[ParsedDate]) -> dict[tuple[bool, str], bool]:
    """Decide by majority whether days and months below ten have a leading zero."""
    votes: Counter[tuple[bool, str]] = Counter()
    for parsed in dates:
        for expression in parsed.expressions:
            for field in ("d", "m"):
                written, place = parsed.field_text(expression, field), expression.fields.get(field, (0, 0))
                year_first = expression.fields.get("y", place) < place
                if not year_first and (written.startswith("0") or len(written) == 1):
                    votes["M" in expression.fields, field] += 1 if len(written) > 1 else -1
    return {key: vote > 0 for key, vote in votes.items()}


def _families(dates: Sequence[ParsedDate], calendar: Calendar) -> dict[str, list[int]]:
    """Sort the families of names by votes: "sept" votes for one family, "jan" shares its vote among several."""
    kinds = {"M": "months", "W": "weekdays", "S": "seasons", "N": "days"}
    seen: dict[str, defaultdict[int, float]] = {kind: defaultdict(float) for kind in kinds.values()}
    for parsed in dates:
        for expression in parsed.expressions:
            for field, kind in kinds.items():
                numbers = {number for number, _ in calendar.names[kind].find(parsed.field_text(expression, field))}
                for number in numbers if len(numbers) < len(calendar.names[kind].families) else ():
                    seen[kind][number] += 1 / len(numbers)
    return {kind: sorted(votes, key=lambda number: (-votes[number], number)) for kind, votes in seen.items()}


def find_reference(dates: Sequence[ParsedDate], calendar: Calendar, year: int) -> date | None:
    """Guess the date of a note: its latest full date that is no date of birth, else the end of its latest year.

    dates (Sequence[ParsedDate]): parsed mentions, their order resolved.
    calendar (Calendar): calendar of the language.
    year (int): year for a note without any date; 0: none.
    RETURNS (Optional[date]): the date, None if it is unknown.
    """
    guess = date(year, 12, 31) if year else None
    later = [parsed for parsed in dates if not parsed.born]
    for digits in (4, 2):
        known = (_day(parsed, expression, calendar, digits) for parsed in later for expression in parsed.expressions)
        if days := [day for day in known if day and _FIRST <= day.year <= _LAST]:
            return max(days)
    years = (_year(parsed, expression) for parsed in later for expression in parsed.expressions)
    found = [year for year in years if _FIRST <= year <= _LAST]
    return date(max(found), 12, 31) if found and not guess else guess


def _day(parsed: ParsedDate, expression: DateExpression, calendar: Calendar, digits: int) -> date | None:
    """Return the date of an expression that is a full date with a year of so many digits, else None."""
    written = parsed.field_text(expression, "y").replace(".", "")
    month, day = _number(parsed, expression, "m"), _number(parsed, expression, "d")
    if expression.kind != "day" or len(written) != digits:
        return None
    if found := calendar.names["months"].find(parsed.field_text(expression, "M")):
        month = found[0][1] + 1
    if found := calendar.names["days"].find(parsed.field_text(expression, "N")):
        day = found[0][1] + 1
    if not (month and day):
        return None
    try:
        return day_of(full_year(written, date(2030, 12, 31)), month, day)
    except (ValueError, OverflowError):
        return None


def _year(parsed: ParsedDate, expression: DateExpression) -> int:
    """Return the year of an expression if it has four digits, else 0."""
    written = parsed.field_text(expression, "y").replace(".", "")
    return int(written) if len(written) == 4 else 0
