"""Lemmatizers map all forms of a word in a note to one lemma, so that context masking can mask all of them.

A `Lemmatizer` is any callable that takes a Doc and returns one lemma per token. A config names one in the setting
``lemmatizer`` of ``deid_surprisal``; other packages add lemmatizers in the registry ``deid_lemmatizers``.
"""

from .combined import choose_lemmatizer
from .forms import Lemmatizer, lower_form

__all__ = ["Lemmatizer", "choose_lemmatizer", "lower_form"]
