"""Lemmas of Finnish names and places by rule: case endings, consonant gradation, possessives and clitics undone.

What a word may be a form of is often more than one name: "Lahden" of Lahti or Lahde, "Karin" of Kari or Karin. A note
that has two forms of a name tells: the name that most of the note's words may come from is taken, of several that are
listed the one with the most bearers, and of several that no list has the one that ends as listed names do.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf

from .finnish_endings import CLITIC, NOMINATIVE, split_clitic, split_endings
from .finnish_function_words import load_function_words
from .finnish_index import load_index
from .forms import lower_form

_HEAD = re.compile(r"(?:.*[-‐‑–])?(?=[^\W\d_]{3,}$)")  # what stands before the part that inflects
_ACRONYM = re.compile(r"([^\W\d_]+)[:'’][^\W\d_]{1,6}$")  # HUS:iin, Dubois'n
_SHORTEST = 3  # letters of a name that no list has

Candidates = dict[str, float]
Split = tuple[str, str, float]


def lemmatize(words: Sequence[str]) -> list[str]:
    """Return the nominative of every word of a note.

    words (Sequence[str]): the words of a note in order, as written.
    RETURNS (list[str]): one lemma per word, in lower case; the same for all occurrences of a word, however each is
        capitalized.
    """
    forms = [lower_form(word) for word in words]
    lemmas = _function_words(words, forms)
    distinct = dict.fromkeys(form for form in forms if form not in lemmas)
    parts = {form: part for form in distinct if (part := _split(form)) is not None}
    candidates = {tail: find_candidates(tail) for tail in dict.fromkeys(tail for _, tail in parts.values())}
    support = Counter(name for found in candidates.values() for name in found)
    chosen = {tail: _choose(found, support) for tail, found in candidates.items()}
    lemmas |= {form: head + chosen[tail] for form, (head, tail) in parts.items()}
    return [lemmas.get(form) or _without_ending(form) for form in forms]


def _function_words(words: Sequence[str], forms: Sequence[str]) -> dict[str, str]:
    """Return the lemmas of pronouns and similar words, except capitalized words that are also names (Ole, Eli)."""
    known, names = load_function_words(), load_index().counts
    small = {form for word, form in zip(words, forms, strict=True) if not word[:1].isupper()}
    return {form: known[form] for form in forms if form in known and (form in small or form not in names)}


def _split(word: str) -> tuple[str, str] | None:
    """What stands before the last hyphen, and what inflects; None for what is no word."""
    found = _HEAD.match(word)
    return (word[: found.end()], word[found.end() :]) if found else None


def _without_ending(word: str) -> str:
    """An acronym without the ending behind its colon; anything else as it is."""
    found = _ACRONYM.match(word)
    return found[1] if found else word


def _choose(found: Candidates, support: Counter[str]) -> str:
    """The name that most words of the note may be forms of; then the likeliest, then the first of the alphabet."""
    return min(found, key=lambda name: (-support[name], -found[name], name))


def find_candidates(word: str) -> Candidates:
    """Find what a word may be a form of.

    word (str): one word of letters, lower case.
    RETURNS (dict[str, float]): name → how likely it is; never empty. Names of the lists alone, if there are any.
    """
    splits = split_endings(word)
    bare = split_clitic(word)
    found = _listed(splits) or (_listed(split_endings(bare)) if bare else {})
    if not found:
        found = _guessed(splits)
        for name, value in (_guessed(split_endings(bare)) if bare else {}).items():
            found.setdefault(name, value + CLITIC)
    return found


def _listed(splits: Iterable[Split]) -> Candidates:
    """Listed names, by their bearers."""
    index = load_index()
    return {name: float(index.counts[name]) for slot, stem, _ in splits for name in index.find(slot, stem)}


def _guessed(splits: Sequence[Split]) -> Candidates:
    """Names that no list has, by how they end and how common the case would be."""
    index = load_index()
    word = splits[0][1]
    found = {word: index.likelihood(word) + NOMINATIVE}
    for slot, stem, share in splits:
        for name in index.guess(slot, stem):
            if name != word and len(name) >= _SHORTEST:
                found[name] = max(found.get(name, -inf), index.likelihood(name) + share)
    return found
