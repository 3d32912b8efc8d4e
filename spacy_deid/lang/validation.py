"""Validators for all languages, which test whether the text that a rule matched is a possible date or a valid number.

A validator takes the matched text, including separators, and returns a bool. The validators of a country's identifiers
are in ``lang/XX/identifiers.py``. Rules files refer to all validators by their names in
`spacy_deid.patterns.validators`.
"""

import re
from calendar import monthrange
from collections.abc import Callable

Validator = Callable[[str], bool]

_NUMBER = re.compile(r"\d+")
_FIRST_YEAR, _LAST_YEAR = 1850, 2100


def read_digits(text: str) -> list[int]:
    """Return each digit of a text as an integer, ignoring all other characters."""
    return [int(char) for char in text if char.isdecimal()]


def compact(text: str) -> str:
    """Return a text in upper case with everything but letters and digits removed."""
    return "".join(char for char in text if char.isalnum()).upper()


def is_luhn(text: str) -> bool:
    """Whether the last digit of a text is the Luhn check digit of the other digits (ISO/IEC 7812-1)."""
    digits = read_digits(text)[::-1]
    total = sum(digits[0::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(digits) > 1 and any(digits) and total % 10 == 0


def is_dmy(text: str, first: int = _FIRST_YEAR) -> bool:
    """Whether a text is a date that exists, written as day, month and year: "3.5.2019", "03/05/19".

    text (str): the text. Numbers after the third one are taken for a time of day and ignored.
    first (int): earliest valid year, if the year has four digits. A year of two digits is always valid.
    RETURNS (bool): True for a date that exists.
    """
    numbers = _NUMBER.findall(text)
    return len(numbers) >= 3 and _is_year(numbers[2], first) and _is_day(*numbers[:3])


def is_mdy(text: str) -> bool:
    """Whether a text is a date that exists, written as month, day and year: "12/31/2019"."""
    numbers = _NUMBER.findall(text)
    return len(numbers) >= 3 and _is_year(numbers[2]) and _is_day(numbers[1], numbers[0], numbers[2])


def is_ymd(text: str) -> bool:
    """Whether a text is a date that exists, written as year, month and day: "2019-12-31"."""
    numbers = _NUMBER.findall(text)
    return len(numbers) >= 3 and _is_year(numbers[0]) and _is_day(numbers[2], numbers[1], numbers[0])


def is_date(text: str) -> bool:
    """Whether a text is a date that exists, with the year last and either the day or the month first."""
    return is_dmy(text) or is_mdy(text)


def is_day_month(text: str) -> bool:
    """Whether a text is a date that exists, written as day and month without a year: "3.5."."""
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
    """Whether a date exists. With a year of two digits, 29 February counts as an existing day."""
    if not 1 <= int(month) <= 12:
        return False
    known = int(year) if len(year) == 4 and int(year) else 2000
    return 1 <= int(day) <= monthrange(known, int(month))[1]
