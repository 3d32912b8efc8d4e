"""Validate, replace and invent identifiers of Spain and of Latin America.

They are those of Spain (DNI, NIE, social security, health card, physician's number, bank account), Mexico (CURP, RFC),
Argentina (CUIT and CUIL), Chile (RUT) and Colombia (NIT). Validators are for the rules of `deid_patterns`; invented
identifiers are for synthetic notes.

Surrogates are permuted among all possible numbers, because none are set apart: of the hundred million numbers of a DNI
about sixty million have been issued.
"""

import re
from datetime import date
from random import Random

from ..identifiers import (
    IdentifierConventions,
    IdentifierKind,
    MoveDate,
    Parts,
    finish_iban,
    iban_parts,
    numbered,
    spread,
    weighted_sum,
)
from ..synthesis import IdBearer, make_iban
from ..validation import compact, read_digits

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_PROVINCES = tuple(numbered(1, 52, 2))
_ACCOUNT_WEIGHTS = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)
_STAFF = frozenset({"LICENSE", "EMPLOYEE_ID", "ID_OTHER", "NATIONAL_ID"})
_CIP = re.compile(r"([A-Z]{4})(\d\d)(\d\d)(\d\d)(\d{4})")
_PLATE_LETTERS = "BCDFGHJKLMNPRSTVWXYZ"


def make_dni(rng: Random, bearer: IdBearer) -> str:
    """Invent a DNI (Spanish identity number), in one of the formats that are used in notes."""
    number = rng.randrange(10_000_000, 80_000_000)
    letter = _DNI_LETTERS[number % 23]
    dotted = f"{number:,}".replace(",", ".")
    return rng.choice([f"{number}{letter}"] * 4 + [f"{number}-{letter}", f"{number} {letter}", f"{dotted}-{letter}"])


def make_nie(rng: Random, bearer: IdBearer) -> str:
    """Invent an NIE, the identity number of a foreigner in Spain."""
    first, number = rng.randrange(3), rng.randrange(10_000_000)
    letter = _DNI_LETTERS[(first * 10_000_000 + number) % 23]
    return rng.choice([f"{'XYZ'[first]}{number:07}{letter}", f"{'XYZ'[first]}-{number:07}-{letter}"])


def make_nuss(rng: Random, bearer: IdBearer) -> str:
    """Invent a Spanish social security number (NUSS) that begins with the person's province."""
    province = _province(rng, bearer)
    serial = rng.randrange(10_000_000, 100_000_000)
    check = int(f"{province}{serial}") % 97
    return rng.choice(["{} {} {:02}"] * 3 + ["{}{}{:02}", "{}/{}/{:02}", "{}-{}-{:02}"]).format(
        province, serial, check
    )


def make_cip(rng: Random, bearer: IdBearer) -> str:
    """Invent the number of a regional health card (CIP): four letters of the surnames, date of birth (the day plus 40
    for a woman), serial number.
    """
    day = bearer.born.day + (40 if bearer.sex == "female" else 0)
    letters = (bearer.initials.upper() + "XXXX")[:4]
    return f"{letters}{bearer.born:%y%m}{day:02}{rng.randrange(1_000_000):06}"


def make_colegiado(rng: Random, bearer: IdBearer) -> str:
    """Invent the license number of a Spanish physician (número de colegiado), which begins with the province."""
    province = _province(rng, bearer)
    return rng.choice([f"{province} {province} {rng.randrange(100_000):05}", f"{province}{rng.randrange(100_000):05}"])


def make_plate(rng: Random, bearer: IdBearer) -> str:
    """Invent a Spanish licence plate."""
    letters = "".join(rng.choice(_PLATE_LETTERS) for _ in range(3))
    return f"{rng.randrange(10_000):04}{rng.choice([' ', '', '-'])}{letters}"


def _province(rng: Random, bearer: IdBearer) -> str:
    """Return the two digits of the province in the person's postal code, or of a random one."""
    return bearer.zip[:2] if bearer.zip[:2].isdecimal() else f"{rng.randrange(1, 53):02}"


