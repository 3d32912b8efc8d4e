"""What is counted of a note: whether its own patient's identifiers are in it, and whether those of others are.

A facet is a way of looking at the hits: all of them, those of one column of the EHR, of one kind, of one form; or all
hits of the notes of one type, ward or what else notes are told apart by. A note counts for a facet if its patient has
an identifier of that sort at all.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..dictionaries.fuzzy import FUZZY, Names, Words, name_words
from ..dictionaries.matcher import Match
from ..dictionaries.normalise import Normalised, classify, code_points, normal_form, normalise
from ..dictionaries.patients import PatientTerms
from ..dictionaries.store import LocalStore
from ..dictionaries.terms import LocalEntry, Tag

FORMS = ("exact", "split", "fuzzy", "doubtful")


class Hit(NamedTuple):
    """One identifier in one note: where and of what kind, never what.

    start, end (int): characters of the note, end exclusive.
    label (str): canonical label.
    rule (str): "table.column".
    form (str): "exact" for a form that stands in the index, "split" for one that is broken up in the note, "fuzzy" for
        one with a slip of the pen, "doubtful" for a name that may be a word of the language there.
    """

    start: int
    end: int
    label: str
    rule: str
    form: str


class Facet(NamedTuple):
    """A way of looking at the hits: "all", "type", "source", "kind", "form" or "column:NAME", and which."""

    by: str
    name: str


ALL = Facet("all", "all")


class Tally(NamedTuple):
    """What a note, a patient or all patients together add up to.

    notes (int): notes that could hold such an identifier. hits (int): those that do.
    draws (int): other patients that such notes were searched for. others (int): those of which something was found.
    hit_draws (int): draws of notes with a hit. shared (int): those that hit the same place as the note's own patient.
    """

    notes: int = 0
    hits: int = 0
    draws: int = 0
    others: int = 0
    hit_draws: int = 0
    shared: int = 0


class Search(NamedTuple):
    """What a search for one patient gave.

    hits (Sequence[Hit]): what was found. sorts (frozenset[Facet]): sources and kinds of all that was searched for.
    """

    hits: Sequence[Hit]
    sorts: frozenset[Facet]


_FIELDS = {"source": "rule", "kind": "label", "form": "form"}


def count_note(groups: Sequence[Facet], own: Search, others: Sequence[Search]) -> dict[Facet, Tally]:
    """Count a note in all its facets.

    groups (Sequence[Facet]): type of the note, and what else it belongs to.
    own (Search): for its own patient. others (Sequence[Search]): for patients drawn at random.
    RETURNS (dict[Facet, Tally]): by facet; facets in which the note does not count are not there.
    """
    whole = [ALL, *groups]
    counts = dict.fromkeys(whole, _count(ALL, own, others))
    for facet in (*(Facet("form", form) for form in FORMS), *own.sorts):
        able = others if facet.by == "form" else [other for other in others if facet in other.sorts]
        counts[facet] = _count(facet, own, able)
    return counts


def _count(facet: Facet, own: Search, others: Sequence[Search]) -> Tally:
    """Count a note in one facet. Others are those that it could hold something of."""
    places = _places(facet, own)
    found = [_places(facet, other) for other in others]
    shared = sum(not places.isdisjoint(spans) for spans in found)
    drawn = len(others)
    return Tally(1, int(bool(places)), drawn, sum(map(bool, found)), drawn if places else 0, shared)


def _places(facet: Facet, search: Search) -> set[tuple[int, int]]:
    """The places of the hits that count in a facet."""
    if not search.hits:
        return set()
    if (field := _FIELDS.get(facet.by)) is None:
        return {(hit.start, hit.end) for hit in search.hits}
    return {(hit.start, hit.end) for hit in search.hits if getattr(hit, field) == facet.name}


_SHORTEST_DOUBTFUL = 3  # letters; initials are everywhere
_STARTS = frozenset(".!?\n\r-–—*•>")  # what stands before the first word of a sentence, a line or an item


class Doubtful:
    """The names of one patient that count only in a name's context.

    entries (Iterable[LocalEntry]): all entries of the patient.
    """

    def __init__(self, entries: Iterable[LocalEntry]) -> None:
        words = [e for e in entries if e.condition and len(e.term) >= _SHORTEST_DOUBTFUL and e.term.isalpha()]
        self._terms = PatientTerms((entry.term, Tag(entry.label, entry.rule, "")) for entry in words)

    def find(self, text: str, folded: Normalised) -> list[Match]:
        """Find the names that are written with a capital, but not at the start of a sentence.

        text (str): the original.
        folded (Normalised): the same text, folded.
        RETURNS (list[Match]): those with a context among them.
        """
        return [match for match in self._terms.find(text, folded) if _is_marked(text, match.start)]


def _is_marked(text: str, start: int) -> bool:
    """Whether a word has a capital that its place does not explain."""
    if not text[start].isupper():
        return False
    while start and text[start - 1] in " \t\xa0":
        start -= 1
    return start > 0 and text[start - 1] not in _STARTS


_SHORTEST_SPLIT = 6  # letters and digits; shorter ones come together by chance
_GAP = 8  # characters of the note between two letters


class TightTerm(NamedTuple):
    """Letters and digits of a term, with the labels and rules that it stands for. Its repr shows the latter alone."""

    letters: str
    tags: Sequence[tuple[str, str]]

    def __repr__(self) -> str:
        """Labels and rules."""
        return f"TightTerm(letters=…, tags={self.tags!r})"


def tight_terms(entries: Iterable[LocalEntry]) -> list[TightTerm]:
    """What to look for.

    entries (Iterable[LocalEntry]): of one patient; those with a condition are left out.
    RETURNS (list[TightTerm]): each stretch of letters once.
    """
    terms: dict[str, dict[tuple[str, str], None]] = {}
    for entry in entries:
        letters = "" if entry.condition else "".join(filter(str.isalnum, normal_form(entry.term)))
        if len(letters) >= _SHORTEST_SPLIT:
            terms.setdefault(letters, {})[entry.label, entry.rule] = None
    return [TightTerm(letters, list(tags)) for letters, tags in terms.items()]


class Tight:
    """A folded text without what is neither letter nor digit.

    folded (Normalised): the text.
    """

    def __init__(self, folded: Normalised) -> None:
        self._folded = folded
        codes = code_points(folded.text)
        self._places = np.flatnonzero(classify(codes))
        self._text = codes.take(self._places).tobytes().decode("utf-32-le", "surrogatepass")
        # Letters after which a wide gap comes.
        self._wide = np.flatnonzero(np.diff(folded.origin.take(self._places)) > _GAP + 1)

    def find(self, terms: Iterable[TightTerm]) -> list[Match]:
        """Find terms.

        terms (Iterable[TightTerm]): of one patient.
        RETURNS (list[Match]): terms that are not broken up among them.
        """
        stretches = [(start, len(term.letters), term) for term in terms for start in self._starts(term.letters)]
        if not stretches:
            return []
        starts, lengths = np.array([stretch[:2] for stretch in stretches]).T
        ends = starts + lengths
        first, last = self._places.take(starts), self._places.take(ends - 1) + 1
        # A stretch stands at word edges, and no gap within it is wide.
        held = self._folded.edges.take(first) & self._folded.edges.take(last)
        held &= np.searchsorted(self._wide, starts) == np.searchsorted(self._wide, ends - 1)
        kept = np.flatnonzero(held)
        spans = zip(kept.tolist(), *self._folded.original(first.take(kept), last.take(kept)), strict=True)
        return [Match(start, end, label, rule) for i, start, end in spans for label, rule in stretches[i][2].tags]

    def _starts(self, letters: str) -> Iterator[int]:
        """Where letters stand."""
        start = self._text.find(letters)
        while start >= 0:
            yield start
            start = self._text.find(letters, start + 1)


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
