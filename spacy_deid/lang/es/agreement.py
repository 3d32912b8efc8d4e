"""Spanish conjunctions that change with the first sound of the following word: y/e and o/u."""

import re

from ..text import fold

_DIPHTHONG = re.compile(r"i[aeou]")  # "y hierba"


def conjunction_and(text: str) -> str:
    """Return the form of "y" before a text. RETURNS (str): "e" before the sound of i ("e Hilario"), else "y"."""
    word = _first_word(text)
    return "e" if word.startswith("i") and not _DIPHTHONG.match(word) else "y"


def conjunction_or(text: str) -> str:
    """Return the form of "o" before a text. RETURNS (str): "u" before the sound of o ("u Óscar"), else "o"."""
    return "u" if _first_word(text).startswith("o") else "o"


def _first_word(text: str) -> str:
    """The folded text without opening marks and the silent h."""
    return fold(text).lstrip("\"'( ").removeprefix("h")
