"""Identifiers of the United States and the United Kingdom: SSN, NPI, DEA, MBI, NHS number.

Numbers that are set apart, from which surrogates are drawn:

- SSN: areas 900 – 999 were never issued (SSA, "Social Security Number Randomization") and look like others, unlike
  000 and 666. Only groups 01 – 49: the IRS issues 50 – 65, 70 – 88 and 90 – 99 with these areas, as ITIN and ATIN.
- NHS number: 999 000 0000 – 999 999 9999 (NHS England, test data).

None are set apart for NPI, DEA and MBI; the chance that a surrogate is somebody's MBI is below one in ten thousand.
"""

from ..identifiers import IdentifierConventions, IdentifierKind, Parts, luhn, numbered, spread, weighted_sum
from ..text import DIGITS, LETTERS

_STAFF = frozenset({"LICENSE", "EMPLOYEE_ID", "ID_OTHER", "NATIONAL_ID"})
_AREAS = tuple(numbered(900, 999, 3))
_GROUPS = tuple(numbered(1, 49, 2))
_SERIALS = tuple(numbered(1, 9999, 4))
_MBI = "ACDEFGHJKMNPQRTUVWXY"


def finish_npi(code: str) -> str:
    """Put the check digit into a National Provider Identifier: Luhn with the prefix 80840 (45 CFR 162.406)."""
    return code[:-1] + luhn("80840" + code[:-1])


def finish_dea(code: str) -> str:
    """Put the check digit into a DEA registration: odd digits and twice the even digits, modulo 10."""
    digits = code[2:-1]
    return code[:-1] + str((sum(map(int, digits[0::2])) + 2 * sum(map(int, digits[1::2]))) % 10)


def finish_nhs(code: str) -> str | None:
    """Put the check digit into an NHS number, modulo 11; None for a number that is never issued."""
    check = (11 - weighted_sum(code[:-1], range(10, 1, -1)) % 11) % 11
    return None if check == 10 else code[:-1] + str(check)


def _ssn_parts(code: str) -> Parts:
    return [_AREAS, _GROUPS, _SERIALS]


def _nhs_parts(code: str) -> Parts:
    return spread("999######0")


def _dea_parts(code: str) -> Parts:
    return [code[0], "9" if code[1] == "9" else LETTERS, *spread("######0")]


def _mbi_parts(code: str) -> Parts:
    return [DIGITS[1:], *(DIGITS if char in DIGITS else _MBI for char in code[1:])]


def _dated_parts(code: str) -> Parts:
    """Return the parts of a number that begins with the year of its issue: this year or one of the nine before it."""
    year = int(code[:4])
    return [numbered(year - 9, year, 4), *spread("#" * (len(code) - 4))]


IDENTIFIERS = IdentifierConventions(
    kinds=(
        IdentifierKind("SSN", r"\d{9}", _ssn_parts, text=r"\d{3}[ -]\d\d[ -]\d{4}", drawn=True),
        IdentifierKind("SSN", r"\d{9}", _ssn_parts, labels=frozenset({"SSN"}), drawn=True),
        IdentifierKind("NPI", r"[12]\d{9}", lambda code: ["12", *spread("########0")], finish_npi, _STAFF),
        IdentifierKind("NHS", r"\d{10}", _nhs_parts, finish_nhs, text=r"\d{3} \d{3} \d{4}", drawn=True),
        IdentifierKind("NHS", r"\d{10}", _nhs_parts, finish_nhs, frozenset({"NATIONAL_ID"}), drawn=True),
        IdentifierKind("dated", r"(?:19|20)\d{5,12}", _dated_parts, text=r"^\W*(?:19[5-9]|20[0-3])\d[-/.]\d"),
    ),
    kinds_abroad=(
        IdentifierKind("MBI", rf"[1-9][{_MBI}][{_MBI}0-9]\d[{_MBI}][{_MBI}0-9]\d[{_MBI}]{{2}}\d\d", _mbi_parts),
        IdentifierKind("DEA", r"[A-Z][A-Z9]\d{7}", _dea_parts, finish_dea),
    ),
    words=frozenset(
        "acc account dea dob ein emp exp ext fax fn gtin hc hsn iban id imei mac mbi mobile mrn nct nhs nino no npi "
        "num pin ref ssn tel udi vin".split()
    ),
    conjunctions=("and", "or", "to"),
)
