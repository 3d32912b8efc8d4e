"""What is done with dates, and the one secret shift of a patient that follows from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from ...errors import ConfigError, Errors
from ..keys import Draw, IdentityKey

__all__ = ["STYLES", "DateRules", "Shift", "offsets"]

STYLES = ("shift", "year", "safe_harbor")
_YEAR = 365.2425  # days, Gregorian mean
_LONGEST = 36_525


@dataclass(frozen=True, slots=True)
class DateRules:
    """What is done with dates and ages.

    style (str): "shift" moves every date by the patient's offset and keeps the format. "year" leaves the year alone of
        a date. "safe_harbor" as well, and leaves no weekday or season either: 45 CFR 164.514(b)(2)(i)(C).
    reference (Optional[date]): the date of the note, if known. Unknown, it is the latest full date of the note that no
        word of birth stands before.
    span (int): the offset is at most so many days.
    past (bool): the offset is to the past. No date then comes to lie after what it was, so that no note is dated after
        today, whether its date is known or not; what it plans lies after it as before. False: to the past or future.
    keep_weekday (bool): the offset is a multiple of 7.
    season (Optional[int]): the offset is at most so many days away from whole years, so that the season stays.
    year (int): the year that ages are counted from where neither a reference nor a date of the note tells; 0: none.
    RAISES: ConfigError (D660, D661).
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
    """All offsets that rules allow. Never 0, never a whole year: "3 May" would stay what it is. A weekday changes
    unless it is to be kept.

    RETURNS (Sequence[int]): days.
    """
    return [
        days
        for days in range(-span, 0 if past else span + 1)
        if days and (days % 7 == 0) == keep_weekday and _fits_season(days, season)
    ]


def _fits_season(days: int, season: int | None) -> bool:
    """Whether an offset is no whole year, and near one if the season is to stay."""
    years = round(days / _YEAR)
    apart = abs(days - years * _YEAR)
    return (not years or apart >= 2) and (season is None or apart <= season)


@dataclass(frozen=True, slots=True)
class Shift:
    """How far dates of each precision move. All are constant for a patient, so that intervals stay.

    A date without a day stands for a representative day: the same keyed share of its month, quarter, year or decade,
    which moves by the offset. That is a constant number of whole months (years …): rounded down or up, as the keyed
    share says. Rounding to none at all is avoided, as nothing would change.

    days (int): the offset.
    months, quarters, years, decades (int): for dates that name no day, month, …
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

        key (IdentityKey): the key of the patient.
        rules (DateRules): what offsets are allowed.
        variant (int): 0 for the one shift of all notes, another number for one drawn apart.
        """
        apart = (str(variant),) if variant else ()
        days = key.draw("dates", *apart).choice(offsets(rules.span, rules.past, rules.keep_weekday, rules.season))
        return cls.of(days, key.draw("dates", "part of a period", *apart), rules.season is not None)

    @classmethod
    def of(cls, days: int, draw: Draw, season: bool = False) -> "Shift":
        """The shift that follows from an offset.

        days (int): the offset, not 0.
        draw (Draw): where the representative day lies.
        season (bool): whether seasons stay.
        """
        months = _whole(days / (_YEAR / 12), draw, 12)
        years = _whole(days / _YEAR, draw)
        quarters = 4 * years if season else _whole(days / (_YEAR / 4), draw, 4)
        return cls(days, months, quarters, years, _whole(days / (10 * _YEAR), draw))

    def back(self) -> "Shift":
        """The shift that undoes this one."""
        return Shift(-self.days, -self.months, -self.quarters, -self.years, -self.decades)


def _whole(amount: float, draw: Draw, cycle: int = 0) -> int:
    """Round down or up by a keyed share, to no multiple of the cycle (0: to anything but 0)."""
    low = math.floor(amount)
    high = draw.below(1_000_000) < (amount - low) * 1_000_000
    first, other = (low + 1, low) if high else (low, low + 1)
    return other if (first % cycle if cycle else first) == 0 else first
