"""Find names with a spelling error: one letter replaced, missing, added or swapped; up to two errors in a long name.

The distance is optimal string alignment (Damerau 1964; rapidfuzz). Short words must match exactly, because changing
one letter of a short name usually gives another name. Numbers must match exactly too.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from .matcher import Match
from .normalise import Normalised, normalise
from .terms import LocalEntry

FUZZY = "~"
"""Suffix of the rule of a fuzzy match: "patients.surname~"."""

_LABELS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON", "CITY", "STREET"})
_SHORTEST = 6  # minimal length of a name with one error
_LONG = 10  # minimal length of a name with two errors
_MOST = 2
_TEXT_WORD = re.compile(r"[^\W\d_][^\W_]*")
_NAME_WORD = re.compile(r"[^\W\d_]+")


class FuzzyNames(NamedTuple):
    """Words of names to search for.

    words (Sequence[str]): n normalised words.
    lengths (NDArray): their lengths. Shape (n,).
    tags (Sequence): labels and rules of each word.
    """

    words: Sequence[str]
    lengths: NDArray[np.int64]
    tags: Sequence[tuple[tuple[str, str], ...]]

    def __repr__(self) -> str:
        """Show the number of words."""
        return f"FuzzyNames({len(self.words)} words)"


class CandidateWords:
    """The words of a text that could be misspelt names, with their places. They can be compared with several lists of
    names.

    folded (Normalised): the text.
    known (Callable): whether a normalised word is a word of the language, which is then not taken for a misspelt name.
    """

    def __init__(self, folded: Normalised, known: Callable[[str], bool] | None = None) -> None:
        self._folded = folded
        self._places: dict[str, list[tuple[int, int]]] = {}
        for word in _TEXT_WORD.finditer(folded.text):
            if len(word[0]) >= _SHORTEST - 1:
                self._places.setdefault(word[0], []).append(word.span())
        self._words = [word for word in self._places if not (known and known(word))]

    def find(self, names: FuzzyNames) -> list[Match]:
        """Find misspelt names.

        names (FuzzyNames): the names of one patient.
        RETURNS (list[Match]): matches in text order. Their rules end with `FUZZY`.
        """
        if not self._words or not names.words:
            return []
        found: list[tuple[int, int, tuple[tuple[str, str], ...]]] = []
        for i, j in _alike(self._words, names):
            found += ((start, end, names.tags[j]) for start, end in self._places[self._words[i]])
        if not found:
            return []
        found.sort()
        starts, ends = (np.array(column) for column in list(zip(*found, strict=True))[:2])
        first, last = self._folded.original(starts, ends)
        return [
            Match(start, end, label, rule + FUZZY)
            for start, end, (_, _, tags) in zip(first, last, found, strict=True)
            for label, rule in tags
        ]


def fuzzy_find(
    text: str,
    entries: Iterable[LocalEntry],
    folded: Normalised | None = None,
    known: Callable[[str], bool] | None = None,
) -> list[Match]:
    """Find misspelt names in a text. Correctly spelled names are left to the exact search.

    text (str): the original.
    entries (Iterable[LocalEntry]): the entries of one patient; those with a condition are ignored.
    folded (Normalised): the same text, normalised; computed if not given.
    known (Callable): see `CandidateWords`.
    RETURNS (list[Match]): see `CandidateWords.find`.
    """
    return CandidateWords(folded or normalise(text), known).find(fuzzy_names(tuple(entries)))


@lru_cache(64)
def fuzzy_names(entries: tuple[LocalEntry, ...]) -> FuzzyNames:
    """Collect the words of names that may be misspelt.

    entries (tuple[LocalEntry, ...]): entries of one patient; those with a condition are left out.
    RETURNS (FuzzyNames): the words.
    """
    tags: dict[str, dict[tuple[str, str], None]] = {}
    # A combined name ("olalla villaseca") has the rule of one part; the entry of each single part has its own rule.
    for entry in sorted(entries, key=lambda entry: entry.term.count(" ")):
        if entry.label not in _LABELS or entry.condition:
            continue
        found = [word for word in _NAME_WORD.findall(entry.term) if len(word) >= _SHORTEST]
        for word in found if " " not in entry.term else [word for word in found if word not in tags]:
            tags.setdefault(word, {})[entry.label, entry.rule] = None
    return FuzzyNames(list(tags), np.array([len(word) for word in tags]), [tuple(tag) for tag in tags.values()])


def _alike(words: Sequence[str], names: FuzzyNames) -> Iterable[tuple[int, int]]:
    """Pair each word that is similar but not equal to a name with the most similar name.

    RETURNS (Iterable[tuple[int, int]]): indices of words and names.
    """
    distances = cdist(words, names.words, scorer=OSA.distance, score_cutoff=_MOST, dtype=np.uint8)
    allowed = np.where(names.lengths >= _LONG, _MOST, 1)
    first, initial = (np.array([word[0] for word in column]) for column in (words, names.words))
    initials = first[:, None] == initial
    near = (distances <= allowed) & (initials | (distances <= 1)) & ~(distances == 0).any(axis=1)[:, None]
    nearest = np.where(near, distances, _MOST + 1).argmin(axis=1)
    rows = np.flatnonzero(near.any(axis=1))
    return zip(rows.tolist(), nearest.take(rows).tolist(), strict=True)
