"""The notes of an audit: whose they are, what they are told apart by, and for whom else each is searched."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from ..errors import Errors, InputError
from ..notes import Columns, NoteSource, as_id, as_text, require_columns
from ..patient_ids import normal_id
from .facets import Facet
from .panel import Panels
from .search import Note

__all__ = ["NoteReader"]

_GROUPS = 1_000  # of notes in one column; more of them are ids
_NONE = {"type": "untyped"}


class NoteReader:
    """Reads a table twice: for the patients, and for the notes.

    source (NoteSource): the notes. columns (Columns): its columns; note id and type may be "".
    by (Sequence[str]): further columns that notes are told apart by. draws, seed (int): see `AuditSettings`.
    RAISES: InputError (D741) for a column that is missing.
    """

    def __init__(self, source: NoteSource, columns: Columns, by: Sequence[str], draws: int, seed: int) -> None:
        self._source, self._columns, self._draws, self._seed = source, columns, draws, seed
        self._groups = {"type": columns.note_type, **{f"column:{name}": name for name in by}}
        self._values: dict[str, set[str]] = {name: set() for name in self._groups}
        named = (columns.note_id, columns.patient_id, columns.text, *self._groups.values())
        self._asked = [name for name in dict.fromkeys(named) if name]
        require_columns(source, self._asked)
        self._panels = Panels(seed)
        self.patients: dict[str, int] = {}
        self.notes = 0
        self.skipped: Counter[str] = Counter()

    def find_patients(self, knows: Callable[[str], bool]) -> None:
        """Number the patients that can be searched for, and choose those who stand for all others.

        knows (Callable): whether there is anything to search for.
        RAISES: InputError (D761) for too many groups.
        """
        known: dict[str, bool] = {}
        asked = [name for name in dict.fromkeys((self._columns.patient_id, *self._groups.values())) if name]
        for values in self._source.scan(asked):
            given = dict(zip(asked, values, strict=True))
            patient = normal_id(given[self._columns.patient_id]) or None
            if patient is not None and patient not in known:
                known[patient] = knows(patient)
            if patient is not None and known[patient]:
                self._panels.add(self._facets(given), patient)
        self.patients = {patient: i for i, patient in enumerate(sorted(p for p, held in known.items() if held))}

    def read(self) -> Iterator[tuple[Note, str | None]]:
        """Yield the notes that can be searched, with their ids; the others are counted.

        RAISES: InputError for a text that is none (D742), or too many groups (D761).
        """
        for row, values in enumerate(self._source.scan(self._asked), start=1):
            given = dict(zip(self._asked, values, strict=True))
            self.notes += 1
            patient = normal_id(given[self._columns.patient_id]) or None
            text = self._text(given, row)
            if patient not in self.patients or not text.strip():
                self.skipped[self._reason(patient)] += 1
                continue
            note_id = as_id(given.get(self._columns.note_id))
            # A database gives its rows in another order each time.
            rng, facets = Random(f"{self._seed}/{note_id or row}"), self._facets(given)
            yield Note(row, patient, facets, text, self._panels.draw(facets, patient, self._draws, rng)), note_id

    def _text(self, given: Mapping[str, Any], row: int) -> str:
        """The text of a note."""
        try:
            return as_text(given[self._columns.text])
        except TypeError:
            reason = "the text is not a string"
            raise InputError(Errors.D742.format(source=self._source.name, row=row, reason=reason)) from None

    def _reason(self, patient: str | None) -> str:
        """Why a note is left out."""
        if patient is None:
            return "no patient id"
        return "empty" if patient in self.patients else "patient not in the index"

    def _facets(self, given: Mapping[str, Any]) -> tuple[Facet, ...]:
        """The groups of a note."""
        facets = tuple(
            Facet(name, as_id(given.get(column)) or _NONE.get(name, "none")) for name, column in self._groups.items()
        )
        for name, value in facets:
            self._values[name].add(value)
            if len(self._values[name]) > _GROUPS:
                where = {"column": self._groups[name], "limit": _GROUPS}
                raise InputError(Errors.D761.format(source=self._source.name, **where))
        return facets
