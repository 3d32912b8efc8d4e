"""Validate, replace and invent Finnish identifiers: henkilötunnus, Y-tunnus, IBAN.

Validators are for the rules of `deid_patterns`; invented identifiers are for synthetic notes.

A henkilötunnus gets a wrong check character, so that it is never issued. Individual numbers 900 – 999, which the
population register never issues (Digital and Population Data Services Agency, "Henkilötunnus"), would show readers at
a glance which numbers are surrogates, and hospitals give them to unidentified patients. A Y-tunnus gets a wrong check
digit, and a plate gets a number with a leading zero, which no plate has (Traficom: the number is between 1 and 999).
"""

import re
from datetime import date
from random import Random

from ..identifiers import (
    BirthNumber,
    IdentifierConventions,
    IdentifierKind,
    Parts,
    append_luhn,
    finish_iban,
    iban_parts,
    spoil,
    spread,
    void_iban,
    weighted_sum,
)
from ..synthesis import IdBearer, make_iban
from ..validation import read_digits

_HETU = re.compile(r"(\d\d)(\d\d)(\d\d)([-+A-FU-Y])(\d{3})([0-9A-FHJ-NPR-Y])", re.ASCII | re.IGNORECASE)
_HETU_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_CENTURIES = {"+": 1800} | dict.fromkeys("-UVWXY", 1900) | dict.fromkeys("ABCDEF", 2000)
_SIGNS = {1800: "+", 1900: "-", 2000: "A"}
# Since 2023 a century has additional signs, for when the old ones are used up.
_SIGNS_IN_USE = {18: "+", 19: "-----YXWVU", 20: "AAAAABCDEF"}
_SERIALS = range(2, 900, 18)  # of women; those of men are greater by one


def hetu_character(digits: str) -> str:
    """Return the check character of a henkilötunnus: its nine digits, as one number, modulo 31.

    digits (str): date of birth (ddmmyy) and individual number.
    RETURNS (str): a digit or a capital letter.
    """
    return _HETU_CHARACTERS[int(digits) % 31]


def is_hetu(text: str) -> bool:
    """Whether a text is a henkilötunnus with the right check character, and nothing else."""
    found = find_hetu(text.strip())
    return found is not None and found.code == text.strip().upper()


def wrong_hetu_character(digits: str) -> str:
    """Return a check character that a henkilötunnus with these digits never has; the digits determine it."""
    number = int(digits)
    return _HETU_CHARACTERS[(number + 1 + number // 31 % 30) % 31]


def find_hetu(text: str) -> BirthNumber | None:
    """Find a henkilötunnus in a mention, including those with the century signs of 2023 (asetus 690/2022).

    text (str): the mention, in which other text can surround the number, such as the root of an OID.
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
        digits = f"{day:%d%m}{day.year % 100:02}{serial:03}"
        return f"{digits[:6]}{sign}{serial:03}{wrong_hetu_character(digits)}"

    serials = [number + int(match[5]) % 2 for number in _SERIALS]
    return BirthNumber("hetu", match.start(), match.end(), match[0].upper(), born, serials, compose)


def finish_business_id(code: str) -> str | None:
    """Return a Y-tunnus with its check digit corrected, a weighted sum modulo 11 (PRH); None if it is never issued."""
    rest = weighted_sum(code[:-1], (7, 9, 10, 5, 8, 4, 2)) % 11
    return None if rest == 1 else code[:-1] + str((11 - rest) % 11)


def is_business_id(text: str) -> bool:
    """Whether a text is a Y-tunnus: eight digits with the right check digit."""
    code = "".join(map(str, read_digits(text)))
    return len(code) == 8 and finish_business_id(code) == code


def finish_account(code: str) -> str:
    """Return a Finnish IBAN with its check digits and the Luhn digit of the account corrected."""
    return finish_iban(f"{code[:2]}00{append_luhn(code[4:])}")


def _void_account(code: str) -> str:
    return void_iban(spoil(code))


def _plate_parts(code: str) -> Parts:
    """Return the parts of a plate: consonants, and a number that begins with 0."""
    digits = len(code.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    return [*["BCFGHJKLMNPRSTVXZ"] * (len(code) - digits), *spread("0" + "#" * (digits - 1))]


IDENTIFIERS = IdentifierConventions(
    kinds=(
        IdentifierKind(
            "Y-tunnus",
            r"\d{8}",
            lambda code: spread("#######0"),
            finish_business_id,
            text=r"\d-\d(?!\d)",
            void=spoil,
        ),
        IdentifierKind("plate", r"[A-Z]{2,3}\d{1,3}", _plate_parts, labels=frozenset({"VEHICLE"}), drawn=True),
    ),
    kinds_abroad=(IdentifierKind("IBAN", r"FI\d{16}", iban_parts, finish_account, void=_void_account),),
    find_birth_number=find_hetu,
    words=frozenset(
        "asiakasnumero ekg henkilötunnus hetu käynti lab lähete lausunto näyte potilasnumero puh rtg sotu "
        "y-tunnus".split()
    ),
    conjunctions=("ja", "tai", "sekä"),
)

VALIDATORS = {"hetu": is_hetu, "business_id_fi": is_business_id}


def make_hetu(rng: Random, bearer: IdBearer) -> str:
    """Invent a henkilötunnus with the person's date of birth and sex."""
    sign = rng.choice(_SIGNS_IN_USE[bearer.born.year // 100])
    serial = rng.randrange(1, 449) * 2 + (bearer.sex == "male")
    digits = f"{bearer.born:%d%m%y}"
    return f"{digits}{sign}{serial:03}{hetu_character(f'{digits}{serial:03}')}"


def make_business_id(rng: Random, bearer: IdBearer) -> str:
    """Invent a Y-tunnus, the identifier of a company."""
    while True:
        if code := finish_business_id(f"{rng.randrange(1_000_000, 4_000_000)}0"):
            return f"{code[:-1]}-{code[-1]}"


ID_MAKERS = {"business_id_fi": make_business_id, "hetu": make_hetu, "iban_fi": make_iban("FI", 14)}
