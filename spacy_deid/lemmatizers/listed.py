"""The names of the lists that ship, which rules must leave as they are: James is no plural."""

import csv
from functools import cache
from importlib.resources import files

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
        path = files("spacy_deid") / "resources" / "names" / f"{lang}_{kind}.csv"
        rows = csv.DictReader(path.read_text(encoding="utf8").splitlines())
        names |= {lower_form(row["name"]) for row in rows if row["name"].isalpha()}
    return frozenset(names)
