"""Settings for replacing dates, and the secret offsets of a patient that follow from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from ...errors import ConfigError, Errors
from ..keys import Draw, IdentityKey

STYLES = ("shift", "year", "safe_harbor")
OLDEST_AGE = 90
"""The age that stands for all ages over 89 (45 CFR 164.514(b)(2)(i)(C))."""

_YEAR = 365.2425  # days, Gregorian mean
_LONGEST = 36_525  # days


@dataclass(frozen=True, slots=True)
class DateRules:
    """Settings that determine how dates and ages are replaced.

    style (str): "shift" moves every date by the patient's offset and keeps its format. "year" keeps only the year of a
        date. "safe_harbor" does the same, and removes weekdays and seasons too: 45 CFR 164.514(b)(2)(i)(C).
    reference (Optional[date]): date of the note; None for the latest full date in it that is not a date of birth.
    span (int): largest offset, in days.
    past (bool): whether dates are always shifted to the past, so that no date is after today. False to shift them
        to the past or to the future.
    keep_weekday (bool): whether the offset is a multiple of 7 days, so that a clinic on Tuesdays stays one. With the
        default span there are then 155 offsets to guess from instead of 930.
    season (Optional[int]): largest difference of the offset from whole years, in days, so that seasons are kept; None
        for any offset.
    year (int): year in which ages are computed if the date of the note is unknown; 0 for none.
    RAISES: ConfigError (D660) for an unknown style, (D661) if no offset satisfies the rules.
    """

    style: str = "shift"
    reference: date | None = None
    span: int = 1095
    past: bool = True
    keep_weekday: bool = True
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
    found = []
    for days in range(-span, 0 if past else span + 1):
        years = round(days / _YEAR)
        apart = abs(days - years * _YEAR)
        fits = (not years or apart >= 2) and (season is None or apart <= season)
        if days and (days % 7 == 0) == keep_weekday and fits:
            found.append(days)
    return found


@dataclass(frozen=True, slots=True)
class Shift:
    """The offsets by which dates of a patient are shifted: full dates, and dates without a day, month or year.

    All offsets are constant for a patient, so that intervals between dates are preserved.

    The offset in months (quarters, years, decades) is rounded down or up at random with the key so that the expected
    amount equals the offset. It is never rounded to 0, because the date would not change.

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
        """Draw the offsets of a patient from the patient's key.

        key (IdentityKey): the key of the patient.
        rules (DateRules): rules that limit the offset.
        variant (int): 0 for the offsets that all notes of the patient share; another number for independent ones.
        RETURNS (Shift): the offsets.
        """
        apart = (str(variant),) if variant else ()
        days = key.draw("dates", *apart).choice(offsets(rules.span, rules.past, rules.keep_weekday, rules.season))
        return cls.of(days, key.draw("dates", "part of a period", *apart), rules.season is not None)

    @classmethod
    def of(cls, days: int, draw: Draw, season: bool = False) -> "Shift":
        """Derive the offsets of all precisions from the offset in days.

        days (int): offset of full dates, not 0.
        draw (Draw): stream of random numbers that decides whether an offset is rounded up or down.
        season (bool): whether quarters are shifted by whole years only, so that seasons do not change.
        RETURNS (Shift): the offsets.
        """

        def round_randomly(amount: float, cycle: int = 0) -> int:
            """Round down or up at random; never to a multiple of `cycle`, and never to 0 if `cycle` is 0."""
            low = math.floor(amount)
            high = draw.below(1_000_000) < (amount - low) * 1_000_000
            first, other = (low + 1, low) if high else (low, low + 1)
            return other if (first % cycle if cycle else first) == 0 else first

        months = round_randomly(days / (_YEAR / 12), 12)
        years = round_randomly(days / _YEAR)
        quarters = 4 * years if season else round_randomly(days / (_YEAR / 4), 4)
        return cls(days, months, quarters, years, round_randomly(days / (10 * _YEAR)))
