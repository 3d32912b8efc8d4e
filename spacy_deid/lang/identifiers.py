"""Describe kinds of identifiers, so that surrogates with the same format and valid check digits can be made.

A code is the letters and digits of an identifier, in capitals and without separators. This module defines the types,
the international kinds (IBAN, VIN, IMEI, payment card), and functions that compute check digits. The kinds of a
country are in ``lang/XX/identifiers.py``. Check digits are tested by `spacy_deid.patterns.validators`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from .text import DIGITS, LETTERS

Parts = Sequence[Sequence[str]]
"""The consecutive parts of a code: for each part, the strings that it can have in a surrogate, all equally long."""

MoveDate = Callable[[date], date]
"""Function that maps the date of birth within an identifier to the date of birth within its surrogate."""

_VIN_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_VIN_VALUES = dict(zip(_VIN_LETTERS, (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, *range(2, 10)), strict=True))
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VIN_YEARS = {DIGITS: DIGITS[1:], _VIN_LETTERS: _VIN_LETTERS.replace("U", "").replace("Z", "")}


def _unchanged(code: str) -> str | None:
    return code


class IdentifierKind(NamedTuple):
    """A kind of identifier: how its codes are recognized, and what surrogates of them look like.

    name (str): name of the kind. Surrogates are computed from it and the key, so that another name changes them.
    pattern (str): regular expression that matches a whole code.
    parts (Callable[[str], Parts]): code → the values that each part of its surrogate can have.
    finish (Callable[[str], Optional[str]]): code → the same code with correct check digits; None if such a code is
        never issued. A code fits the kind only if this leaves it unchanged.
    labels (frozenset[str]): labels that a mention of this kind can have; empty for any label.
    text (str): regular expression that must be found in the mention as written, with its separators; "" for no test.
    drawn (bool): whether a surrogate is drawn from `parts` without encoding the original. Set this if originals are
        not among `parts`, as with ranges that are never issued. By default the codes of the kind are permuted, so
        that two originals never get the same surrogate.
    """

    name: str
    pattern: str
    parts: Callable[[str], Parts]
    finish: Callable[[str], str | None] = _unchanged
    labels: frozenset[str] = frozenset()
    text: str = ""
    drawn: bool = False

    def fits(self, code: str, text: str, label: str) -> bool:
        """Check whether a mention is an identifier of this kind.

        code (str): letters and digits of the mention, in capitals.
        text (str): the mention as written.
        label (str): canonical label of the mention.
        RETURNS (bool): True if pattern, label, text and check digits fit.
        """
        return bool(
            re.fullmatch(self.pattern, code)
            and (not self.labels or label in self.labels)
            and re.search(self.text, text)
            and self.finish(code) == code
        )


class BirthNumber(NamedTuple):
    """A national identification number that contains a date of birth, found in a mention.

    name (str): name of the kind. Surrogates are computed from it and the key, so that another name changes them.
    start, end (int): character offsets of the number in the mention.
    code (str): the number in capitals.
    born (date): date of birth in the number.
    serials (Sequence[int]): serial numbers that a surrogate can have. They show the same sex as the original.
    compose (Callable[[date, int], str]): (date of birth, serial number) → the whole number with its check digits.
    """

    name: str
    start: int
    end: int
    code: str
    born: date
    serials: Sequence[int]
    compose: Callable[[date, int], str]


def _no_birth_number(text: str) -> BirthNumber | None:
    return None


def _no_dated_kind(code: str, move: MoveDate) -> IdentifierKind | None:
    return None


@dataclass(frozen=True, kw_only=True)
class IdentifierConventions:
    """The identifiers that are used in a language's countries, and the words that are written around them.

    kinds (Sequence[IdentifierKind]): kinds that are recognized in notes of this language only.
    kinds_abroad (Sequence[IdentifierKind]): kinds that are recognized in notes of any language.
    find_birth_number (Callable[[str], Optional[BirthNumber]]): mention → the national identification number with a
        date of birth in it; None if it contains none.
    dated_kind (Callable[[str, MoveDate], Optional[IdentifierKind]]): (code, function that moves dates) → kind whose
        surrogates contain the moved date of birth; None for a code without a date of birth.
    words (frozenset[str]): names of identifiers ("hetu", "nhs"), casefolded. They are not replaced where they occur in
        a mention.
    conjunctions (Sequence[str]): words ("and") that are not replaced between two numbers of a mention.
    """

    kinds: Sequence[IdentifierKind] = ()
    kinds_abroad: Sequence[IdentifierKind] = ()
    find_birth_number: Callable[[str], BirthNumber | None] = _no_birth_number
    dated_kind: Callable[[str, MoveDate], IdentifierKind | None] = _no_dated_kind
    words: frozenset[str] = frozenset()
    conjunctions: Sequence[str] = ()


def spread(pattern: str) -> Parts:
    """Convert a pattern for surrogates to parts.

    pattern (str): one character per part: "#" for any digit, "@" for any capital letter, others for themselves.
    RETURNS (Parts): for each part the characters that it can have.
    """
    return [{"#": DIGITS, "@": LETTERS}.get(char, char) for char in pattern]


def numbered(first: int, last: int, width: int) -> Sequence[str]:
    """Return the numbers from first to last (included) as text, padded with leading zeros to a width."""
    return [f"{number:0{width}}" for number in range(first, last + 1)]


def weighted_sum(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits, each multiplied by its weight."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def luhn(digits: str) -> str:
    """Return the Luhn check digit (ISO/IEC 7812-1) that has to be appended to a number."""
    values = [int(digit) for digit in reversed(digits)]
    return str(-(sum(values[1::2]) + sum(sum(divmod(2 * value, 10)) for value in values[0::2])) % 10)


def append_luhn(code: str) -> str:
    """Replace the last digit of a code by the Luhn check digit of the others."""
    return code[:-1] + luhn(code[:-1])


def finish_iban(code: str) -> str:
    """Return an IBAN, given without spaces, with its two check digits corrected (ISO 13616)."""
    country, account = code[:2], code[4:]
    check = 98 - int("".join(str(int(char, 36)) for char in f"{account}{country}00")) % 97
    return f"{country}{check:02}{account}"


def iban_parts(code: str) -> Parts:
    """Return the parts of surrogates of an IBAN: its first four characters, then any digit for each digit and any
    letter for each letter."""
    return [[code[:4]], *(DIGITS if char in DIGITS else LETTERS for char in code[4:])]


def finish_vin(code: str) -> str:
    """Return a North American vehicle identification number with its check digit corrected (49 CFR 565.15)."""
    values = [int(char) if char.isdecimal() else _VIN_VALUES[char] for char in code]
    total = sum(value * weight for value, weight in zip(values, _VIN_WEIGHTS, strict=True)) % 11
    return code[:8] + ("X" if total == 10 else str(total)) + code[9:]


def _vin_parts(code: str) -> Parts:
    parts = [DIGITS if char in DIGITS else _VIN_LETTERS for char in code]
    year = _VIN_YEARS[parts[9]]
    return [*parts[:8], "0", year if code[9] in year else parts[9], *parts[10:]]


INTERNATIONAL: Sequence[IdentifierKind] = (
    IdentifierKind("IBAN", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", iban_parts, finish_iban),
    IdentifierKind("VIN", rf"[{_VIN_LETTERS}0-9]{{8}}[X0-9][{_VIN_LETTERS}0-9]{{8}}", _vin_parts, finish_vin),
    IdentifierKind(
        "IMEI", r"\d{15}", lambda code: spread(code[:2] + "############0"), append_luhn, frozenset({"DEVICE"})
    ),
    IdentifierKind("card", r"[2-6]\d{12,18}", lambda code: spread(code[0] + "#" * (len(code) - 2) + "0"), append_luhn),
)
"""Kinds that belong to no language. They are tried after the kinds of the languages."""
