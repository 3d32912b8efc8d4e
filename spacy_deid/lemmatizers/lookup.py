"""Lemmas from the tables of spacy-lookups-data (MIT; the tables have licences of their own)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from spacy.lookups import load_lookups
from spacy.tokens import Doc
from spacy.util import registry

from ..errors import ConfigError, Errors
from .words import Lemmatizer, each_word, lower_form

__all__ = ["LookupLemmas", "make_lookup_lemmas"]

_TABLE = "lemma_lookup"


@registry.misc("spacy_deid.lookup_lemmas.v1")
def make_lookup_lemmas(lang: str) -> Lemmatizer:
    """Make a lemmatizer that looks words up.

    lang (str): ISO 639-1 code.
    RETURNS (Lemmatizer): needs no tags, so each form has one lemma.
    RAISES: ConfigError (D820) if the package is not installed or has no table of lemmas for the language.
    """
    _load(lang)
    return LookupLemmas(lang)


@cache
def _load(lang: str) -> Mapping[str, str]:
    """The table of a language."""
    try:
        return load_lookups(lang, [_TABLE]).get_table(_TABLE)  # type: ignore[no-any-return]
    except ValueError:
        raise ConfigError(Errors.D820.format(lang=lang, package="spacy-lookups-data", extra="lookups")) from None


@dataclass(frozen=True, slots=True)
class LookupLemmas:
    """Looks each word up as it is written, then in lower case.

    lang (str): ISO 639-1 code.
    """

    lang: str

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc.
        RETURNS (list[str]): one for each token.
        """
        table = _load(self.lang)
        return each_word(doc, lambda word: table.get(word) or table.get(lower_form(word)))
