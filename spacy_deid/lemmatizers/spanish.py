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
# Endings of words that have both genders; elsewhere -a and -o make two words (caso, casa).
_FEMININE = re.compile(
    r"(?:(?<=[aeio]d)|(?<=[aei]r)|(?<=[iau]c)|(?<=[aiou]n)|(?<=[ou]s)|(?<=iv)|(?<=og)|(?<=iñ)|(?<=it)|(?<=orm)"
    r"|^hij|^herman|^niet|^sobrin|^prim|^espos|^suegr|^cuñad|^abuel|^viud|^alumn|^maestr|^chic|^ti|^amig)a$"
)
_AGENT = re.compile(r"(?<=[dts]or)a$")
_SHORT = 4


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
    bare = word.translate(_ACUTE)
    if len(word) < _SHORT or not word.isalpha() or word in load_names("es"):
        return bare
    return _masculine(_singular(bare))


def _singular(word: str) -> str:
    """Undo the plural: voces, voz; doctores, doctor; casos, caso."""
    if not word.endswith("s") or word.endswith(("sis", "xis", "tis", "us")):
        return word
    if word.endswith("ces"):
        return word[:-3] + "z"
    if word.endswith("es") and word[-3] in "dlnrsyj" and len(word) > _SHORT + 1:
        return word[:-2]
    return word[:-1] if word[-2] in "aeio" else word


def _masculine(word: str) -> str:
    """Undo the feminine: enfermera, enfermero; doctora, doctor."""
    return _FEMININE.sub("o", _AGENT.sub("", word))
