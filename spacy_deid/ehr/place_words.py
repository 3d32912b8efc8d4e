"""Decide which names of places and institutions are also ordinary words.

A table of addresses can have the region "Norte" or the town "Reading". If such a word were searched for like any
other value, the ordinary word would be replaced everywhere ("hacia el norte", "a reading of 120/80"). Therefore it
counts only where it begins with a capital, or in a text without capitals; see `dictionaries.conditions`.
"""

from functools import cache

from ..background.counts import Ambiguity
from ..dictionaries.normalise import normal_form
from ..lang import get_language
from .mapping import Column

_PLACES = frozenset({"clinic", "location", "organization", "city", "state", "street"})


def is_ordinary_place(column: Column, value: str, form: str, lang: str, words: Ambiguity) -> bool:
    """Whether a variant of the name of a place or an institution is also an ordinary word.

    column (Column): the column of the value.
    value (str): the value.
    form (str): the variant, in normal form.
    lang (str): ISO 639-1 code.
    words (Ambiguity): test by word frequencies of whether a word is common.
    RETURNS (bool): True if the entry needs the condition "capital"; see `dictionaries.terms.LocalEntry`. False for a
        name of several words, for a listed town that is not in ``place_words.txt``, and for other kinds of values.
    """
    if column.kind not in _PLACES or not form.isalpha():
        return False
    # the form may be inflected, the value is not
    return _is_ordinary(form, lang, words) or _is_ordinary(normal_form(value), lang, words)


def _is_ordinary(word: str, lang: str, words: Ambiguity) -> bool:
    """Whether a word is listed as an ordinary word, or common and not listed as a town."""
    listed, towns = _lists(lang)
    return word in listed or (word.isalpha() and word not in towns and words.is_common(word))


@cache
def _lists(lang: str) -> tuple[frozenset[str], frozenset[str]]:
    """Load the ordinary words of a language that are also places, and the names of its towns, in normal form."""
    language = get_language(lang)
    words = " ".join(language.read_lines("place_words.txt")).split()
    towns = (name for line in language.read_lines("places.csv") for name in line.rpartition(";")[2].split("|"))
    return frozenset(map(normal_form, words)), frozenset(map(normal_form, towns))
