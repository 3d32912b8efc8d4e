"""Light rules for Spanish: plurals and feminine forms undone, names of the lists left alone.

Accents are taken off, because a plural often loses one (canción, canciones) and notes leave them out; ñ stays.
"""

import re
from dataclasses import dataclass

from spacy.tokens import Doc

from .listed import load_names
from .words import each_word, lower_form

__all__ = ["SpanishLemmas"]

_ACUTE = str.maketrans("áéíóúü", "aeiouu")
_STRESSED_END = re.compile(r"[áéíóú]s$")  # país, París, interés: no plural
# Endings of words that have both genders; elsewhere -a and -o make two words (caso, casa).
_FEMININE = re.compile(
    r"((?:[aeio]d|[aei]r|[iau]c|[aiou]n|os|us|iv|eñ|og|it|"
    r"^hij|^niñ|^herman|^niet|^prim|^espos|^suegr|^cuñad|^abuel|^viud|^alumn|^maestr|^chic|^amig))a$"
)
_AGENT = re.compile(r"([dts]or)a$")
_SHORT = 5  # letters; the accent of a shorter word tells two words apart (él, está), and its -s is seldom a plural


@dataclass(frozen=True, slots=True)
class SpanishLemmas:
    """Finds the masculine singular of every word of a Doc."""

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc.
        RETURNS (list[str]): one for each token; equal for all occurrences of a word, however it is capitalised.
        """
        return each_word(doc, _masculine_singular)


def _masculine_singular(word: str) -> str:
    """Undo plural and gender of one word."""
    word = lower_form(word)
    if word in load_names("es"):
        return word.translate(_ACUTE)
    if len(word) < _SHORT or not word.isalpha():
        return word
    bare = word.translate(_ACUTE)
    return bare if _STRESSED_END.search(word) else _masculine(_singular(bare))


def _singular(word: str) -> str:
    """Undo the plural: voces, voz; doctores, doctor; casos, caso."""
    if not word.endswith("s") or word.endswith(("sis", "xis", "tis", "us")):
        return word
    if word.endswith("ces"):
        return word[:-3] + "z"
    if word.endswith("es") and word[-3] in "dlnrsyj" and len(word) > _SHORT:
        return word[:-2]
    return word[:-1] if word[-2] in "aeio" else word


def _masculine(word: str) -> str:
    """Undo the feminine: enfermera, enfermero; doctora, doctor."""
    return _FEMININE.sub(r"\1o", _AGENT.sub(r"\1", word))
