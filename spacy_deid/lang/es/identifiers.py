"""Validate, replace and invent identifiers of Spain and of Latin America.

They are those of Spain (DNI, NIE, social security, health card, physician's number, bank account), Mexico (CURP, RFC),
Argentina (CUIT and CUIL), Chile (RUT) and Colombia (NIT). Validators are for the rules of `deid_patterns`; invented
identifiers are for synthetic notes.

No surrogate can be issued to anybody. None of these numbers are set apart for tests, so surrogates have a wrong check
character, a date that does not exist, or characters that the numbers never have:

- DNI, NIE, CURP, RFC, RUT, CUIT, NIT: a wrong check character. NUSS and NUHSA: check digits 97 – 99, which a remainder
  modulo 97 never is.
- Health card (CIP): day of birth 32 – 39 (72 – 79 for women).
- Physician's number: provinces 53 – 99, which do not exist (INE).
- Plates: the letter Q, which is never used (Real Decreto 2822/1998, annex XVIII); before 2000, a province code with Q.
- National numbers without a check character (DNI of Argentina and Peru, cédula of Colombia) have at most eight digits,
  or ten that begin with 1; foreigners' cards of Peru have nine. A surrogate has one more digit, or begins with 9.
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
    spoil,
    spread,
    void_iban,
    weighted_sum,
)
from ..synthesis import IdBearer, make_iban
from ..text import DIGITS, LETTERS
from ..validation import compact, read_digits

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_PROVINCES = tuple(numbered(1, 52, 2))
_ACCOUNT_WEIGHTS = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)
_STAFF = frozenset({"LICENSE", "EMPLOYEE_ID", "ID_OTHER", "NATIONAL_ID"})
_STATE = frozenset({"NATIONAL_ID", "INSURANCE_ID", "HEALTH_PLAN", "ACCOUNT", "ID_OTHER", "MRN"})
_NO_PROVINCES = tuple(numbered(53, 99, 2))
_CIP = re.compile(r"([A-Z]{4})(\d\d)(\d\d)(\d\d)(\d{4}|\d{6})")
_CURP = re.compile(r"[A-Z]{4}(\d\d)(\d\d)(\d\d)([HMX])[A-Z]{5}([A-Z\d])\d")
_RFC = re.compile(r"[A-Z]{3,4}(\d\d)(\d\d)(\d\d)[A-Z\d]{3}")
_STATES = (
    "BC BS CC CL CM CS CH DF DG GT GR HG JC MC MN MS NT NL PL QT QR SP SL SR TC TS TL VZ ZS".split()
)  # without a vowel
_CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"
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
    """Return a social security number of 11 or 12 digits with its check digits corrected (Tesorería General de la
    Seguridad Social)."""
    province, serial = code[:2], code[2:-2]
    short = int(serial) < 10_000_000
    return code[:-2] + f"{(int(province) * 10_000_000 + int(serial) if short else int(province + serial)) % 97:02}"


def finish_nuhsa(code: str) -> str:
    """Return an Andalusian health number (NUHSA) with its check digits, the remainder modulo 97, corrected."""
    return code[:-2] + f"{int(code[2:-2]) % 97:02}"


def _void_modulo_97(code: str) -> str:
    """Return a code with check digits 97, 98 or 99, which a remainder modulo 97 never is."""
    return code[:-2] + ("97", "98", "99")[sum(map(ord, code)) % 3]


def is_nuss(text: str) -> bool:
    """Whether a text is a social security number: twelve digits with the right check digits."""
    code = "".join(map(str, read_digits(text)))
    return len(code) == 12 and code[:2] != "00" and finish_nuss(code) == code


def _nuss_parts(code: str) -> Parts:
    return [_PROVINCES if code[:2] in _PROVINCES else [code[:2]], *spread("#" * (len(code) - 4) + "00")]


def _finish_physician(code: str) -> str:
    """Return the number of a physician with the province, its first two digits, repeated in the next two."""
    return code[:2] + code[:2] + code[4:]


def finish_account(code: str) -> str:
    """Return a Spanish IBAN with its check digits and the two control digits of the account corrected."""
    account = code[4:]
    control = "".join(_account_digit(digits) for digits in (f"00{account[:8]}", account[10:]))
    return finish_iban(f"{code[:2]}00{account[:8]}{control}{account[10:]}")


def finish_ccc(code: str) -> str:
    """Return a Spanish bank account of 20 digits (CCC) with its two control digits corrected."""
    return finish_account(f"ES00{code}")[4:]


def _void_ccc(code: str) -> str:
    return spoil(spoil(code, at=8), at=9)


def _void_account(code: str) -> str:
    return void_iban(code[:4] + _void_ccc(code[4:]))


def _account_digit(digits: str) -> str:
    check = 11 - weighted_sum(digits, _ACCOUNT_WEIGHTS) % 11
    return {11: "0", 10: "1"}.get(check, str(check))


_CURP_VALUES = {char: value for value, char in enumerate("0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ")}
_RFC_VALUES = {char: value for value, char in enumerate("0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ")}
_CUIT_WEIGHTS = (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)
_NIT_WEIGHTS = (3, 7, 13, 17, 19, 23, 29, 37, 41, 43)


def _void_dni(code: str) -> str:
    return spoil(code, _DNI_LETTERS)


def finish_curp(code: str) -> str:
    """Return a Mexican CURP with its check digit corrected (Instructivo normativo, DOF 18 October 2021)."""
    total = sum(_CURP_VALUES[char] * weight for char, weight in zip(code[:-1], range(18, 1, -1), strict=True))
    return code[:-1] + str(-total % 10)


def is_curp(text: str) -> bool:
    """Whether a text is a Mexican CURP: 18 characters with the right check digit."""
    code = compact(text)
    return len(code) == 18 and set(code) <= _CURP_VALUES.keys() and finish_curp(code) == code


def finish_rfc(code: str) -> str:
    """Return the RFC of a Mexican person (13 characters) or firm (12) with its check character corrected (SAT)."""
    whole = code.rjust(13)
    total = sum(_RFC_VALUES[char] * weight for char, weight in zip(whole[:-1], range(13, 1, -1), strict=True))
    return code[:-1] + "0123456789A"[-total % 11]


def is_rfc(text: str) -> bool:
    """Whether a text is an RFC of 12 or 13 characters with the right check character."""
    code = "".join(char for char in text.upper() if char.isalnum() or char == "&")
    return len(code) in (12, 13) and set(code) <= _RFC_VALUES.keys() and finish_rfc(code) == code


def finish_rut(code: str) -> str:
    """Return a Chilean RUT or RUN with its check digit or K corrected (modulo 11)."""
    total = sum(int(digit) * (2 + place % 6) for place, digit in enumerate(reversed(code[:-1])))
    return code[:-1] + "0123456789K"[-total % 11]


def is_rut(text: str) -> bool:
    """Whether a text is a Chilean RUT or RUN: seven or eight digits and the right check digit or K."""
    code = compact(text)
    return code[:-1].isdecimal() and 7 <= len(code[:-1]) <= 8 and finish_rut(code) == code


def finish_cuit(code: str) -> str:
    """Return an Argentine CUIT or CUIL with its check digit corrected (modulo 11)."""
    return code[:-1] + "01234567899"[-weighted_sum(code[:10], _CUIT_WEIGHTS) % 11]


def is_cuit(text: str) -> bool:
    """Whether a text is an Argentine CUIT or CUIL: eleven digits, the last of them the check digit."""
    code = "".join(map(str, read_digits(text)))
    if len(code) != 11 or code[:2] not in ("20", "23", "24", "25", "26", "27", "30", "33", "34"):
        return False
    return finish_cuit(code) == code


def finish_nit(code: str) -> str:
    """Return a Colombian NIT with its check digit corrected (DIAN, Orden 4 of 1989)."""
    rest = sum(int(digit) * weight for digit, weight in zip(code[-2::-1], _NIT_WEIGHTS, strict=False)) % 11
    return code[:-1] + str(rest if rest < 2 else 11 - rest)


def is_nit(text: str) -> bool:
    """Whether a text is a Colombian NIT: up to ten digits and the check digit."""
    code = "".join(map(str, read_digits(text)))
    return 7 <= len(code) <= 11 and finish_nit(code) == code


def dated_kind(code: str, move: MoveDate) -> IdentifierKind | None:
    """Describe the surrogates of an identifier that contains a date of birth: a regional health card (CIP), a CURP or
    an RFC of Mexico.

    code (str): letters and digits of the identifier.
    move (MoveDate): maps the date of birth to that of the surrogate.
    RETURNS (Optional[IdentifierKind]): the kind, whose surrogates contain the moved date; None if the code is none of
        these or its date does not exist. The surrogates are never issued: the day of a CIP does not exist, and the
        check character of the others is wrong.
    """
    letters = [_CONSONANTS, "X", _CONSONANTS, _CONSONANTS]  # X stands for a missing vowel
    if match := _CIP.fullmatch(code):
        plus = _WOMAN if int(match[4]) > _WOMAN else 0
        born = _moved(match[2], match[3], f"{int(match[4]) - plus}", move, 2000 if int(match[2]) <= 30 else 1900)
        if born is None:
            return None
        moved, days = f"{born.year % 100:02}{born.month:02}", numbered(plus + 32, plus + 39, 2)
        serial = "#" * len(match[5])
        return IdentifierKind("CIP", "", lambda _: [*spread("@@@@"), [moved], days, *spread(serial)], drawn=True)
    if match := _CURP.fullmatch(code):
        born = _moved(match[1], match[2], match[3], move, 1900 if match[5].isdecimal() else 2000)
        if born is None:
            return None
        sex, mark = match[4], DIGITS if born.year < 2000 else LETTERS
        parts = [*letters, [f"{born:%y%m%d}"], sex, _STATES, *[_CONSONANTS] * 3, mark, "0"]
        return IdentifierKind("CURP", "", lambda _: parts, finish_curp, drawn=True, void=spoil)
    if match := _RFC.fullmatch(code):
        born = _moved(match[1], match[2], match[3], move, 2000 if int(match[1]) <= 30 else 1900)
        if born is None:
            return None
        first = letters if len(code) == 13 else [_CONSONANTS] * 3
        parts = [*first, [f"{born:%y%m%d}"], DIGITS[1:], DIGITS[1:], "0"]
        return IdentifierKind("RFC", "", lambda _: parts, finish_rfc, drawn=True, void=spoil)
    return None


def _moved(year: str, month: str, day: str, move: MoveDate, century: int) -> date | None:
    """Return the moved date of birth; None if the date does not exist."""
    try:
        return move(date(century + int(year), int(month), int(day)))
    except ValueError:
        return None


def overlong(code: str) -> Parts | None:
    """Return the parts of surrogates of a national number without a check character, which have too many digits.

    The DNI of Spain, Argentina and Peru have at most eight digits (Real Decreto 1553/2005; Ley 17.671; Ley 26497), and
    so have the cédulas of Colombia before the NUIP of ten digits, which is counted from 1 000 000 000 (Registraduría).
    Nine digits that begin with 1 to 5 are no telephone number of Spain or Peru either.

    code (str): letters and digits of the number.
    RETURNS (Optional[Parts]): nine digits for a code of five to eight, ten that begin with 9 for one of nine or ten;
        None for other codes.
    """
    if not code.isdecimal() or not 5 <= len(code) <= 10:
        return None
    return ["12345", *[DIGITS] * 8] if len(code) <= 8 else ["9", *[DIGITS] * 9]


IDENTIFIERS = IdentifierConventions(
    kinds=(
        IdentifierKind("NUSS", r"\d{12}", _nuss_parts, finish_nuss, void=_void_modulo_97),
        IdentifierKind(
            "NUSS",
            r"\d{11}",
            _nuss_parts,
            finish_nuss,
            text=r"^\D*\d\d[ /-]\d{7}[ /-]\d\d\D*$",
            void=_void_modulo_97,
        ),
        IdentifierKind("CCC", r"\d{20}", lambda code: spread("#" * 20), finish_ccc, void=_void_ccc),
        IdentifierKind(
            "CUIT",
            r"(?:2[034567]|3[034])\d{9}",
            lambda code: spread(code[:2] + "########0"),
            finish_cuit,
            _STATE,
            void=spoil,
        ),
        IdentifierKind(
            "RUT",
            r"\d{7,8}[\dK]",
            lambda code: spread("#" * (len(code) - 1) + "0"),
            finish_rut,
            _STATE,
            r"\d-[\dkK]\W*$",
            void=spoil,
        ),
        IdentifierKind(
            "NIT",
            r"\d{7,11}",
            lambda code: spread("#" * (len(code) - 1) + "0"),
            finish_nit,
            _STATE,
            r"\d-\d\W*$",
            void=spoil,
        ),
        IdentifierKind(
            "colegiado",
            r"(\d\d)\1\d{0,7}",
            lambda code: [_NO_PROVINCES, ["00"], *spread("#" * (len(code) - 4))],
            _finish_physician,
            _STAFF,
            r"^\D*(?:0[1-9]|[1-4]\d|5[0-2])",
            drawn=True,
        ),
        IdentifierKind(
            "plate",
            rf"\d{{4}}[{_PLATE_LETTERS}]{{3}}",
            lambda code: [*spread("####"), "Q", _PLATE_LETTERS, _PLATE_LETTERS],
            labels=frozenset({"VEHICLE"}),
            drawn=True,
        ),
        IdentifierKind(
            "plate",
            r"[A-Z]{1,2}\d{4}[A-Z]{1,2}",
            lambda code: ["Q", *[LETTERS if char in LETTERS else DIGITS for char in code[1:]]],
            labels=frozenset({"VEHICLE"}),
            drawn=True,
        ),
    ),
    kinds_abroad=(
        IdentifierKind(
            "DNI", r"\d{7,8}[A-Z]", lambda code: spread("#" * (len(code) - 1) + "A"), finish_dni, void=_void_dni
        ),
        IdentifierKind(
            "NIE", r"[XYZ]\d{7}[A-Z]", lambda code: ["XYZ", *spread("#######A")], finish_nie, void=_void_dni
        ),
        IdentifierKind("NUHSA", r"AN\d{10}", lambda code: spread("AN########00"), finish_nuhsa, void=_void_modulo_97),
        IdentifierKind("IBAN", r"ES\d{22}", iban_parts, finish_account, void=_void_account),
    ),
    dated_kind=dated_kind,
    words=frozenset(
        "anexo ap biop bx cip cit colegiado col cuenta cuil cuit curp dni eco eda expediente exp fol folio hcl "
        "historia icn lab nass nhc nie nif nim nit num numero número nro no nss nuhsa nuss ped reg rfc rm run rut rx "
        "tac tel tlf tfno s/n sn sns pin ref urg".split()
    ),
    conjunctions=("y", "e", "o", "u", "a", "al"),
    overlong=overlong,
)

VALIDATORS = {
    "cuit": is_cuit,
    "curp": is_curp,
    "dni": is_dni,
    "nit": is_nit,
    "nuss": is_nuss,
    "rfc": is_rfc,
    "rut": is_rut,
}
