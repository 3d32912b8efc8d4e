"""Write a surrogate with the same kind of damage as the original.

A clean name in a note that a scan or a line break damaged shows readers that it is a surrogate. So a surrogate gets

- digits for letters, as many as `damaged.read_damaged` read in the original: "De1gado" becomes "C0rdero";
- letters for digits in numbers, where the original has them: "O5O 997 34ZO" becomes "O49 3l2 87OO";
- line breaks within words with a hyphen, as far from the start as in the original;
- no accents, if the note was written without any.

All choices depend on the key. Nothing of the original is copied but the number of damaged characters and their
position in a number; a piece of a broken surrogate is never a piece of the original.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from ..lang import get_language
from .keys import Draw
from .mention import Mention

_SCANNED = {"o": "0", "O": "0", "l": "1", "I": "l", "S": "5", "B": "8", "s": "5", "i": "1", "z": "2", "Z": "2"}
_FIGURES = {"0": "O", "1": "l", "2": "Z", "5": "S", "8": "B"}
_RUN = re.compile(r"[^\W\d_]+")
_VOWELS = frozenset("aeiouyäöáéíóúü")
_SHORTEST_PIECE = 2  # letters before and after a break
_TRIES = 12

BROKEN = re.compile(
    r"(?<=[^\W\d_])-[ \t]*\n[>\s]*(?=[a-zß-öø-ÿ])|(?<=[A-ZÀ-ÖØ-Þ]{2})-[ \t]*\n[>\s]*(?=[A-ZÀ-ÖØ-Þ]{2})"
)
"""A hyphen and a line end within a word."""


def wear(surrogate: str, original: str, read: str, draw: Draw) -> str:
    """Damage the surrogate of a name or place like its original.

    surrogate (str): the surrogate, without damage.
    original (str): the mention as written.
    read (str): the mention without its damage, see `damaged.read_damaged`.
    draw (Draw): stream of random numbers.
    RETURNS (str): the damaged surrogate; the surrogate itself if the original has no damage.
    """
    whole = BROKEN.sub("", original)
    scanned = sum(old != new for old, new in zip(whole, read, strict=True)) if len(whole) == len(read) else 1
    worn = _scan(surrogate, original, scanned, draw) if whole != read else surrogate
    return _break_words(worn, original)


def wear_number(surrogate: str, original: str, read: str) -> str:
    """Write letters for the digits of a number where the original has letters for digits.

    surrogate (str): the surrogate, without damage.
    original (str): the mention as written.
    read (str): the mention with digits for these letters.
    RETURNS (str): the damaged surrogate; without damage if it has another length.
    """
    if not len(surrogate) == len(original) == len(read):
        return surrogate
    damaged = [old != new for old, new in zip(original, read, strict=True)]
    return "".join(_FIGURES.get(char, char) if bad else char for char, bad in zip(surrogate, damaged, strict=True))


def lacks_accents(mentions: Sequence[Mention], lang: str) -> bool:
    """Return whether the text of a note around its mentions was written without accents.

    It has no letter with an accent, and a word that is no word without one, such as "medico" in Spanish. A table or a
    message in which no word needs an accent says nothing, so a patient has the same surrogate in it as elsewhere.
    """
    parts = [part for mention in mentions for part in (mention.before, mention.text, mention.after)]
    if any(_is_accented(char) for part in parts if not part.isascii() for char in part):
        return False
    words = _bare_words(lang)
    return any(not words.isdisjoint(_RUN.findall(part.lower())) for part in parts)


@lru_cache(maxsize=8)
def _bare_words(lang: str) -> frozenset[str]:
    """Return the words of a language whose accents are missing if they stand in a text."""
    return frozenset(map(without_accents, get_language(lang).accented_words))


def _is_accented(char: str) -> bool:
    """Return whether a character is a letter beyond ASCII."""
    return not char.isascii() and char.isalpha() and char not in "ªº"


def without_accents(text: str) -> str:
    """Return a text without accents and diaereses."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _pieces(text: str) -> frozenset[str]:
    """Return the runs of letters of a text, in lower case."""
    return frozenset(run.lower() for run in _RUN.findall(text) if len(run) > 1)


def _has_new_pieces(made: str, surrogate: str, original: str) -> bool:
    """Return whether the pieces into which damage divided the words of a surrogate are not in the original."""
    return (_pieces(made) - _pieces(surrogate)).isdisjoint(_pieces(original))


def _scan(surrogate: str, original: str, number: int, draw: Draw) -> str:
    """Write digits for some letters. The surrogate stays whole if this always gives a piece of the original."""
    places = [i for i, char in enumerate(surrogate) if char in _SCANNED]
    for _ in range(_TRIES if places else 0):
        out = list(surrogate)
        for i in draw.shuffled(places)[:number]:
            out[i] = _SCANNED[out[i]]
        made = "".join(out)
        if _has_new_pieces(made, surrogate, original):
            return made
    return surrogate


def _break_words(surrogate: str, original: str) -> str:
    """Break words of a surrogate at line ends, as in the original."""
    for found in reversed(list(BROKEN.finditer(original))):
        aim = len(surrogate) * found.start() / max(1, len(original))
        places = sorted(_breaks(surrogate), key=lambda i: abs(i - aim))
        for i in places:
            made = surrogate[:i] + found[0] + surrogate[i:]
            if _has_new_pieces(made, surrogate, original):
                surrogate = made
                break
    return surrogate


def _breaks(text: str) -> list[int]:
    """Return the offsets of a text at which a syllable begins within a word."""
    out = []
    for word in _RUN.finditer(text):
        letters = word[0].lower()
        out += [
            word.start() + i
            for i in range(_SHORTEST_PIECE, len(letters) - _SHORTEST_PIECE + 1)
            if letters[i] not in _VOWELS and letters[i + 1] in _VOWELS
        ]
    return out
