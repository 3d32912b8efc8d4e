"""Validate, replace and invent Swedish identifiers: personnummer, samordningsnummer, organisationsnummer, IBAN.

Validators are for the rules of `deid_patterns`; invented identifiers are for synthetic notes.

A personnummer is the date of birth (six or eight digits), a three-digit birth number and a Luhn check digit. A
samordningsnummer has 60 added to the day (Skatteverket, SKV 704 and SKV 707).

Birth numbers 980–999 are reserved for test numbers of the tax agency (Skatteverket, "Testpersonnummer"), which no
person has. Surrogates are drawn from them. An organisationsnummer and an account get wrong check digits, and a plate
gets the letter Q, which no plate has (Transportstyrelsen).
"""

import re
from datetime import date
from random import Random

from ..identifiers import (
    BirthNumber,
    IdentifierConventions,
    IdentifierKind,
    append_luhn,
    finish_iban,
    iban_parts,
    luhn,
    spoil,
    spread,
    void_iban,
)
from ..synthesis import IdBearer, make_iban
from ..validation import is_luhn, is_ymd, read_digits

_PERSONNUMMER = re.compile(r"(?<!\d)((?:18|19|20)?)(\d\d)(\d\d)(\d\d)([-+ ]?)(\d{3})(\d)(?!\d)", re.ASCII)
_TEST_NUMBERS = range(980, 1000)
_COORDINATION_DAY = 60
_LATEST_SHORT_YEAR = 26  # a number of ten digits with a later year is of the last century


def is_personnummer(text: str) -> bool:
    """Whether a text is a personnummer or samordningsnummer of ten or twelve digits, with or without a separator."""
    digits = "".join(map(str, read_digits(text)))
    if len(digits) not in (10, 12) or not is_luhn(digits[-10:]):
        return False
    year, month, day = digits[:-8], digits[-8:-6], int(digits[-6:-4])
    return is_ymd(f"{year}-{month}-{day - _COORDINATION_DAY if day > _COORDINATION_DAY else day}")


def is_organisationsnummer(text: str) -> bool:
    """Whether a text is an organisationsnummer: ten digits with a Luhn check digit, the third of them at least 2."""
    digits = "".join(map(str, read_digits(text)))
    return bool(re.fullmatch(r"[1-9]\d[2-9]\d{7}", digits)) and is_luhn(digits)


def find_personnummer(text: str) -> BirthNumber | None:
    """Find a personnummer or samordningsnummer in a mention, and describe its surrogates.

    text (str): the mention.
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
    """Return the year of birth with its century. Without a written century, it is the 21st up to `_LATEST_SHORT_YEAR`
    and the 20th after it; the separator "+" means 100 years earlier.
    """
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
            void=spoil,
        ),
        IdentifierKind(
            "plate",
            r"[A-Z]{3}\d\d[A-Z\d]",
            lambda code: ["Q", *spread("@@##" + ("#" if code[5].isdecimal() else "@"))],
            labels=frozenset({"VEHICLE"}),
            drawn=True,
        ),
    ),
    kinds_abroad=(IdentifierKind("IBAN", r"SE\d{22}", iban_parts, finish_iban, void=void_iban),),
    find_birth_number=find_personnummer,
    words=frozenset("personnummer personnr pnr samordningsnummer patientnummer journalnummer tel tfn orgnr".split()),
    conjunctions=("och", "eller", "samt"),
)

VALIDATORS = {"personnummer": is_personnummer, "organisationsnummer": is_organisationsnummer}


def make_personnummer(rng: Random, bearer: IdBearer) -> str:
    """Invent a personnummer of ten digits with a hyphen (or "+" from the age of 100 on), or of twelve digits."""
    serial = rng.randrange(0, 490) * 2 + (bearer.sex == "male")
    digits = f"{bearer.born:%y%m%d}{serial:03}"
    digits += luhn(digits)
    sign = "+" if bearer.born.year < 1927 else "-"
    long = f"{bearer.born.year // 100}{digits}"
    return rng.choice([f"{digits[:6]}{sign}{digits[6:]}", f"{long[:8]}-{long[8:]}", long])


def make_organisationsnummer(rng: Random, bearer: IdBearer) -> str:
    """Invent the organisationsnummer of a limited company."""
    digits = f"55{rng.randrange(20, 100)}{rng.randrange(100_000):05}"
    return f"{digits[:6]}-{digits[6:]}{luhn(digits)}"


ID_MAKERS = {
    "personnummer": make_personnummer,
    "organisationsnummer": make_organisationsnummer,
    "iban_se": make_iban("SE", 20),
}
