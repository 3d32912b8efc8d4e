"""Conventions of places, streets, postal codes and institutions that a language gives to the surrogates.

`PlaceConventions` and `PostalCodes` hold the functions that a language can override. Their defaults make no surrogate,
so that a tag is written instead. The lists that these functions read are in ``places.toml`` of the language.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Protocol

from .text import DIGITS, LETTERS, Draw, fold

_COMMON_NAMES = 400  # surnames that streets and institutions are named after


class InstitutionSurrogates(Protocol):
    """The surrogates of one note, as `PlaceConventions.replace_institution` uses them.

    Every method returns a value in its basic form (nominative, usual capitals), or None if none is free.
    """

    def pick(self, family: str, options: Sequence[str], *context: str) -> str | None:
        """Draw one of several values that is free.

        family (str): values of one family are never given to two originals of a note.
        options (Sequence[str]): values to choose from.
        context (str): what is decided, with the folded original; the same context gives the same value.
        """
        ...

    def take(self, family: str, value: str) -> bool:
        """Reserve a value for one original. RETURNS (bool): False if it is not free."""
        ...

    def draw(self, *context: str) -> Draw:
        """Open the stream of random numbers of one decision."""
        ...

    def acronym(self, word: str) -> str | None:
        """Replace an acronym without an ending."""
        ...

    def place(self, text: str) -> tuple[str | None, str] | None:
        """Replace a known place. RETURNS: (surrogate, case of the text); None if the place is not known."""
        ...

    def town(self, text: str) -> str | None:
        """Replace a word that is treated as an unknown town."""
        ...


def _no_text(text: str) -> str:
    return ""


def _unchanged(text: str) -> str:
    return text


def _no_names(name: str, before: Sequence[str]) -> Sequence[str] | None:
    return ()


def _all_vowels(word: str) -> str:
    return "AOUEI"


def agrees(other: Sequence[str], own: Sequence[str], plural: bool) -> bool:
    """Whether an adjective of nationality can replace another one.

    other, own (Sequence[str]): masculine and feminine form of each.
    plural (bool): whether the plural is needed.
    RETURNS (bool): False if the original has one form for both genders and the other one has two, which would show a
        gender that the original does not.
    """
    return own[0] != own[1] or other[0] == other[1]


@dataclass(frozen=True, kw_only=True)
class PlaceConventions:
    """Conventions of a language for the names of places, streets and institutions.

    article (Callable[[str], str]): given the text before a town, returns the article at its end, folded, if it may be
        part of the name ("la" before "Coruña"), else "".
    generic_before, generic_after (str): alternatives of a regular expression: words before and after the name of a
        place ("provincia", "county"), which are kept.
    prepositions, articles (str): alternatives that may follow `generic_before`.
    before_places (frozenset[str]): words before a town within the name of an institution: "Hospital de Segovia".
    after_titles (frozenset[str]): words that may follow a title within a proper name: "Marqués de Valdecilla".
    not_acronyms (frozenset[str]): short words, diseases and offensive words, folded, that are never used as acronyms.
    acronym_vowels (Callable[[str], str]): acronym → the vowels (in capitals) that may replace its vowels.
    acronym_keeps_last (bool): whether the last letter of an acronym stays, because its ending depends on it.
    nationality_plural (Callable[[str], str]): plural of an adjective of nationality.
    nationality_agrees (Callable): whether one adjective can replace another one; see `agrees`.
    street (Optional[Callable[[str, Draw], str]]): draws a street address in place of another one: the kind of street,
        punctuation and floor stay. None: streets get no surrogate.
    institution_names (Callable): (proper name, parts of the institution's name before it) → names that can replace it;
        None for a proper name that is a town.
    replace_institution (Optional[Callable]): (name, label, variant, surrogates) → surrogate. For a language whose
        grammar needs more than replacing words; None uses the general method.
    kind_may_be_name (bool): whether the first word of a name without a proper part is treated as one ("Station
        Physicians").
    towns_are_names (bool): whether a town within the name of an institution usually refers to a saint or a person;
        only large towns then count as places.
    not_towns (frozenset[str]): first words, folded, of names that are no towns if `towns_are_names`.
    lower_case_names (frozenset[str]): proper names in lower case, folded: "Hospital 12 de octubre".
    ward_names (Sequence[str]): names that replace the name of a ward next to its number; if empty, the name is kept.
    """

    article: Callable[[str], str] = _no_text
    generic_before: str = ""
    generic_after: str = ""
    prepositions: str = ""
    articles: str = ""
    before_places: frozenset[str] = frozenset()
    after_titles: frozenset[str] = frozenset()
    not_acronyms: frozenset[str] = frozenset()
    acronym_vowels: Callable[[str], str] = _all_vowels
    acronym_keeps_last: bool = False
    nationality_plural: Callable[[str], str] = _unchanged
    nationality_agrees: Callable[[Sequence[str], Sequence[str], bool], bool] = agrees
    street: Callable[[str, Draw], str] | None = None
    institution_names: Callable[[str, Sequence[str]], Sequence[str] | None] = _no_names
    replace_institution: Callable[[str, str, int, InstitutionSurrogates], str | None] | None = None
    kind_may_be_name: bool = False
    towns_are_names: bool = False
    not_towns: frozenset[str] = frozenset()
    lower_case_names: frozenset[str] = frozenset()
    ward_names: Sequence[str] = ()


Exchange = Callable[[str, Sequence[str]], str]
"""(area, all areas) → another area, a permutation by the key."""


def redraw_code(code: str, draw: Draw) -> str:
    """Replace every character of a code by another one of its kind.

    code (str): letters and digits.
    draw (Draw): stream of random numbers.
    RETURNS (str): a digit for each digit, a capital letter for each letter.
    """
    return "".join(draw.choice(DIGITS if char in DIGITS else LETTERS) for char in code)


def _rewrite(code: str, area: str, draw: Draw, exchange: Exchange) -> str:
    return redraw_code(code, draw)


def _no_codes() -> Mapping[str, Any]:
    return {}


def _never(code: str) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class PostalCodes:
    """The postal codes of a country, or of the countries of a language.

    rewrite (Callable[[str, str, Draw, Exchange], str]): (code, area, stream, exchange) → another code. The area is the
        first part of the code for the region that replaces its own, "" if that is not known.
    has_area (Callable[[str], bool]): whether a code (letters and digits) begins with an area of `regions` or `towns`.
    area_digits (int): digits of an area.
    regions (Callable[[], Mapping[str, str]]): area → region, for codes that belong to regions.
    region_before (Optional[re.Pattern[str]]): matches a region before a code; group 1 is its name.
    is_small (Callable[[str], bool]): whether so few people live in an area that its code must not be released.
    towns (Callable[[], Mapping[str, Sequence[str]]]): town → its codes, for codes that belong to towns.
    province (Optional[re.Pattern[str]]): matches a code that begins with the number of a province (group 1), whose
        numbers are in the table ``zip`` of places.toml.
    local_part (Callable[[str, Draw], str]): (last three digits of a code that `province` matches, stream) → three
        other digits.
    in_address (Optional[re.Pattern[str]]): matches a code within a mention of a place.
    """

    rewrite: Callable[[str, str, Draw, Exchange], str] = _rewrite
    has_area: Callable[[str], bool] = _never
    area_digits: int = 3
    regions: Callable[[], Mapping[str, str]] = _no_codes
    region_before: re.Pattern[str] | None = None
    is_small: Callable[[str], bool] = _never
    towns: Callable[[], Mapping[str, Sequence[str]]] = _no_codes
    province: re.Pattern[str] | None = None
    local_part: Callable[[str, Draw], str] = redraw_code
    in_address: re.Pattern[str] | None = None


@cache
def place_words(lang: str) -> Mapping[str, Any]:
    """Read ``places.toml``: regions, and the words of streets, institutions and professions.

    lang (str): language code.
    RETURNS (Mapping[str, Any]): the content of the file, empty for a language without one.
    """
    from . import get_language  # the package imports this module

    return MappingProxyType(get_language(lang).read_toml("places.toml"))


def listed(words: Mapping[str, Any], key: str) -> list[str]:
    """Return the list of a table of places.toml; empty if there is none."""
    found = words.get(key, [])
    return found if isinstance(found, list) else []


def word_set(words: Mapping[str, Any], key: str) -> frozenset[str]:
    """Return the words of a text of places.toml, folded; empty if there is none."""
    return _split(str(words.get(key, "")))


@cache
def _split(text: str) -> frozenset[str]:
    """Split a text into folded words."""
    return frozenset(fold(word) for word in text.split())


def read_list(lang: str, name: str) -> list[str]:
    """Read a word list of a language, without template lines (those with the placeholders "{" or "[[").

    lang (str): language code.
    name (str): path within the language's folder.
    RETURNS (list[str]): its lines; [] if there is no such file.
    """
    from . import get_language  # the package imports this module

    return [line for line in get_language(lang).read_lines(name) if "{" not in line and "[[" not in line]


def common_surnames(lang: str, most: int = _COMMON_NAMES) -> list[str]:
    """Return the most frequent surnames of a language. most (int): how many."""
    return _first_column(lang, "names/surname.csv", most)


@cache
def common_given_names(lang: str, sex: str) -> frozenset[str]:
    """Return the most frequent given names of a language, folded. sex (str): "female" or "male"."""
    return frozenset(fold(name) for name in _first_column(lang, f"names/{sex}.csv", 4 * _COMMON_NAMES))


def invent_persons(lang: str, parts: Sequence[str], *, given: bool, surnames: int = 1) -> list[str]:
    """Return names of persons for a street or an institution that is named after one.

    lang (str): language code.
    parts (Sequence[str]): words of the original name, whose given name decides the sex.
    given (bool): whether the names have a given name; if not, they are surnames of one word.
    surnames (int): number of surnames behind a given name, 1 or 2.
    RETURNS (list[str]): names to choose from, combined from frequent given names and surnames.
    """
    family = common_surnames(lang)
    if not given:
        return [name for name in family if " " not in name]
    female = fold(parts[0]) in common_given_names(lang, "female") - common_given_names(lang, "male")
    return _full_names(lang, "female" if female else "male", surnames == 2)


@cache
def _full_names(lang: str, sex: str, two: bool) -> list[str]:
    """Combine frequent given names with one or two surnames, in a fixed order."""
    surnames, names = common_surnames(lang), _first_column(lang, f"names/{sex}.csv", 120)
    return [
        f"{name} {surnames[(7 * i) % len(surnames)]}" + (f" {surnames[(11 * i + 5) % len(surnames)]}" if two else "")
        for i, name in enumerate(names * 3)
    ]


@cache
def _first_column(lang: str, name: str, most: int) -> list[str]:
    """Return the first column of a CSV file, without its header."""
    return [line.split(",")[0] for line in read_list(lang, name)[1 : most + 1]]
