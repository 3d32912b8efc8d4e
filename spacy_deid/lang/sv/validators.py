"""Check digits of Swedish identifiers: personnummer, samordningsnummer and organisationsnummer.

A personnummer is the date of birth (six or eight digits), a three-digit birth number and a Luhn check digit over the
last ten digits without it. A samordningsnummer has 60 added to the day (Skatteverket, SKV 704 and SKV 707).
"""

import re

from ..validation import is_luhn, is_ymd, read_digits

_COORDINATION_DAY = 60


def is_personnummer(text: str) -> bool:
    """Whether a text is a personnummer or samordningsnummer of ten or twelve digits, with or without a separator."""
    digits = "".join(map(str, read_digits(text)))
    if len(digits) not in (10, 12) or not is_luhn(digits[-10:]):
        return False
    year, month, day = digits[:-8], digits[-8:-6], int(digits[-6:-4])
    return is_ymd(f"{year}-{month}-{day - _COORDINATION_DAY if day > _COORDINATION_DAY else day}")


def is_organisationsnummer(text: str) -> bool:
    """Whether a text is an organisationsnummer: ten digits, the third and fourth at least 20, and Luhn."""
    digits = "".join(map(str, read_digits(text)))
    return bool(re.fullmatch(r"[1-9]\d[2-9]\d{7}", digits)) and is_luhn(digits)


VALIDATORS = {"personnummer": is_personnummer, "organisationsnummer": is_organisationsnummer}
