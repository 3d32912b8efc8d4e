"""Read the notes of an audit and draw, for each note, other patients to search it for as a control.

By chance, a note contains identifiers of people who live in the same place, have the same age and similar names more
often than those of other people. The control patients are therefore drawn from patients with notes of the same type,
ward, language or other group: chance hits are as likely for them as for the note's own patient.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from hashlib import blake2b
from random import Random
from typing import Any

from ..errors import Errors, InputError
from ..notes.source import Columns, NoteSource, as_id, as_text, require_columns
from ..patient_ids import normal_id
from .search import Facet, Note

_SIZE = 300  # patients per panel, limited to save memory
_PANELS = 2_000  # maximal number of panels; later groups use the panel of all patients


class PatientPanels:
    """A random selection of the patients of each group of notes, which does not depend on the order of the notes.

    seed (int): random seed.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._panels: dict[Hashable, _Panel] = {}
        self._all = _Panel()

    def add(self, group: Hashable, patient: str) -> None:
        """Add a patient.

        group (Hashable): a group in which the patient has a note.
        patient (str): the id.
        """
        data = f"{self._seed}/{patient}".encode("utf-8", "surrogatepass")
        order = int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
        self._all.add(order, patient)
        if group in self._panels or len(self._panels) < _PANELS:
            self._panels.setdefault(group, _Panel()).add(order, patient)

    def draw(self, group: Hashable, own: str, count: int, rng: Random) -> tuple[str, ...]:
        """Draw other patients from a group, or from all patients if the group is too small.

        group (Hashable): the group.
        own (str): the patient to leave out.
        count (int): number of patients.
        rng (Random): random number generator.
        RETURNS (tuple[str, ...]): the patients; fewer if there are not enough.
        """
        panel = self._panels.get(group, self._all)
        return draw_other_patients((panel if len(panel) > count else self._all).patients(), own, count, rng)


class _Panel:
    """The first patients in the random order of the seed."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []  # heap with the last patient on top
        self._known: set[str] = set()
        self._sorted: list[str] | None = None

    def __len__(self) -> int:
        """The number of patients."""
        return len(self._heap)

    def add(self, order: int, patient: str) -> None:
        """Keep a patient if it is among the first."""
        if patient in self._known:
            return
        self._sorted = None
        self._known.add(patient)
        if len(self._heap) < _SIZE:
            heapq.heappush(self._heap, (-order, patient))
        else:
            self._known.remove(heapq.heappushpop(self._heap, (-order, patient))[1])

    def patients(self) -> list[str]:
        """The patients, sorted."""
        if self._sorted is None:
            self._sorted = sorted(patient for _, patient in self._heap)
        return self._sorted


def draw_other_patients(patients: list[str], own: str, count: int, rng: Random) -> tuple[str, ...]:
    """Draw other patients without replacement.

    patients (list[str]): all patients.
    own (str): the patient to leave out.
    count (int): number of patients.
    rng (Random): random number generator.
    RETURNS (tuple[str, ...]): the patients; fewer if there are not enough.
    """
    drawn = rng.sample(patients, min(count + 1, len(patients)))
    return tuple(patient for patient in drawn if patient != own)[:count]


_GROUPS = 1_000  # maximal number of groups in one column; a column with more values contains ids
_NONE = {"type": "untyped"}


class NoteReader:
    """Reads a table of notes twice: once for the patients, once for the notes.

    source (NoteSource): the notes.
    columns (Columns): its columns; note id and note type may be "".
    by (Sequence[str]): further columns to group notes by.
    draws, seed (int): see `AuditSettings`.
    RAISES: InputError (D741) for a missing column.
    """

    def __init__(self, source: NoteSource, columns: Columns, by: Sequence[str], draws: int, seed: int) -> None:
        self._source, self._columns, self._draws, self._seed = source, columns, draws, seed
        self._groups = {"type": columns.note_type, **{f"column:{name}": name for name in by}}
        self._values: dict[str, set[str]] = {name: set() for name in self._groups}
        named = (columns.note_id, columns.patient_id, columns.text, *self._groups.values())
        self._asked = [name for name in dict.fromkeys(named) if name]
        require_columns(source, self._asked)
        self._panels = PatientPanels(seed)
        self.patients: dict[str, int] = {}
        self.notes = 0
        self.skipped: Counter[str] = Counter()

    def find_patients(self, knows: Callable[[str], bool]) -> None:
        """First pass: number the patients that can be searched for, and select the control patients.

        knows (Callable): whether the patient index has a patient.
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
        """Second pass: yield the notes that can be searched, with their ids. The others are counted in `skipped`.

        RAISES: InputError for a text that is not a string (D742), or too many groups (D761).
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
            # A database may return its rows in a different order each time.
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
        """The reason why a note is skipped."""
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
