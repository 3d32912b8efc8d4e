"""What the neighbours of names are read with: lists of expressions, one file a language, and the words of names."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words
from ..lang import all_languages, get_language
from ..surrogates.forbidden import offensive_words

__all__ = [
    "CAP",
    "REACH",
    "UPPER",
    "before",
    "behind",
    "common_words",
    "eponym_names",
    "eponym_words",
    "given_names",
    "read_context",
    "unfit_words",
]

REACH = 70  # characters to each side
UPPER = "A-ZÀ-ÖØ-ÞĀ-Ž"
CAP = rf"[{UPPER}][^\W\d_]+(?:['’](?!s\b)[^\W\d_]+)?"
_RESOURCES = files("spacy_deid") / "resources"
_COMMONEST = 2500  # of each list of names; rarer given names are words, too: "Early", "Sign"


@cache
def given_names() -> frozenset[str]:
    """The commonest given names of all languages that ship, in normal form, without function words."""
    names: set[str] = set()
    for language in all_languages("names"):
        names |= _names(language.read_text("names/female.csv")) | _names(language.read_text("names/male.csv"))
    return frozenset(names - function_words())


@cache
def common_words(lang: str) -> frozenset[str]:
    """Surnames so common that a head word alone does not make them eponyms, and function words.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms.
    """
    return function_words() | _names(get_language(lang).read_text("names/surname.csv"))


@cache
def eponym_words() -> frozenset[str]:
    """The words of the eponyms that ship; "St." is no name."""
    source = _RESOURCES / "medical" / "eponyms.csv"
    names = (row.partition(",")[0] for row in source.read_text(encoding="utf8").splitlines()[1:])
    return frozenset(normal_form(word) for name in names for word in re.findall(r"\b[^\W\d_]{2,}\b(?!\.)", name))


@cache
def unfit_words(lang: str) -> frozenset[str]:
    """Words that no surrogate has: eponyms and offensive words.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms.
    """
    return eponym_names(lang) | offensive_words(lang)


@cache
def eponym_names(lang: str) -> frozenset[str]:
    """Words that a reader takes for an eponym: all of theirs but the commonest surnames, and of those the ones that
    are medical alone.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms.
    """
    source = _RESOURCES / "medical" / "eponyms.csv"
    rows = (row.split(",") for row in source.read_text(encoding="utf8").splitlines()[1:])
    alone = {normal_form(name) for name, _, kind in rows if kind != "never"}
    return frozenset({name for name in alone if " " not in name} | (eponym_words() - common_words(lang)))


def _names(table: str) -> frozenset[str]:
    """The commonest names of a table, which has them in this order."""
    return frozenset(normal_form(row.rpartition(",")[0]) for row in table.splitlines()[1 : _COMMONEST + 1])


@cache
def read_context(lang: str) -> dict[str, Any]:
    """Read the data of a language, after those of all languages.

    lang (str): language code; one without data is read as English.
    RETURNS (dict[str, Any]): key → list of expressions, or a setting.
    """
    folder = _RESOURCES / "recovery" / "context"
    data: dict[str, Any] = tomllib.loads((folder / "common.toml").read_text(encoding="utf8"))
    own = get_language(lang).read_toml("name_context.toml") or get_language("en").read_toml("name_context.toml")
    for key, value in own.items():
        data[key] = [*data.get(key, []), *value] if isinstance(value, list) else value
    return data


def before(parts: Iterable[str], tail: str) -> re.Pattern[str]:
    """An expression for what stands right before a name.

    parts (Iterable[str]): the ways to say it.
    tail (str): what may stand between it and the name.
    RETURNS (re.Pattern): to search in the text that ends where the name begins.
    """
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)}){tail}$", re.IGNORECASE)


def behind(parts: Iterable[str]) -> re.Pattern[str]:
    """An expression for what stands right behind a name.

    parts (Iterable[str]): the ways to say it.
    RETURNS (re.Pattern): to match from where the name ends.
    """
    return re.compile(rf"(?:{'|'.join(parts)})", re.IGNORECASE)
