"""Check words against the shipped lists of given names and surnames. The check is a veto, so the lists of all
languages count.
"""

import csv
from functools import cache

from ..lang import all_languages, get_language
from .normalise import normal_form

_SHORTEST = 2  # initials do not count as names


@cache
def name_words(lang: str = "") -> frozenset[str]:
    """Load the words of the shipped given names and surnames.

    lang (str): ISO 639-1 code of the lists; "" for all languages.
    RETURNS (frozenset[str]): normal forms; names of several words are split.
    """
    words: set[str] = set()
    for language in [get_language(lang)] if lang else all_languages():
        for part in ("female", "male", "surname"):
            rows = csv.reader(language.read_text(f"names/{part}.csv").splitlines()[1:])
            words.update(word for row in rows for word in normal_form(row[0]).split() if len(word) >= _SHORTEST)
    return frozenset(words)


def is_person_name(term: str) -> bool:
    """Check whether a term could be the name of a person.

    term (str): a normal form.
    RETURNS (bool): True if every word is a given name, a surname or an initial, and at least one is not an initial.
    """
    words = [word.strip(".,") for word in term.split()]
    long = [word for word in words if len(word) >= _SHORTEST]
    return bool(long) and all(word in name_words() for word in long)
