"""Moving the dates of a mention by the shift of a patient, in the format of the original."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from .grammar import Calendar, DateExpression, match_case
from .parsing import DateConventions, ParsedDate, day_of, full_year, nearest
from .rules import OLDEST_AGE, Shift

_KINDS = {"M": "months", "W": "weekdays", "S": "seasons", "N": "days", "T": "tens", "F": "holidays"}


@dataclass(frozen=True, slots=True)
class NoteShift:
    """How the dates of one note are moved.

    shift (Shift): shift of the patient.
    calendar (Calendar): calendar of the language.
    conventions (DateConventions): conventions of the note.
    today (date): date of the note, or a substitute; a date without a year is assumed to be near it.
    note (Optional[date]): date from which ages are counted, None if it is unknown.
    stays (frozenset[str]): kinds of expressions that may stay unchanged: "weekday", "season".
    """

    shift: Shift
    calendar: Calendar
    conventions: DateConventions
    today: date
    note: date | None = None
    stays: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return "NoteShift(secret)"


class DateWriter:
    """Reads the fields of an expression, and writes it for another date.

    parsed (ParsedDate): the mention.
    expression (DateExpression): an expression of it.
    move (NoteShift): how the dates of the note are moved.
    """

    def __init__(self, parsed: ParsedDate, expression: DateExpression, move: NoteShift) -> None:
        self.parsed, self.expression, self.move = parsed, expression, move
        self.text, self.fields = parsed.text, expression.fields

    def field_text(self, field: str) -> str:
        """Return the text of a field."""
        return self.parsed.field_text(self.expression, field)

    def number(self, field: str) -> int:
        """Return the number in a field, 0 if there is none."""
        return int(self.field_text(field) or 0)

    def index(self, field: str) -> int:
        """Return the position of the name in a field, from 0."""
        return self.move.calendar.names[_KINDS[field]].find(self.field_text(field))[0][1]

    def year(self, today: date | None = None) -> int:
        """Return the year of the expression."""
        return full_year(self.field_text("y"), today or self.move.today, self.parsed.born)

    def month(self) -> int:
        """Return the month, from 1; 0 if it is unknown ("00/2014")."""
        return self.index("M") + 1 if "M" in self.fields else self.number("m")

    def name(self, field: str, i: int) -> str:
        """Write the i-th name, of the same family and in the case of the name in a field."""
        kind, like = _KINDS[field], self.field_text(field)
        vocabulary = self.move.calendar.names[kind]
        numbers = [number for number, _ in vocabulary.find(like)]
        preferred = [number for number in self.move.conventions.families.get(kind, ()) if number in numbers]
        if len(numbers) > 1 and self.text[self.fields[field][1] :].startswith(
            "."
        ):  # "May." is an abbreviation, as "Jun." is
            numbers.sort(key=lambda number: len(vocabulary.families[number].forms[i]))
        return match_case(vocabulary.families[(preferred or numbers)[0]].forms[i], like)

    def digits(self, field: str, value: int) -> str:
        """Write a day or month in digits, with a leading zero as the field, the note or its neighbour has it."""
        like, named = self.field_text(field), "M" in self.fields or self.expression.kind == "alone"
        if like.startswith("0") or len(like) != 2:
            return f"{value:0{len(like)}d}"
        if not named and self._is_rigid(field):
            return f"{value:02d}"
        habit = self.move.conventions.padded.get((named, field))
        if habit is None:
            other = self.field_text("m" if field == "d" else "d")
            told = other.startswith("0") or len(other) == 1
            habit = len(other) > 1 if told else not named and bool(self.move.calendar.settings["padded"])
        return f"{value:02d}" if habit else str(value)

    def _is_rigid(self, field: str) -> bool:
        """Whether a field always has two digits: the year is first, or there are no separators."""
        year, (start, end) = self.fields.get("y"), self.fields[field]
        starts, ends = zip(*(self.fields[f] for f in "dmy" if f in self.fields), strict=True)
        return year is not None and (year[0] < start or start in ends or end in starts)

    def year_like(self, value: int, field: str = "y") -> str:
        """Write a year in as many digits as in a field.

        RAISES: ValueError if the year is not between 1000 and 9999.
        """
        if not 1000 <= value <= 9999:
            raise ValueError
        like = self.field_text(field)
        if len(like) == 2:
            return f"{value % 100:02d}"
        return f"{value // 1000}.{value % 1000:03d}" if "." in like else str(value)

    def write(self, day: date, start: int, end: int) -> str:
        """Write the mention from start to end with its fields for a date."""
        new: dict[str, Callable[[], str]] = {
            "d": lambda: self.digits("d", day.day),
            "m": lambda: self.digits("m", day.month),
            "y": lambda: self.year_like(day.year),
            "x": lambda: str(day.year),
            "M": lambda: self.name("M", day.month - 1),
            "N": lambda: self.name("N", day.day - 1),
            "o": lambda: self.ordinal(day, self.field_text("o")),
        }
        out = self.text[start:end]
        for field, place in sorted(self.fields.items(), key=lambda item: item[1], reverse=True):
            if field in new and start <= place[0] and place[1] <= end:
                out = out[: place[0] - start] + new[field]() + out[place[1] - start :]
        return out

    def ordinal(self, day: date, like: str) -> str:
        """Write the ordinal suffix of a day ("12th", "1º") if the original has one."""
        table = self.move.calendar.settings.get("ordinals", {})
        new = str(table.get(str(day.day), table.get("other", "=")))
        return like if not like or new == "=" else match_case(new, like)


# --- the kinds of expressions ---

_LEAP = 2000

Edit = tuple[int, int, str]
"""A replacement in the mention: start, end, text."""


def shift_date(parsed: ParsedDate, move: NoteShift) -> str | None:
    """Move the dates of a mention.

    parsed (ParsedDate): parsed mention, its order resolved.
    move (NoteShift): how the dates of the note are moved.
    RETURNS (Optional[str]): the mention with moved dates in the same format. None if a date would stay unchanged, or
        its year cannot be represented.
    """
    try:
        edits = [
            edit
            for expression in parsed.expressions
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
    """Move a full date, a day of a month, or several days of a month."""
    month, day = w.month(), w.index("N") + 1 if "N" in w.fields else w.number("d")
    if not (month and day):
        yield from _shift_unknown(w, month)
        return
    last = _last_day(w, month, day)
    moved = _move_day(last, w.move)
    heads = list(re.finditer(r"(\d{1,2})(st|nd|rd|th|\.)?", w.field_text("H")))
    if not heads:
        yield w.expression.start, w.expression.end, w.write(moved, w.expression.start, w.expression.end)
        return
    before = [_day_before(last, int(head[1])) for head in heads]
    days = [_move_day(each, w.move) for each in before]
    at = w.fields["H"][0]
    yield from _shift_days(w, [(at + h.start(1), at + h.end(1), at + h.end()) for h in heads], [*days, moved])


def _last_day(w: DateWriter, month: int, day: int) -> date:
    """Return the date of an expression; the last one of a range."""
    if "y" in w.fields:
        return day_of(w.year(), month, day)
    if "x" in w.fields:
        return day_of(w.move.today.year, month, day)
    return nearest(month, day, _anchor(w))


def _anchor(w: DateWriter) -> date:
    """Return the date near which a day without a year is assumed to be.

    It is the next full date of the mention ("del 3 de abril al 5 de mayo de 2014"), else the date of the note.
    """
    for expression in w.parsed.expressions:
        other = DateWriter(w.parsed, expression, w.move)
        if (
            expression.kind == "day"
            and expression.start > w.expression.start
            and "y" in expression.fields
            and other.month()
        ):
            return day_of(other.year(), other.month(), max(1, other.number("d")))
    return w.move.today


def _day_before(last: date, day: int) -> date:
    """Return a day in the month of the end of a range, or in the month before if the day is greater."""
    if day <= last.day:
        return last.replace(day=max(1, day))
    return day_of(last.year - (last.month == 1), last.month - 1, day)


def _move_day(day: date, move: NoteShift) -> date:
    """Move a day. A day more than 90 years before the note is moved on by whole years, to show an age of 90."""
    moved = day + timedelta(days=move.shift.days)
    if move.note is None:
        return moved
    note = move.note + timedelta(days=move.shift.days)
    age = note.year - moved.year - ((note.month, note.day) < (moved.month, moved.day))
    if age <= OLDEST_AGE:
        return moved
    # 29 February becomes 1 March in a common year, so that the age stays.
    return day_of(moved.year + age - OLDEST_AGE, moved.month, moved.day)


def _shift_days(w: DateWriter, heads: Sequence[tuple[int, int, int]], days: Sequence[date]) -> Iterator[Edit]:
    """Move several days of one month ("3-5/4/2014"). If they move into two months, each day gets its own month."""
    month = w.fields.get("w") or w.fields["m"]
    year = w.fields.get("y", month)
    first = heads[0][0]
    leads = month[0] < first  # "March 3-5, 2014"
    start, end = w.fields["d"][0], w.expression.end
    for (at, to, full), day, after in zip(heads, days, days[1:], strict=False):
        sign = w.ordinal(day, w.text[to:full])
        new = w.digits("d", day.day) + sign
        if not leads and _month(day) != _month(days[-1]):
            new = _with_month(w, day, sign, year[1] if day.year != days[-1].year else month[1])
        if leads and day.year != after.year:
            new += w.write(day, w.fields["d"][1], year[1])
        if leads and at != first and _month(day) != _month(_before(days, day)):
            new = w.write(day, month[0], first) + new
        yield at, full, new
    last = w.write(days[-1], start, end)
    if leads:
        yield month[0], first, w.write(days[0], month[0], first)
        if _month(days[-1]) != _month(days[-2]):
            last = w.write(days[-1], month[0], first) + last
    yield start, end, last


def _with_month(w: DateWriter, day: date, sign: str, end: int) -> str:
    """Write a day, and the text from the last day to the month or year behind it.

    The point of "3." belongs to that text, unless the month is in digits: "29.4.–1.5.2014".
    """
    rest = w.write(day, w.fields["d"][1], end)
    point = sign == "." and rest.startswith(".")
    new = w.digits("d", day.day) + ("" if point else sign) + rest
    return new + sign if point and "m" in w.fields and end == w.fields["m"][1] else new


def _before(days: Sequence[date], day: date) -> date:
    """Return the day before a day in a sequence; the first day for itself."""
    return days[max(0, days.index(day) - 1)]


def _month(day: date) -> tuple[int, int]:
    """Return the year and the month of a day."""
    return day.year, day.month


def _shift_unknown(w: DateWriter, month: int) -> Iterator[Edit]:
    """Move the known part of a date with an unknown part ("00/03/2014")."""
    if month:
        yield from _shift_month(w)
    elif "y" in w.fields:
        yield from _shift_year(w)


def _shift_month(w: DateWriter) -> Iterator[Edit]:
    """Move a month with or without its year."""
    months, named = (w.month() - 1) % 12 + w.move.shift.months, "M" in w.fields
    if not w.month():
        yield from _shift_year(w)
        return
    if "y" in w.fields:
        months += 12 * w.year()
        if w.move.note:
            months = _not_older(months, 12 * w.move.note.year + w.move.note.month - 1 + w.move.shift.months, 12)
        yield *w.fields["y"], w.year_like(months // 12)
    field = "M" if named else "m"
    new = w.name("M", months % 12) if named else w.digits("m", months % 12 + 1)
    yield *w.fields[field], new


def _not_older(then: int, now: int, each: int) -> int:
    """Move a time on by whole years, so that it shows an age of at most 90.

    then, now (int): the time and the date of the note, in units of 1 / each year.
    each (int): units per year.
    RETURNS (int): the time.
    """
    return then + each * max(0, (now - then) // each - OLDEST_AGE)


def _shift_year(w: DateWriter) -> Iterator[Edit]:
    """Move a year, or two: "2012/13"."""
    year = w.year()
    moved = year + w.move.shift.years
    if w.move.note:
        moved = _not_older(moved, w.move.note.year + w.move.shift.years, 1)
    yield *w.fields["y"], w.year_like(moved)
    if "z" in w.fields:
        yield *w.fields["z"], w.year_like(moved + (w.number("z") - year) % 100, "z")


def _shift_season(w: DateWriter) -> Iterator[Edit]:
    """Move a season or a quarter, with or without its year."""
    quarters = w.index("S") + w.move.shift.quarters
    if "y" in w.fields:
        quarters += 4 * w.year()
        if w.move.note:
            now = 4 * w.move.note.year + (w.move.note.month - 1) // 3 + w.move.shift.quarters
            quarters = _not_older(quarters, now, 4)
        yield *w.fields["y"], w.year_like(quarters // 4)
    yield *w.fields["S"], w.name("S", quarters % 4)


def _shift_decade(w: DateWriter) -> Iterator[Edit]:
    """Move a decade: "1980s", "80s", "eighties"."""
    moved = 10 * w.move.shift.decades
    if "T" in w.fields:
        yield *w.fields["T"], w.name("T", (w.index("T") + moved // 10 - 2) % 8 + 2)
        return
    decade = w.number("e")
    if len(w.field_text("e")) == 2:
        yield *w.fields["e"], f"{(decade + moved) % 100:02d}"
        return
    new = decade + moved
    if w.move.note and w.move.note.year - decade - 9 > OLDEST_AGE:
        new = (w.move.note.year - OLDEST_AGE) // 10 * 10 + moved
    yield *w.fields["e"], str(new)


def _shift_weekday(w: DateWriter) -> Iterator[Edit]:
    """Move a weekday, alone or before its date."""
    yield *w.fields["W"], w.name("W", (w.index("W") + w.move.shift.days) % 7)


def _shift_week(w: DateWriter) -> Iterator[Edit]:
    """Move a week of the ISO calendar."""
    year = w.year() if "y" in w.fields else w.move.today.isocalendar().year
    week = min(max(1, w.number("k")), 52)
    moved = (date.fromisocalendar(year, week, 1) + timedelta(days=w.move.shift.days)).isocalendar()
    if "y" in w.fields:
        yield *w.fields["y"], w.year_like(moved.year)
    yield *w.fields["k"], f"{moved.week:0{len(w.field_text('k')) if w.field_text('k')[0] == '0' else 1}d}"


def _shift_holiday(w: DateWriter) -> Iterator[Edit]:
    """Replace a holiday by the other one that is nearest to its moved date."""
    calendar, name = w.move.calendar, " ".join(w.field_text("F").lower().split())
    own = calendar.holidays[name]
    moved = day_of(_LEAP, *own) + timedelta(days=w.move.shift.days)
    family = calendar.names["holidays"].families[calendar.names["holidays"].find(name)[0][0]]
    days = {form: calendar.holidays[form.lower()] for form in family.forms}

    def apart(form: str) -> int:
        days_apart = abs((day_of(_LEAP, *days[form]) - moved).days) % 366
        return min(days_apart, 366 - days_apart)

    other = min((form for form in family.forms if days[form] != own), key=apart)
    yield *w.fields["F"], match_case(other, w.field_text("F"))


def _shift_alone(w: DateWriter) -> Iterator[Edit]:
    """Move the day of an unnamed month, which is assumed to be that of the note."""
    day = day_of(w.move.today.year, w.move.today.month, max(1, w.number("d"))) + timedelta(days=w.move.shift.days)
    yield w.expression.start, w.expression.end, w.write(day, w.expression.start, w.expression.end)


def _keep(w: DateWriter) -> Iterator[Edit]:
    """Keep an expression that is no date: "ayer", "3 days later", "14:30"."""
    return iter(())


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
    "kept": _keep,
}
