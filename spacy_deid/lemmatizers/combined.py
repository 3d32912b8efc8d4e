"""Lemmatizers of lemmatizers: one after the other, or one for words with a capital and one for the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from spacy.tokens import Doc
from spacy.util import registry

from ..errors import ConfigError, Errors
from .words import Lemmatizer, fill, lower_form

__all__ = ["CapitalisedLemmas", "FirstLemmas", "make_capitalised_lemmas", "make_first_lemmas"]

_STOPS = frozenset(".!?:;•")


@registry.misc("spacy_deid.first_lemmas.v1")
def make_first_lemmas(*lemmatizers: Lemmatizer) -> Lemmatizer:
    """Make a lemmatizer that asks several in turn.

    lemmatizers (Lemmatizer): the one that is trusted most is the first. In a config they are blocks under ``*``.
    RETURNS (Lemmatizer): takes the first lemma that is not the word itself.
    RAISES: ConfigError (D824) if there are none.
    """
    if not lemmatizers:
        raise ConfigError(Errors.D824)
    return FirstLemmas(lemmatizers)


@registry.misc("spacy_deid.capitalised_lemmas.v1")
def make_capitalised_lemmas(capitalised: Lemmatizer, others: Lemmatizer) -> Lemmatizer:
    """Make a lemmatizer that asks one for what may be a name and another for the rest.

    capitalised (Lemmatizer): for words that stand with a capital within a sentence anywhere in the note.
    others (Lemmatizer): for the rest.
    RETURNS (Lemmatizer): asks the same one for all occurrences of a word, however each is capitalised.
    """
    return CapitalisedLemmas(capitalised, others)


@dataclass(frozen=True, slots=True)
class FirstLemmas:
    """Takes the first lemma that is not the word itself; one that leaves a word alone may just not know it.

    lemmatizers (tuple[Lemmatizer, ...]): asked in turn.
    """

    lemmatizers: Sequence[Lemmatizer]

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc.
        RETURNS (list[str]): one for each token.
        """
        words = [lower_form(token.text) for token in doc]
        lemmas = list(words)
        for lemmatizer in self.lemmatizers:
            asked = fill(words, lemmatizer(doc))
            lemmas = [new if old == word else old for word, old, new in zip(words, lemmas, asked, strict=True)]
        return lemmas


@dataclass(frozen=True, slots=True)
class CapitalisedLemmas:
    """Asks one lemmatizer for words with a capital and another for the rest.

    At the start of a sentence or line a capital says nothing, so a word that has one only there goes to the other
    first, and to the one for capitals if that leaves it alone.

    capitalised, others (Lemmatizer): the two.
    """

    capitalised: Lemmatizer
    others: Lemmatizer

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc.
        RETURNS (list[str]): one for each token.
        """
        words = [lower_form(token.text) for token in doc]
        within, first = _capitals(doc, words)
        names, others = fill(words, self.capitalised(doc)), fill(words, self.others(doc))
        return [
            name if word in within or (word in first and other == word) else other
            for word, name, other in zip(words, names, others, strict=True)
        ]


def _capitals(doc: Doc, words: Sequence[str]) -> tuple[set[str], set[str]]:
    """The words that have a capital within a sentence, and those that have one at the start of a sentence or line."""
    within: set[str] = set()
    first: set[str] = set()
    starts = True
    for token, word in zip(doc, words, strict=True):
        text = token.text
        if text[:1].isupper():
            (first if starts else within).add(word)
        starts = text in _STOPS or "\n" in text or (starts and not text[:1].isalnum())
    return within, first
