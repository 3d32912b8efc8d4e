"""Give record numbers that contain a year or a date, such as "HC-2019/4432", a surrogate with a plausible one.

The year is moved by as many years as the patient's dates of which only the year is written, so it is never the
original one and agrees with the shifted dates; a date of six digits is moved like all dates. All other digits are
replaced. A group of four digits between 1950 and 2039 that separators delimit is taken for a year. So are two digits
at the start or the end of a number ("S25-10-04417", "R-118/12") if three more digits follow or precede them. Without
this, a surrogate such as "HC-4009/7158" or "S97-50-48892" would show readers which numbers are surrogates.

The years that count as plausible do not depend on the note, because a number has the same surrogate in all notes of a
patient. No age over 89 follows from them before 2040.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

from ...lang.identifiers import IdentifierKind, MoveDate, Parts
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
_LEAST_BESIDE_SHORT = 3  # digits besides a year of two digits
_MONTHS = [f"{month:02}" for month in range(1, 13)]
_SHORT_YEAR = "(?:9[0-9]|[0-3][0-9])"
_DAY = "(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_BEFORE = r"\A[^0-9]*"
_DATED = re.compile(rf"{_BEFORE}({_SHORT_YEAR}{_SEPARATOR}?{_DAY})(?![0-9])")
_FIRST = re.compile(rf"{_BEFORE}({_SHORT_YEAR})(?:{_SEPARATOR}((?:0[1-9]|1[0-2])){_SEPARATOR}|(?=[^0-9]))")
_LAST = re.compile(rf"[0-9][^0-9]*/({_SHORT_YEAR})\W*\Z")


class Segment(NamedTuple):
    """A part of a record number that is a year, a month or a date.

    start, end (int): its first and last character (exclusive) in the code.
    made (str): the part in the surrogate; "" for a month, which is drawn.
    """

    start: int
    end: int
    made: str


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


def find_segments(text: str, positions: Sequence[int], years: int, move: MoveDate) -> list[Segment]:
    """Find the year, the month and the date in a record number, and what they are in its surrogate.

    text (str): the number as written, with digits 0 to 9.
    positions (Sequence[int]): offset in the text of each character of the code.
    years (int): number of years by which the year is moved, not 0.
    move (MoveDate): moves a date.
    RETURNS (list[Segment]): the parts; none if the number has no year.
    """
    index = {offset: i for i, offset in enumerate(positions)}
    at = find_year(text)
    if at is not None:
        return [Segment(index[at], index[at] + _WIDTH, str(int(text[at : at + _WIDTH]) + years))]
    digits = sum(map(len, _GROUP.findall(text)))
    if (dated := _DATED.search(text)) and digits >= _LEAST + 6:
        old = "".join(filter(str.isdecimal, dated[1]))
        try:
            new = move(_full_date(old))
        except ValueError:
            new = None
        if new is not None:
            start = index[dated.start(1)]
            return [Segment(start, start + 6, f"{new:%y%m%d}")]
    found = _FIRST.search(text) or _LAST.search(text)
    if not found or digits < 2 + _LEAST_BESIDE_SHORT or len(_GROUP.findall(text)) < 2:
        return []
    start = index[found.start(1)]
    segments = [Segment(start, start + 2, f"{(int(found[1]) + years) % 100:02}")]
    if found.re is _FIRST and found[2] and digits >= 4 + _LEAST_BESIDE_SHORT:
        segments.append(Segment(start + 2, start + 4, ""))
    return segments


def _full_date(digits: str) -> date:
    """Read the digits yymmdd. RAISES: ValueError if there is no such day."""
    year = int(digits[:2])
    return date((1900 if year > 39 else 2000) + year, int(digits[2:4]), int(digits[4:]))


def record_kind(code: str, segments: Sequence[Segment], plain_parts: Callable[[str], Parts]) -> IdentifierKind:
    """Describe the surrogates of a record number with a year.

    code (str): letters and digits of the number.
    segments (Sequence[Segment]): year, month and date in it, in this order, at least one.
    plain_parts (Callable[[str], Parts]): code → the values of each character for a code without a year.
    RETURNS (IdentifierKind): the kind. Its surrogates have the moved year, and their other digits are never the
        original ones.
    """
    values: list[Sequence[str]] = [
        DIGITS if char in DIGITS else options for char, options in zip(code, plain_parts(code), strict=True)
    ]
    parts: list[Sequence[str]] = []
    at = 0
    for start, end, made in segments:
        parts += [*values[at:start], [code[start:end]] if made else _MONTHS]
        at = end
    parts += values[at:]
    moved = {i for start, end, _ in segments for i in range(start, end)}

    def finish(made: str) -> str | None:
        """Write the moved year. None if all other digits are the original ones."""
        if all(made[i] == char for i, char in enumerate(code) if char in DIGITS and i not in moved):
            return None
        for start, end, new in segments:
            made = made[:start] + (new or made[start:end]) + made[end:]
        return made

    return IdentifierKind(NAME, "", lambda _: parts, finish)
