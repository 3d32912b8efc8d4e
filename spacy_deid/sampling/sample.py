"""Define a sample of notes and its strata, and compute how many notes are drawn from each stratum.

A stratum consists of the notes of one type in one period.

The weight of a stratum is its number of documents times their mean number of words, so that many short notes, such as
answers to a questionnaire, do not dominate the sample. Each stratum gives at least k notes, or all notes if it has
fewer.

Source: the section "Sampling process" of the methods of the paper on locally augmented ensembles (Duke and Mayo test
sets; S = 10,000, k = 10).
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
    """A stratum: the notes of one type in one period.

    note_type, period (str): type and period of its notes; "" for the period if notes have no dates.
    documents (int): number of notes that are not empty.
    words (int): number of words in all of them.
    weight (float): relative weight of the stratum.
    planned, drawn (int): number of notes to draw, and number of notes drawn.
    patients (int): number of patients among the drawn notes.
    with_identifiers (Optional[int]): number of drawn notes with identifiers of their own patient; None if not
        searched.
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
        """Mean number of words per note."""
        return self.words / self.documents if self.documents else 0.0


def _by_words(group: Group) -> float:
    """Weigh a stratum by documents × mean words."""
    return float(group.words)


def _by_log_words(group: Group) -> float:
    """Weigh a stratum by documents × log10 (1 + mean words), as in the example of the paper."""
    return group.documents * math.log10(1 + group.mean_words)


WEIGHTINGS: Mapping[str, Callable[[Group], float]] = MappingProxyType({"words": _by_words, "log-words": _by_log_words})


def allocate(groups: Sequence[Group], size: int, least: int = 10, weighting: str = "words") -> None:
    """Set the weight of each stratum and the number of notes to draw from it.

    The shares are proportional to the weights and rounded up. If a stratum has fewer notes than its share, all of them
    are drawn and the rest is shared among the others, so that the requested size is reached if there are enough notes.

    groups (Sequence[Group]): the strata; changed in place.
    size (int): minimal number of notes in the sample. The minimum of small strata is added to it.
    least (int): minimal number of notes per stratum.
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
    """Create a function that returns the name of the period in which a date lies, such as "2019-Q1".

    period (str): "year", "half", "quarter", "month", or a number of years such as "4".
    date_format (str): format of dates that are strings, for `datetime.strptime`; "" for ISO 8601.
    RETURNS (Callable[[Any], str]): returns "2019", "2019-H1", "2019-Q1", "2019-01" or "2016-2019", or `UNDATED` if the
        value is not a date.
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
    """Name the period of several years that contains a year. Periods of 4 years start in 2000, 2004, …"""
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
    """Convert a date, datetime or string to a date; None if the value is not a date."""
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


class IdentifierFinder(Protocol):
    """Function that returns whether a note contains identifiers of its own patient; None if the patient is unknown."""

    def __call__(self, patient_id: str, text: str) -> bool | None: ...


def make_finder(store: LocalStore) -> IdentifierFinder:
    """Create a finder that searches notes with the dictionaries of their patients.

    store (LocalStore): dictionaries with a patient index.
    RETURNS (IdentifierFinder): the finder.
    """

    def find(patient_id: str, text: str) -> bool | None:
        terms = store.patient(patient_id)
        return None if terms is None else bool(terms.find(text))

    return find


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a sample.

    size (int): minimal number of notes in the sample, if the table has as many.
    least (int): minimal number of notes per stratum.
    period (str): see `make_period`.
    weighting (str): a key of `WEIGHTINGS`.
    seed (int): random seed; the same seed draws the same notes.
    date_format (str): format of dates that are strings.
    pool (int): number of candidates per drawn note. A larger pool contains more notes with identifiers and takes
        longer.
    per_patient (int): maximal number of candidates kept per patient.
    """

    size: int = 10_000
    least: int = 10
    period: str = "year"
    weighting: str = "words"
    seed: int = 0
    date_format: str = ""
    pool: int = 4
    per_patient: int = 3


class SampledNote(NamedTuple):
    """A note of the sample.

    name (str): its number, such as "n000001", which replaces the ids in exports.
    note_id, patient_id (Optional[str]): its ids in the table; None if unknown.
    group (Group): its stratum.
    row (int): its row in the table.
    identified (Optional[bool]): whether it contains identifiers of its own patient; None if unknown.
    text (str): text of the note.
    """

    name: str
    note_id: str | None
    patient_id: str | None
    group: Group
    row: int
    identified: bool | None
    text: str

    def __repr__(self) -> str:
        """Show the number and the row, nothing of the note."""
        return f"SampledNote(name={self.name!r}, row={self.row})"


@dataclass(slots=True)
class Sample:
    """A sample of notes and the sampling frame: the counts of the table from which it was drawn.

    settings (Settings): settings of the sample.
    groups (list[Group]): all strata, sorted by note type and period.
    notes (list[SampledNote]): the drawn notes, sorted by stratum.
    rows (int): number of rows of the table.
    skipped (Counter): rows that could not be drawn, by reason.
    """

    settings: Settings
    groups: list[Group]
    notes: list[SampledNote] = field(default_factory=list)
    rows: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def frame(self) -> dict[str, Any]:
        """Describe the sampling frame: settings, counts and strata.

        RETURNS (dict[str, Any]): plain values for JSON, without ids.
        """
        searched = any(note.identified is not None for note in self.notes)
        groups = [asdict(group) | {"mean_words": round(group.mean_words, 2)} for group in self.groups]
        return {
            "settings": asdict(self.settings),
            "rows": self.rows,
            "skipped": dict(sorted(self.skipped.items())),
            "documents": sum(group.documents for group in self.groups),
            "drawn": len(self.notes),
            "patients": len({note.patient_id for note in self.notes if note.patient_id}),
            "with_identifiers": sum(bool(note.identified) for note in self.notes) if searched else None,
            "groups": groups,
        }
