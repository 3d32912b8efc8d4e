"""Finnish identifiers: henkilötunnus, Y-tunnus, bank account.

Individual numbers 900 – 999 of a henkilötunnus are never issued by the population register (Digital and Population
Data Services Agency, "Henkilötunnus"): test persons have them, and hospitals give them to unidentified patients.
Surrogates are drawn from them.
"""

import re
from datetime import date

from ..identifiers import (
    BirthNumber,
    IdentifierConventions,
    IdentifierKind,
    append_luhn,
    finish_iban,
    iban_parts,
    spread,
    weighted_sum,
)

_HETU = re.compile(r"(\d\d)(\d\d)(\d\d)([-+A-FU-Y])(\d{3})([0-9A-FHJ-NPR-Y])", re.ASCII | re.IGNORECASE)
_HETU_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_CENTURIES = {"+": 1800} | dict.fromkeys("-UVWXY", 1900) | dict.fromkeys("ABCDEF", 2000)
_SIGNS = {1800: "+", 1900: "-", 2000: "A"}
_UNISSUED = range(900, 1000)


def hetu_character(digits: str) -> str:
    """Return the check character of a henkilötunnus: date of birth and individual number, modulo 31."""
    return _HETU_CHARACTERS[int(digits) % 31]


def find_hetu(text: str) -> BirthNumber | None:
    """Find a henkilötunnus, with the century signs of 2023 (asetus 690/2022).

    text (str): a mention; other text may surround the number, such as the root of an OID.
    RETURNS (Optional[BirthNumber]): the first one with a valid check character. Its surrogates keep the sex (an odd
        individual number for a man) and, if the century does not change, the sign.
    """
    for match in _HETU.finditer(text):
        day, month, year, sign, serial, check = match.groups()
        try:
            born = date(_CENTURIES[sign.upper()] + int(year), int(month), int(day))
        except ValueError:
            continue
        if hetu_character(day + month + year + serial) == check.upper():
            return _birth_number(match, born)
    return None


def _birth_number(match: re.Match[str], born: date) -> BirthNumber:
    """Describe the surrogates of a henkilötunnus."""
    own_sign = match[4].upper()

    def compose(day: date, serial: int) -> str:
        century = day.year // 100 * 100
        sign = own_sign if _CENTURIES[own_sign] == century else _SIGNS[century]
        digits = f"{day:%d%m}{day.year % 100:02}{serial}"
        return f"{digits[:6]}{sign}{serial}{hetu_character(digits)}"

    serials = [number for number in _UNISSUED if number % 2 == int(match[5]) % 2]
    return BirthNumber("hetu", match.start(), match.end(), match[0].upper(), born, serials, compose)


def finish_business_id(code: str) -> str | None:
    """Put the check digit into a Y-tunnus; None for a number that is never issued."""
    rest = weighted_sum(code[:-1], (7, 9, 10, 5, 8, 4, 2)) % 11
    return None if rest == 1 else code[:-1] + str((11 - rest) % 11)


def finish_account(code: str) -> str:
    """Put the check digits of the IBAN and the Luhn digit of the account into a Finnish IBAN."""
    return finish_iban(f"{code[:2]}00{append_luhn(code[4:])}")


IDENTIFIERS = IdentifierConventions(
    kinds=(
        IdentifierKind("Y-tunnus", r"\d{8}", lambda code: spread("#######0"), finish_business_id, text=r"\d-\d(?!\d)"),
    ),
    kinds_abroad=(IdentifierKind("IBAN", r"FI\d{16}", iban_parts, finish_account),),
    find_birth_number=find_hetu,
    words=frozenset("asiakasnumero henkilötunnus hetu potilasnumero puh sotu y-tunnus".split()),
    conjunctions=("ja", "tai", "sekä"),
)
