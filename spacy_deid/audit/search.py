"""Search de-identified notes for identifiers: those of their own patient and, as a control, those of other patients.

A note is searched in four ways: for terms of the patient index ("exact"); for terms that are broken up, such as
"Virta-\\nnen", "V i r t a n e n" or a phone number with other groups ("split"), by comparing letters and digits only;
for misspelt names ("fuzzy"); and for names that are also words, such as "May" and "Iglesias", if they are capitalised
inside a sentence ("doubtful"). A hit that overlaps a hit of an earlier search is the same leak.

Hits are counted by facet. A facet is a subset of the hits: all of them, those of one EHR column, one label or one
form, or all hits in the notes of one type, ward or other group. A note counts for a facet only if its patient has an
identifier in that facet.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

from ..dictionaries.broken import CompactTerm, CompactText, compact_terms
from ..dictionaries.conditions import is_inside_sentence
from ..dictionaries.damaged import DamagedNote, FuzzyNames, fuzzy_names
from ..dictionaries.matcher import FUZZY, Match
from ..dictionaries.normalise import Normalised, normalise
from ..dictionaries.patients import PatientTerms
from ..dictionaries.store import LocalStore
from ..dictionaries.terms import LocalEntry, Tag

FORMS = ("exact", "split", "fuzzy", "doubtful")


class Hit(NamedTuple):
    """An identifier that was found in a note: its position and kind, without its text.

    start, end (int): character offsets in the note, end exclusive.
    label (str): canonical label.
    rule (str): source of the identifier, "table.column" of the EHR.
    form (str): "exact" for a term of the index, "split" for one that is broken up in the note, "fuzzy" for a misspelt
        one, "doubtful" for a name that may be an ordinary word.
    """

    start: int
    end: int
    label: str
    rule: str
    form: str


class Facet(NamedTuple):
    """A subset of the hits for which a leak rate is estimated.

    by (str): criterion of the subset: "all", "type" (note type), "source" (EHR column), "kind" (label), "form" or
        "column:NAME" (column of the note table).
    name (str): value of the criterion, such as the name of a note type.
    """

    by: str
    name: str


ALL = Facet("all", "all")


class Tally(NamedTuple):
    """Counts of one facet, for a note, a patient or all patients.

    notes (int): notes whose patient has an identifier in the facet.
    hits (int): notes that contain such an identifier of their patient.
    draws (int): searches of these notes for other patients.
    others (int): searches for other patients that found something.
    hit_draws (int): searches for other patients in notes with a hit.
    shared (int): of these, searches that hit the same place as the search for the note's own patient.
    near, others_near (int): those of `hits` and of `others` that found misspelt names only.
    planted, found (int): misspelt names of the patient that were planted in the note, and those of them that a search
        found.
    """

    notes: int = 0
    hits: int = 0
    draws: int = 0
    others: int = 0
    hit_draws: int = 0
    shared: int = 0
    near: int = 0
    others_near: int = 0
    planted: int = 0
    found: int = 0


class SearchResult(NamedTuple):
    """The result of searching a note for one patient.

    hits (Sequence[Hit]): what was found.
    facets (frozenset[Facet]): the facets in which the patient has identifiers, by source and by kind.
    """

    hits: Sequence[Hit]
    facets: frozenset[Facet]


_FIELDS = {"source": "rule", "kind": "label", "form": "form"}


def count_note(
    groups: Sequence[Facet], own: SearchResult, others: Sequence[SearchResult], check: tuple[int, int] = (0, 0)
) -> dict[Facet, Tally]:
    """Count the hits of a note in every facet in which its patient has identifiers.

    groups (Sequence[Facet]): note type and other groups of the note.
    own (SearchResult): result of the search for its own patient.
    others (Sequence[SearchResult]): results of the searches for randomly drawn patients.
    check (tuple[int, int]): number of misspelt names that were planted in the note, and of those that were found.
    RETURNS (dict[Facet, Tally]): counts by facet, without facets for which the note does not count.
    """
    whole = [ALL, *groups]
    counts = dict.fromkeys(whole, _count(ALL, own, others))
    for facet in (*(Facet("form", form) for form in FORMS), *own.facets):
        able = others if facet.by == "form" else [other for other in others if facet in other.facets]
        counts[facet] = _count(facet, own, able)
    return {facet: tally._replace(planted=check[0], found=check[1]) for facet, tally in counts.items()}


def _count(facet: Facet, own: SearchResult, others: Sequence[SearchResult]) -> Tally:
    """Count a note in one facet. `others` contains only patients with an identifier in that facet."""
    places, near = _places(facet, own)
    found = [_places(facet, other) for other in others]
    shared = sum(not places.isdisjoint(spans) for spans, _ in found)
    drawn, hits = len(others), sum(bool(spans) for spans, _ in found)
    others_near = sum(only for _, only in found)
    return Tally(1, int(bool(places)), drawn, hits, drawn if places else 0, shared, int(near), others_near)


def _places(facet: Facet, search: SearchResult) -> tuple[set[tuple[int, int]], bool]:
    """Return the (start, end) offsets of the hits that belong to a facet, and whether all are misspelt names."""
    field = _FIELDS.get(facet.by)
    hits = [hit for hit in search.hits if field is None or getattr(hit, field) == facet.name]
    return {(hit.start, hit.end) for hit in hits}, bool(hits) and all(hit.form == "fuzzy" for hit in hits)


_SHORTEST_PLANTED = 3  # letters of a name
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CAPITALISED = re.compile(r"\b[^\W\d_a-z][^\W\d_]{2,}\b")


def misspell(name: str, rng: Random) -> str:
    """Make a typing error in a name, but not in its first letter: swap two letters, or drop, double or replace one.

    name (str): a name of at least 3 letters.
    rng (Random): random generator.
    RETURNS (str): the misspelt name; equal to the name if the letters that are swapped or replaced are the same.
    """
    i = rng.randrange(1, len(name))
    j = max(i, 2)
    return rng.choice(
        (
            name[: j - 1] + name[j] + name[j - 1] + name[j + 1 :],
            name[:i] + name[i + 1 :],
            name[:i] + name[i] + name[i:],
            name[:i] + rng.choice(_LETTERS) + name[i + 1 :],
        )
    )


def plant(text: str, names: Sequence[str], rng: Random) -> tuple[str, int, int] | None:
    """Replace a capitalised word of a note by a misspelt name, to test whether a search finds it.

    text (str): the note.
    names (Sequence[str]): names of its patient, in normal form.
    rng (Random): random generator.
    RETURNS (tuple[str, int, int] | None): the new text and the offsets of the misspelt name in it; None if the note
        has no capitalised word, the patient has no name, or the error changes nothing.
    """
    places = [word.span() for word in _CAPITALISED.finditer(text)]
    if not places or not names:
        return None
    name = rng.choice(names)
    wrong = misspell(name, rng)
    start, end = rng.choice(places)
    if wrong in names:
        return None
    return text[:start] + wrong.capitalize() + text[end:], start, start + len(wrong)


_SHORTEST_DOUBTFUL = 3  # letters; initials would match everywhere


class AmbiguousNames:
    """Finds those names of one patient that are also words, such as "May", if they are probably used as names.

    A match is counted if it is capitalized inside a sentence. Ordinary words among them are found for other patients
    as well and are subtracted as chance hits.

    entries (Iterable[LocalEntry]): all entries of the patient.
    """

    def __init__(self, entries: Iterable[LocalEntry]) -> None:
        words = [e for e in entries if e.condition and len(e.term) >= _SHORTEST_DOUBTFUL and e.term.isalpha()]
        self._terms = PatientTerms((entry.term, Tag(entry.label, entry.rule, "")) for entry in words)

    def find(self, text: str, folded: Normalised) -> list[Match]:
        """Find the names that are capitalised in the middle of a sentence.

        text (str): the note.
        folded (Normalised): the same note, normalised.
        RETURNS (list[Match]): the matches, with or without the context of a name.
        """
        return [
            match
            for match in self._terms.find(text, folded)
            if text[match.start].isupper() and is_inside_sentence(text, match.start)
        ]


_KEPT = 2_000  # patients whose terms are cached, about 100 KB each


class Note(NamedTuple):
    """A de-identified note to search.

    row (int): its row in the table, from 1.
    patient (str): id of its patient.
    groups (tuple[Facet, ...]): its note type and other groups.
    text (str): text of the note.
    others (tuple[str, ...]): ids of other patients to search it for, as a control.
    """

    row: int
    patient: str
    groups: tuple[Facet, ...]
    text: str
    others: tuple[str, ...]

    def __repr__(self) -> str:
        """Show the row only."""
        return f"Note(row={self.row})"


class NoteHits(NamedTuple):
    """The result of searching a note.

    row (int): row of the note in the table.
    hits (tuple[Hit, ...]): the identifiers of its own patient that were found.
    counts (dict[Facet, Tally]): counts by facet.
    """

    row: int
    hits: tuple[Hit, ...]
    counts: dict[Facet, Tally]


class _Patient(NamedTuple):
    """The terms of one patient, prepared for the four searches.

    spelt (Sequence[str]): single names of the patient, in normal form, which are planted misspelt.
    """

    terms: PatientTerms
    tight: list[CompactTerm]
    names: FuzzyNames
    doubtful: AmbiguousNames
    facets: frozenset[Facet]
    spelt: Sequence[str]


class _Text(NamedTuple):
    """A note, prepared for the four searches."""

    text: str
    folded: Normalised
    tight: CompactText
    words: DamagedNote


def _prepare(text: str) -> _Text:
    """Prepare a note for the four searches."""
    folded = normalise(text)
    return _Text(text, folded, CompactText(folded), DamagedNote(text, folded, strict=False))


class Searcher:
    """Searches notes for the identifiers of patients in the patient index. Can be pickled for worker processes.

    folder (Path): folder of the dictionaries; each process opens it itself.
    fuzzy (bool): whether to search for misspelt names.
    """

    def __init__(self, folder: Path, fuzzy: bool = True) -> None:
        self._folder, self._fuzzy = folder, fuzzy
        self._store = LocalStore.open(folder)
        self._patient = lru_cache(_KEPT)(self._read)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the folder and the setting, from which the searcher is created again."""
        return Searcher, (self._folder, self._fuzzy)

    def knows(self, patient: str) -> bool:
        """Test whether the patient index contains a patient."""
        return patient in self._store.patients

    def search(self, note: Note) -> NoteHits:
        """Search a note for identifiers of its own patient and of the patients in `note.others`.

        note (Note): the note; its patient must be in the index.
        RETURNS (NoteHits): hits and counts.
        """
        text = _prepare(note.text)
        own, *others = (self._find(text, self._patient(patient)) for patient in (note.patient, *note.others))
        check = self._check(note) if self._fuzzy else (0, 0)
        return NoteHits(note.row, tuple(own.hits), count_note(note.groups, own, others, check))

    def _check(self, note: Note) -> tuple[int, int]:
        """Plant a misspelt name in a note. Return the number of names that were planted and of those found, 0 or 1."""
        patient = self._patient(note.patient)
        planted = plant(
            note.text, patient.spelt, Random(f"{note.patient}/{note.text}".encode("utf-8", "surrogatepass"))
        )
        if planted is None:
            return 0, 0
        text, start, end = planted
        return 1, int(any(hit.start < end and start < hit.end for hit in self._find(_prepare(text), patient).hits))

    def _read(self, patient: str) -> _Patient:
        """Read the terms of a patient from the index and prepare them for the four searches."""
        terms = self._store.patients.find(patient) or PatientTerms(())
        entries = tuple(terms.entries)
        facets = {facet for e in entries for facet in (Facet("source", e.rule), Facet("kind", e.label))}
        single = (entry.term for entry in entries if entry.label == "PATIENT" and entry.term.isalpha())
        own = {name for name in single if len(name) >= _SHORTEST_PLANTED}
        names, doubtful = fuzzy_names(entries), AmbiguousNames(entries)
        return _Patient(terms, compact_terms(entries), names, doubtful, frozenset(facets), sorted(own))

    def _find(self, text: _Text, patient: _Patient) -> SearchResult:
        """Search a note in all four ways for the identifiers of one patient."""
        hits = [Hit(*match, "exact") for match in patient.terms.find(text.text, text.folded)]
        hits += _drop_covered((Hit(*match, "split") for match in text.tight.find(patient.tight)), hits)
        if self._fuzzy:
            near = (Hit(*m[:3], m.rule.removesuffix(FUZZY), "fuzzy") for m in text.words.find_names(patient.names))
            hits += _drop_covered(near, hits)
        doubtful = (Hit(*match, "doubtful") for match in patient.doubtful.find(text.text, text.folded))
        hits += _drop_covered(doubtful, hits)
        return SearchResult(hits, patient.facets)


def _drop_covered(hits: Iterable[Hit], earlier: Sequence[Hit]) -> list[Hit]:
    """Drop hits that overlap an earlier hit."""
    ordered = sorted((hit.start, hit.end) for hit in earlier)
    starts = [start for start, _ in ordered]
    furthest = [0, *accumulate((end for _, end in ordered), max)]  # end of the furthest hit that starts earlier
    return [hit for hit in hits if furthest[bisect_left(starts, hit.end)] <= hit.start]
