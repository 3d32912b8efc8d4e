"""How a note writes its dates, where a single date does not tell: order, leading zeros, long or short names."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from .grammar import Atom
from .reading import Reading, day_of, full_year, order, settle
from .words import Words

__all__ = ["Habits", "find_habits", "find_reference"]

_FIRST, _LAST = 1900, 2099  # years that a note may be of; what lies outside is a slip


@dataclass(frozen=True, slots=True)
class Habits:
    """How a note writes.

    month_first (bool): whether 3/4 is 4 March.
    padded (Mapping[tuple[bool, str], bool]): (whether the month is a word, field) → whether it has a leading zero.
    families (Mapping[str, Sequence[int]]): kind of names → numbers of the families that the note has, commonest first.
    """

    month_first: bool
    padded: Mapping[tuple[bool, str], bool]
    families: Mapping[str, Sequence[int]]


def find_habits(readings: Sequence[Reading], words: Words) -> tuple[Habits, list[Reading]]:
    """Find how a note writes.

    readings (Sequence[Reading]): its mentions.
    words (Words): the language, whose settings decide what the note does not.
    RETURNS (tuple[Habits, list[Reading]]): the habits, and the readings with days and months told apart.
    """
    votes = [
        order(a, b, False)
        for reading in readings
        for atom in reading.atoms
        if "y" in atom.places and (a := _number(reading, atom, "a")) and (b := _number(reading, atom, "b"))
        if (a > 12) != (b > 12) and "." not in reading.piece(atom, "s")
    ]
    default = not words.settings["day_first"]
    month_first = default if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)
    settled = [settle(reading, month_first, words) for reading in readings]
    return Habits(month_first, _padded(settled), _families(settled, words)), settled


def _number(reading: Reading, atom: Atom, field: str) -> int:
    return int(reading.piece(atom, field) or 0)


def _padded(readings: Sequence[Reading]) -> dict[tuple[bool, str], bool]:
    """Whether days and months below ten have a leading zero, as most of them have."""
    votes: Counter[tuple[bool, str]] = Counter()
    for reading in readings:
        for atom in reading.atoms:
            for field in ("d", "m"):
                written, place = reading.piece(atom, field), atom.places.get(field, (0, 0))
                year_first = atom.places.get("y", place) < place
                if not year_first and (written.startswith("0") or len(written) == 1):
                    votes["M" in atom.places, field] += 1 if len(written) > 1 else -1
    return {key: vote > 0 for key, vote in votes.items()}


def _families(readings: Sequence[Reading], words: Words) -> dict[str, list[int]]:
    """Which families of names occur: "sept" speaks for one, "jan" a little for each of several, "may" for all."""
    kinds = {"M": "months", "W": "weekdays", "S": "seasons", "N": "days"}
    seen: dict[str, defaultdict[int, float]] = {kind: defaultdict(float) for kind in kinds.values()}
    for reading in readings:
        for atom in reading.atoms:
            for field, kind in kinds.items():
                numbers = {number for number, _ in words.names[kind].find(reading.piece(atom, field))}
                for number in numbers if len(numbers) < len(words.names[kind].families) else ():
                    seen[kind][number] += 1 / len(numbers)
    return {kind: sorted(votes, key=lambda number: (-votes[number], number)) for kind, votes in seen.items()}


def find_reference(readings: Sequence[Reading], words: Words, year: int) -> date | None:
    """The date of a note, guessed: the latest full date that is no birth, else the end of the latest year.

    readings (Sequence[Reading]): mentions, settled.
    year (int): the year that ages are counted from if the note tells nothing; 0: none.
    RETURNS (Optional[date]): the date.
    """
    guess = date(year, 12, 31) if year else None
    later = [reading for reading in readings if not reading.born]
    for figures in (4, 2):
        known = (_day(reading, atom, words, figures) for reading in later for atom in reading.atoms)
        if days := [day for day in known if day and _FIRST <= day.year <= _LAST]:
            return max(days)
    years = (_year(reading, atom) for reading in later for atom in reading.atoms)
    found = [year for year in years if _FIRST <= year <= _LAST]
    return date(max(found), 12, 31) if found and not guess else guess


def _day(reading: Reading, atom: Atom, words: Words, figures: int) -> date | None:
    """The day of an atom that tells a full date with so many figures of the year."""
    written = reading.piece(atom, "y").replace(".", "")
    month, day = _number(reading, atom, "m"), _number(reading, atom, "d")
    if atom.kind != "day" or len(written) != figures:
        return None
    if found := words.names["months"].find(reading.piece(atom, "M")):
        month = found[0][1] + 1
    if found := words.names["days"].find(reading.piece(atom, "N")):
        day = found[0][1] + 1
    if not (month and day):
        return None
    try:
        return day_of(full_year(written, date(2030, 12, 31)), month, day)
    except (ValueError, OverflowError):
        return None


def _year(reading: Reading, atom: Atom) -> int:
    """The year of an atom in four figures, 0 if it has none."""
    written = reading.piece(atom, "y").replace(".", "")
    return int(written) if len(written) == 4 else 0
