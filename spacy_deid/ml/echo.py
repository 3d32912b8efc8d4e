"""Names that were found once are found everywhere in the note.

A header says "Nombre: Nadia" and the prose says "Nadia duerme mal": the first is easy, the second is not. Every word
of a name that was found is therefore looked for again, where it is written like a name.
"""

from collections.abc import Callable, Collection, Sequence

import numpy as np
from spacy.attrs import IS_ALPHA, IS_LOWER, IS_UPPER, LENGTH, LOWER
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Token

__all__ = ["find_echoes"]

_SHORTEST = 3  # characters of a word that is looked for again


def find_echoes(
    doc: Doc,
    spans: Sequence[tuple[int, int, int, float]],
    persons: Collection[int],
    forms: Callable[[str], Collection[str]] | None = None,
) -> list[tuple[int, int, int, float]]:
    """Find the words of names again.

    A word counts if it has three letters or more, is not written in lower case, and stands nowhere in the note in
    lower case: "del" of "Ana del Río" is no name, nor is "Cruz" where the note has "cruz roja". A note in capitals
    does not tell names from other words, so nothing is looked for in it.

    doc (Doc): the note.
    spans (Sequence[tuple]): what was found: start token, end token, label number, probability.
    persons (Collection[int]): numbers of the labels that name persons.
    forms (Optional[Callable]): the cases of a name, in a language that has them: "Virtanen" is found as "Virtasella".
    RETURNS (list[tuple]): more spans, disjoint from the given; each has the label and probability of the first span
        that holds its first word.
    """
    if not any(label in persons for _, _, label, _ in spans):
        return []
    lower, alpha, small, capitals, length = doc.to_array([LOWER, IS_ALPHA, IS_LOWER, IS_UPPER, LENGTH]).T
    words = (alpha == 1) & (length >= _SHORTEST)
    if 2 * np.count_nonzero(words & (capitals == 1)) > np.count_nonzero(words):
        return []
    free, written = np.ones(len(doc), dtype=bool), words & (small == 0)
    common = set(lower[small == 1].tolist())
    known: dict[int, tuple[int, float]] = {}
    read: set[int] = set()  # a name stands in a long note a thousand times, and its cases take long to make
    for start, end, label, score in spans:
        free[start:end] = False
        for token in doc[start:end] if label in persons else ():
            if written[token.i] and token.orth not in read:
                read.add(token.orth)
                names = [token.lower, *_cases(token, forms)]
                known |= {name: (label, score) for name in names if name not in common and name not in known}
    again = np.flatnonzero(free & written & np.isin(lower, np.fromiter(known, dtype=np.uint64, count=len(known))))
    runs = np.split(again, np.flatnonzero(np.diff(again) != 1) + 1) if len(again) else []
    return [(int(run[0]), int(run[-1]) + 1, *known[int(lower[run[0]])]) for run in runs]


def _cases(token: Token, forms: Callable[[str], Collection[str]] | None) -> list[int]:
    """The cases of a name, lower case and hashed."""
    name = token.text if token.is_title else token.text.capitalize()
    return [hash_string(form.lower()) for form in forms(name)] if forms else []
