"""Coarser values for labels that a policy generalizes. What cannot be made coarser safely gives None.

Source: HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C): years may stay, except those that tell an age over 89; ages over
89 may be aggregated into "90 or older".
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

__all__ = ["GENERALIZERS", "generalize_age", "generalize_date"]

OLDEST = 89
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def generalize_age(text: str, reference_year: int) -> str | None:
    """Keep an age up to 89; make every older one "90+".

    text (str): the age as written.
    reference_year (int): not used for ages.
    RETURNS (Optional[str]): the same text, "90+", or None if no number in figures can be read.
    """
    numbers = [int(n) for n in _NUMBER.findall(text)]
    if not numbers:
        return None
    return "90+" if max(numbers) > OLDEST else text


def generalize_date(text: str, reference_year: int) -> str | None:
    """Keep the year of a date, unless it tells an age over 89.

    text (str): the date as written.
    reference_year (int): the year that ages are counted from.
    RETURNS (Optional[str]): a year of four figures, or None if there is not exactly one or it is too long ago.
    """
    years = set(_YEAR.findall(text))
    if len(years) != 1:
        return None
    year = years.pop()
    return year if int(year) >= reference_year - OLDEST else None


GENERALIZERS: Mapping[str, Callable[[str, int], str | None]] = MappingProxyType(
    {"AGE": generalize_age, "DATE": generalize_date}
)
