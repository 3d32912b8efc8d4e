"""Validate, replace and invent identifiers of English-speaking countries.

These are SSN, NPI, DEA and MBI (United States) and NHS and CHI numbers (United Kingdom). Validators are for the rules
of `deid_patterns`; there are also those of PPS (Ireland), NHI (New Zealand), Medicare (Australia), Ontario and Quebec
health numbers. Invented identifiers are for synthetic notes.

No surrogate can be issued to anybody:

- SSN: areas 900 – 999 were never issued (SSA, "Social Security Number Randomization") and look like others, unlike
  000 and 666. Only groups 01 – 49: the IRS issues 50 – 65, 70 – 88 and 90 – 99 with these areas, as ITIN and ATIN.
- NHS number: 999 000 0000 – 999 999 9999 (NHS England, test data).
- National insurance number: prefixes BG, GB, KN, NK, NT, TN, ZZ (HMRC, NIM39110).
- MBI: the second character is one of the letters that no MBI has (CMS, "Understanding the MBI format").
- British plates: the first letter Q, which no area code has (DVLA, INF104).
- Quebec: day of birth 32 – 39. NPI, DEA, PPS, NHI, Medicare (Australia), Ontario: a wrong check character.
"""

import re
from datetime import date
from random import Random

from ..identifiers import (
    IdentifierConventions,
    IdentifierKind,
    MoveDate,
    Parts,
    append_luhn,
    luhn,
    numbered,
    spoil,
    spread,
    weighted_sum,
)
from ..synthesis import IdBearer
from ..text import DIGITS, LETTERS
from ..validation import compact, is_dmy, read_digits

_STAFF = frozenset({"LICENSE", "EMPLOYEE_ID", "ID_OTHER", "NATIONAL_ID"})
_AREAS = tuple(numbered(900, 999, 3))
_GROUPS = tuple(numbered(1, 49, 2))
_SERIALS = tuple(numbered(1, 9999, 4))
_MBI = "ACDEFGHJKMNPQRTUVWXY"
_NOT_IN_MBI = "SLOIBZ"
_NHI = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_PPS = "WABCDEFGHIJKLMNOPQRSTUV"
_HEALTH = frozenset({"NATIONAL_ID", "INSURANCE_ID", "HEALTH_PLAN", "ID_OTHER", "MRN"})
_NO_NINO = ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")
_RAMQ = re.compile(r"[A-Z]{4}(\d\d)(\d\d)(\d\d)[A-Z\d]{2}")
_WOMAN = 50  # added to the month of birth of a woman
_CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"


def finish_npi(code: str) -> str:
    """Return a National Provider Identifier with its check digit corrected: Luhn with the prefix 80840 (45 CFR
    162.406)."""
    return code[:-1] + luhn("80840" + code[:-1])


def finish_dea(code: str) -> str:
    """Return a DEA registration with its check digit corrected; see `dea_digit`."""
    return code[:-1] + dea_digit(code[2:-1])


def dea_digit(digits: str) -> str:
    """Return the check digit for the six digits d1 … d6 of a DEA registration: d1 + d3 + d5 + 2 (d2 + d4 + d6), modulo
    10 (DEA)."""
    return str((sum(map(int, digits[0::2])) + 2 * sum(map(int, digits[1::2]))) % 10)


def finish_nhs(code: str) -> str | None:
    """Return an NHS number with its check digit corrected, modulo 11 (NHS Data Dictionary); None if there is no such
    number."""
    check = (11 - weighted_sum(code[:-1], range(10, 1, -1)) % 11) % 11
    return None if check == 10 else code[:-1] + str(check)


def is_nhs_number(text: str) -> bool:
    """Whether a text is an NHS number of England and Wales: ten digits, not all equal, with the right check digit."""
    code = _digits(text)
    if len(code) != 10 or len(set(code)) == 1 or any(map(str.isalpha, text)):  # "260601E4391" is a hetu
        return False
    return finish_nhs(code) == code


