"""Moves what a mention says."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta

from .reading import Reading, day_of, nearest
from .words import cased
from .written import Move, Written

__all__ = ["OLDEST", "shift_reading"]

OLDEST = 90
"""The age that older ones are counted as."""

_LEAP = 2000

# What stands instead of a part of the mention: start, end, text.
Edit = tuple[int, int, str]


def shift_reading(reading: Reading, move: Move) -> str | None:
    """Move a mention.

    reading (Reading): settled.
    move (Move): how.
    RETURNS (Optional[str]): the text as it was written but for its dates. None where that would be the original,
        though it tells a date, or a year would lie out of reach.
    """
    try:
        edits = [edit for atom in reading.atoms for edit in _HANDLERS[atom.kind](Written(reading, atom, move))]
    except (ValueError, OverflowError):
        return None
    text = reading.text
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    same = " ".join(text.split()).lower() == " ".join(reading.text.split()).lower()
    stays = all(atom.kind == "kept" or atom.kind in move.stays for atom in reading.atoms)
    return None if same and not stays else text


def _shift_day(w: Written) -> Iterator[Edit]:
    """A full date, a day of a month, or several days of one."""
    month, day = w.month(), w.index("N") + 1 if "N" in w.places else w.number("d")
    if not (month and day):
        yield from _shift_unknown(w, month)
        return
    last = _last_day(w, month, day)
    moved = _move_day(last, w.move)
    heads = list(re.finditer(r"(\d{1,2})(st|nd|rd|th|\.)?", w.piece("H")))
    if not heads:
        yield w.atom.start, w.atom.end, w.write(moved, w.atom.start, w.atom.end)
        return
    before = [_day_before(last, int(head[1])) for head in heads]
    days = [_move_day(each, w.move) for each in before]
    at = w.places["H"][0]
    yield from _shift_days(w, [(at + h.start(1), at + h.end(1), at + h.end()) for h in heads], [*days, moved])


def _last_day(w: Written, month: int, day: int) -> date:
    """The date of an atom, or the last of its dates."""
    if "y" in w.places:
        return day_of(w.year(), month, day)
    if "x" in w.places:
        return day_of(w.move.today.year, month, day)
    return nearest(month, day, _anchor(w))


def _anchor(w: Written) -> date:
    """What a day without a year lies near: the next full date of the mention ("del 3 de abril al 5 de mayo de 2014"),
    else the note."""
    for atom in w.reading.atoms:
        other = Written(w.reading, atom, w.move)
        if atom.kind == "day" and atom.start > w.atom.start and "y" in atom.places and other.month():
            return day_of(other.year(), other.month(), max(1, other.number("d")))
    return w.move.today


def _day_before(last: date, day: int) -> date:
    """The day of the month that ends a range, or of the month before if it is greater."""
    if day <= last.day:
        return last.replace(day=max(1, day))
    return day_of(last.year - (last.month == 1), last.month - 1, day)


def _move_day(day: date, move: Move) -> date:
    """Move a day; what would tell an age over 90 tells one of 90."""
    moved = day + timedelta(days=move.shift.days)
    if move.note is None:
        return moved
    note = move.note + timedelta(days=move.shift.days)
    age = note.year - moved.year - ((note.month, note.day) < (moved.month, moved.day))
    if age <= OLDEST:
        return moved
    # 29 February is the first of March in a year that has none, so that the age stays.
    return day_of(moved.year + age - OLDEST, moved.month, moved.day)


def _shift_days(w: Written, heads: Sequence[tuple[int, int, int]], days: Sequence[date]) -> Iterator[Edit]:
    """Several days and one month: "3-5/4/2014". Where they come to lie in two months, each gets its own."""
    month = w.places.get("w") or w.places["m"]
    year = w.places.get("y", month)
    first = heads[0][0]
    leads = month[0] < first  # "March 3-5, 2014"
    start, end = w.places["d"][0], w.atom.end
    for (at, to, full), day, after in zip(heads, days, days[1:], strict=False):
        sign = w.ordinal(day, w.text[to:full])
        new = w.figures("d", day.day) + sign
        if not leads and _month(day) != _month(days[-1]):
            new = _with_month(w, day, sign, year[1] if day.year != days[-1].year else month[1])
        if leads and day.year != after.year:
            new += w.write(day, w.places["d"][1], year[1])
        if leads and at != first and _month(day) != _month(_before(days, day)):
            new = w.write(day, month[0], first) + new
        yield at, full, new
    last = w.write(days[-1], start, end)
    if leads:
        yield month[0], first, w.write(days[0], month[0], first)
        if _month(days[-1]) != _month(days[-2]):
            last = w.write(days[-1], month[0], first) + last
    yield start, end, last


def _with_month(w: Written, day: date, sign: str, end: int) -> str:
    """A day and what follows the last one up to its month or year. The point behind "3." is part of that, unless the
    month is in figures: "29.4.–1.5.2014"."""
    rest = w.write(day, w.places["d"][1], end)
    point = sign == "." and rest.startswith(".")
    new = w.figures("d", day.day) + ("" if point else sign) + rest
    return new + sign if point and "m" in w.places and end == w.places["m"][1] else new


def _before(days: Sequence[date], day: date) -> date:
    return days[max(0, days.index(day) - 1)]


def _month(day: date) -> tuple[int, int]:
    return day.year, day.month


def _shift_unknown(w: Written, month: int) -> Iterator[Edit]:
    """Dates with an unknown part, written "00/03/2014": what is known moves."""
    if month:
        yield from _shift_month(w)
    elif "y" in w.places:
        yield from _shift_year(w)


def _shift_month(w: Written) -> Iterator[Edit]:
    """A month with or without its year."""
    months, named = (w.month() - 1) % 12 + w.move.shift.months, "M" in w.places
    if not w.month():
        yield from _shift_year(w)
        return
    if "y" in w.places:
        months += 12 * w.year()
        if w.move.note:
            months = _not_older(months, 12 * w.move.note.year + w.move.note.month - 1 + w.move.shift.months, 12)
        yield *w.places["y"], w.year_like(months // 12)
    field = "M" if named else "m"
    new = w.name("M", months % 12) if named else w.figures("m", months % 12 + 1)
    yield *w.places[field], new


def _not_older(then: int, now: int, each: int) -> int:
    """A time that would tell an age over 90 is moved by whole years, so that it tells one of 90.

    then, now (int): years, or parts of years.
    each (int): parts of a year.
    """
    return then + each * max(0, (now - then) // each - OLDEST)


def _shift_year(w: Written) -> Iterator[Edit]:
    """A year, or two: "2012/13"."""
    year = w.year()
    moved = year + w.move.shift.years
    if w.move.note:
        moved = _not_older(moved, w.move.note.year + w.move.shift.years, 1)
    yield *w.places["y"], w.year_like(moved)
    if "z" in w.places:
        yield *w.places["z"], w.year_like(moved + (w.number("z") - year) % 100, "z")


def _shift_season(w: Written) -> Iterator[Edit]:
    """A season or a quarter, with or without its year."""
    quarters = w.index("S") + w.move.shift.quarters
    if "y" in w.places:
        quarters += 4 * w.year()
        if w.move.note:
            now = 4 * w.move.note.year + (w.move.note.month - 1) // 3 + w.move.shift.quarters
            quarters = _not_older(quarters, now, 4)
        yield *w.places["y"], w.year_like(quarters // 4)
    yield *w.places["S"], w.name("S", quarters % 4)


def _shift_decade(w: Written) -> Iterator[Edit]:
    """A decade: "1980", "80", "eighties"."""
    moved = 10 * w.move.shift.decades
    if "T" in w.places:
        yield *w.places["T"], w.name("T", (w.index("T") + moved // 10 - 2) % 8 + 2)
        return
    decade = w.number("e")
    if len(w.piece("e")) == 2:
        yield *w.places["e"], f"{(decade + moved) % 100:02d}"
        return
    new = decade + moved
    if w.move.note and w.move.note.year - decade - 9 > OLDEST:
        new = (w.move.note.year - OLDEST) // 10 * 10 + moved
    yield *w.places["e"], str(new)


def _shift_weekday(w: Written) -> Iterator[Edit]:
    """A weekday alone or before its date."""
    yield *w.places["W"], w.name("W", (w.index("W") + w.move.shift.days) % 7)


def _shift_week(w: Written) -> Iterator[Edit]:
    """A week of the ISO calendar."""
    year = w.year() if "y" in w.places else w.move.today.isocalendar().year
    week = min(max(1, w.number("k")), 52)
    moved = (date.fromisocalendar(year, week, 1) + timedelta(days=w.move.shift.days)).isocalendar()
    if "y" in w.places:
        yield *w.places["y"], w.year_like(moved.year)
    yield *w.places["k"], f"{moved.week:0{len(w.piece('k')) if w.piece('k')[0] == '0' else 1}d}"


def _shift_holiday(w: Written) -> Iterator[Edit]:
    """A holiday: the other one whose day lies nearest to where its own would move."""
    words, name = w.move.words, " ".join(w.piece("F").lower().split())
    own = words.holidays[name]
    moved = day_of(_LEAP, *own) + timedelta(days=w.move.shift.days)
    family = words.names["holidays"].families[words.names["holidays"].find(name)[0][0]]
    days = {form: words.holidays[form.lower()] for form in family.forms}

    def apart(form: str) -> int:
        days_apart = abs((day_of(_LEAP, *days[form]) - moved).days) % 366
        return min(days_apart, 366 - days_apart)

    other = min((form for form in family.forms if days[form] != own), key=apart)
    yield *w.places["F"], cased(other, w.piece("F"))


def _shift_alone(w: Written) -> Iterator[Edit]:
    """The day of a month that is not told, the one of the note's date."""
    day = day_of(w.move.today.year, w.move.today.month, max(1, w.number("d"))) + timedelta(days=w.move.shift.days)
    yield w.atom.start, w.atom.end, w.write(day, w.atom.start, w.atom.end)


def _keep(w: Written) -> Iterator[Edit]:
    """What tells no date: "ayer", "3 days later", "14:30"."""
    return iter(())


_HANDLERS: Mapping[str, Callable[[Written], Iterator[Edit]]] = {
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
