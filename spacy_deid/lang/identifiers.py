"""Describe kinds of identifiers, so that surrogates can be made that have the same format and were never issued.

A code is the letters and digits of an identifier, in capitals and without separators. This module defines the types,
the international kinds (IBAN, VIN, IMEI, payment card), and functions that compute check digits. The kinds of a
country are in ``lang/XX/identifiers.py``. Check digits are tested by `spacy_deid.patterns.validators`.

No surrogate can be the identifier of a real person: it comes from a range that is reserved or cannot occur, or its
check digit is wrong on purpose (`spoil`). ``docs/guides/surrogates.md`` has a table of all kinds with sources.
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


def _same(code: str) -> str:
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
    void (Callable[[str], str]): code with correct check digits → the same code in a form that is never issued, such
        as with a wrong check digit. Not necessary if no code of `parts` is ever issued.
    """

    name: str
    pattern: str
    parts: Callable[[str], Parts]
    finish: Callable[[str], str | None] = _unchanged
    labels: frozenset[str] = frozenset()
    text: str = ""
    drawn: bool = False
    void: Callable[[str], str] = _same

    def fits(self, code: str, text: str, label: str) -> bool:
        """Check whether a mention is an identifier of this kind.

        code (str): letters and digits of the mention, in capitals.
        text (str): the mention as written.
        label (str): canonical label of the mention.
        RETURNS (bool): True if pattern, label, text and check digits fit.
        """
        return self.has_form(code, text, label) and self.finish(code) == code

    def has_form(self, code: str, text: str, label: str) -> bool:
        """Check whether a mention is an identifier of this kind, whatever its check digits; see `fits`."""
        if self.labels and label not in self.labels:
            return False
        return bool(re.fullmatch(self.pattern, code) and (not self.text or re.search(self.text, text)))

    @property
    def is_checked(self) -> bool:
        """Whether codes of this kind have check digits."""
        return self.finish is not _unchanged


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


def _not_lengthened(code: str) -> Parts | None:
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
    overlong (Callable[[str], Optional[Parts]]): code of a national number without a check character → the parts of
        surrogates that no register issues, because they have more digits; None for other codes.
    """

    kinds: Sequence[IdentifierKind] = ()
    kinds_abroad: Sequence[IdentifierKind] = ()
    find_birth_number: Callable[[str], BirthNumber | None] = _no_birth_number
    dated_kind: Callable[[str, MoveDate], IdentifierKind | None] = _no_dated_kind
    words: frozenset[str] = frozenset()
    conjunctions: Sequence[str] = ()
    overlong: Callable[[str], Parts | None] = _not_lengthened


def spread(pattern: str) -> Parts:
    """Convert a pattern for surrogates to parts.

    pattern (str): one character per part: "#" for any digit, "@" for any capital letter, others for themselves.
    RETURNS (Parts): for each part the characters that it can have.
    """
    return [{"#": DIGITS, "@": LETTERS}.get(char, char) for char in pattern]


def spoil(code: str, options: str = DIGITS, at: int = -1) -> str:
    """Replace the check character of a code by a wrong one, so that the code cannot belong to anybody.

    code (str): a code with its correct check character.
    options (str): characters that the check character can be replaced by.
    at (int): index of the check character.
    RETURNS (str): the code with a wrong check character, which the other characters determine.
    """
    wrong = [char for char in options if char != code[at]]
    at %= len(code)
    return code[:at] + wrong[sum(map(ord, code)) % len(wrong)] + code[at + 1 :]


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


def void_iban(code: str) -> str:
    """Return an IBAN with check digits that never occur: correct ones are between 02 and 98 (ISO 13616).

    Those that are congruent to the correct ones modulo 97 are not used, because a program may only test the remainder.
    """
    wrong = [check for check in ("00", "01", "99") if (int(check) - int(finish_iban(code)[2:4])) % 97]
    return code[:2] + wrong[sum(map(ord, code)) % len(wrong)] + code[4:]


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


def _void_vin(code: str) -> str:
    """Return a VIN with the letter Q, which no VIN has (ISO 3779), in place of the check digit."""
    return f"{code[:8]}Q{code[9:]}"


_VEHICLES = frozenset({"VEHICLE", "DEVICE"})

INTERNATIONAL: Sequence[IdentifierKind] = (
    IdentifierKind("IBAN", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", iban_parts, finish_iban, void=void_iban),
    IdentifierKind(
        "VIN", rf"[{_VIN_LETTERS}0-9]{{8}}[X0-9][{_VIN_LETTERS}0-9]{{8}}", _vin_parts, finish_vin, void=_void_vin
    ),
    IdentifierKind("VIN", rf"[{_VIN_LETTERS}0-9]{{17}}", _vin_parts, labels=_VEHICLES, drawn=True, void=_void_vin),
    IdentifierKind(
        "IMEI",
        r"\d{15}",
        lambda code: spread(code[:2] + "############0"),
        append_luhn,
        frozenset({"DEVICE"}),
        void=spoil,
    ),
    IdentifierKind(
        "card",
        r"[2-6]\d{12,18}",
        lambda code: spread(code[0] + "#" * (len(code) - 2) + "0"),
        append_luhn,
        void=spoil,
    ),
)
"""Kinds that belong to no language. They are tried after the kinds of the languages."""