def is_chi(text: str) -> bool:
    """Whether a text is a Scottish CHI number: date of birth and modulo 11 (Public Health Scotland)."""
    code = _digits(text)
    return is_nhs_number(code) and is_dmy(f"{code[:2]}.{code[2:4]}.{code[4:6]}")


def is_npi(text: str) -> bool:
    """Whether a text is a National Provider Identifier with the right check digit."""
    code = _digits(text)
    return len(code) == 10 and code[0] in "12" and finish_npi(code) == code


def is_dea(text: str) -> bool:
    """Whether a text has the seven digits of a DEA registration, with the right check digit."""
    code = _digits(text)
    return len(code) == 7 and dea_digit(code[:-1]) == code[-1]


def is_ssn(text: str) -> bool:
    """Whether a text can be a US social security number: areas 000, 666, 900–999 and zero groups are unused (SSA)."""
    code = _digits(text)
    area, group, serial = code[:3], code[3:5], code[5:]
    return len(code) == 9 and area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def finish_pps(code: str) -> str:
    """Return an Irish personal public service number with its check letter, the eighth character, corrected.

    The sum of the seven digits times 8 … 2, plus nine times the position of a second letter in the alphabet (W is 0),
    modulo 23 is the position of the check letter (Department of Social Protection).
    """
    second = 9 * "WABCDEFGHI".index(code[8]) if len(code) == 9 else 0
    return code[:7] + _PPS[(weighted_sum(code[:7], range(8, 1, -1)) + second) % 23] + code[8:]


def is_pps(text: str) -> bool:
    """Whether a text is an Irish personal public service number with the right check letter."""
    code = compact(text)
    return bool(re.fullmatch(r"\d{7}[A-Z][A-IW]?", code)) and finish_pps(code) == code


def finish_nhi(code: str) -> str | None:
    """Return a national health index number of New Zealand with its check character corrected (HISO 10046:2023); None
    if there is no such number.

    Letters count by their position in the alphabet without I and O. The sum of the first six characters times 7 … 2
    gives the last one: a digit modulo 11, in the newer format a letter modulo 23.
    """
    values = [int(char) if char.isdecimal() else _NHI.index(char) + 1 for char in code[:6]]
    total = sum(value * weight for value, weight in zip(values, range(7, 1, -1), strict=True))
    if code[6].isdecimal():
        return None if total % 11 == 0 else code[:6] + str((11 - total % 11) % 10)
    return code[:6] + _NHI[22 - total % 23]


def is_nhi(text: str) -> bool:
    """Whether a text is a national health index number of New Zealand with the right check character."""
    code = compact(text)
    return bool(re.fullmatch(r"[A-HJ-NP-Z]{3}(?:\d{4}|\d\d[A-HJ-NP-Z]{2})", code)) and finish_nhi(code) == code


def finish_medicare_au(code: str) -> str:
    """Return an Australian Medicare number with its check digit, the ninth, corrected: the sum of the first eight
    digits times 1, 3, 7, 9, 1, 3, 7, 9, modulo 10 (Services Australia)."""
    return code[:8] + str(weighted_sum(code[:8], (1, 3, 7, 9, 1, 3, 7, 9)) % 10) + code[9:]


def is_medicare_au(text: str) -> bool:
    """Whether a text is an Australian Medicare number. The issue number and a person's number may follow the check
    digit.
    """
    code = _digits(text)
    return len(code) in (10, 11) and code[0] in "23456" and finish_medicare_au(code) == code


def is_health_card_on(text: str) -> bool:
    """Whether a text has the ten digits of an Ontario health card, the last of them the Luhn check digit."""
    code = _digits(text)
    return len(code) == 10 and code[0] != "0" and luhn(code[:-1]) == code[-1]


