"""Shift the dates of a mention by the secret offset of a patient, and write them in the format of the original."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

from ...lang import all_languages
from .grammar import FIRST_SPOKEN_YEAR, NAME_KINDS, Calendar, DateExpression, match_case
from .parsing import DateConventions, ParsedDate, day_of, full_year, nearest, written_year
from .rules import OLDEST_AGE, Shift

_LEAP = 2000
_MONTHS = 12
_RECENT = 30  # years before the note: "oct 29" is a month and a year only if the year is within them


@dataclass(frozen=True, slots=True)
class NoteShift:
    """Shifts the dates of one note by the patient's offsets, in the format that the note uses.

    shift (Shift): offsets of the patient's dates.
    calendar (Calendar): calendar of the language.
    conventions (DateConventions): format of the dates in the note.
    today (date): date of the note, or a substitute; a date without a year is assumed to be near it.
    note (Optional[date]): date of the note, at which ages are computed; None if it is unknown.
    days (Sequence[date]): the full dates of the note. A part of one of them ("February", "the 14th") moves with it.
    stays (frozenset[str]): kinds of expressions that may stay unchanged: "weekday", "season".
    """

    shift: Shift
    calendar: Calendar
    conventions: DateConventions
    today: date
    note: date | None = None
    stays: frozenset[str] = frozenset()
    days: Sequence[date] = ()

    def __repr__(self) -> str:
        return "NoteShift(secret)"

    def move_day(self, day: date) -> date:
        """Shift a date. If it then shows an age over 90, it is moved to a later year, at an age of 90."""
        moved = day + timedelta(days=self.shift.days)
        if self.note is None:
            return moved
        note = self.note + timedelta(days=self.shift.days)
        age = note.year - moved.year - ((note.month, note.day) < (moved.month, moved.day))
        if age <= OLDEST_AGE:
            return moved
        # 29 February becomes 1 March in a common year, so that the age stays.
        return day_of(moved.year + age - OLDEST_AGE, moved.month, moved.day)

    def limit_age(self, moved: int, per_year: int, offset: int) -> int:
        """Move a shifted year, quarter or month to a later year if it is more than 90 years before the note.

        moved (int): the moved time, in units of 1 / `per_year` years: 1 for years, 4 for quarters, 12 for months.
        per_year (int): units per year.
        offset (int): number of units by which it was moved.
        RETURNS (int): the time in the same units, unchanged if it shows an age of 90 or less.
        """
        if self.note is None:
            return moved
        now = per_year * self.note.year + (self.note.month - 1) * per_year // 12 + offset
        return moved + per_year * max(0, (now - moved) // per_year - OLDEST_AGE)


class DateWriter:
    """Reads the fields of one date expression in a mention, and writes them for another date in the same format.

    parsed (ParsedDate): the mention.
    expression (DateExpression): an expression of it.
    move (NoteShift): how the dates of the note are moved.
    """

    def __init__(self, parsed: ParsedDate, expression: DateExpression, move: NoteShift) -> None:
        self.parsed, self.expression, self.move = parsed, expression, move
        self.text, self.fields = parsed.text, expression.fields
        self.field_text, self.number = expression.field_text, expression.number

    def index(self, field: str) -> int:
        """Return the index of the name in a field, from 0: for "M", 0 is January."""
        return self.move.calendar.names[NAME_KINDS[field]].find(self.field_text(field))[0][1]

    @property
    def has_year(self) -> bool:
        """Whether the expression has a year, in digits or words."""
        return bool(self.fields.keys() & {"y", "J", "Q"})

    def year(self) -> int:
        """Return the year of the expression with its century. A year of two digits is the latest one that is at most
        ten years after the note or, for a date of birth, not after it.
        """
        return full_year(written_year(self.expression, self.move.calendar), self.move.today, self.parsed.born)

    def month(self) -> int:
        """Return the month, from 1; 0 if it is unknown ("00/2014")."""
        field = self.month_field
        return self.index(field) + 1 if field else self.number("m")

    @property
    def month_field(self) -> str:
        """The field with the month in words or Roman numerals; "" if there is none."""
        return next((field for field in "MPR" if field in self.fields), "")

    def write_name(self, field: str, i: int) -> str:
        """Write the month, weekday … with index `i` in the form and capitals of the name in a field."""
        like, vocabulary = self.field_text(field), self.move.calendar.names[NAME_KINDS[field]]
        numbers = [number for number, _ in vocabulary.find(like)]
        preferred = [number for number in self.move.conventions.families.get(field, ()) if number in numbers]
        point = self.text[self.fields[field][1] :].startswith(".")
        if len(numbers) > 1 and point:  # "May." is an abbreviation, as "Jun." is
            numbers.sort(key=lambda number: len(vocabulary.families[number].forms[i]))
        return match_case(vocabulary.families[(preferred or numbers)[0]].forms[i], like)

    def write_digits(self, field: str, value: int) -> str:
        """Write a day or month in digits, with a leading zero if the original or its note uses leading zeros."""
        like, named = self.field_text(field), "M" in self.fields or self.expression.kind == "alone"
        if like.startswith("0") or len(like) != 2:
            return f"{value:0{len(like)}d}"
        if not named and "y" in self.fields:
            # A field has two digits if the year is first, or there are no separators.
            start, end = self.fields[field]
            starts, ends = zip(*(self.fields[f] for f in "dmy" if f in self.fields), strict=True)
            if self.fields["y"][0] < start or start in ends or end in starts:
                return f"{value:02d}"
        padded = self.move.conventions.padded.get((named, field))
        if padded is None:
            other = self.field_text("m" if field == "d" else "d")
            decisive = other.startswith("0") or len(other) == 1
            padded = len(other) > 1 if decisive else not named and bool(self.move.calendar.settings["padded"])
        return f"{value:02d}" if padded else str(value)

    def write_year(self, value: int, field: str = "y") -> str:
        """Write a year with as many digits as the original year in the field.

        RAISES: ValueError if the year is not between 1000 and 9999.
        """
        if not 1000 <= value <= 9999:
            raise ValueError
        if field == "J":
            if not 0 <= value - FIRST_SPOKEN_YEAR < len(self.move.calendar.names["years"].families[0].forms):
                raise ValueError
            return self.write_name("J", value - FIRST_SPOKEN_YEAR)
        if field == "Q":
            return self.write_name("Q", value % 100)
        like = self.field_text(field)
        if len(like) == 2:
            return f"{value % 100:02d}"
        return f"{value // 1000}.{value % 1000:03d}" if "." in like else str(value)

    def year_edits(self, value: int) -> "Iterator[Edit]":
        """Yield the edit that writes a year in the field of the year, in digits or words."""
        for field in "yJQ":
            if field in self.fields:
                yield *self.fields[field], self.write_year(value, field)

    def write_ordinal(self, day: date, like: str) -> str:
        """Write the ordinal suffix of a day ("12th", "1º") if the original has one."""
        table = self.move.calendar.settings.get("ordinals", {})
        new = str(table.get(str(day.day), table.get("other", "=")))
        return like if not like or new == "=" else match_case(new, like)

    def write(self, day: date, start: int, end: int) -> str:
        """Return the text of the mention from `start` to `end` with all fields replaced by those of a date."""
        new: dict[str, Callable[[], str]] = {
            "d": lambda: self.write_digits("d", day.day),
            "m": lambda: self.write_digits("m", day.month),
            "y": lambda: self.write_year(day.year),
            "x": lambda: str(day.year),
            "M": lambda: self.write_name("M", day.month - 1),
            "N": lambda: self.write_name("N", day.day - 1),
            "P": lambda: self.write_name("P", day.month - 1),
            "R": lambda: self.write_name("R", day.month - 1),
            "J": lambda: self.write_year(day.year, "J"),
            "Q": lambda: self.write_year(day.year, "Q"),
            "o": lambda: self.write_ordinal(day, self.field_text("o")),
        }
        out = self.text[start:end]
        for field, place in sorted(self.fields.items(), key=lambda item: item[1], reverse=True):
            if field in new and start <= place[0] and place[1] <= end:
                out = out[: place[0] - start] + new[field]() + out[place[1] - start :]
        return out


# --- the kinds of expressions ---

Edit = tuple[int, int, str]
"""A replacement in a mention: start and end offset, new text."""


def shift_date(parsed: ParsedDate, move: NoteShift) -> str | None:
    """Shift all dates in a mention and keep their format.

    parsed (ParsedDate): the parsed mention after `parsing.resolve_order`.
    move (NoteShift): how the dates of the note are moved.
    RETURNS (Optional[str]): the mention with moved dates in the same format. None if a date would stay unchanged, or
        its year cannot be represented.
    """
    try:
        edits = [
            edit
            for expression in parsed.expressions
            if expression.kind != "kept"  # no date: "ayer", "3 days later", "14:30"
            for edit in _HANDLERS[expression.kind](DateWriter(parsed, expression, move))
        ]
    except (ValueError, OverflowError):
        return None
    text = parsed.text
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    same = " ".join(text.split()).lower() == " ".join(parsed.text.split()).lower()
    stays = all(expression.kind == "kept" or expression.kind in move.stays for expression in parsed.expressions)
    return None if same and not stays else text


def _shift_day(w: DateWriter) -> Iterator[Edit]:
    """Yield the edits that shift a full date, a day without a year, or several days of a month ("3-5 May")."""
    month, day = w.month(), w.index("N") + 1 if "N" in w.fields else w.number("d")
    if not (month and day):  # the known part of a date with an unknown part ("00/03/2014")
        if month or w.has_year:
            yield from _shift_month(w) if month else _shift_year(w)
        return
    if w.has_year or "x" in w.fields:
        last = day_of(w.year() if w.has_year else w.move.today.year, month, day)
    else:
        same = (known for known in w.move.days if (known.month, known.day) == (month, day))
        last = next(same, None) or nearest(month, day, _anchor(w))
    heads = list(_numbers_with_ordinals().finditer(w.field_text("H")))
    if not heads:
        start, end, moved = w.expression.start, w.expression.end, w.move.move_day(last)
        yield start, end, _in_order_of_note(w, moved).write(moved, start, end)
        return
    days = []  # those of a range are in the month of its end, or in the month before if they are greater
    for head in heads:
        number = int(head[1])
        if number <= last.day:
            days.append(last.replace(day=max(1, number)))
        else:
            days.append(day_of(last.year - (last.month == 1), last.month - 1, number))
    at = w.fields["H"][0]
    spans = [(at + h.start(1), at + h.end(1), at + h.end()) for h in heads]
    yield from _shift_days(w, spans, [w.move.move_day(each) for each in (*days, last)])


def _in_order_of_note(w: DateWriter, moved: date) -> DateWriter:
    """Return a writer that exchanges day and month if the moved date would be misread otherwise.

    In a Spanish note, "11/30/21" is 30 November, but its surrogate "11/10/20" would be 11 October.
    """
    day, month, year = (w.fields.get(field, (0, 0)) for field in "dmy")
    if moved.day > _MONTHS or w.number("d") <= _MONTHS or not (day[1] and month[1] and max(day, month) < year):
        return w
    dotted = "." in w.text[min(day, month)[1] : max(day, month)[0]]  # the day is always first
    if dotted or (month < day) == w.move.conventions.month_first:
        return w
    fields = {**w.fields, "d": month, "m": day}
    return DateWriter(w.parsed, replace(w.expression, fields=fields), w.move)


@lru_cache
def _numbers_with_ordinals() -> re.Pattern[str]:
    """Return the pattern of a day and its ordinal suffix in any language."""
    tables = (language.read_toml("calendar.toml").get("ordinals", {}) for language in all_languages("calendar.toml"))
    suffixes = sorted({re.escape(suffix) for table in tables for suffix in table.values() if suffix.isalpha()})
    return re.compile(rf"(\d{{1,2}})({'|'.join(suffixes)}|\.)?")


def _anchor(w: DateWriter) -> date:
    """Return the date that determines the year of a day without a year: the nearest such day is meant.

    It is the next full date of the mention ("del 3 de abril al 5 de mayo de 2014"), else the date of the note.
    """
    for expression in w.parsed.expressions:
        other = DateWriter(w.parsed, expression, w.move)
        later = expression.kind == "day" and expression.start > w.expression.start
        if later and other.has_year and other.month():
            return day_of(other.year(), other.month(), max(1, other.number("d")))
    return w.move.today


def _shift_days(w: DateWriter, heads: Sequence[tuple[int, int, int]], days: Sequence[date]) -> Iterator[Edit]:
    """Yield the edits that shift several days of a month ("3-5/4/2014"), adding a second month if they need one.

    heads (Sequence[tuple[int, int, int]]): start, end, and end with the ordinal suffix, of each day but the last.
    days (Sequence[date]): the moved days.
    """
    month = w.fields.get("w") or w.fields["m"]
    year = w.fields.get("y", month)
    first = heads[0][0]
    leads = month[0] < first  # "March 3-5, 2014"
    start, end = w.fields["d"][0], w.expression.end
    months = [(day.year, day.month) for day in days]
    for i, ((at, to, full), day) in enumerate(zip(heads, days, strict=False)):
        sign = w.write_ordinal(day, w.text[to:full])
        new = w.write_digits("d", day.day) + sign
        if not leads and months[i] != months[-1]:
            # The text from the last day to its month or year follows. The point of "3." belongs to that text, unless
            # the month is in digits: "29.4.–1.5.2014".
            stop = year[1] if day.year != days[-1].year else month[1]
            rest = w.write(day, w.fields["d"][1], stop)
            point = sign == "." and rest.startswith(".")
            new = w.write_digits("d", day.day) + ("" if point else sign) + rest
            new += sign if point and "m" in w.fields and stop == w.fields["m"][1] else ""
        if leads and day.year != days[i + 1].year:
            new += w.write(day, w.fields["d"][1], year[1])
        if leads and i and months[i] != months[max(0, days.index(day) - 1)]:
            new = w.write(day, month[0], first) + new
        yield at, full, new
    last = w.write(days[-1], start, end)
    if leads:
        yield month[0], first, w.write(days[0], month[0], first)
        if months[-1] != months[-2]:
            last = w.write(days[-1], month[0], first) + last
    yield start, end, last


def _shift_month(w: DateWriter) -> Iterator[Edit]:
    """Yield the edits that shift a month, with or without a year.

    If the note has a full date in this month, the month moves with it. RAISES: ValueError if the month would then stay
    as it is; it cannot be moved to another month without contradicting the date.
    """
    if not w.month():
        yield from _shift_year(w)
        return
    digits = w.field_text("y")
    plausible = range(w.move.today.year - _RECENT, w.move.today.year + 2)
    marked = "y" in w.fields and w.text[: w.fields["y"][0]].endswith(("'", "’"))  # "Feb '02"
    if "M" in w.fields and len(digits) == 2 and 0 < int(digits) <= 31 and w.year() not in plausible and not marked:
        # "oct 29" in a note of 2010 is a day, and not October 1929.
        fields = {"M": w.fields["M"], "d": w.fields["y"]}
        yield from _shift_day(DateWriter(w.parsed, replace(w.expression, kind="day", fields=fields), w.move))
        return
    written = w.month() - 1
    year = w.year() if w.has_year else None
    same = [day for day in w.move.days if day.month == w.month() and year in (None, day.year)]
    offset = w.move.shift.months
    if same:
        moved = w.move.move_day(same[-1])
        offset = 12 * (moved.year - same[-1].year) + moved.month - same[-1].month
        if not offset or (year is None and offset % 12 == 0):
            raise ValueError
    months = written + offset
    if year is not None:
        months = w.move.limit_age(months + 12 * year, 12, offset)
        yield from w.year_edits(months // 12)
    if field := w.month_field:
        yield *w.fields[field], w.write_name(field, months % 12)
    else:
        yield *w.fields["m"], w.write_digits("m", months % 12 + 1)


def _shift_year(w: DateWriter) -> Iterator[Edit]:
    """Yield the edits that shift a year or two years ("2012/13")."""
    year = w.year()
    moved = w.move.limit_age(year + w.move.shift.years, 1, w.move.shift.years)
    yield from w.year_edits(moved)
    if "z" in w.fields:
        yield *w.fields["z"], w.write_year(moved + (w.number("z") - year) % 100, "z")


def _shift_season(w: DateWriter) -> Iterator[Edit]:
    """Yield the edits that shift a season or quarter, with or without a year."""
    quarters = w.index("S") + w.move.shift.quarters
    if "y" in w.fields:
        quarters = w.move.limit_age(quarters + 4 * w.year(), 4, w.move.shift.quarters)
        yield *w.fields["y"], w.write_year(quarters // 4)
    yield *w.fields["S"], w.write_name("S", quarters % 4)


def _shift_decade(w: DateWriter) -> Iterator[Edit]:
    """Yield the edit that shifts a decade: "1980s", "80s", "eighties"."""
    offset = w.move.shift.decades
    if "T" in w.fields:
        yield *w.fields["T"], w.write_name("T", (w.index("T") + offset - 2) % 8 + 2)
        return
    decade = w.number("e")
    if len(w.field_text("e")) == 2:
        yield *w.fields["e"], f"{(decade + 10 * offset) % 100:02d}"
        return
    if w.move.note and w.move.note.year - decade - 9 > OLDEST_AGE:
        decade = (w.move.note.year - OLDEST_AGE) // 10 * 10
    yield *w.fields["e"], str(decade + 10 * offset)


def _shift_weekday(w: DateWriter) -> Iterator[Edit]:
    """Yield the edit that shifts a weekday by the patient's offset in days."""
    yield *w.fields["W"], w.write_name("W", (w.index("W") + w.move.shift.days) % 7)


