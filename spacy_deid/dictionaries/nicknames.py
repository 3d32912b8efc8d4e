"""Derive the nicknames of given names by the patterns of a language, such as "Rafa" of Rafael and "Timppa" of Timo.

The nicknames that no pattern gives ("Paco" of Francisco) are listed in ``expansion.toml`` and become terms of the
dictionary. Patterns are regular expressions with parts of the name, so that one expression matches all derived forms
with their case endings. They are read from the key ``nickname_patterns`` of ``expansion.toml``.
"""

import csv
import re
from functools import cache, lru_cache

from ..lang import get_language, resource_folders
from .normalise import normal_form

_PARTS = re.compile(r"([^aeiouy]*)([aeiouy]+)([^aeiouy]*)([aeiouy]?)(.*)")
_TAIL = re.compile(r"[^aeiouy]{1,2}[aeiouy]+[^aeiouy]{1,2}[aeiouy]+$")
_SHORTEST = 4  # letters of a name that has nicknames
_SHORTEST_DERIVED = 3
_KEPT = 20_000


@cache
def given_names() -> frozenset[str]:
    """Load the given names and the listed nicknames of all languages.

    RETURNS (frozenset[str]): normal forms of single words.
    """
    words: set[str] = set()
    for language in resource_folders():
        for part in ("female", "male"):
            rows = csv.reader(language.read_text(f"names/{part}.csv").splitlines()[1:])
            words.update(word for row in rows for word in normal_form(row[0]).split())
        for table in ("nicknames", "rare_nicknames"):
            listed = language.read_toml("expansion.toml").get(table, {})
            words.update(normal_form(word) for names in listed.values() for word in names)
    return frozenset(words)


@lru_cache(_KEPT)
def nickname_pattern(name: str, lang: str) -> re.Pattern[str] | None:
    """Compile the pattern of the nicknames that a language derives of a given name.

    name (str): normal form of a given name.
    lang (str): ISO 639-1 code.
    RETURNS (re.Pattern | None): pattern for a whole word in normal form; None if the language has no patterns, or the
        name is too short or no listed given name.
    """
    patterns, parts = _patterns(lang), _PARTS.fullmatch(name)
    if not patterns or not parts or len(name) < _SHORTEST or name not in given_names():
        return None
    onset, vowels, coda, second, _ = parts.groups()
    tail = _TAIL.search(name)
    fields = {
        "name": name,
        "stem": name.rstrip("aeiouy"),
        "cv": onset + vowels[0],
        "cvv": onset + vowels,
        "cvc": onset + vowels + coda[:1],
        "cvcc": onset + vowels + coda,
        "two": onset + vowels + coda + second,
        "tail": tail[0] if tail and tail[0] != name else name,
    }
    return re.compile("|".join(pattern.format(**fields) for pattern in patterns))


@cache
def _patterns(lang: str) -> tuple[str, ...]:
    """Read the patterns of a language; none if it has none."""
    return tuple(get_language(lang).read_toml("expansion.toml").get("nickname_patterns", ()))


def is_nickname(word: str, name: str, lang: str) -> bool:
    """Check whether a word is a nickname that a language derives of a given name.

    word (str): normal form of a word.
    name (str): normal form of a name; surnames and unlisted given names have no nicknames.
    lang (str): ISO 639-1 code.
    RETURNS (bool): True for a derived nickname.
    """
    if len(word) < _SHORTEST_DERIVED or (word[0] != name[0] and word[-2:] != name[-2:]):
        return False
    pattern = nickname_pattern(name, lang)
    return bool(pattern and pattern.fullmatch(word))
