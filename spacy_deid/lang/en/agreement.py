"""The English indefinite article: "a" or "an", by the first sound of the following word."""

import re

from ..text import fold

# Sounds, not letters: "a European", "a one-off", "an hour".
_CONSONANT_SOUND = re.compile(r"eu|ew|uni(?!n|m)|u[sr][aei]|uk|ut[aei]|one(?!ill)|once|ou[ai]")
_SILENT_H = re.compile(r"hono|hour|heir|herb")
_LETTERS_LIKE_VOWELS = "aefhilmnorsx"


def indefinite_article(text: str) -> str:
    """Return the indefinite article of a text.

    text (str): any text. A single letter and a short acronym are read by the names of letters: "an M. Smith".
    RETURNS (str): "a" or "an".
    """
    word = fold(text).lstrip("\"'( ")
    if re.match(r"\w(?:\W|$)", word) or (re.match(r"[A-Z]{2,4}(?![a-z])", text) and text.isupper() and len(text) < 4):
        return "an" if word[:1] in _LETTERS_LIKE_VOWELS else "a"
    vowel = (word[:1] in "aeiou" and not _CONSONANT_SOUND.match(word)) or _SILENT_H.match(word) is not None
    return "an" if vowel else "a"
