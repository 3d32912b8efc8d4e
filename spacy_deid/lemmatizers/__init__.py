"""Lemmatizers: what two forms of one word in a note have in common, so that masking can find all of them.

A `Lemmatizer` is any callable that takes a Doc and gives one lemma for each token. They are made by factories in
spaCy's registry ``misc``, so a config names them and a language is added without a change of code.
"""

from .words import Lemmatizer, lower_form

__all__ = ["Lemmatizer", "lower_form"]
