"""Rules for dates and ages, and the secret shift of a patient that follows from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from ...errors import ConfigError, Errors
from ..keys import Draw, IdentityKey

STYLES = ("shift", "year", "safe_harbor")
_YEAR = 365.2425  # days, Gregorian mean
_LONGEST = 36_525  # days
OLDEST_AGE = 90
"""The age that stands for all ages over 89 (45 CFR 164.514(b)(2)(i)(C))."""


@dataclass(frozen=True, slots=True)
class DateRules:
    """How dates and ages are replaced.

    style (str): "shift" moves every date by the patient's offset and keeps its format. "year" keeps only the year of a
        date. "safe_harbor" does the same, and removes weekdays and seasons too: 45 CFR 164.514(b)(2)(i)(C).
    reference (Optional[date]): date of the note; None: its latest full date that is no date of birth.
    span (int): longest offset, in days.
    past (bool): whether the offset is always to the past, so that no note gets a date after today. False: to the past
        or to the future.
    keep_weekday (bool): whether the offset is a multiple of 7 days.
    season (Optional[int]): greatest difference of the offset from whole years, in days, so that the season stays; None
        for any offset.
    year (int): year from which ages are counted if neither the reference nor a date of the note is known; 0: none.
    RAISES: ConfigError (D660) for an unknown style, (D661) if no offset satisfies the rules.
    """

    style: str = "shift"
    reference: date | None = None
    span: int = 1095
    past: bool = True
    keep_weekday: bool = False
    season: int | None = None
    year: int = 0

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ConfigError(Errors.D660.format(style=self.style, known=", ".join(STYLES)))
        if not 0 < self.span <= _LONGEST or not offsets(self.span, self.past, self.keep_weekday, self.season):
            raise ConfigError(Errors.D661.format(span=self.span, longest=_LONGEST))


@lru_cache
def offsets(span: int, past: bool, keep_weekday: bool, season: int | None) -> Sequence[int]:
    """Return all offsets that date rules allow, in days; the arguments are those of `DateRules`.

    Neither 0 nor whole years are allowed, because "3 May" would not change. A weekday changes unless it is kept.
    """
    return [
        days
        for days in range(-span, 0 if past else span + 1)
        if days and (days % 7 == 0) == keep_weekday and _fits_season(days, season)
    ]


def _fits_season(days: int, season: int | None) -> bool:
    """Whether an offset is not a whole year, but near one if the season stays."""
    years = round(days / _YEAR)
    apart = abs(days - years * _YEAR)
    return (not years or apart >= 2) and (season is None or apart <= season)


@dataclass(frozen=True, slots=True)
class Shift:
    """How far dates of each precision move. All amounts are constant for a patient, so that intervals stay.

    The offset in months (quarters, years, decades) is rounded down or up, with a keyed draw that makes the expected
    amount equal to the offset. It is never rounded to 0, because the date would not change.

    days (int): offset of full dates.
    months, quarters, years, decades (int): offsets of dates without a day, a month, …
    """

    days: int
    months: int
    quarters: int
    years: int
    decades: int

    def __repr__(self) -> str:
        return "Shift(secret)"

    @classmethod
    def draw(cls, key: IdentityKey, rules: DateRules, variant: int = 0) -> "Shift":
        """Draw the shift of a patient.

        key (IdentityKey): key of the patient.
        rules (DateRules): rules that limit the offset.
        variant (int): 0 for the shift of all notes; another number for an independent one.
        RETURNS (Shift): the shift.
        """
        apart = (str(variant),) if variant else ()
        days = key.draw("dates", *apart).choice(offsets(rules.span, rules.past, rules.keep_weekday, rules.season))
        return cls.of(days, key.draw("dates", "part of a period", *apart), rules.season is not None)

    @classmethod
    def of(cls, days: int, draw: Draw, season: bool = False) -> "Shift":
        """Return the shift of an offset.

        days (int): the offset, not 0.
        draw (Draw): stream of random numbers that decides on the rounding.
        season (bool): whether seasons stay.
        RETURNS (Shift): the shift.
        """
        months = _whole(days / (_YEAR / 12), draw, 12)
        years = _whole(days / _YEAR, draw)
        quarters = 4 * years if season else _whole(days / (_YEAR / 4), draw, 4)
        return cls(days, months, quarters, years, _whole(days / (10 * _YEAR), draw))

    def back(self) -> "Shift":
        """Return the shift that undoes this one."""
        return Shift(-self.days, -self.months, -self.quarters, -self.years, -self.decades)


def _whole(amount: float, draw: Draw, cycle: int = 0) -> int:
    """Round down or up by a keyed draw; never to a multiple of the cycle, or to 0 if the cycle is 0."""
    low = math.floor(amount)
    high = draw.below(1_000_000) < (amount - low) * 1_000_000
    first, other = (low + 1, low) if high else (low, low + 1)
    return other if (first % cycle if cycle else first) == 0 else first
