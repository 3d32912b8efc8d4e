"""Words before a name that its first sound decides: English "a" and "an", Spanish "y" and "e", "o" and "u"."""

import re

from ..persons import fold

__all__ = ["needs_article_change"]

# Sounds, not letters: "a European", "a one-off", "an hour".
_CONSONANT_SOUND = re.compile(r"eu|ew|uni(?!n|m)|u[sr][aei]|uk|ut[aei]|one(?!ill)|once|ou[ai]")
_SILENT_H = re.compile(r"hono|hour|heir|herb")
_LETTERS_LIKE_VOWELS = "aefhilmnorsx"


def needs_article_change(original: str, surrogate: str, lang: str = "en") -> bool:
    """Whether the word before a value must change with it.

    original (str): what stood there.
    surrogate (str): what takes its place.
    lang (str): "en": a, an; "es": y, e, o, u. No other language has such words.
    RETURNS (bool): True if one of the two asks for "an" ("e", "u") and the other does not.
    """
    sound = {"en": _vowel_sound, "es": _like_conjunction}.get(lang)
    return sound is not None and sound(original) != sound(surrogate)


def _vowel_sound(text: str) -> str:
    """Whether a text begins with the sound of a vowel; an initial is read by its name: "an M. Smith"."""
    word = fold(text).lstrip("\"'( ")
    if re.match(r"\w(?:\W|$)", word) or (re.match(r"[A-Z]{2,4}(?![a-z])", text) and text.isupper() and len(text) < 4):
        return "an" if word[:1] in _LETTERS_LIKE_VOWELS else "a"
    vowel = (word[:1] in "aeiou" and not _CONSONANT_SOUND.match(word)) or _SILENT_H.match(word) is not None
    return "an" if vowel else "a"


def _like_conjunction(text: str) -> str:
    """Whether a Spanish text begins with the sound of "y" or of "o" ("e Isabel", "e Hilario", "u Óscar")."""
    word = fold(text).lstrip("\"'( ").removeprefix("h")
    if word.startswith("i") and not re.match(r"i[aeou]", word):
        return "e"
    return "u" if word.startswith("o") else ""
