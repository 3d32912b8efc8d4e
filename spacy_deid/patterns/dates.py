"""Tests of whether numbers can be a date. They take the matched text, in any of the notes' separators."""

import re
from calendar import monthrange

__all__ = ["is_day_month", "is_dmy", "is_mdy", "is_month_year", "is_ymd"]

_NUMBER = re.compile(r"\d+")
_FIRST_YEAR, _LAST_YEAR = 1850, 2100


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(text)


def _is_year(text: str, first: int = _FIRST_YEAR) -> bool:
    """Two digits are any year; four must lie in a lifetime's reach."""
    return len(text) == 2 or (len(text) == 4 and first <= int(text) <= _LAST_YEAR)


def _is_day(day: str, month: str, year: str = "2000") -> bool:
    """Whether the day exists; a two-digit year may be a leap year."""
    if not 1 <= int(month) <= 12:
        return False
    known = int(year) if len(year) == 4 and int(year) else 2000
    return 1 <= int(day) <= monthrange(known, int(month))[1]


def is_dmy(text: str, first: int = _FIRST_YEAR) -> bool:
    """Day, month, year: "3.5.2019", "03/05/19". Anything after the third number is taken for a time.

    text (str): the candidate.
    first (int): first year of four digits that counts.
    RETURNS (bool): whether there is such a day.
    """
    numbers = _numbers(text)
    return len(numbers) >= 3 and _is_year(numbers[2], first) and _is_day(*numbers[:3])


def is_mdy(text: str) -> bool:
    """Month, day, year: "12/31/2019"."""
    numbers = _numbers(text)
    return len(numbers) >= 3 and _is_year(numbers[2]) and _is_day(numbers[1], numbers[0], numbers[2])


def is_ymd(text: str) -> bool:
    """Year, month, day: "2019-12-31"."""
    numbers = _numbers(text)
    return len(numbers) >= 3 and _is_year(numbers[0]) and _is_day(numbers[2], numbers[1], numbers[0])


def is_day_month(text: str) -> bool:
    """Day and month: "3.5."."""
    numbers = _numbers(text)
    return len(numbers) == 2 and _is_day(*numbers)


def is_month_year(text: str) -> bool:
    """Month and year: "11/93", "5/2019"."""
    numbers = _numbers(text)
    return len(numbers) == 2 and 1 <= int(numbers[0]) <= 12 and _is_year(numbers[1])
