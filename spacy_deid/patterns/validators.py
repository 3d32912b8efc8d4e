"""Check digits and other tests of a number's inner order, by the names that rules files use.

A validator takes the matched text and says whether it can be such a number. "phone" takes regions after a colon:
``phone:ES,MX``. Dates have theirs in `dates`.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

import phonenumbers

from .dates import is_day_month, is_dmy, is_mdy, is_month_year, is_ymd

__all__ = ["CHECK_DIGITS", "VALIDATORS", "Validator", "get_validator"]

Validator = Callable[[str], bool]

# Validators that a number passes by chance once in ten times or less: what they accept is an identifier.
CHECK_DIGITS = frozenset(
    {"business_id_fi", "card", "chi", "dea", "dni", "hetu", "iban", "luhn", "nhs", "npi", "nuss", "ssn", "vin"}
)

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_HETU_CENTURIES = {"+": 1800} | dict.fromkeys("-UVWXY", 1900) | dict.fromkeys("ABCDEF", 2000)
_HETU = re.compile(r"(\d\d)(\d\d)(\d\d)([-+A-FU-Y])(\d{3})([0-9A-FHJ-NPR-Y])", re.ASCII)
_VIN_VALUES = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def _digits(text: str) -> list[int]:
    return [int(char) for char in text if char.isdecimal()]


def _compact(text: str) -> str:
    """Letters and digits only, upper case."""
    return "".join(char for char in text if char.isalnum()).upper()


def is_date(text: str) -> bool:
    """Day, month and year in either order, as where American and British notes meet."""
    return is_dmy(text) or is_mdy(text)


def is_day_month_any(text: str) -> bool:
    """Day and month in either order: "12/31", "31/12"."""
    return is_day_month(text) or is_day_month("/".join(reversed(re.findall(r"\d+", text))))


def is_dni(text: str) -> bool:
    """Spanish DNI or NIE: the letter is the number modulo 23 (Real Decreto 1553/2005; Orden INT/2058/2008)."""
    code = _compact(text)
    if code[:1] in ("X", "Y", "Z"):
        code = str("XYZ".index(code[0])) + code[1:]
    number = code[:-1]
    return number.isdecimal() and len(number) in (7, 8) and _DNI_LETTERS[int(number) % 23] == code[-1]


def is_nuss(text: str) -> bool:
    """Spanish social security number: province, serial, and the two modulo 97 (Tesorería General)."""
    code = "".join(map(str, _digits(text)))
    if len(code) != 12:
        return False
    province, serial, check = code[:2], code[2:10], int(code[10:])
    number = int(province) * 10_000_000 + int(serial) if int(serial) < 10_000_000 else int(province + serial)
    return 1 <= int(province) <= 99 and number % 97 == check


def is_hetu(text: str) -> bool:
    """Finnish henkilötunnus, with the century signs of 2023 (DVV; asetus 690/2022)."""
    match = _HETU.fullmatch(text.strip().upper())
    if not match:
        return False
    day, month, year, sign, serial, check = match.groups()
    born = f"{day}.{month}.{_HETU_CENTURIES[sign] + int(year)}"
    return is_dmy(born, first=1800) and _HETU_CHARACTERS[int(day + month + year + serial) % 31] == check


def is_nhs_number(text: str) -> bool:
    """NHS number of England and Wales: modulo 11 (NHS Data Dictionary)."""
    digits = _digits(text)
    if len(digits) != 10 or len(set(digits)) == 1 or any(map(str.isalpha, text)):  # "260601E4391" is a Finnish one
        return False
    check = 11 - sum(digit * weight for digit, weight in zip(digits, range(10, 1, -1), strict=False)) % 11
    return check % 11 == digits[9]


def is_chi(text: str) -> bool:
    """Scottish CHI number: date of birth and modulo 11 (Public Health Scotland)."""
    code = "".join(map(str, _digits(text)))
    return is_nhs_number(code) and is_dmy(f"{code[:2]}.{code[2:4]}.{code[4:6]}")


def is_luhn(text: str) -> bool:
    """Luhn's check digit (ISO/IEC 7812-1)."""
    digits = _digits(text)[::-1]
    total = sum(digits[0::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(digits) > 1 and any(digits) and total % 10 == 0


def is_card(text: str) -> bool:
    """Payment card: 13 to 19 digits, a network's first digit, Luhn."""
    digits = _digits(text)
    return 13 <= len(digits) <= 19 and digits[0] in (2, 3, 4, 5, 6) and len(set(digits)) > 1 and is_luhn(text)


def is_npi(text: str) -> bool:
    """US National Provider Identifier: Luhn with the prefix 80840 (45 CFR 162.406)."""
    code = "".join(map(str, _digits(text)))
    return len(code) == 10 and code[0] in "12" and is_luhn("80840" + code)


def is_dea(text: str) -> bool:
    """US DEA registration: the last digit of d1+d3+d5 + 2(d2+d4+d6) (DEA Diversion Control)."""
    digits = _digits(text)
    return len(digits) == 7 and (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def is_ssn(text: str) -> bool:
    """US social security number: areas 000, 666, 900 – 999 and zero groups were never given (SSA)."""
    code = "".join(map(str, _digits(text)))
    area, group, serial = code[:3], code[3:5], code[5:]
    return len(code) == 9 and area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_iban(text: str) -> bool:
    """IBAN: modulo 97 is 1 (ISO 13616)."""
    code = _compact(text)
    if not (15 <= len(code) <= 34 and code[:2].isalpha() and code[2:4].isdecimal() and code.isascii()):
        return False
    return int("".join(str(int(char, 36)) for char in code[4:] + code[:4])) % 97 == 1


def is_vin(text: str) -> bool:
    """Vehicle identification number with North America's check character (49 CFR 565.15)."""
    code = _compact(text)
    if len(code) != 17 or set("IOQ") & set(code) or not code.isascii():
        return False
    values = [int(char) if char.isdecimal() else _VIN_VALUES[char] for char in code]
    total = sum(value * weight for value, weight in zip(values, _VIN_WEIGHTS, strict=True)) % 11
    return code[8] == ("X" if total == 10 else str(total))


def is_business_id(text: str) -> bool:
    """Finnish Y-tunnus: weights 7, 9, 10, 5, 8, 4, 2, modulo 11 (PRH)."""
    digits = _digits(text)
    if len(digits) != 8:
        return False
    rest = sum(digit * weight for digit, weight in zip(digits, (7, 9, 10, 5, 8, 4, 2), strict=False)) % 11
    return rest != 1 and digits[7] == (11 - rest) % 11


def is_ip(text: str) -> bool:
    """IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _phone(regions: str) -> Validator:
    """Telephone numbers that are valid in one of the regions, by Google's numbering plans."""
    wanted = [region or None for region in regions.split(",")]

    def is_phone(text: str) -> bool:
        return any(_valid_phone(text, region) for region in wanted)

    return is_phone


def _valid_phone(text: str, region: str | None) -> bool:
    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(text, region)))
    except phonenumbers.NumberParseException:
        return False


VALIDATORS: Mapping[str, Validator] = MappingProxyType(
    {
        "business_id_fi": is_business_id,
        "card": is_card,
        "chi": is_chi,
        "date": is_date,
        "date_dmy": is_dmy,
        "date_mdy": is_mdy,
        "date_ymd": is_ymd,
        "day_month": is_day_month,
        "day_month_any": is_day_month_any,
        "dea": is_dea,
        "dni": is_dni,
        "hetu": is_hetu,
        "iban": is_iban,
        "ip": is_ip,
        "luhn": is_luhn,
        "month_year": is_month_year,
        "nhs": is_nhs_number,
        "npi": is_npi,
        "nuss": is_nuss,
        "ssn": is_ssn,
        "vin": is_vin,
    }
)


@lru_cache(maxsize=64)
def get_validator(name: str) -> Validator:
    """Look a validator up. Only the name is cached.

    name (str): a name of `VALIDATORS`, or "phone:" and region codes (ISO 3166) with commas; no region means that the
        number must carry its country code.
    RETURNS (Callable[[str], bool]): the validator.
    RAISES: KeyError if there is none of that name.
    """
    kind, _, regions = name.partition(":")
    if kind == "phone" and all(not r or r in phonenumbers.SUPPORTED_REGIONS for r in regions.split(",")):
        return _phone(regions)
    return VALIDATORS[name]
