"""Context masking: which words of a note are masked together with the word that is scored.

A name that stands twice gives itself away: the model reads it at the second place. Strategies are registered, so a
team can bring its own.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from spacy.tokens import Doc
from spacy.util import registry

__all__ = ["Masking", "make_no_masking", "make_same_lemma_masking", "make_same_word_masking"]

Same = list[Sequence[int]]
Lemmatizer = Callable[[Doc], list[str]]


@dataclass(frozen=True)
class Masking:
    """A strategy.

    name (str): its name in results.
    find (Callable): Doc and the tokens that are scored, to the positions among them, rising, of those that are masked
        with each, itself among them. The relation must be an equivalence.
    """

    name: str
    find: Callable[[Doc, Sequence[int]], Same]


_LEAST_INSIDE = 4  # letters of a name that is looked for inside user names
_LONGEST_USERNAME = 40


@registry.misc("spacy_deid.no_masking.v1")
def make_no_masking() -> Masking:
    """No word is masked but the one that is scored.

    RETURNS (Masking): the strategy.
    """
    return Masking("none", _alone)


@registry.misc("spacy_deid.same_word_masking.v1")
def make_same_word_masking(at_least: int = 3) -> Masking:
    """The same word, without regard to case and accents, is masked wherever it stands, in e-mail addresses and user
    names too.

    at_least (int): letters of a word that is looked for; shorter ones are mostly articles and prepositions.
    RETURNS (Masking): the strategy.
    """

    return Masking("same word", partial(_same_word, at_least=at_least))


@registry.misc("spacy_deid.same_lemma_masking.v1")
def make_same_lemma_masking(lemmatizer: Lemmatizer, at_least: int = 3) -> Masking:
    """All forms of the same word are masked: "Juha" and "Juhan".

    lemmatizer (Callable): a registered lemmatizer, Doc to one lemma for each token. Where it has none, the word itself
        counts.
    at_least (int): as for the same word.
    RETURNS (Masking): the strategy.
    """

    return Masking("same lemma", partial(_same_lemma, lemmatizer=lemmatizer, at_least=at_least))


def _alone(doc: Doc, words: Sequence[int]) -> Same:
    """Every word by itself."""
    return [(place,) for place in range(len(words))]


def _same_word(doc: Doc, words: Sequence[int], at_least: int) -> Same:
    """Words of one form."""
    return _together(doc, words, [_folded(doc[word].text) for word in words], at_least)


def _same_lemma(doc: Doc, words: Sequence[int], lemmatizer: Lemmatizer, at_least: int) -> Same:
    """Words of one lemma."""
    lemmas = lemmatizer(doc) if len(doc) else []
    return _together(doc, words, [_folded(lemmas[word].strip() or doc[word].text) for word in words], at_least)


def _folded(text: str) -> str:
    """A word without case and accents."""
    letters = unicodedata.normalize("NFD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _together(doc: Doc, words: Sequence[int], keys: list[str], at_least: int) -> Same:
    """Positions that are masked together: those of one key, and those of the names inside a user name."""
    names = {key for key in keys if len(key) >= _LEAST_INSIDE and key.isalpha()}
    leader: dict[str, str] = {}
    for place in _joined(doc, words):
        for name in _inside(keys[place], names):
            leader[_led_by(leader, name)] = _led_by(leader, keys[place])
    groups: dict[str, list[int]] = defaultdict(list)
    led = [_led_by(leader, key) for key in keys]
    for place, key in enumerate(led):
        groups[key].append(place)
    return [groups[key] if len(key) >= at_least else (place,) for place, key in enumerate(led)]


def _led_by(leader: dict[str, str], key: str) -> str:
    """The key that stands for all that are masked with this one."""
    while leader.get(key, key) != key:
        key = leader[key]
    return key


def _joined(doc: Doc, words: Sequence[int]) -> Iterable[int]:
    """Positions of words that may hold a name: parts of addresses, and words that touch a number or an underscore."""
    text = doc.text
    for place, word in enumerate(words):
        start, end = doc[word].idx, doc[word].idx + len(doc[word])
        if any(mark in "@_." or mark.isdigit() for mark in text[max(0, start - 1) : start] + text[end : end + 1]):
            yield place


def _inside(word: str, names: set[str]) -> Iterable[str]:
    """The names that stand inside a longer word."""
    if len(word) > _LONGEST_USERNAME:
        return ()
    spans = ((a, b) for a in range(len(word)) for b in range(a + _LEAST_INSIDE, len(word) + 1))
    return [word[a:b] for a, b in spans if b - a < len(word) and word[a:b] in names]
