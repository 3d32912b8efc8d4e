"""Words of names by the lists that ship: given names, frequent surnames, eponyms, and what no surrogate may be."""

import re
from functools import cache
from importlib.resources import files

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words
from ..lang import all_languages, get_language
from ..surrogates.forbidden import offensive_words

_MOST_FREQUENT = 2500  # per list of names; rarer given names are words, too: "Early", "Sign"


@cache
def given_names() -> frozenset[str]:
    """The most frequent given names of all languages, in normal form, without function words."""
    names: set[str] = set()
    for language in all_languages("names"):
        for part in ("female", "male"):
            names |= _most_frequent(language.read_text(f"names/{part}.csv"))
    return frozenset(names - function_words())


@cache
def common_words(lang: str) -> frozenset[str]:
    """Function words, and surnames so frequent that a head word alone does not make an eponym of them.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms.
    """
    return function_words() | _most_frequent(get_language(lang).read_text("names/surname.csv"))


@cache
def eponym_words() -> frozenset[str]:
    """The words of the listed eponyms, in normal form. Abbreviations ("St.") are left out."""
    names = (name for name, _ in _eponyms())
    return frozenset(normal_form(word) for name in names for word in re.findall(r"\b[^\W\d_]{2,}\b(?!\.)", name))


@cache
def eponym_names(lang: str) -> frozenset[str]:
    """Names that readers take for an eponym: all words of eponyms except the most frequent surnames of a language,
    and single names that are medical without a head word.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms.
    """
    alone = {normal_form(name) for name, kind in _eponyms() if kind != "never"}
    return frozenset({name for name in alone if " " not in name} | (eponym_words() - common_words(lang)))


@cache
def unfit_words(lang: str) -> frozenset[str]:
    """Words that no surrogate may be: eponyms and offensive words.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms.
    """
    return eponym_names(lang) | offensive_words(lang)


@cache
def _eponyms() -> tuple[tuple[str, str], ...]:
    """The listed eponyms: name, and whether it is medical without a head word ("always", "context" or "never")."""
    source = files("spacy_deid") / "resources" / "medical" / "eponyms.csv"
    rows = (row.split(",") for row in source.read_text(encoding="utf8").splitlines()[1:])
    return tuple((name, alone) for name, _, alone in rows)


def _most_frequent(table: str) -> frozenset[str]:
    """The first names of a table "name,count", which is sorted by count."""
    return frozenset(normal_form(row.rpartition(",")[0]) for row in table.splitlines()[1 : _MOST_FREQUENT + 1])
