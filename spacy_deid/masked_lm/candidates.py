"""Candidates: which words of a note are scored at all. A word that is none gets the lowest score."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.util import registry

from ..background.counts import background_languages, load_background
from ..errors import ConfigError, Errors

__all__ = ["Candidates", "make_all_candidates", "make_uncommon_candidates"]

Candidates = Callable[[Doc, Sequence[int]], NDArray[np.bool_]]


@registry.misc("spacy_deid.all_candidates.v1")
def make_all_candidates() -> Candidates:
    """Every word.

    RETURNS (Candidates): the choice.
    """
    return _every_word


@registry.misc("spacy_deid.uncommon_candidates.v1")
def make_uncommon_candidates(lang: str, per_million: float = 1000.0) -> Candidates:
    """All but the commonest words of a language, written small: articles, prepositions, "is".

    lang (str): language whose counts ship.
    per_million (float): from how many occurrences in a million words on a word is common.
    RETURNS (Candidates): the choice.
    RAISES: ConfigError if no counts of the language ship (D811).
    """
    if lang not in background_languages():
        raise ConfigError(Errors.D811.format(lang=lang, known=", ".join(background_languages())))
    return partial(_uncommon, lang=lang, per_million=per_million)


def _every_word(doc: Doc, words: Sequence[int]) -> NDArray[np.bool_]:
    """All of them."""
    return np.ones(len(words), dtype=np.bool_)


def _uncommon(doc: Doc, words: Sequence[int], lang: str, per_million: float) -> NDArray[np.bool_]:
    """All but common words."""
    counts = load_background(lang)
    texts = [doc[word].text for word in words]
    common = {text for text in set(texts) if text.islower() and counts.per_million(text) >= per_million}
    return np.array([text not in common for text in texts], dtype=np.bool_)
