"""The names of the lists that ship, which rules must leave as they are: James is no plural."""

import csv
from functools import cache

from ..lang import get_language
from .words import lower_form

__all__ = ["load_names"]

_LISTS = ("female", "male", "surname")


@cache
def load_names(lang: str) -> frozenset[str]:
    """Read the names of one word of a language.

    lang (str): ISO 639-1 code of a language that has lists.
    RETURNS (frozenset[str]): in lower case.
    """
    names: set[str] = set()
    for kind in _LISTS:
        rows = csv.DictReader(get_language(lang).read_text(f"names/{kind}.csv").splitlines())
        names |= {lower_form(row["name"]) for row in rows if row["name"].isalpha()}
    return frozenset(names)
