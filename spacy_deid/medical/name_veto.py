"""Names of a note's persons, and whether a medical name is one of them in whatever form."""

import re

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words

__all__ = ["NameVeto"]

_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = 3  # letters of a name that is remembered
_ENDING = 4  # letters that a case or a possessive adds at most: "Crohnin", "Parkinsonille"


class NameVeto:
    """Names that stand for a person somewhere in a note.

    A patient's or relative's name is never a medical term in that note. A clinician's is one with its head word:
    in "Dr. Parkinson started Parkinson's medication" the second is.
    """

    def __init__(self) -> None:
        self._persons: set[str] = set()
        self._clinicians: set[str] = set()

    def add(self, text: str, *, clinician: bool) -> None:
        """Remember the words of a name.

        text (str): the name.
        clinician (bool): whether it is a clinician's, by title or label.
        """
        (self._clinicians if clinician else self._persons).update(_words(text))

    def holds(self, text: str, *, headed: bool) -> bool:
        """Whether a medical term bears the name of one of the persons.

        text (str): the term.
        headed (bool): whether it has a head word.
        RETURNS (bool): True if it may not be recovered.
        """
        names = self._persons if headed else self._persons | self._clinicians
        return any(_same(word, name) for word in _words(text) for name in names)


def _words(text: str) -> set[str]:
    """The words of a text that can be names, in normal form."""
    found = {normal_form(word) for word in _WORD.findall(text)}
    return {word for word in found if len(word) >= _SHORTEST} - function_words()


def _same(first: str, second: str) -> bool:
    """Whether two words are one name, perhaps in different cases."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short) and len(long) - len(short) <= _ENDING
