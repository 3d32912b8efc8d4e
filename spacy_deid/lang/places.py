"""The interface by which a language defines how surrogates of places, streets, postal codes and institutions are made.

A language sets functions and word lists of `PlaceConventions` and `PostalCodes`. By default a street gets no
surrogate, and a tag is written instead. This module also reads the word lists that several languages have, most of
them in ``places.toml``.
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
    """The functions with which `PlaceConventions.replace_institution` gets the surrogates of one note.

    They keep the surrogates of a note consistent and different from each other: a value is free as long as it is not
    the surrogate of another original. Values are in their basic form (nominative, usual capitals). A method returns
    None if no value is free.
    """

    def pick(self, family: str, options: Sequence[str], *context: str) -> str | None:
        """Choose a free value at random.

        family (str): name of a group of values within which no value is given to two originals of a note.
        options (Sequence[str]): values to choose from.
        context (str): identifies the decision and the original (folded); the same context gives the same value.
        RETURNS (Optional[str]): the value; None if none of them is free.
        """
        ...

    def take(self, family: str, value: str) -> bool:
        """Reserve a value for one original. RETURNS (bool): False if it is not free."""
        ...

    def draw(self, *context: str) -> Draw:
        """Return the source of random numbers for one decision; the same context gives the same numbers."""
        ...

    def acronym(self, word: str) -> str | None:
        """Return a surrogate for an acronym without case ending; None if none is free."""
        ...

    def place(self, text: str) -> tuple[str | None, str] | None:
        """Replace a listed place. RETURNS: (surrogate, grammatical case of the text); None if it is not listed."""
        ...

    def town(self, text: str) -> str | None:
        """Return a surrogate for a town that is not listed; None if none is free."""
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

    other, own (Sequence[str]): (masculine form, feminine form) of the replacement and of the original.
    plural (bool): whether the plural is needed; not used here.
    RETURNS (bool): False if the original has one form for both genders and the replacement has two, because it would
        then reveal a gender that the original does not.
    """
    return own[0] != own[1] or other[0] == other[1]