def _shift_week(w: DateWriter) -> Iterator[Edit]:
    """Yield the edits that shift a week of the ISO calendar, with or without a year."""
    year = w.year() if "y" in w.fields else w.move.today.isocalendar().year
    week, written = min(max(1, w.number("k")), 52), w.field_text("k")
    moved = (date.fromisocalendar(year, week, 1) + timedelta(days=w.move.shift.days)).isocalendar()
    if "y" in w.fields:
        yield *w.fields["y"], w.write_year(moved.year)
    yield *w.fields["k"], f"{moved.week:0{len(written) if written[0] == '0' else 1}d}"


def _shift_holiday(w: DateWriter) -> Iterator[Edit]:
    """Yield the edit that replaces a holiday by another one, the nearest to its shifted date."""
    calendar, name = w.move.calendar, " ".join(w.field_text("F").lower().split())
    own = calendar.holidays[name]
    moved = day_of(_LEAP, *own) + timedelta(days=w.move.shift.days)
    compound = w.text[w.fields["F"][1] :][:1].isalpha()  # "jouluyönä" is replaced by a holiday with the same ending
    possible = [calendar.names["holidays"].families[number] for number, _ in calendar.names["holidays"].find(name)]
    family = next((family for family in possible if bool(family.tail) == compound), possible[0])
    days = {form: calendar.holidays[form.lower()] for form in family.forms}

    def apart(form: str) -> int:
        days_apart = abs((day_of(_LEAP, *days[form]) - moved).days) % 366
        return min(days_apart, 366 - days_apart)

    other = min((form for form in family.forms if days[form] != own), key=apart)
    yield *w.fields["F"], match_case(other, w.field_text("F"))


def _shift_alone(w: DateWriter) -> Iterator[Edit]:
    """Yield the edit that shifts a day without a month. The month is that of a full date of the note with this day, or
    else that of the note.
    """
    number = max(1, w.index("N") + 1 if "N" in w.fields else w.number("d"))
    same = next((day for day in w.move.days if day.day == number), None)
    moved = (same or day_of(w.move.today.year, w.move.today.month, number)) + timedelta(days=w.move.shift.days)
    yield w.expression.start, w.expression.end, w.write(moved, w.expression.start, w.expression.end)


_HANDLERS: Mapping[str, Callable[[DateWriter], Iterator[Edit]]] = {
    "day": _shift_day,
    "month": _shift_month,
    "year": _shift_year,
    "season": _shift_season,
    "decade": _shift_decade,
    "weekday": _shift_weekday,
    "week": _shift_week,
    "holiday": _shift_holiday,
    "alone": _shift_alone,
}
