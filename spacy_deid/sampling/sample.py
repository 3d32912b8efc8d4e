"""Groups of notes by type and period, and how many notes are drawn from each.

A group's weight is its documents times their mean number of words, so that many short notes, such as answers to a
questionnaire, do not fill the sample. At least k notes come from a group, all of them if it has fewer.

Source: the methods, "Sampling process", of the paper on locally augmented ensembles (Duke and Mayo test sets; S =
10,000, k = 10).
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ..dictionaries.store import LocalStore
from ..errors import ConfigError, Errors

UNDATED = "undated"


@dataclass(slots=True)
class Group:
    """The notes of one type in one period.

    documents (int): notes that are not empty. words (int): in all of them.
    planned (int): how many are to be drawn; drawn (int): how many were.
    patients (int): of those drawn. with_identifiers (Optional[int]): of those drawn, notes that hold identifiers of
        their own patient; None if nobody looked.
    """

    note_type: str
    period: str
    documents: int = 0
    words: int = 0
    weight: float = 0.0
    planned: int = 0
    drawn: int = 0
    patients: int = 0
    with_identifiers: int | None = None

    @property
    def mean_words(self) -> float:
        """Words in a note, on average."""
        return self.words / self.documents if self.documents else 0.0


def _by_words(group: Group) -> float:
    """Documents × mean words."""
    return float(group.words)


def _by_log_words(group: Group) -> float:
    """Documents × log10 of the mean words: what the figures of the paper's example were computed by."""
    return group.documents * math.log10(1 + group.mean_words)


WEIGHTINGS: Mapping[str, Callable[[Group], float]] = MappingProxyType({"words": _by_words, "log-words": _by_log_words})


def allocate(groups: Sequence[Group], size: int, least: int = 10, weighting: str = "words") -> None:
    """Set each group's weight and how many notes are drawn from it.

    Shares of the size are proportional to the weights and rounded up. A group that has fewer notes than its share
    gives them all, and what it lacks is shared among the others: the size is reached if there are notes enough.

    groups (Sequence[Group]): they are changed.
    size (int): notes in the sample, at least; the `least` of small groups come on top.
    least (int): notes from each group, at least.
    weighting (str): a key of `WEIGHTINGS`.
    RAISES: ConfigError (D752) for an unknown weighting.
    """
    if weighting not in WEIGHTINGS:
        raise ConfigError(Errors.D752.format(weighting=weighting, known=", ".join(WEIGHTINGS)))
    for group in groups:
        group.weight = WEIGHTINGS[weighting](group)
    rest, left, total = list(groups), float(max(size, 0)), sum(group.weight for group in groups)
    while total > 0:
        share = left / total
        whole = [group for group in rest if group.documents <= share * group.weight]
        for group in whole:
            group.planned = group.documents
        rest = [group for group in rest if group.documents > share * group.weight]
        left -= sum(group.documents for group in whole)
        total = sum(group.weight for group in rest)
        if not whole:
            break
    for group in rest:
        wanted = math.ceil(left * group.weight / total - 1e-9) if total > 0 else 0
        group.planned = min(group.documents, max(wanted, least))


def make_period(period: str, date_format: str = "") -> Callable[[Any], str]:
    """Make the function that names the period of a date.

    period (str): "year", "half", "quarter", "month", or a number of years such as "4".
    date_format (str): format of dates that are strings, as `datetime.strptime` takes it; "" for ISO 8601.
    RETURNS (Callable[[Any], str]): "2019", "2019-H1", "2019-Q1", "2019-01" or "2016-2019"; `UNDATED` where there is no
        date that can be read.
    RAISES: ConfigError (D747) for an unknown period.
    """
    years = int(period) if period.isascii() and period.isdigit() else 0
    if not 0 < years <= 100 and period not in _PERIODS:
        raise ConfigError(Errors.D747.format(period=ascii(period)[1:-1]))
    name = (lambda day: _span(day.year, years)) if years else _PERIODS[period]

    @lru_cache(maxsize=100_000)
    def name_period(value: Any) -> str:
        day = _read_date(value, date_format)
        return UNDATED if day is None else name(day)

    return name_period


