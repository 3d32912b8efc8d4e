"""Kinds of identifiers: what varies in their codes, and which check digits they have.

A code is the letters and digits of an identifier, in capitals and without separators. The kinds of a country are in
its language; those here are international. `spacy_deid.patterns.validators` tests check digits; these functions
compute them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from .text import DIGITS, LETTERS

Parts = Sequence[Sequence[str]]
"""For each part of a code its possible values, all of one length. A part with one value is not replaced."""

MoveDate = Callable[[date], date]
"""Moves the date of birth within an identifier."""

_VIN_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_VIN_VALUES = dict(zip(_VIN_LETTERS, (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, *range(2, 10)), strict=True))
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VIN_YEARS = {DIGITS: DIGITS[1:], _VIN_LETTERS: _VIN_LETTERS.replace("U", "").replace("Z", "")}


def _unchanged(code: str) -> str | None:
    return code


class IdentifierKind(NamedTuple):
    """A kind of identifiers.

    name (str): name of the kind, part of the context of its draws.
    pattern (str): regular expression of its codes.
    parts (Callable[[str], Parts]): code → possible values of its parts.
    finish (Callable[[str], Optional[str]]): puts the check digits into a code; None for a code that is never issued.
        A code whose check digits differ is not of the kind.
    labels (frozenset[str]): labels of the mentions that may be of the kind; empty: any label.
    text (str): regular expression that is searched in the mention with its separators; "" matches any.
    drawn (bool): whether surrogates are drawn from `parts` instead of permuted, because originals are not among them.
    """

    name: str
    pattern: str
    parts: Callable[[str], Parts]
    finish: Callable[[str], str | None] = _unchanged
    labels: frozenset[str] = frozenset()
    text: str = ""
    drawn: bool = False

    def fits(self, code: str, text: str, label: str) -> bool:
        """Whether a code is of this kind.

        code (str): code of a mention.
        text (str): the mention.
        label (str): its canonical label.
        """
        return bool(
            re.fullmatch(self.pattern, code)
            and (not self.labels or label in self.labels)
            and re.search(self.text, text)
            and self.finish(code) == code
        )


class BirthNumber(NamedTuple):
    """A national number that contains the date of birth.

    name (str): name of the kind, part of the context of its draws.
    start, end (int): its position in the mention.
    code (str): the number in capitals.
    born (date): the date of birth.
    serials (Sequence[int]): serial numbers that a surrogate may have, of the sex of the original.
    compose (Callable[[date, int], str]): date of birth and serial number → number with its check digits.
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
    """The identifiers of a language.

    kinds (Sequence[IdentifierKind]): kinds that occur in notes of the language only.
    kinds_abroad (Sequence[IdentifierKind]): kinds that are recognized in notes of any language.
    find_birth_number (Callable[[str], Optional[BirthNumber]]): finds a national number with a date of birth in a text.
    dated_kind (Callable[[str, MoveDate], Optional[IdentifierKind]]): kind of a code that contains a date of birth,
        with the date moved; None for any other code.
    words (frozenset[str]): names of identifiers and numbers, casefolded, which stay within a mention.
    conjunctions (Sequence[str]): words between two numbers of one mention, which stay.
    """

    kinds: Sequence[IdentifierKind] = ()
    kinds_abroad: Sequence[IdentifierKind] = ()
    find_birth_number: Callable[[str], BirthNumber | None] = _no_birth_number
    dated_kind: Callable[[str, MoveDate], IdentifierKind | None] = _no_dated_kind
    words: frozenset[str] = frozenset()
    conjunctions: Sequence[str] = ()


def spread(pattern: str) -> Parts:
    """Return the parts of a pattern: "#" is any digit, "@" any letter, any other character stays."""
    return [{"#": DIGITS, "@": LETTERS}.get(char, char) for char in pattern]


def numbered(first: int, last: int, width: int) -> Sequence[str]:
    """Return the numbers from first to last, with leading zeros up to a width."""
    return [f"{number:0{width}}" for number in range(first, last + 1)]


def weighted_sum(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits, each multiplied by its weight."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def luhn(digits: str) -> str:
    """Return the Luhn check digit that follows other digits (ISO/IEC 7812-1)."""
    values = [int(digit) for digit in reversed(digits)]
    return str(-(sum(values[1::2]) + sum(sum(divmod(2 * value, 10)) for value in values[0::2])) % 10)


def append_luhn(code: str) -> str:
    """Replace the last digit of a code by the Luhn check digit of the others."""
    return code[:-1] + luhn(code[:-1])


def finish_iban(code: str) -> str:
    """Put the two check digits into an IBAN (ISO 13616)."""
    country, account = code[:2], code[4:]
    check = 98 - int("".join(str(int(char, 36)) for char in f"{account}{country}00")) % 97
    return f"{country}{check:02}{account}"


def iban_parts(code: str) -> Parts:
    """Return the parts of an IBAN, whose country and check digits stay."""
    return [[code[:4]], *(DIGITS if char in DIGITS else LETTERS for char in code[4:])]


def finish_vin(code: str) -> str:
    """Put the check digit into a vehicle identification number of North America (49 CFR 565.15)."""
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
"""Kinds that no language owns, tried after those of the languages."""
