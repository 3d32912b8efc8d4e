"""What is counted of a note: whether its own patient's identifiers are in it, and whether those of others are.

A facet is a way of looking at the hits: all of them, those of one column of the EHR, of one kind, of one form; or all
hits of the notes of one type, ward or what else notes are told apart by. A note counts for a facet if its patient has
an identifier of that sort at all.
"""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ALL", "FORMS", "Facet", "Hit", "Search", "Tally", "count_note"]

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
