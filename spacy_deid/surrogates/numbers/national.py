"""Kinds of identifiers by country, with what is known of numbers that nobody has.

Set apart, so surrogates are drawn from them:
- Finnish henkilötunnus: individual numbers 900 – 999; see `finnish`.
- US SSN: areas 900 – 999 were never given (SSA, "Social Security Number Randomization"), and look like others, unlike
  000 and 666. Groups 01 – 49 alone: the IRS gives 50 – 65, 70 – 88 and 90 – 99 with these areas, as ITIN and ATIN.
- NHS number: 999 000 0000 – 999 999 9999 (NHS England, test data).
Not set apart: DNI, NIE, NUSS, Y-tunnus, NPI, DEA, MBI, VIN, IBAN, cards, IMEI. Of the hundred million numbers of a DNI
about sixty million are given out, so that a surrogate can be the number of somebody else who has nothing to do with
the note. Of an MBI, VIN, IBAN or card the chance is below one in ten thousand.
"""

from collections.abc import Sequence

from . import checks
from .chance import Parts
from .kind import DIGITS, LETTERS, Kind, numbered, spread

__all__ = ["KINDS"]

_PROVINCES = tuple(numbered(1, 52, 2))
_MBI = "ACDEFGHJKMNPQRTUVWXY"
_VIN = "ABCDEFGHJKLMNPRSTUVWXYZ"
_VIN_YEAR = {DIGITS: DIGITS[1:], _VIN: _VIN.replace("U", "").replace("Z", "")}
_STAFF = frozenset({"LICENSE", "EMPLOYEE_ID", "ID_OTHER", "NATIONAL_ID"})
_AREAS = tuple(numbered(900, 999, 3))
_GROUPS = tuple(numbered(1, 49, 2))
_SERIALS = tuple(numbered(1, 9999, 4))


def _dni(code: str) -> str:
    return code[:-1] + checks.dni_letter(int(code[:-1]))


def _nie(code: str) -> str:
    return code[:-1] + checks.dni_letter(int(f"{'XYZ'.index(code[0])}{code[1:-1]}"))


def _nuss_parts(code: str) -> Parts:
    return [_PROVINCES if code[:2] in _PROVINCES else [code[:2]], *spread("########00")]


def _nuss(code: str) -> str:
    return code[:10] + checks.nuss_check(code[:2], code[2:10])


def _colegiado(code: str) -> str:
    """Number of a Spanish physician: the province twice, and the number there."""
    return code[:2] + code[:2] + code[4:]


def _iban_parts(code: str) -> Parts:
    return [[code[:4]], *(DIGITS if char in DIGITS else LETTERS for char in code[4:])]


def _iban(code: str) -> str:
    return code[:2] + checks.iban_check(code[:2], code[4:]) + code[4:]


def _home_iban(code: str) -> str:
    """With the check digits that Spanish and Finnish accounts have within."""
    country, account = code[:2], code[4:]
    if country == "ES":
        account = account[:8] + checks.spanish_account_check(account[:8], account[10:]) + account[10:]
    if country == "FI":
        account = account[:-1] + checks.luhn(account[:-1])
    return _iban(f"{country}00{account}")


def _vin_parts(code: str) -> Parts:
    parts = [DIGITS if char in DIGITS else _VIN for char in code]
    year = _VIN_YEAR[parts[9]]
    return [*parts[:8], "0", year if code[9] in year else parts[9], *parts[10:]]


def _vin(code: str) -> str:
    return code[:8] + checks.vin_check(code) + code[9:]


def _dated_parts(code: str) -> Parts:
    """A number that begins with the year in which it was given: that year, or one of the nine before it."""
    year = int(code[:4])
    return [numbered(year - 9, year, 4), *spread("#" * (len(code) - 4))]


def _mbi_parts(code: str) -> Parts:
    return [DIGITS[1:], *(DIGITS if char in DIGITS else _MBI for char in code[1:])]


def _dea_parts(code: str) -> Parts:
    return [code[0], "9" if code[1] == "9" else LETTERS, *spread("######0")]


def _dea(code: str) -> str:
    return code[:-1] + checks.dea_check(code[2:-1])


def _npi(code: str) -> str:
    return code[:-1] + checks.luhn("80840" + code[:-1])


def _luhn(code: str) -> str:
    return code[:-1] + checks.luhn(code[:-1])


def _nhs(code: str) -> str | None:
    check = checks.nhs_check(code[:-1])
    return None if check is None else code[:-1] + check


def _business(code: str) -> str | None:
    check = checks.business_check(code[:-1])
    return None if check is None else code[:-1] + check


_ES, _FI, _EN = (frozenset({lang}) for lang in ("es", "fi", "en"))

KINDS: Sequence[Kind] = (
    Kind("DNI", r"\d{7,8}[A-Z]", lambda c: spread("#" * (len(c) - 1) + "A"), _dni),
    Kind("NIE", r"[XYZ]\d{7}[A-Z]", lambda c: ["XYZ", *spread("#######A")], _nie),
    Kind("NUSS", r"\d{12}", _nuss_parts, _nuss, langs=_ES),
    Kind(
        "colegiado",
        r"(\d\d)\1\d{0,7}",
        lambda c: [_PROVINCES, ["00"], *spread("#" * (len(c) - 4))],
        _colegiado,
        _STAFF,
        _ES,
        r"^\D*(?:0[1-9]|[1-4]\d|5[0-2])",
    ),
    Kind("IBAN", r"(?:ES\d{22}|FI\d{16})", _iban_parts, _home_iban),
    Kind("IBAN", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", _iban_parts, _iban),
    Kind("VIN", rf"[{_VIN}0-9]{{8}}[X0-9][{_VIN}0-9]{{8}}", _vin_parts, _vin),
    Kind("MBI", rf"[1-9][{_MBI}][{_MBI}0-9]\d[{_MBI}][{_MBI}0-9]\d[{_MBI}]{{2}}\d\d", _mbi_parts),
    Kind(
        "SSN", r"\d{9}", lambda c: [_AREAS, _GROUPS, _SERIALS], text=r"\d{3}[ -]\d\d[ -]\d{4}", langs=_EN, drawn=True
    ),
    Kind("SSN", r"\d{9}", lambda c: [_AREAS, _GROUPS, _SERIALS], labels=frozenset({"SSN"}), langs=_EN, drawn=True),
    Kind("NPI", r"[12]\d{9}", lambda c: ["12", *spread("########0")], _npi, _STAFF, _EN),
    Kind("DEA", r"[A-Z][A-Z9]\d{7}", _dea_parts, _dea),
    Kind("NHS", r"\d{10}", lambda c: spread("999######0"), _nhs, langs=_EN, text=r"\d{3} \d{3} \d{4}", drawn=True),
    Kind("NHS", r"\d{10}", lambda c: spread("999######0"), _nhs, frozenset({"NATIONAL_ID"}), _EN, drawn=True),
    Kind("Y-tunnus", r"\d{8}", lambda c: spread("#######0"), _business, langs=_FI, text=r"\d-\d(?!\d)"),
    Kind("IMEI", r"\d{15}", lambda c: spread(c[:2] + "############0"), _luhn, frozenset({"DEVICE"})),
    Kind("dated", r"(?:19|20)\d{5,12}", _dated_parts, langs=_EN, text=r"^\W*(?:19[5-9]|20[0-3])\d[-/.]\d"),
    Kind("card", r"[2-6]\d{12,18}", lambda c: spread(c[0] + "#" * (len(c) - 2) + "0"), _luhn),
)
