"""Whether words are a person's name by the name lists that ship: a veto, so every language's lists count."""

import csv
from functools import cache

from ..lang import all_languages, get_language
from .normalise import normal_form

_SHORTEST = 2  # an initial alone says nothing


@cache
def name_words(lang: str = "") -> frozenset[str]:
    """The words of the given names and surnames that ship with the package.

    lang (str): language of the lists; all of them if empty.
    RETURNS (frozenset[str]): normal forms, each word of a name on its own.
    """
    words: set[str] = set()
    for language in [get_language(lang)] if lang else all_languages():
        for part in ("female", "male", "surname"):
            rows = csv.reader(language.read_text(f"names/{part}.csv").splitlines()[1:])
            words.update(word for row in rows for word in normal_form(row[0]).split() if len(word) >= _SHORTEST)
    return frozenset(words)


def is_person_name(term: str) -> bool:
    """Whether a term could be a person's name as a whole.

    term (str): a normal form.
    RETURNS (bool): True if every word of it is a given name, a surname or an initial, and one at least is no initial.
    """
    words = [word.strip(".,") for word in term.split()]
    long = [word for word in words if len(word) >= _SHORTEST]
    return bool(long) and all(word in name_words() for word in long)
