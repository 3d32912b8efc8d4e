"""Surrogates of Swedish identifiers: personnummer, samordningsnummer, organisationsnummer, bank account.

Birth numbers 980–999 belong to the test numbers of the tax agency (Skatteverket, "Testpersonnummer"), which no person
has. Surrogates are drawn from them.
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
    luhn,
    spread,
)

_PERSONNUMMER = re.compile(r"(?<!\d)((?:18|19|20)?)(\d\d)(\d\d)(\d\d)([-+ ]?)(\d{3})(\d)(?!\d)", re.ASCII)
_TEST_NUMBERS = range(980, 1000)
_COORDINATION_DAY = 60
_LATEST_SHORT_YEAR = 26  # a number of ten digits with a later year is of the last century


def find_personnummer(text: str) -> BirthNumber | None:
    """Find a personnummer or samordningsnummer.

    text (str): a mention.
    RETURNS (Optional[BirthNumber]): the first one with a valid date and check digit. Its surrogates keep the sex (an
        odd birth number for a man), the separator, the number of digits, and the 60 on the day.
    """
    for match in _PERSONNUMMER.finditer(text):
        century, year, month, day, separator, serial, check = match.groups()
        coordination = int(day) > _COORDINATION_DAY
        try:
            born = date(_full_year(century, year, separator), int(month), int(day) - _COORDINATION_DAY * coordination)
        except ValueError:
            continue
        if luhn(year + month + day + serial) == check:
            return _birth_number(match, born, coordination)
    return None


def _full_year(century: str, year: str, separator: str) -> int:
    """Return the year of birth. "+" separates the number of a person of a hundred years or more."""
    if century:
        return int(century + year)
    full = 2000 + int(year) if int(year) <= _LATEST_SHORT_YEAR else 1900 + int(year)
    return full - 100 if separator == "+" else full


def _birth_number(match: re.Match[str], born: date, coordination: bool) -> BirthNumber:
    century, separator = match[1], match[5]

    def compose(day: date, serial: int) -> str:
        digits = f"{day.year % 100:02}{day.month:02}{day.day + _COORDINATION_DAY * coordination:02}{serial}"
        first = f"{day.year // 100}" if century else ""
        return f"{first}{digits[:6]}{separator}{digits[6:]}{luhn(digits)}"

    serials = [number for number in _TEST_NUMBERS if number % 2 == int(match[6]) % 2]
    return BirthNumber("personnummer", match.start(), match.end(), match[0], born, serials, compose)


IDENTIFIERS = IdentifierConventions(
    kinds=(
        IdentifierKind(
            "organisationsnummer",
            r"[1-9]\d[2-9]\d{7}",
            lambda code: spread(code[0] + "#" + code[2] + "######0"),
            append_luhn,
            text=r"\d{6}-\d{4}",
        ),
    ),
    kinds_abroad=(IdentifierKind("IBAN", r"SE\d{22}", iban_parts, finish_iban),),
    find_birth_number=find_personnummer,
    words=frozenset("personnummer personnr pnr samordningsnummer patientnummer journalnummer tel tfn orgnr".split()),
    conjunctions=("och", "eller", "samt"),
)