def is_ramq(text: str) -> bool:
    """Whether a text can be a health insurance number of Quebec: four letters of the name, year, month (plus 50 for
    women) and day of birth, two characters (RAMQ).
    """
    match = re.fullmatch(r"[A-Z]{4}\d\d(\d\d)(\d\d)[A-Z\d]{2}", compact(text))
    if not match:
        return False
    month, day = int(match[1]), int(match[2])
    return (1 <= month <= 12 or 51 <= month <= 62) and 1 <= day <= 31


def _digits(text: str) -> str:
    """Return the digits of a text as a string."""
    return "".join(map(str, read_digits(text)))


def _ssn_parts(code: str) -> Parts:
    return [_AREAS, _GROUPS, _SERIALS]


def _nhs_parts(code: str) -> Parts:
    return spread("999######0")


def _dea_parts(code: str) -> Parts:
    return [code[0], "9" if code[1] == "9" else LETTERS, *spread("######0")]


def _mbi_parts(code: str) -> Parts:
    return [DIGITS[1:], _NOT_IN_MBI, *(DIGITS if char in DIGITS else _MBI for char in code[2:])]


def _letters_or_digits(code: str) -> Parts:
    return [DIGITS if char in DIGITS else _NHI for char in code]


def find_ramq(code: str, move: MoveDate) -> IdentifierKind | None:
    """Describe the surrogates of a health insurance number of Quebec, which contains a date of birth.

    code (str): letters and digits of the identifier.
    move (MoveDate): maps the date of birth to that of the surrogate.
    RETURNS (Optional[IdentifierKind]): the kind, whose surrogates contain the moved year and month, and a day that
        does not exist; None if the code is no such number or its date does not exist.
    """
    match = _RAMQ.fullmatch(code)
    plus = _WOMAN if match and int(match[2]) > _WOMAN else 0
    try:
        born = match and move(date(1900 + int(match[1]), int(match[2]) - plus, int(match[3])))
    except ValueError:
        return None
    if not born:
        return None
    moved = f"{born.year % 100:02}{born.month + plus:02}"
    parts = [*[_CONSONANTS] * 4, [moved], numbered(32, 39, 2), *_letters_or_digits(code[10:])]
    return IdentifierKind("RAMQ", "", lambda _: parts, drawn=True)