ID_MAKERS = {
    "cip": make_cip,
    "colegiado": make_colegiado,
    "dni": make_dni,
    "iban_es": make_iban("ES", 20),
    "nie": make_nie,
    "nuss": make_nuss,
    "plate_es": make_plate,
}
_WOMAN = 40  # added to the day of birth of a woman


def dni_letter(number: int) -> str:
    """Return the letter of a DNI: the number modulo 23 (Real Decreto 1553/2005)."""
    return _DNI_LETTERS[number % 23]


def is_dni(text: str) -> bool:
    """Whether a text is a DNI or NIE with the right letter."""
    code = compact(text)
    if code[:1] in ("X", "Y", "Z"):
        code = str("XYZ".index(code[0])) + code[1:]
    number = code[:-1]
    return number.isdecimal() and len(number) in (7, 8) and dni_letter(int(number)) == code[-1]


def finish_dni(code: str) -> str:
    """Return a DNI with its last character replaced by the correct letter."""
    return code[:-1] + dni_letter(int(code[:-1]))


def finish_nie(code: str) -> str:
    """Return an NIE with its last letter corrected. The first letter, X, Y or Z, counts as 0, 1 or 2 (Orden
    INT/2058/2008)."""
    return code[:-1] + dni_letter(int(f"{'XYZ'.index(code[0])}{code[1:-1]}"))


def finish_nuss(code: str) -> str:
    """Return a social security number with its check digits corrected (Tesorería General de la Seguridad Social)."""
    province, serial = code[:2], code[2:10]
    short = int(serial) < 10_000_000
    return code[:10] + f"{(int(province) * 10_000_000 + int(serial) if short else int(province + serial)) % 97:02}"


def is_nuss(text: str) -> bool:
    """Whether a text is a social security number: twelve digits with the right check digits."""
    code = "".join(map(str, read_digits(text)))
    return len(code) == 12 and code[:2] != "00" and finish_nuss(code) == code


def _nuss_parts(code: str) -> Parts:
    return [_PROVINCES if code[:2] in _PROVINCES else [code[:2]], *spread("########00")]


def _finish_physician(code: str) -> str:
    """Return the number of a physician with the province, its first two digits, repeated in the next two."""
    return code[:2] + code[:2] + code[4:]


def finish_account(code: str) -> str:
    """Return a Spanish IBAN with its check digits and the two control digits of the account corrected."""
    account = code[4:]
    control = "".join(_account_digit(digits) for digits in (f"00{account[:8]}", account[10:]))
    return finish_iban(f"{code[:2]}00{account[:8]}{control}{account[10:]}")


def _account_digit(digits: str) -> str:
    check = 11 - weighted_sum(digits, _ACCOUNT_WEIGHTS) % 11
    return {11: "0", 10: "1"}.get(check, str(check))


def health_card(code: str, move: MoveDate) -> IdentifierKind | None:
    """Describe the surrogates of a regional health card (CIP), which contains a date of birth.

    code (str): letters and digits of the identifier: four letters of the name, date of birth, serial number.
    move (MoveDate): maps the date of birth to that of the surrogate.
    RETURNS (Optional[IdentifierKind]): the kind, whose surrogates contain the moved date; None if the code is not a
        health card or its date does not exist.
    """
    match = _CIP.fullmatch(code)
    if not match:
        return None
    year, month, day = (int(match[i]) for i in (2, 3, 4))
    plus = _WOMAN if day > _WOMAN else 0
    try:
        born = move(date((1900 if year > 30 else 2000) + year, month, day - plus))
    except ValueError:
        return None
    moved = f"{born.year % 100:02}{born.month:02}{born.day + plus:02}"
    return IdentifierKind("CIP", "", lambda _: [*spread("@@@@"), [moved], *spread("####")])


