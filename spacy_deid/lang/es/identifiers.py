"""Spanish identifiers: DNI, NIE, social security, health card, physician's number, bank account.

Surrogates are permuted among all possible numbers, because none are set apart: of the hundred million numbers of a DNI
about sixty million have been issued.
"""

import re
from datetime import date

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

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_PROVINCES = tuple(numbered(1, 52, 2))
_ACCOUNT_WEIGHTS = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)
_STAFF = frozenset({"LICENSE", "EMPLOYEE_ID", "ID_OTHER", "NATIONAL_ID"})
_CIP = re.compile(r"([A-Z]{4})(\d\d)(\d\d)(\d\d)(\d{4})")
_WOMAN = 40  # added to the day of birth of a woman


def dni_letter(number: int) -> str:
    """Return the letter of a DNI: the number modulo 23 (Real Decreto 1553/2005)."""
    return _DNI_LETTERS[number % 23]


def finish_dni(code: str) -> str:
    """Put the letter into a DNI."""
    return code[:-1] + dni_letter(int(code[:-1]))


def finish_nie(code: str) -> str:
    """Put the letter into an NIE, whose X, Y or Z counts as 0, 1 or 2 (Orden INT/2058/2008)."""
    return code[:-1] + dni_letter(int(f"{'XYZ'.index(code[0])}{code[1:-1]}"))


def finish_nuss(code: str) -> str:
    """Put the two check digits into a social security number (Tesorería General de la Seguridad Social)."""
    province, serial = code[:2], code[2:10]
    short = int(serial) < 10_000_000
    return code[:10] + f"{(int(province) * 10_000_000 + int(serial) if short else int(province + serial)) % 97:02}"


def _nuss_parts(code: str) -> Parts:
    return [_PROVINCES if code[:2] in _PROVINCES else [code[:2]], *spread("########00")]


def _finish_physician(code: str) -> str:
    """Repeat the province, with which the number of a physician begins twice."""
    return code[:2] + code[:2] + code[4:]


def finish_account(code: str) -> str:
    """Put the check digits of the IBAN and the two control digits of the account into a Spanish IBAN."""
    account = code[4:]
    control = "".join(_account_digit(digits) for digits in (f"00{account[:8]}", account[10:]))
    return finish_iban(f"{code[:2]}00{account[:8]}{control}{account[10:]}")


def _account_digit(digits: str) -> str:
    check = 11 - weighted_sum(digits, _ACCOUNT_WEIGHTS) % 11
    return {11: "0", 10: "1"}.get(check, str(check))


def health_card(code: str, move: MoveDate) -> IdentifierKind | None:
    """Return the kind of a regional health card (CIP): letters of the name, date of birth, serial number.

    code (str): letters and digits.
    move (MoveDate): moves the date of birth.
    RETURNS (Optional[IdentifierKind]): kind with the moved date; None for any other code, or an impossible date.
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
