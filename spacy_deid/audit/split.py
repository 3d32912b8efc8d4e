"""Identifiers that are broken up in a note: "Virta-\\nnen", "V i r t a n e n", a phone number in other groups.

What is compared is letters and digits alone. Each end must be a word edge, and no gap may be wider than a line break
with an indent.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..dictionaries.entries import LocalEntry
from ..dictionaries.matcher import Match
from ..dictionaries.normalise import Normalised, normal_form

__all__ = ["Tight"]

_SHORTEST = 6  # letters and digits; shorter ones come together by chance
_GAP = 4  # characters between two letters


class Tight:
    """A folded text without what is neither letter nor digit.

    folded (Normalised): the text.
    """

    def __init__(self, folded: Normalised) -> None:
        self._folded = folded
        places = [i for i, char in enumerate(folded.text) if char.isalnum()]
        self._text = "".join(folded.text[i] for i in places)
        self._places: NDArray[np.int64] = np.array(places, dtype=np.int64)
        # Letters after which a wide gap comes.
        self._wide = np.flatnonzero(np.diff(self._places) > _GAP + 1)

    def find(self, entries: tuple[LocalEntry, ...]) -> list[Match]:
        """Find terms.

        entries (tuple[LocalEntry, ...]): of one patient; those with a condition are left out.
        RETURNS (list[Match]): terms that are not broken up among them.
        """
        found = []
        for term, tags in _tight(entries):
            start = self._text.find(term)
            while start >= 0:
                if (span := self._span(start, start + len(term))) is not None:
                    found += [Match(*span, label, rule) for label, rule in tags]
                start = self._text.find(term, start + 1)
        return found

    def _span(self, start: int, end: int) -> tuple[int, int] | None:
        """The original characters of a stretch; None if it is not at word edges or a gap in it is wide."""
        first, last = int(self._places[start]), int(self._places[end - 1]) + 1
        edges = self._folded.edges
        if not (edges[first] and edges[last]):
            return None
        if np.searchsorted(self._wide, start) != np.searchsorted(self._wide, end - 1):
            return None
        (begin,), (finish,) = self._folded.original(np.array([first]), np.array([last]))
        return begin, finish


@lru_cache(1_000)
def _tight(entries: tuple[LocalEntry, ...]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Letters and digits of the terms, with labels and rules."""
    terms: dict[str, dict[tuple[str, str], None]] = {}
    for entry in _certain(entries):
        term = "".join(char for char in normal_form(entry.term) if char.isalnum())
        if len(term) >= _SHORTEST:
            terms.setdefault(term, {})[entry.label, entry.rule] = None
    return [(term, list(tags)) for term, tags in terms.items()]


def _certain(entries: Iterable[LocalEntry]) -> Iterable[LocalEntry]:
    """The entries that count everywhere."""
    return (entry for entry in entries if not entry.condition)
