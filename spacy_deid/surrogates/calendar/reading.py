"""What the atoms of a mention say, once the note has told the order of day and month."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from .grammar import Atom, Grammar
from .words import Words

__all__ = ["Reading", "day_of", "full_year", "nearest", "read", "settle"]

_SHORT_AHEAD = 10  # years that "14" may lie ahead of the note


@dataclass(frozen=True, slots=True)
class Reading:
    """A mention and its atoms.

    text (str): as written, or as it is written without a slip of the pen.
    atoms (Sequence[Atom]): what stands there.
    born (bool): whether a word of birth stands before it.
    """

    text: str
    atoms: Sequence[Atom]
    born: bool = False

    def __repr__(self) -> str:
        """The kinds; never the text of a note."""
        return f"Reading({[atom.kind for atom in self.atoms]})"

    def piece(self, atom: Atom, field: str) -> str:
        """What stands in a field of an atom, "" if it has none."""
        start, end = atom.places.get(field, (0, 0))
        return self.text[start:end]


def read(text: str, before: str, grammar: Grammar) -> Reading | None:
    """Read a mention.

    text (str): as written.
    before (str): what stands before it.
    grammar (Grammar): the language.
    RETURNS (Optional[Reading]): None if it cannot be read.
    """
    born = bool(re.search(grammar.words.settings["birth"], before, re.IGNORECASE))
    atoms = grammar.read(text)
    if not atoms:
        mended = grammar.mend(text)
        if mended is None:
            return None
        text, atoms = mended, grammar.read(mended) or []
    if len(atoms) == 1 and atoms[0].kind == "alone" and _tells_year(text, atoms[0], before, grammar.words):
        atoms = [replace(atoms[0], kind="year", places={"y": atoms[0].places["d"]})]
    return Reading(text, atoms, born)


def _tells_year(text: str, atom: Atom, before: str, words: Words) -> bool:
    """Whether two figures alone are a year: no day is above 31, and "año" tells it."""
    start, end = atom.places["d"]
    cue = re.search(words.settings["year_cue"], before, re.IGNORECASE)
    return end - start == 2 and (int(text[start:end]) > 31 or cue is not None)


def settle(reading: Reading, month_first: bool, words: Words) -> Reading:
    """Decide which of two numbers is the month, and whether they are a day at all.

    month_first (bool): what the note does where a date does not tell itself.
    """
    return replace(reading, atoms=[_settle(reading, atom, month_first, words) for atom in reading.atoms])


def _settle(reading: Reading, atom: Atom, month_first: bool, words: Words) -> Atom:
    """One atom, with d and m for a and b."""
    if "a" not in atom.places:
        return atom
    a, b = int(reading.piece(atom, "a")), int(reading.piece(atom, "b"))
    dotted = "." in reading.piece(atom, "s")
    rest = {field: place for field, place in atom.places.items() if field not in "abs"}
    month_first = order(a, b, month_first and not dotted)
    if atom.kind == "pair":
        if (
            not dotted
            and a <= 12
            and "H" not in rest
            and (words.settings["pair"] == "month_year" or _is_year(b, month_first))
        ):
            return replace(atom, kind="month", places=rest | {"m": atom.places["a"], "y": atom.places["b"]})
        atom = replace(atom, kind="day")
    first, second = ("m", "d") if month_first else ("d", "m")
    return replace(atom, places=rest | {first: atom.places["a"], second: atom.places["b"]})


def order(a: int, b: int, month_first: bool) -> bool:
    """Whether the month comes first: as the numbers tell, else as the note does."""
    if a > 12 or b > 12:
        return b > 12 >= a
    return month_first


def _is_year(b: int, month_first: bool) -> bool:
    """Whether the second of two numbers is too much for what it would be."""
    return b > 31 or (b > 12 and not month_first) or b == 0


def day_of(year: int, month: int, day: int) -> date:
    """The day that three numbers tell; what no calendar has, as 31 February, runs on into the next month.

    RAISES: ValueError, OverflowError for a year out of reach.
    """
    return date(year, (month - 1) % 12 + 1, 1) + timedelta(days=day - 1)


def nearest(month: int, day: int, to: date) -> date:
    """The day of any year that lies nearest to a date."""
    leap = (month, day) == (2, 29)
    years = range(to.year - 7, to.year + 8) if leap else range(to.year - 1, to.year + 2)
    days = [day_of(year, month, day) for year in years if not leap or _is_leap(year)]
    return min(days, key=lambda found: abs((found - to).days))


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def full_year(figures: str, today: date, born: bool = False) -> int:
    """The year that figures tell: "2014", "2.014", or "14" of the century that lies nearest.

    today (date): a date of the note. Two figures lie ten years ahead of it at most; a birth does not.
    """
    year = int(figures.replace(".", ""))
    if len(figures) > 2:
        return year
    last = today.year + (0 if born else _SHORT_AHEAD)
    return last - (last - year) % 100
