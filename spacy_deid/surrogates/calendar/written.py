"""How an atom is written, and how it is written for another date."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from .grammar import Atom
from .habits import Habits
from .reading import Reading, full_year
from .rules import Shift
from .words import Words, cased

__all__ = ["Move", "Written"]

_KINDS = {"M": "months", "W": "weekdays", "S": "seasons", "N": "days", "T": "tens", "F": "holidays"}


@dataclass(frozen=True, slots=True)
class Move:
    """How the dates of a note move.

    shift (Shift): of the patient.
    words (Words): the language.
    habits (Habits): of the note.
    today (date): a date of the note, or one that stands for it; what names no year lies near it.
    note (Optional[date]): the date that ages are counted from, if there is one.
    stays (frozenset[str]): kinds that rules let be: "weekday", "season".
    """

    shift: Shift
    words: Words
    habits: Habits
    today: date
    note: date | None = None
    stays: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return "Move(secret)"


class Written:
    """An atom, how it is written, and how it moves."""

    def __init__(self, reading: Reading, atom: Atom, move: Move) -> None:
        self.reading, self.atom, self.move = reading, atom, move
        self.text, self.places = reading.text, atom.places

    def piece(self, field: str) -> str:
        """What stands in a field."""
        return self.reading.piece(self.atom, field)

    def number(self, field: str) -> int:
        """The number in a field, 0 if it has none."""
        return int(self.piece(field) or 0)

    def index(self, field: str) -> int:
        """The number of the name in a field, from 0."""
        return self.move.words.names[_KINDS[field]].find(self.piece(field))[0][1]

    def year(self, today: date | None = None) -> int:
        """The year."""
        return full_year(self.piece("y"), today or self.move.today, self.reading.born)

    def month(self) -> int:
        """The month, from 1; 0 if unknown ("00/2014")."""
        return self.index("M") + 1 if "M" in self.places else self.number("m")

    def name(self, field: str, i: int) -> str:
        """The i-th name, of the family of the one that stands there, in its case."""
        kind, like = _KINDS[field], self.piece(field)
        vocabulary = self.move.words.names[kind]
        numbers = [number for number, _ in vocabulary.find(like)]
        preferred = [number for number in self.move.habits.families.get(kind, ()) if number in numbers]
        if len(numbers) > 1 and self.text[self.places[field][1] :].startswith("."):  # "May." is short, as "Jun." is
            numbers.sort(key=lambda number: len(vocabulary.families[number].forms[i]))
        return cased(vocabulary.families[(preferred or numbers)[0]].forms[i], like)

    def figures(self, field: str, value: int) -> str:
        """A day or a month in figures, with a leading zero where this one, the note, or its neighbour has one."""
        like, words = self.piece(field), "M" in self.places or self.atom.kind == "alone"
        if like.startswith("0") or len(like) != 2:
            return f"{value:0{len(like)}d}"
        if not words and self._is_rigid(field):
            return f"{value:02d}"
        habit = self.move.habits.padded.get((words, field))
        if habit is None:
            other = self.piece("m" if field == "d" else "d")
            told = other.startswith("0") or len(other) == 1
            habit = len(other) > 1 if told else not words and bool(self.move.words.settings["padded"])
        return f"{value:02d}" if habit else str(value)

    def _is_rigid(self, field: str) -> bool:
        """Whether a date always has two figures there: the year stands first, or nothing between its parts."""
        year, (start, end) = self.places.get("y"), self.places[field]
        starts, ends = zip(*(self.places[f] for f in "dmy" if f in self.places), strict=True)
        return year is not None and (year[0] < start or start in ends or end in starts)

    def year_like(self, value: int, field: str = "y") -> str:
        """A year in as many figures as stand there.

        RAISES: ValueError if it has other than four.
        """
        if not 1000 <= value <= 9999:
            raise ValueError
        like = self.piece(field)
        if len(like) == 2:
            return f"{value % 100:02d}"
        return f"{value // 1000}.{value % 1000:03d}" if "." in like else str(value)

    def write(self, day: date, start: int, end: int) -> str:
        """The part of the mention from start to end, with the fields in it for a day."""
        new: dict[str, Callable[[], str]] = {
            "d": lambda: self.figures("d", day.day),
            "m": lambda: self.figures("m", day.month),
            "y": lambda: self.year_like(day.year),
            "x": lambda: str(day.year),
            "M": lambda: self.name("M", day.month - 1),
            "N": lambda: self.name("N", day.day - 1),
            "o": lambda: self.ordinal(day, self.piece("o")),
        }
        out = self.text[start:end]
        for field, place in sorted(self.places.items(), key=lambda item: item[1], reverse=True):
            if field in new and start <= place[0] and place[1] <= end:
                out = out[: place[0] - start] + new[field]() + out[place[1] - start :]
        return out

    def ordinal(self, day: date, like: str) -> str:
        """What stands behind a day that something stands behind: "12th", "1º"."""
        table = self.move.words.settings.get("ordinals", {})
        new = str(table.get(str(day.day), table.get("other", "=")))
        return like if not like or new == "=" else cased(new, like)
