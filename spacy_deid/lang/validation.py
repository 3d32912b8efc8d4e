"""Validators: tests of whether a matched text can be a date or an identifier with a check digit.

A validator takes the matched text, with any separators, and returns whether it is valid. This module has what several
languages share; the validators of a country's identifiers are in ``lang/XX/identifiers.py``, and
`spacy_deid.patterns.validators` makes all of them available to rules files by name.
"""

import re
from calendar import monthrange
from collections.abc import Callable

Validator = Callable[[str], bool]

_NUMBER = re.compile(r"\d+")
_FIRST_YEAR, _LAST_YEAR = 1850, 2100


def read_digits(text: str) -> list[int]:
    """Return the digits of a text as numbers."""
    return [int(char) for char in text if char.isdecimal()]


def compact(text: str) -> str:
    """Return the letters and digits of a text, in upper case."""
    return "".join(char for char in text if char.isalnum()).upper()


def is_luhn(text: str) -> bool:
    """Whether the last digit is the Luhn check digit of the others (ISO/IEC 7812-1)."""
    digits = read_digits(text)[::-1]
    total = sum(digits[0::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(digits) > 1 and any(digits) and total % 10 == 0


def is_dmy(text: str, first: int = _FIRST_YEAR) -> bool:
    """Whether a text is an existing day, month and year: "3.5.2019", "03/05/19".

    text (str): the candidate. Numbers after the third one are taken for a time and ignored.
    first (int): first valid year among years of four digits. A year of two digits is always valid.
    RETURNS (bool): True for an existing day.
    """
    numbers = _NUMBER.findall(text)
    return len(numbers) >= 3 and _is_year(numbers[2], first) and _is_day(*numbers[:3])


def is_mdy(text: str) -> bool:
    """Whether a text is an existing month, day and year: "12/31/2019"."""
    numbers = _NUMBER.findall(text)
    return len(numbers) >= 3 and _is_year(numbers[2]) and _is_day(numbers[1], numbers[0], numbers[2])


def is_ymd(text: str) -> bool:
    """Whether a text is an existing year, month and day: "2019-12-31"."""
    numbers = _NUMBER.findall(text)
    return len(numbers) >= 3 and _is_year(numbers[0]) and _is_day(numbers[2], numbers[1], numbers[0])


def is_date(text: str) -> bool:
    """Whether a text is a date with the year last, day first or month first."""
    return is_dmy(text) or is_mdy(text)


def is_day_month(text: str) -> bool:
    """Whether a text is an existing day and month: "3.5."."""
    numbers = _NUMBER.findall(text)
    return len(numbers) == 2 and _is_day(*numbers)


def is_day_month_any(text: str) -> bool:
    """Whether a text is a day and month in either order: "12/31", "31/12"."""
    return is_day_month(text) or is_day_month("/".join(reversed(_NUMBER.findall(text))))


def is_month_year(text: str) -> bool:
    """Whether a text is a month and year: "11/93", "5/2019"."""
    numbers = _NUMBER.findall(text)
    return len(numbers) == 2 and 1 <= int(numbers[0]) <= 12 and _is_year(numbers[1])


def _is_year(text: str, first: int = _FIRST_YEAR) -> bool:
    return len(text) == 2 or (len(text) == 4 and first <= int(text) <= _LAST_YEAR)


def _is_day(day: str, month: str, year: str = "2000") -> bool:
    """Whether the day exists. A year of two digits may be a leap year."""
    if not 1 <= int(month) <= 12:
        return False
    known = int(year) if len(year) == 4 and int(year) else 2000
    return 1 <= int(day) <= monthrange(known, int(month))[1]
