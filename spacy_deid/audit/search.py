"""Searching notes for identifiers: their own patients' and, to know what chance finds, those of other patients."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from ..dictionaries.fuzzy import FUZZY, Names, Words, name_words
from ..dictionaries.normalise import Normalised, normalise
from ..dictionaries.patients import PatientTerms
from ..dictionaries.store import LocalStore
from .doubtful import Doubtful
from .facets import Facet, Hit, Search, Tally, count_note
from .split import Tight, TightTerm, tight_terms

__all__ = ["Found", "Note", "Searcher"]

_KEPT = 2_000  # patients whose terms are kept in memory, some 100 KB each


class Note(NamedTuple):
    """A de-identified note that is to be searched. Its repr shows the row.

    row (int): where it stands. patient (str): whose it is. groups (tuple[Facet, ...]): its type, and what else notes
    are told apart by. text (str): the note. others (tuple[str, ...]): patients to search it for as well.
    """

    row: int
    patient: str
    groups: tuple[Facet, ...]
    text: str
    others: tuple[str, ...]

    def __repr__(self) -> str:
        """The row."""
        return f"Note(row={self.row})"


class Found(NamedTuple):
    """What was found in a note: offsets and kinds.

    row (int): the note. hits (tuple[Hit, ...]): of its own patient. counts (dict): by facet.
    """

    row: int
    hits: tuple[Hit, ...]
    counts: dict[Facet, Tally]


class _Patient(NamedTuple):
    """What is searched for."""

    terms: PatientTerms
    tight: list[TightTerm]
    names: Names
    doubtful: Doubtful
    sorts: frozenset[Facet]


class _Text(NamedTuple):
    """A note in the forms that are searched."""

    text: str
    folded: Normalised
    tight: Tight
    words: Words


class Searcher:
    """Searches notes by the patient index.

    folder (Path): the local dictionaries; it alone is pickled.
    fuzzy (bool): whether to look for names with a slip of the pen.
    """

    def __init__(self, folder: Path, fuzzy: bool = True) -> None:
        self._folder, self._fuzzy = folder, fuzzy
        self._store = LocalStore.open(folder)
        self._patient = lru_cache(_KEPT)(self._read)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the folder."""
        return Searcher, (self._folder, self._fuzzy)

    def knows(self, patient: str) -> bool:
        """Whether there is anything to search for. patient (str): the id."""
        return patient in self._store.patients

    def search(self, note: Note) -> Found:
        """Search a note.

        note (Note): of a patient that `knows` knows.
        RETURNS (Found): hits and counts.
        """
        folded = normalise(note.text)
        text = _Text(note.text, folded, Tight(folded), Words(folded))
        own, *others = (self._find(text, self._patient(patient)) for patient in (note.patient, *note.others))
        return Found(note.row, tuple(own.hits), count_note(note.groups, own, others))

    def _read(self, patient: str) -> _Patient:
        """Make ready what is searched for."""
        terms = self._store.patients.find(patient) or PatientTerms(())
        entries = tuple(terms.entries)
        sorts = {facet for e in entries for facet in (Facet("source", e.rule), Facet("kind", e.label))}
        return _Patient(terms, tight_terms(entries), name_words(entries), Doubtful(entries), frozenset(sorts))

    def _find(self, text: _Text, patient: _Patient) -> Search:
        """Search a note for one patient. What overlaps a hit of an earlier form is the same leak."""
        hits = [Hit(*match, "exact") for match in patient.terms.find(text.text, text.folded)]
        hits += _drop_covered((Hit(*match, "split") for match in text.tight.find(patient.tight)), hits)
        if self._fuzzy:
            near = (Hit(*m[:3], m.rule.removesuffix(FUZZY), "fuzzy") for m in text.words.find(patient.names))
            hits += _drop_covered(near, hits)
        doubtful = (Hit(*match, "doubtful") for match in patient.doubtful.find(text.text, text.folded))
        hits += _drop_covered(doubtful, hits)
        return Search(hits, patient.sorts)


def _drop_covered(hits: Iterable[Hit], earlier: Sequence[Hit]) -> list[Hit]:
    """Leave out what overlaps an earlier hit."""
    ordered = sorted((hit.start, hit.end) for hit in earlier)
    starts = [start for start, _ in ordered]
    furthest = [0, *accumulate((end for _, end in ordered), max)]  # of the hits that begin before
    return [hit for hit in hits if furthest[bisect_left(starts, hit.end)] <= hit.start]
