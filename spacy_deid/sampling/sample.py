"""What a sample is: how it was drawn, its notes, and the frame that it was drawn from."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

from ..dictionaries.store import LocalStore
from .groups import Group

__all__ = ["Drawn", "Finder", "Sample", "Settings", "make_finder"]


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
