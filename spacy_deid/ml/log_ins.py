"""Find log-ins that are made of a name of the note: "jsmith2" or "smithj" for John Smith, "virtju" for Julia Virtanen.

A log-in is printed at the edge of a page or after a message, where the words around it do not tell the classifier what
it is. Hospitals make log-ins of initials and of the first letters of names:

- one or two letters and a whole name, or its first four letters or more: "jsmith", "mjsmit";
- a whole name and one or two initials: "smithj";
- the first three letters or more of one part of a name and one to four of another: "virtju", "smijo".

A word is no log-in if it begins with a capital and goes on in lower case, or if it is a word of the language.
"""

import re
from collections.abc import Callable, Collection, Sequence

import numpy as np
from spacy.attrs import IS_ALPHA, IS_LOWER, IS_UPPER, LENGTH
from spacy.tokens import Doc

from ..lang.text import fold

LOG_IN = "USERNAME"
"""Label of a log-in."""

_SHORTEST = 5  # letters of a log-in
_NAME = 4  # letters of a name that stands whole, or cut, after initials
_START = 3  # letters of a name at the start, before letters of another part
_INITIALS = 2
_OTHER = 4  # letters of the other part
_DIGITS = re.compile(r"\d{1,4}")


def find_log_ins(
    doc: Doc,
    spans: Sequence[tuple[int, int, int, float]],
    persons: Collection[int],
    is_ordinary: Callable[[str], bool],
) -> list[tuple[int, int, float]]:
    """Find log-ins made of the names that were found.

    doc (Doc): the note.
    spans (Sequence[tuple]): spans that were found: start token, end token, label index, probability.
    persons (Collection[int]): indices of the labels of persons.
    is_ordinary (Callable[[str], bool]): folded form of a word → whether it is a word of the language or of medicine;
        see `medical.known_words.ordinary_words`.
    RETURNS (list[tuple]): start token, end token and the probability of the name, disjoint from the given spans.
    """
    names: dict[tuple[str, ...], float] = {}
    free = np.ones(len(doc), dtype=bool)
    for start, end, label, score in spans:
        free[start:end] = False
        if label in persons:
            words = tuple(fold(token.text) for token in doc[start:end] if token.is_alpha and len(token) > 1)
            names.setdefault(words, score)
    if not any(names):
        return []
    alpha, lower, upper, length = doc.to_array([IS_ALPHA, IS_LOWER, IS_UPPER, LENGTH]).T
    wanted = free & (alpha == 1) & ((lower == 1) | (upper == 1)) & (length >= _SHORTEST)
    starts = {word[:_START] for words in names for word in words}
    found: list[tuple[int, int, float]] = []
    read: dict[int, float] = {}  # spelling → probability of the name; 0 for no log-in
    for i in np.flatnonzero(wanted).tolist():
        token = doc[i]
        if token.lower not in read:
            form, read[token.lower] = fold(token.text), 0.0
            if not starts.isdisjoint(form[at : at + _START] for at in range(_INITIALS + 1)):
                made = [score for words, score in names.items() if is_made_of(form, words)]
                read[token.lower] = made[0] if made and not is_ordinary(form) else 0.0
        score = read[token.lower]
        if score:
            last = i + 1
            if not token.whitespace_ and last < len(doc) and free[last] and _DIGITS.fullmatch(doc[last].text):
                last += 1
            found.append((i, last, score))
    return found


def is_made_of(form: str, words: Sequence[str]) -> bool:
    """Return whether a word is made of the parts of a name, as the docstring of this module says.

    form (str): folded form of the word, without digits.
    words (Sequence[str]): folded forms of the parts of one name.
    """
    initials = {word[0] for word in words}
    for word in words:
        for size in range(1, _INITIALS + 1):
            before, rest = form[:size], form[size:]
            cut = len(rest) >= _NAME and word.startswith(rest) and initials.issuperset(before) and len(words) > 1
            if (len(word) >= _NAME and rest == word) or cut:
                return True
            if len(word) >= _NAME and form[:-size] == word and initials.issuperset(form[-size:]):
                return True
    pairs = ((first, second) for first in words for second in words if first is not second)
    return any(
        form.startswith(first[:_START])
        and any(
            form[:size] == first[:size] and 0 < len(form) - size <= _OTHER and second.startswith(form[size:])
            for size in range(_START, len(first) + 1)
        )
        for first, second in pairs
        if len(first) >= _START
    )
