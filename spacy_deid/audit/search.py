"""Searching notes for identifiers: their own patients' and, to know what chance finds, those of other patients."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from ..dictionaries.fuzzy import FUZZY, fuzzy_find
from ..dictionaries.normalise import Normalised, normalise
from ..dictionaries.store import LocalStore
from .facets import Facet, Hit, Search, Tally, count_note
from .split import Tight

__all__ = ["Found", "Note", "Searcher", "draw_others"]


class Note(NamedTuple):
    """A de-identified note that is to be searched. Its repr shows the row.

    row (int): where it stands. patient (str): whose it is. note_type (str): its type. text (str): the note.
    others (tuple[str, ...]): patients to search it for as well.
    """

    row: int
    patient: str
    note_type: str
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


class Searcher:
    """Searches notes by the patient index.

    folder (Path): the local dictionaries; it alone is pickled.
    fuzzy (bool): whether to look for names with a slip of the pen.
    """

    def __init__(self, folder: Path, fuzzy: bool = True) -> None:
        self._folder, self._fuzzy = folder, fuzzy
        self._store = LocalStore.open(folder)
        self._terms = lru_cache(maxsize=10_000)(self._store.patient)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the folder."""
        return Searcher, (self._folder, self._fuzzy)

    def knows(self, patient: str) -> bool:
        """Whether there is anything to search for. patient (str): the id."""
        terms = self._terms(patient)
        return bool(terms and terms.entries)

    def search(self, note: Note) -> Found:
        """Search a note.

        note (Note): of a patient that `knows` knows.
        RETURNS (Found): hits and counts.
        """
        folded = normalise(note.text)
        text = _Text(note.text, folded, Tight(folded))
        own, *others = (self._find(text, patient) for patient in (note.patient, *note.others))
        return Found(note.row, tuple(own.hits), count_note(note.note_type, own, others))

    def _find(self, text: "_Text", patient: str) -> Search:
        """Search a note for one patient. What overlaps a hit of an earlier form is the same leak."""
        terms = self._terms(patient)
        if terms is None:
            return Search((), ())
        entries = tuple(terms.entries)
        hits = [Hit(*match, "exact") for match in terms.find(text.text, text.folded)]
        hits += _drop_covered((Hit(*match, "split") for match in text.tight.find(entries)), hits)
        if self._fuzzy:
            found = fuzzy_find(text.text, entries, text.folded)
            near = (Hit(*match[:3], match.rule.removesuffix(FUZZY), "fuzzy") for match in found)
            hits += _drop_covered(near, hits)
        return Search(hits, {(entry.label, entry.rule) for entry in entries})


class _Text(NamedTuple):
    """A note in the forms that are searched."""

    text: str
    folded: Normalised
    tight: Tight


def _drop_covered(hits: Iterable[Hit], earlier: Sequence[Hit]) -> list[Hit]:
    """Leave out what overlaps an earlier hit."""
    return [hit for hit in hits if not any(hit.start < other.end and other.start < hit.end for other in earlier)]


def draw_others(patients: Sequence[str], own: str, count: int, rng: Random) -> tuple[str, ...]:
    """Draw other patients, each at most once.

    patients (Sequence[str]): all. own (str): the one to leave out. count (int): how many. rng (Random): the chance.
    RETURNS (tuple[str, ...]): fewer if there are not so many.
    """
    drawn = rng.sample(patients, min(count + 1, len(patients)))
    return tuple(patient for patient in drawn if patient != own)[:count]
