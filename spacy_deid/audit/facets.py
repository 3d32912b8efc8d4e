"""What is counted of a note: whether its own patient's identifiers are in it, and whether those of others are.

A facet is a way of looking at the hits: all of them, those of one column of the EHR, of one kind, of one form; or all
hits of the notes of one type. A note counts for a facet if its patient has an identifier of that sort at all.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["FORMS", "Facet", "Hit", "Search", "Tally", "count_note"]

FORMS = ("exact", "split", "fuzzy")


class Hit(NamedTuple):
    """One identifier in one note: where and of what kind, never what.

    start, end (int): characters of the note, end exclusive.
    label (str): canonical label.
    rule (str): "table.column".
    form (str): "exact" for a form that stands in the index, "split" for one that is broken up in the note, "fuzzy" for
        one with a slip of the pen.
    """

    start: int
    end: int
    label: str
    rule: str
    form: str


class Facet(NamedTuple):
    """A way of looking at the hits: "all", "type", "source", "kind" or "form", and which."""

    by: str
    name: str


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

    hits (Sequence[Hit]): what was found. kinds (Sequence[tuple[str, str]]): label and rule of all that was searched
    for.
    """

    hits: Sequence[Hit]
    kinds: Iterable[tuple[str, str]]


_FIELDS = {"source": "rule", "kind": "label", "form": "form"}


def count_note(note_type: str, own: Search, others: Sequence[Search]) -> dict[Facet, Tally]:
    """Count a note in all its facets.

    note_type (str): type of the note.
    own (Search): for its own patient. others (Sequence[Search]): for patients drawn at random.
    RETURNS (dict[Facet, Tally]): by facet; facets in which the note does not count are not there.
    """
    facets = [Facet("all", "all"), Facet("type", note_type), *(Facet("form", form) for form in FORMS)]
    facets += [*_sorts(own)]
    sorts = [_sorts(other) for other in others]
    counts = {}
    for facet in facets:
        places = _places(facet, own)
        able = [o for o, has in zip(others, sorts, strict=True) if facet.by in ("all", "type", "form") or facet in has]
        found = [_places(facet, other) for other in able]
        shared = sum(not places.isdisjoint(spans) for spans in found)
        drawn = len(able)
        counts[facet] = Tally(1, int(bool(places)), drawn, sum(map(bool, found)), drawn if places else 0, shared)
    return counts


def _sorts(search: Search) -> set[Facet]:
    """The sources and kinds of all that was searched for."""
    return {facet for label, rule in search.kinds for facet in (Facet("source", rule), Facet("kind", label))}


def _places(facet: Facet, search: Search) -> set[tuple[int, int]]:
    """The places of the hits that count in a facet."""
    if (field := _FIELDS.get(facet.by)) is None:
        return {(hit.start, hit.end) for hit in search.hits}
    return {(hit.start, hit.end) for hit in search.hits if getattr(hit, field) == facet.name}
