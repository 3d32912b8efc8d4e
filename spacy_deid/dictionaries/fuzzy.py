"""Names with a slip of the pen: one letter wrong, missing, too much or two swapped; two in a long name.

The distance is that of optimal string alignment (Damerau 1964; rapidfuzz). Short words stay exact: of two names of
five letters that differ in one, each is somebody's. Numbers stay exact too: one digit more is somebody else's.
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
"""What the rule of a match with a slip ends with: "patients.surname~"."""

_LABELS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON", "CITY", "STREET"})
_SHORTEST = 6  # letters of a name that may be misspelt
_LONG = 10  # letters of a name that may have two slips
_MOST = 2
_TEXT_WORD = re.compile(r"[^\W\d_][^\W_]*")
_NAME_WORD = re.compile(r"[^\W\d_]+")


class Names(NamedTuple):
    """Words of names, and for each the labels and rules that it stands for. Its repr shows how many."""

    words: Sequence[str]
    lengths: NDArray[np.int64]
    tags: Sequence[tuple[tuple[str, str], ...]]

    def __repr__(self) -> str:
        """The number of words."""
        return f"Names({len(self.words)} words)"


class Words:
    """The words of a text that could be misspelt names, each with its places; for one search after another.

    folded (Normalised): the text.
    known (Callable): whether a folded word is a word of the language, which is then no misspelt name.
    """

    def __init__(self, folded: Normalised, known: Callable[[str], bool] | None = None) -> None:
        self._folded = folded
        self._places: dict[str, list[tuple[int, int]]] = {}
        for word in _TEXT_WORD.finditer(folded.text):
            if len(word[0]) >= _SHORTEST - 1:
                self._places.setdefault(word[0], []).append(word.span())
        self._words = [word for word in self._places if not (known and known(word))]

    def find(self, names: Names) -> list[Match]:
        """Find the words that are words of names but for a slip.

        names (Names): one patient's.
        RETURNS (list[Match]): in the order of the text; the rules end with `FUZZY`.
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
    """Find the words of a text that are words of names but for a slip. Those without one are left to the exact search.

    text (str): the original.
    entries (Iterable[LocalEntry]): one patient's entries; those with a condition are not looked for.
    folded (Normalised): the same text, folded, if it is at hand.
    known (Callable): see `Words`.
    RETURNS (list[Match]): see `Words.find`.
    """
    return Words(folded or normalise(text), known).find(name_words(tuple(entries)))


@lru_cache(64)
def name_words(entries: tuple[LocalEntry, ...]) -> Names:
    """The words of names that may be misspelt.

    entries (tuple[LocalEntry, ...]): of one patient; those with a condition are left out.
    RETURNS (Names): the words.
    """
    tags: dict[str, dict[tuple[str, str], None]] = {}
    # A combination ("olalla villaseca") bears the rule of one of its parts; the part by itself says whose it is.
    for entry in sorted(entries, key=lambda entry: entry.term.count(" ")):
        if entry.label not in _LABELS or entry.condition:
            continue
        found = [word for word in _NAME_WORD.findall(entry.term) if len(word) >= _SHORTEST]
        for word in found if " " not in entry.term else [word for word in found if word not in tags]:
            tags.setdefault(word, {})[entry.label, entry.rule] = None
    return Names(list(tags), np.array([len(word) for word in tags]), [tuple(tag) for tag in tags.values()])


def _alike(words: Sequence[str], names: Names) -> Iterable[tuple[int, int]]:
    """For each word that is near a name but none itself: the number of the word and of the nearest name."""
    distances = cdist(words, names.words, scorer=OSA.distance, score_cutoff=_MOST, dtype=np.uint8)
    allowed = np.where(names.lengths >= _LONG, _MOST, 1)
    first, initial = (np.array([word[0] for word in column]) for column in (words, names.words))
    initials = first[:, None] == initial
    near = (distances <= allowed) & (initials | (distances <= 1)) & ~(distances == 0).any(axis=1)[:, None]
    nearest = np.where(near, distances, _MOST + 1).argmin(axis=1)
    rows = np.flatnonzero(near.any(axis=1))
    return zip(rows.tolist(), nearest.take(rows).tolist(), strict=True)