def _span(year: int, years: int) -> str:
    """The years of a period: those of 4 begin with 2000, 2004, …"""
    first = year - year % years
    return str(first) if years == 1 else f"{first}-{first + years - 1}"


_PERIODS: Mapping[str, Callable[[date], str]] = MappingProxyType(
    {
        "year": lambda day: str(day.year),
        "half": lambda day: f"{day.year}-H{(day.month + 5) // 6}",
        "quarter": lambda day: f"{day.year}-Q{(day.month + 2) // 3}",
        "month": lambda day: f"{day.year}-{day.month:02}",
    }
)


def _read_date(value: Any, date_format: str) -> date | None:
    """Read a date; None for what is none."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        return None
    try:
        if date_format:
            return datetime.strptime(value.strip(), date_format).date()
        return datetime.fromisoformat(value.strip()).date()
    except ValueError:
        return None


class Finder(Protocol):
    """Says whether a note holds identifiers of its own patient; None if the patient is not known."""

    def __call__(self, patient_id: str, text: str) -> bool | None: ...


def make_finder(store: LocalStore) -> Finder:
    """Look for identifiers by the local dictionaries.

    store (LocalStore): with an index of patients.
    RETURNS (Finder): None for a patient that the index does not have.
    """

    def find(patient_id: str, text: str) -> bool | None:
        terms = store.patient(patient_id)
        return None if terms is None else bool(terms.find(text))

    return find


@dataclass(frozen=True, slots=True)
class Settings:
    """How a sample is drawn.

    size (int): notes, at least. least (int): notes of each group, at least. period (str): see `groups.make_period`.
    weighting (str): see `groups.WEIGHTINGS`. seed (int): the same seed draws the same notes. date_format (str): of
    dates that are strings. pool (int): candidates for each note that is drawn; more of them give more notes with
    identifiers and cost more reading. per_patient (int): candidates of one patient.
    """

    size: int = 10_000
    least: int = 10
    period: str = "year"
    weighting: str = "words"
    seed: int = 0
    date_format: str = ""
    pool: int = 4
    per_patient: int = 3


class Drawn(NamedTuple):
    """A note of the sample. Its repr holds nothing of the note.

    name (str): what it is called outside: its number. note_id, patient_id (Optional[str]): as the table has them.
    group (Group): where it is from. row (int): of the table. identified (Optional[bool]): whether it holds identifiers
    of its own patient. text (str): the note.
    """

    name: str
    note_id: str | None
    patient_id: str | None
    group: Group
    row: int
    identified: bool | None
    text: str

    def __repr__(self) -> str:
        """Name and row."""
        return f"Drawn(name={self.name!r}, row={self.row})"


@dataclass(slots=True)
class Sample:
    """A sample and where it is from.

    settings (Settings): how it was drawn. groups (list[Group]): all groups, by type and period. notes (list[Drawn]):
    the notes, by group. rows (int): of the table. skipped (Counter): rows that could not be drawn, by reason.
    """

    settings: Settings
    groups: list[Group]
    notes: list[Drawn] = field(default_factory=list)
    rows: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def frame(self) -> dict[str, Any]:
        """What the sample was drawn from, without ids: settings, counts and the groups."""
        groups = [asdict(group) | {"mean_words": round(group.mean_words, 2)} for group in self.groups]
        return {
            "settings": asdict(self.settings),
            "rows": self.rows,
            "skipped": dict(sorted(self.skipped.items())),
            "documents": sum(group.documents for group in self.groups),
            "drawn": len(self.notes),
            "patients": len({note.patient_id for note in self.notes if note.patient_id}),
            "with_identifiers": sum(bool(note.identified) for note in self.notes) if self._looked() else None,
            "groups": groups,
        }

    def _looked(self) -> bool:
        """Whether any note was searched."""
        return any(note.identified is not None for note in self.notes)
