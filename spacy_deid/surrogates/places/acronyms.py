"""Acronyms: as many letters, of the same sorts in the same capitals, and none that is known.

Vowels become vowels, so that what is read as a word still is; in Finnish the last letter and the vowel harmony stay,
and with them the ending behind the colon: "TAYS:ssa" becomes "KOMS:ssa".
"""

import re
from functools import cache

from ..keys import Draw
from ..persons import fold
from .gazetteer import load_words
from .state import Note

__all__ = ["is_acronym", "replace_acronym"]

_SHAPE = re.compile(r"(?:[A-ZÁÉÍÓÚÄÖÅ][.\d]*){2,7}|[A-ZÁÉÍÓÚÄÖÅ](?:&|-)[A-Z]{1,4}|[A-ZÄÖÅ]{2,4}[a-z]?[A-ZÄÖ]+")
_BACK, _NEUTRAL, _FRONT = "AOU", "EI", "ÄÖY"
_VOWELS = _BACK + _NEUTRAL
_CONSONANTS = "BCDFGHLMNPRST"
_LONGEST = 6
_NEVER = frozenset("pis pes sex ass tit fag gay kkk ss sa poo pee die eta hiv sida".split())  # read as words


def is_acronym(word: str) -> bool:
    """Whether a word looks like an acronym by its capitals: "HUCA", "HU12O", "AT&T".

    word (str): as written, in a text that is not all capitals.
    RETURNS (bool): True for two to six capitals.
    """
    return sum(map(str.isalpha, word)) <= _LONGEST and _SHAPE.fullmatch(word) is not None


def replace_acronym(word: str, note: Note, variant: int) -> str | None:
    """Replace an acronym.

    word (str): as written, without an ending.
    note (Note): what the surrogates of the note share.
    variant (int): variant of the surrogate.
    RETURNS (Optional[str]): another one of the same length and capitals; None if none is free.
    """
    known, finnish = _known(note.lang), note.lang == "fi"

    def make(draw: Draw) -> str:
        vowels = _harmony(word) if finnish else _VOWELS
        letters = [_letter(c, vowels, draw, keep=finnish and i == len(word) - 1) for i, c in enumerate(word)]
        return "" if fold(new := "".join(letters)) in known | _NEVER else new

    return note.retry("acronym", make, "acronym", fold(word), str(variant))


def _harmony(word: str) -> str:
    """The vowels that leave a Finnish word in its harmony: those of the back if it has one, else of the front."""
    return _BACK if any(letter in _BACK for letter in word.upper()) else _NEUTRAL + "Y"


def _letter(letter: str, vowels: str, draw: Draw, *, keep: bool) -> str:
    """Another letter of the same sort."""
    if letter.isdigit():
        return str(1 + draw.below(9))
    if keep or not letter.isalpha():
        return letter
    new = draw.choice(vowels if letter.upper() in _VOWELS + _FRONT + "ÅÁÉÍÓÚ" else _CONSONANTS)
    return new if letter.isupper() else new.lower()


@cache
def _known(lang: str) -> frozenset[str]:
    """Acronyms that exist, folded."""
    return frozenset(fold(name) for name in load_words(lang).get("institutions", {}).get("acronyms", "").split())