IDENTIFIERS = IdentifierConventions(
    kinds=(
        IdentifierKind("SSN", r"\d{9}", _ssn_parts, text=r"\d{3}[ -]\d\d[ -]\d{4}", drawn=True),
        IdentifierKind("SSN", r"\d{9}", _ssn_parts, labels=frozenset({"SSN"}), drawn=True),
        IdentifierKind("NPI", r"[12]\d{9}", lambda code: ["12", *spread("########0")], finish_npi, _STAFF, void=spoil),
        IdentifierKind("NHS", r"\d{10}", _nhs_parts, finish_nhs, text=r"\d{3} \d{3} \d{4}", drawn=True),
        IdentifierKind("NHS", r"\d{10}", _nhs_parts, finish_nhs, frozenset({"NATIONAL_ID"}), drawn=True),
        IdentifierKind("NINO", r"[A-Z]{2}\d{6}[A-D]", lambda code: [_NO_NINO, *spread("######"), "ABCD"], drawn=True),
        IdentifierKind(
            "PPS",
            r"\d{7}[A-W][A-IW]?",
            lambda code: [*spread("#######A"), *(["ABCDEFGHIW"] if len(code) == 9 else [])],
            finish_pps,
            _HEALTH,
            void=lambda code: spoil(code, _PPS, 7),
        ),
        IdentifierKind("NHI", r"[A-HJ-NP-Z]{3}\d{4}", _letters_or_digits, finish_nhi, _HEALTH, drawn=True, void=spoil),
        IdentifierKind(
            "NHI",
            r"[A-HJ-NP-Z]{3}\d\d[A-HJ-NP-Z]{2}",
            _letters_or_digits,
            finish_nhi,
            _HEALTH,
            drawn=True,
            void=lambda code: spoil(code, _NHI),
        ),
        IdentifierKind(
            "Medicare",
            r"[2-6]\d{9,10}",
            lambda code: ["23456", *spread("#" * (len(code) - 1))],
            finish_medicare_au,
            _HEALTH,
            drawn=True,
            void=lambda code: spoil(code, at=8),
        ),
        IdentifierKind(
            "Ontario",
            r"[1-9]\d{9}",
            lambda code: [DIGITS[1:], *spread("########0")],
            append_luhn,
            _HEALTH - {"MRN"},
            void=spoil,
        ),
        IdentifierKind(
            "plate",
            r"[A-Z]{2}\d\d[A-Z]{3}",
            lambda code: ["Q", LETTERS, *spread("##"), *[_CONSONANTS] * 3],
            labels=frozenset({"VEHICLE"}),
            drawn=True,
        ),
    ),
    kinds_abroad=(
        IdentifierKind(
            "MBI", rf"[1-9][{_MBI}][{_MBI}0-9]\d[{_MBI}][{_MBI}0-9]\d[{_MBI}]{{2}}\d\d", _mbi_parts, drawn=True
        ),
        IdentifierKind(
            "DEA", r"[A-Z][A-Z9]\d{7}", _dea_parts, finish_dea, text=r"[A-Za-z][A-Za-z9][ -]?\d{7}", void=spoil
        ),
    ),
    dated_kind=find_ramq,
    words=frozenset(
        "acc account acct adm ct dea dob ecg eeg ein emp enc exp ext fax fn gtin hc hsn iban id imei lab mac mbi "
        "mobile mri mrn nct nhs nino no npi num path pin ref reg req spec ssn tel udi vin xr".split()
    ),
    conjunctions=("and", "or", "to"),
)

VALIDATORS = {
    "nhs": is_nhs_number,
    "chi": is_chi,
    "npi": is_npi,
    "dea": is_dea,
    "ssn": is_ssn,
    "pps": is_pps,
    "nhi": is_nhi,
    "medicare_au": is_medicare_au,
    "health_card_on": is_health_card_on,
    "ramq": is_ramq,
}


def make_ssn(rng: Random, bearer: IdBearer) -> str:
    """Invent a US social security number."""
    area = rng.choice([number for number in range(1, 900) if number != 666])
    group, serial = rng.randrange(1, 100), rng.randrange(1, 10_000)
    return rng.choice(["{:03}-{:02}-{:04}"] * 4 + ["{:03} {:02} {:04}", "{:03}{:02}{:04}"]).format(area, group, serial)


def make_npi(rng: Random, bearer: IdBearer) -> str:
    """Invent a National Provider Identifier."""
    digits = f"{rng.choice('12')}{rng.randrange(100_000_000):08}"
    return finish_npi(f"{digits}0")


def make_dea(rng: Random, bearer: IdBearer) -> str:
    """Invent a DEA registration, whose second letter is the first letter of the surname."""
    digits = "".join(str(rng.randrange(10)) for _ in range(6))
    return f"{rng.choice('ABFM')}{(bearer.initials[-1:] or 'X').upper()}{digits}{dea_digit(digits)}"


def make_mbi(rng: Random, bearer: IdBearer) -> str:
    """Invent a Medicare Beneficiary Identifier (CMS), whose positions of letters and digits are fixed."""
    kinds = "CANNANNAANN" if rng.random() < 0.5 else "CAXNAXNAANN"
    draw = {"C": "123456789", "A": _MBI, "N": "0123456789", "X": _MBI + "0123456789"}
    code = "".join(rng.choice(draw[kind]) for kind in kinds)
    return rng.choice([code, f"{code[:4]}-{code[4:7]}-{code[7:]}"])


ID_MAKERS = {"dea": make_dea, "mbi": make_mbi, "npi": make_npi, "ssn": make_ssn}