@dataclass(frozen=True, kw_only=True)
class PlaceConventions:
    """How the names of places, streets and institutions are written in a language, and how they are replaced.

    "Folded" means in lower case and without accents.

    article (Callable[[str], str]): text before a town → the article that it ends in (in lower case), if that can be
        part of the town's name ("la" before "Coruña"), else "".
    generic_before, generic_after (str): words before and after the name of a place ("provincia", "county") that are
        not replaced, separated by "|".
    prepositions, articles (str): words that can stand between `generic_before` and the name, separated by "|".
    before_places (frozenset[str]): prepositions before a town in the name of an institution: "Hospital de Segovia".
    after_titles (frozenset[str]): words that can follow a title within a proper name: "Marqués de Valdecilla".
    not_acronyms (frozenset[str]): short words, folded, that must not be surrogates of acronyms, because they name
        diseases, are offensive, or mean something else.
    acronym_vowels (Callable[[str], str]): acronym → the vowels (in capitals) that can replace its vowels.
    acronym_keeps_last (bool): whether the last letter of an acronym is kept, because its case ending depends on it.
    nationality_plural (Callable[[str], str]): adjective of nationality → its plural.
    nationality_agrees (Callable): whether one adjective of nationality can replace another one; see `agrees`.
    street (Optional[Callable[[str, Draw], str]]): (street address, source of random numbers) → another address with
        the same kind of street, punctuation and floor. None if streets get no surrogate.
    institution_names (Callable): (proper name within the name of an institution, parts of the institution's name
        before it) → proper names that can replace it; None if the proper name is to be replaced like a town.
    replace_institution (Optional[Callable]): (name, label, variant, surrogates) → surrogate of an institution, for a
        language in which words cannot be replaced one by one. The variant is 0 for the surrogate that all mentions of
        the name share. None uses the general method.
    kind_may_be_name (bool): whether the first word for a kind of institution is replaced like a proper name if the
        institution has no other name ("Station Physicians").
    towns_are_names (bool): whether a town in the name of an institution is usually the name of a saint or a person.
        If so, only a large town, or a town after one of `before_places`, counts as a place.
    not_towns (frozenset[str]): first words ("san"), folded, of names that are not towns if `towns_are_names`.
    named_day (Optional[re.Pattern[str]]): matches a day that institutions are named after ("12 de Octubre"), which
        `institution_names` replaces as a whole. None if there are none.
    lower_case_names (frozenset[str]): proper names that are written in lower case, folded: "Hospital 12 de octubre".
    ward_names (Sequence[str]): names that replace the name of a numbered ward; if empty, the name is kept.
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
    named_day: re.Pattern[str] | None = None
    lower_case_names: frozenset[str] = frozenset()
    ward_names: Sequence[str] = ()


_SPANISH_MONTHS = "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
SPANISH_DAY = re.compile(rf"[0-3]?\d de (?:{_SPANISH_MONTHS})(?!\w)", re.IGNORECASE)
"""Matches a day in Spanish, after which institutions are named in all languages: "Hospital 12 de Octubre"."""


def spanish_days(day: str) -> list[str]:
    """Return days that an institution can be named after instead of another day.

    day (str): the day in the name, as written ("12 de Octubre").
    RETURNS (list[str]): other days, from places.toml of Spanish.
    """
    days = listed(place_words("es").get("institutions", {}), "days")
    return [other for other in days if fold(other) != fold(day)]


Exchange = Callable[[str, Sequence[str]], str]
"""(area, all areas) → another area. The key determines a permutation, so two areas never become the same one."""


def redraw_code(code: str, draw: Draw) -> str:
    """Replace every character of a code by a random one of the same kind, digit or letter.

    code (str): letters and digits.
    draw (Draw): source of random numbers.
    RETURNS (str): random code with a digit for each digit and a capital letter for each letter.
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
    """How the postal codes of a language's countries are built, so that a surrogate fits the surrogate of its town.

    An area is the part at the beginning of a code that shows a region or a town.

    rewrite (Callable[[str, str, Draw, Exchange], str]): (code, area, source of random numbers, exchange) → another
        code. ``area`` is the area that the new code should have, "" if none is known; ``exchange`` replaces an area
        by another one.
    has_area (Callable[[str], bool]): whether the area of a code (letters and digits) can be looked up in `regions` or
        `towns`.
    area_digits (int): number of digits of an area.
    regions (Callable[[], Mapping[str, str]]): returns area → region, for codes that belong to regions.
    region_before (Optional[re.Pattern[str]]): matches a region in the text before a code; group 1 is its name.
    is_small (Callable[[str], bool]): whether so few people live in an area that its code must not be released.
    towns (Callable[[], Mapping[str, Sequence[str]]]): returns town → its codes, for codes that belong to towns.
    province (Optional[re.Pattern[str]]): matches a code that begins with the number of a province (group 1). The
        numbers are in the table ``zip`` of places.toml. None if codes do not begin so.
    local_part (Callable[[str, Draw], str]): (last three digits of a code that `province` matches, source of random
        numbers) → three other digits.
    in_address (Optional[re.Pattern[str]]): finds a postal code in a mention of a place that has other text, too.
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
    """Read ``places.toml`` of a language: its regions, and word lists for streets, institutions and professions.

    lang (str): language code.
    RETURNS (Mapping[str, Any]): the content of the file; empty if the language has no such file.
    """
    from . import get_language  # the package imports this module

    return MappingProxyType(get_language(lang).read_toml("places.toml"))


def listed(words: Mapping[str, Any], key: str) -> list[str]:
    """Return the list under a key of a table.

    words (Mapping[str, Any]): a table of places.toml, from `place_words`.
    key (str): the key.
    RETURNS (list[str]): the list; [] if the table has no such list.
    """
    found = words.get(key, [])
    return found if isinstance(found, list) else []


def word_set(words: Mapping[str, Any], key: str) -> frozenset[str]:
    """Return the words of a string that a table has under a key.

    words (Mapping[str, Any]): a table of places.toml, from `place_words`.
    key (str): the key of a string with words separated by spaces.
    RETURNS (frozenset[str]): the words in lower case without accents; empty if the table has no such key.
    """
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
    """Return the most frequent surnames of a language.

    lang (str): language code.
    most (int): maximum number of surnames.
    RETURNS (list[str]): surnames, the most frequent first.
    """
    return _first_column(lang, "names/surname.csv", most)


@cache
def common_given_names(lang: str, sex: str) -> frozenset[str]:
    """Return the most frequent given names of a language for one sex.

    lang (str): language code.
    sex (str): "female" or "male".
    RETURNS (frozenset[str]): the names in lower case without accents.
    """
    return frozenset(fold(name) for name in _first_column(lang, f"names/{sex}.csv", 4 * _COMMON_NAMES))


def invent_persons(lang: str, parts: Sequence[str], *, given: bool, surnames: int = 1) -> list[str]:
    """Combine frequent names into names of persons, to replace the person whom a street or institution is named after.

    lang (str): language code.
    parts (Sequence[str]): words of the original name. If the first one is a given name, it decides the sex.
    given (bool): whether to return a given name with surnames; otherwise surnames of one word.
    surnames (int): number of surnames after a given name, 1 or 2.
    RETURNS (list[str]): names to choose from.
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
