"""Give record numbers that contain a year, such as "HC-2019/4432", a surrogate with a plausible year.

The year is moved by as many years as the patient's dates of which only the year is written, so it is never the
original one and agrees with the shifted dates. All other letters and digits are replaced. Only a group of four digits
between 1950 and 2039 that separators delimit is taken for a year. Without this, a surrogate such as "HC-4009/7158"
would show readers which numbers are surrogates.

The years that count as plausible do not depend on the note, because a number has the same surrogate in all notes of a
patient. No age over 89 follows from them before 2040.
"""

import re
from collections.abc import Callable, Sequence

from ...lang.identifiers import IdentifierKind, Parts
from ...lang.text import DIGITS

LABELS = frozenset("MRN ENCOUNTER_ID ACCOUNT LICENSE EMPLOYEE_ID VEHICLE DEVICE BIOMETRIC ID_OTHER".split())
"""The labels whose numbers may contain a year. A year in other numbers can be one of birth."""

NAME = "record"
"""Name of the kind of identifiers that `record_kind` returns."""

_SEPARATOR = r"[-/._\s\u2010-\u2015]"
_YEAR = re.compile(rf"(?:\A[^0-9]*|{_SEPARATOR})((?:19[5-9]|20[0-3])[0-9])(?={_SEPARATOR}|\W*\Z)")
_GROUP = re.compile(r"[0-9]+")
_WIDTH = 4
_LEAST = 2  # digits besides the year: fewer have too few surrogates


def find_year(text: str) -> int | None:
    """Find the year in a record number.

    text (str): the number as written, with digits 0 to 9.
    RETURNS (Optional[int]): offset of the first group of four digits that is a year. None if there is none, if there
        are fewer than two other digits, or if the digits are written in groups of four, such as "2034 5678 9012".
    """
    match = _YEAR.search(text)
    groups = _GROUP.findall(text)
    if not match or sum(map(len, groups)) < _WIDTH + _LEAST:
        return None
    in_fours = len(groups) > 2 and sum(len(group) == _WIDTH for group in groups) > 1
    return None if in_fours else match.start(1)


def record_kind(code: str, at: int, years: int, plain_parts: Callable[[str], Parts]) -> IdentifierKind:
    """Describe the surrogates of a record number with a year.

    code (str): letters and digits of the number.
    at (int): index of the year in it.
    years (int): number of years by which it is moved, not 0.
    plain_parts (Callable[[str], Parts]): code → the values of each character for a code without a year.
    RETURNS (IdentifierKind): the kind. Its surrogates have the moved year, and their other digits are never the
        original ones.
    """
    end = at + _WIDTH
    parts: list[Sequence[str]] = [
        DIGITS if char in DIGITS else options for char, options in zip(code, plain_parts(code), strict=True)
    ]
    parts[at:end] = [[code[at:end]]]
    moved = str(int(code[at:end]) + years)

    def finish(made: str) -> str | None:
        """Write the moved year. None if all other digits are the original ones."""
        same = all(made[i] == char for i, char in enumerate(code) if char in DIGITS)
        return None if same else made[:at] + moved + made[end:]

    return IdentifierKind(NAME, "", lambda _: parts, finish)