IDENTIFIERS = IdentifierConventions(
    kinds=(
        IdentifierKind("NUSS", r"\d{12}", _nuss_parts, finish_nuss),
        IdentifierKind(
            "colegiado",
            r"(\d\d)\1\d{0,7}",
            lambda code: [_PROVINCES, ["00"], *spread("#" * (len(code) - 4))],
            _finish_physician,
            _STAFF,
            r"^\D*(?:0[1-9]|[1-4]\d|5[0-2])",
        ),
    ),
    kinds_abroad=(
        IdentifierKind("DNI", r"\d{7,8}[A-Z]", lambda code: spread("#" * (len(code) - 1) + "A"), finish_dni),
        IdentifierKind("NIE", r"[XYZ]\d{7}[A-Z]", lambda code: ["XYZ", *spread("#######A")], finish_nie),
        IdentifierKind("IBAN", r"ES\d{22}", iban_parts, finish_account),
    ),
    dated_kind=health_card,
    words=frozenset(
        "anexo cip colegiado col cuenta dni expediente exp historia icn nass nhc nie nif nim num numero número "
        "nro no nss nuhsa nuss tel tlf tfno s/n sn sns pin ref".split()
    ),
    conjunctions=("y", "e", "o", "u", "a", "al"),
)

_CURP_VALUES = {char: value for value, char in enumerate("0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ")}
_RFC_VALUES = {char: value for value, char in enumerate("0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ")}
_CUIT_WEIGHTS = (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)
_NIT_WEIGHTS = (3, 7, 13, 17, 19, 23, 29, 37, 41, 43)


def is_curp(text: str) -> bool:
    """Whether a text is a Mexican CURP with the right check digit (Instructivo normativo, DOF 18 October 2021)."""
    code = compact(text)
    if len(code) != 18 or not code[-1].isdecimal() or not set(code) <= _CURP_VALUES.keys():
        return False
    total = sum(_CURP_VALUES[char] * weight for char, weight in zip(code, range(18, 1, -1), strict=False))
    return -total % 10 == int(code[-1])


def is_rfc(text: str) -> bool:
    """Whether a text is the RFC of a Mexican person (13 characters) or firm (12) with the right check character."""
    code = "".join(char for char in text.upper() if char.isalnum() or char == "&").rjust(13)
    if len(code) != 13 or code[1] == " " or not set(code) <= _RFC_VALUES.keys():
        return False
    total = sum(_RFC_VALUES[char] * weight for char, weight in zip(code, range(13, 1, -1), strict=False))
    return "0123456789A"[-total % 11] == code[-1]


def is_rut(text: str) -> bool:
    """Whether a text is a Chilean RUT or RUN: seven or eight digits and the right check digit or K (modulo 11)."""
    code = compact(text)
    number, check = code[:-1], code[-1:]
    if not (number.isdecimal() and 7 <= len(number) <= 8):
        return False
    total = sum(int(digit) * (2 + place % 6) for place, digit in enumerate(reversed(number)))
    return "0123456789K"[-total % 11] == check


def is_cuit(text: str) -> bool:
    """Whether a text is an Argentine CUIT or CUIL: eleven digits, the last of them the check digit (modulo 11)."""
    code = "".join(map(str, read_digits(text)))
    if len(code) != 11 or code[:2] not in ("20", "23", "24", "25", "26", "27", "30", "33", "34"):
        return False
    return "01234567899"[-weighted_sum(code[:10], _CUIT_WEIGHTS) % 11] == code[-1]


def is_nit(text: str) -> bool:
    """Whether a text is a Colombian NIT: up to ten digits and the check digit (DIAN, Orden 4 of 1989)."""
    digits = read_digits(text)
    total = sum(digit * weight for digit, weight in zip(digits[-2::-1], _NIT_WEIGHTS, strict=False))
    rest = total % 11
    return 7 <= len(digits) <= 11 and digits[-1] == (rest if rest < 2 else 11 - rest)


VALIDATORS = {
    "cuit": is_cuit,
    "curp": is_curp,
    "dni": is_dni,
    "nit": is_nit,
    "nuss": is_nuss,
    "rfc": is_rfc,
    "rut": is_rut,
}
