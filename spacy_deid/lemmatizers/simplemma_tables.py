"""Lemmas from simplemma (MIT): tables and rules for some fifty languages in one small package."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from spacy.tokens import Doc
from spacy.util import registry

from ..errors import ConfigError, Errors
from .words import Lemmatizer, each_word

__all__ = ["SimplemmaLemmas", "make_simplemma_lemmas"]


@registry.misc("spacy_deid.simplemma_lemmas.v1")
def make_simplemma_lemmas(lang: str) -> Lemmatizer:
    """Make a lemmatizer of simplemma's tables.

    lang (str): ISO 639-1 code.
    RETURNS (Lemmatizer): the first call in a process reads the tables, which takes a second or more.
    RAISES: ConfigError (D820) if simplemma is not installed or does not know the language.
    """
    lemmatize = _load()
    try:
        lemmatize("a", lang)
    except ValueError:
        raise ConfigError(Errors.D820.format(lang=lang, package="simplemma", extra="lemmas")) from None
    return SimplemmaLemmas(lang)


@cache
def _load() -> Callable[[str, str], str]:
    """simplemma's lemmatizer, without the cache in which it would keep the words of notes."""
    try:
        from simplemma import Lemmatizer as Tables
    except ImportError:
        raise ConfigError(Errors.D821.format(package="simplemma", extra="lemmas")) from None
    lemmatize: Callable[[str, str], str] = Tables(cache_max_size=0).lemmatize
    return lemmatize


@dataclass(frozen=True, slots=True)
class SimplemmaLemmas:
    """Asks simplemma.

    lang (str): ISO 639-1 code.
    """

    lang: str

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc.
        RETURNS (list[str]): one for each token.
        """
        lemmatize = _load()
        return each_word(doc, lambda word: lemmatize(word, self.lang))
