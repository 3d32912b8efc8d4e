"""Light rules for English: the possessive and the plural undone, names of the lists left alone."""

import re
from dataclasses import dataclass
from types import MappingProxyType

from spacy.tokens import Doc

from .listed import load_names
from .words import each_word, lower_form

__all__ = ["EnglishLemmas"]

_POSSESSIVE = re.compile(r"['’](?:s)?$")
_IRREGULAR = MappingProxyType(
    dict(
        pair.split(":")
        for pair in """
        men:man women:woman children:child feet:foot teeth:tooth mice:mouse geese:goose people:person lives:life
        wives:wife knives:knife halves:half diagnoses:diagnosis metastases:metastasis prognoses:prognosis
        vertebrae:vertebra
        """.split()
    )
)
_KEPT = ("ss", "us", "is", "as", "os", "ys", "news", "series", "diabetes", "always", "perhaps", "across")
_ES = ("sses", "shes", "ches", "xes", "zes")
_SHORT = 4  # letters; a shorter word in -s is seldom a plural


@dataclass(frozen=True, slots=True)
class EnglishLemmas:
    """Finds the singular of every word of a Doc."""

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc.
        RETURNS (list[str]): one for each token; equal for all occurrences of a word, however it is capitalised.
        """
        return each_word(doc, _singular)


def _singular(word: str) -> str:
    """Undo the possessive and the plural of one word."""
    word = _POSSESSIVE.sub("", lower_form(word)) or word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < _SHORT or not word.endswith("s") or not word.isalpha() or word.endswith(_KEPT):
        return word
    if word in load_names("en"):
        return word
    if word.endswith("ies") and len(word) > _SHORT:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_ES) else word[:-1]
