"""Choose the words of a note that are scored (candidates), and the words that are masked together with each of them.

If a name occurs twice and only one occurrence is masked, the model predicts it by copying the other one, and the name
does not look surprising. Context masking therefore masks all occurrences of the same word or lemma.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..background.counts import background_languages, load_background
from ..errors import ConfigError, Errors
from ..registries import choose_part

Same = list[Sequence[int]]
Lemmatizer = Callable[[Doc], list[str]]


@dataclass(frozen=True)
class Masking:
    """A context masking: a function that determines which words are masked together.

    name (str): name by which results refer to the masking.
    find (Callable): (Doc, indices of the scored tokens) → for each scored token the positions, in this list and
        ascending, of all tokens that are masked with it, including its own. The tokens must form disjoint groups.
    """

    name: str
    find: Callable[[Doc, Sequence[int]], Same]


_LEAST_INSIDE = 4  # letters of a name that is looked for inside user names
_LONGEST_USERNAME = 40


def make_no_masking() -> Masking:
    """Make the context masking that masks only the scored word itself.

    RETURNS (Masking): the masking.
    """
    return Masking("none", _alone)


def make_same_word_masking(at_least: int = 3) -> Masking:
    """Make the context masking that masks all occurrences of the scored word, ignoring case and accents.

    Occurrences inside e-mail addresses and user names are masked as well.

    at_least (int): minimum number of letters; shorter words, mostly articles and prepositions, are masked alone.
    RETURNS (Masking): the masking.
    """

    return Masking("same word", partial(_same_word, at_least=at_least))


def make_same_lemma_masking(lemmatizer: Lemmatizer, at_least: int = 3) -> Masking:
    """Make the context masking that masks all inflected forms of the scored word, such as "Juha" and "Juhan".

    lemmatizer (Callable): Doc → one lemma per token. A token with an empty lemma counts as its own lemma.
    at_least (int): as for `make_same_word_masking`.
    RETURNS (Masking): the masking.
    """

    return Masking("same lemma", partial(_same_lemma, lemmatizer=lemmatizer, at_least=at_least))


def _alone(doc: Doc, words: Sequence[int]) -> Same:
    """Mask each word alone."""
    return [(place,) for place in range(len(words))]


def _same_word(doc: Doc, words: Sequence[int], at_least: int) -> Same:
    """Group words by their form."""
    return _together(doc, words, [_folded(doc[word].text) for word in words], at_least)


def _same_lemma(doc: Doc, words: Sequence[int], lemmatizer: Lemmatizer, at_least: int) -> Same:
    """Group words by their lemma."""
    lemmas = lemmatizer(doc) if len(doc) else []
    return _together(doc, words, [_folded(lemmas[word].strip() or doc[word].text) for word in words], at_least)


def _folded(text: str) -> str:
    """Return a word without case and accents."""
    letters = unicodedata.normalize("NFD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _together(doc: Doc, words: Sequence[int], keys: list[str], at_least: int) -> Same:
    """Group positions by key, and join the groups of names that occur inside the same user name."""
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
    """Return the representative key of the group that a key belongs to."""
    while leader.get(key, key) != key:
        key = leader[key]
    return key


def _joined(doc: Doc, words: Sequence[int]) -> Iterable[int]:
    """Yield the positions of words that can contain a name: parts of e-mail addresses, and words next to a digit or
    underscore.
    """
    text = doc.text
    for place, word in enumerate(words):
        start, end = doc[word].idx, doc[word].idx + len(doc[word])
        if any(mark in "@_." or mark.isdigit() for mark in text[max(0, start - 1) : start] + text[end : end + 1]):
            yield place


def _inside(word: str, names: set[str]) -> Iterable[str]:
    """List the names that occur inside a longer word."""
    if len(word) > _LONGEST_USERNAME:
        return ()
    spans = ((a, b) for a in range(len(word)) for b in range(a + _LEAST_INSIDE, len(word) + 1))
    return [word[a:b] for a, b in spans if b - a < len(word) and word[a:b] in names]


Candidates = Callable[[Doc, Sequence[int]], NDArray[np.bool_]]


def make_all_candidates() -> Candidates:
    """Make the function that chooses every word for scoring.

    RETURNS (Candidates): (Doc, token indices) → True for each token.
    """
    return _every_word


def make_uncommon_candidates(lang: str, per_million: float = 1000.0) -> Candidates:
    """Make the function that chooses every word for scoring except the most frequent lower-case words of a language,
    such as articles, prepositions and "is".

    lang (str): ISO 639-1 code of the language whose word counts are used.
    per_million (float): words with at least this many occurrences per million words are not scored.
    RETURNS (Candidates): (Doc, token indices) → whether each token is scored.
    RAISES: ConfigError (D811) if the package contains no word counts of the language.
    """
    if lang not in background_languages():
        raise ConfigError(Errors.D811.format(lang=lang, known=", ".join(background_languages())))
    return partial(_uncommon, lang=lang, per_million=per_million)


def _every_word(doc: Doc, words: Sequence[int]) -> NDArray[np.bool_]:
    """Choose every word."""
    return np.ones(len(words), dtype=np.bool_)


def _uncommon(doc: Doc, words: Sequence[int], lang: str, per_million: float) -> NDArray[np.bool_]:
    """Choose every word except frequent ones."""
    counts = load_background(lang)
    texts = [doc[word].text for word in words]
    common = {text for text in set(texts) if text.islower() and counts.per_million(text) >= per_million}
    return np.array([text not in common for text in texts], dtype=np.bool_)


def choose_masking(masking: str | Masking, lemmatizer: Callable[[], Lemmatizer]) -> Masking:
    """Convert the setting ``masking`` of a component to a context masking.

    masking (Union[str, Masking]): "none", "same_word", "same_lemma", a registered name, or a masking.
    lemmatizer (Callable): function that creates the lemmatizer; called only for "same_lemma".
    RETURNS (Masking): the masking.
    RAISES: ConfigError (D697, D698) for an unknown name.
    """
    plain: dict[str, Callable[[], Masking]] = {
        "none": make_no_masking,
        "same_word": make_same_word_masking,
        "same_lemma": lambda: make_same_lemma_masking(lemmatizer()),
    }
    found: Masking = choose_part("deid_masking", masking, plain, setting="masking")
    return found


def choose_candidates(candidates: str | Candidates, lang: str) -> Candidates:
    """Convert the setting ``candidates`` of a component to a function that chooses the words to score.

    candidates (Union[str, Callable]): "all", "uncommon", a registered name, or a function.
    lang (str): ISO 639-1 code of the language whose word counts "uncommon" uses.
    RETURNS (Callable): (Doc, token indices) → whether each token is scored.
    RAISES: ConfigError (D697, D698) for an unknown name, or (D811) if there are no word counts of the language.
    """
    plain: dict[str, Callable[[], Candidates]] = {
        "all": make_all_candidates,
        "uncommon": partial(make_uncommon_candidates, lang),
    }
    found: Candidates = choose_part("deid_candidates", candidates, plain, setting="candidates")
    return found
