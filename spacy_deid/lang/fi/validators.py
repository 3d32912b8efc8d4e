"""Check digits of Finnish identifiers."""

import re

from ..validation import is_dmy, read_digits

_HETU_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_HETU_CENTURIES = {"+": 1800} | dict.fromkeys("-UVWXY", 1900) | dict.fromkeys("ABCDEF", 2000)
_HETU = re.compile(r"(\d\d)(\d\d)(\d\d)([-+A-FU-Y])(\d{3})([0-9A-FHJ-NPR-Y])", re.ASCII)


def is_hetu(text: str) -> bool:
    """Whether a text is a henkilötunnus, also with the century signs of 2023 (DVV; asetus 690/2022)."""
    match = _HETU.fullmatch(text.strip().upper())
    if not match:
        return False
    day, month, year, sign, serial, check = match.groups()
    born = f"{day}.{month}.{_HETU_CENTURIES[sign] + int(year)}"
    return is_dmy(born, first=1800) and _HETU_CHARACTERS[int(day + month + year + serial) % 31] == check


def is_business_id(text: str) -> bool:
    """Whether a text is a Y-tunnus: weights 7, 9, 10, 5, 8, 4, 2, modulo 11 (PRH)."""
    digits = read_digits(text)
    if len(digits) != 8:
        return False
    rest = sum(digit * weight for digit, weight in zip(digits, (7, 9, 10, 5, 8, 4, 2), strict=False)) % 11
    return rest != 1 and digits[7] == (11 - rest) % 11


VALIDATORS = {"hetu": is_hetu, "business_id_fi": is_business_id}
