"""The Finnish henkilötunnus: the date of birth moves as all dates do, the rest is one that nobody has.

Individual numbers 900 – 999 are never given by the population register (Digital and Population Data Services Agency,
"Henkilötunnus"): its test persons have them, and hospitals give them to patients whom they cannot identify yet. The
number stays odd for a man and even for a woman.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from .chance import Chance
from .checks import hetu_character

__all__ = ["Hetu", "MoveBirth", "move_birth"]

_SHAPE = re.compile(r"(\d\d)(\d\d)(\d\d)([-+A-FU-Y])(\d{3})([0-9A-FHJ-NPR-Y])", re.ASCII | re.IGNORECASE)
_CENTURIES = {"+": 1800} | dict.fromkeys("-UVWXY", 1900) | dict.fromkeys("ABCDEF", 2000)
_SIGNS = {1800: "+", 1900: "-", 2000: "A"}
_FIRST, _LAST = 900, 999

MoveBirth = Callable[[date], date]


class Hetu:
    """A henkilötunnus that was read.

    text (str): the mention.
    match (re.Match[str]): where it stands in it.
    born (date): the date of birth within.
    move (Callable[[date], date]): moves dates of birth.
    """

    def __init__(self, text: str, match: re.Match[str], born: date, move: MoveBirth) -> None:
        self._text, self._span, self._born, self._move = text, match.span(), born, move
        self._sign, self._odd = match[4].upper(), int(match[5]) % 2
        self.identity = match[0].upper()

    def __repr__(self) -> str:
        return "Hetu(…)"

    @classmethod
    def read(cls, text: str, move: MoveBirth) -> "Hetu | None":
        """Read a mention.

        text (str): the mention; what stands around the number, such as the beginning of an OID, stays.
        move (Callable[[date], date]): moves dates of birth.
        RETURNS (Optional[Hetu]): None if it holds none, or one with a wrong check character.
        """
        for match in _SHAPE.finditer(text):
            day, month, year, sign, serial, check = match.groups()
            try:
                born = date(_CENTURIES[sign.upper()] + int(year), int(month), int(day))
            except ValueError:
                continue
            if hetu_character(day + month + year + serial) == check.upper():
                return cls(text, match, born, move)
        return None

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first: all individual numbers of the sex, in a keyed order."""
        born = self._move(self._born)
        same = _CENTURIES[self._sign] == born.year // 100 * 100
        sign = self._sign if same else _SIGNS[born.year // 100 * 100]
        serials = [n for n in range(_FIRST, _LAST + 1) if n % 2 == self._odd]
        for serial in chance.draw("hetu", self.identity, str(variant)).shuffled(serials):
            digits = f"{born:%d%m}{born.year % 100:02}{serial}"
            yield f"{digits[:6]}{sign}{serial}{hetu_character(digits)}"

    def write(self, value: str) -> str:
        """Write a surrogate in the place of the original, in its case."""
        start, end = self._span
        old = self._text[start:end]
        return self._text[:start] + (value.lower() if old != old.upper() else value) + self._text[end:]


def move_birth(days: int, latest: int) -> MoveBirth:
    """How dates of birth move.

    days (int): the patient's offset.
    latest (int): dates of birth of this year and before tell an age over 89 and become this year's; 0: unknown.
    RETURNS (Callable): moves a date, within what the calendar of identifiers has.
    """

    def move(born: date) -> date:
        moved = born + timedelta(days)
        year = min(max(moved.year, latest, 1800), 2099)
        return moved if year == moved.year else moved.replace(year=year, day=min(moved.day, 28))

    return move
