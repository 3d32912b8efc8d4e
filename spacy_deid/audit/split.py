"""Identifiers that are broken up in a note: "Virta-\\nnen", "V i r t a n e n", a phone number in other groups.

What is compared is letters and digits alone. Each end must be a word edge, and no gap may be wider than a line break
with an indent.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..dictionaries.entries import LocalEntry
from ..dictionaries.matcher import Match
from ..dictionaries.normalise import Normalised, classify, code_points, normal_form

__all__ = ["Tight", "TightTerm", "tight_terms"]

_SHORTEST = 6  # letters and digits; shorter ones come together by chance
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
        if len(letters) >= _SHORTEST:
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
