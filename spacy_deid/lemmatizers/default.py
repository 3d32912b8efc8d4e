"""The lemmatizers of the configurations that ship: rules, with nothing else to install."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from spacy.util import registry

from ..errors import ConfigError, Errors
from .english import EnglishLemmas
from .finnish_names import FinnishNameLemmas
from .spanish import SpanishLemmas
from .words import Lemmatizer

__all__ = ["LANGUAGES", "make_default_lemmas"]

LANGUAGES: Mapping[str, Callable[[], Lemmatizer]] = MappingProxyType(
    {"en": EnglishLemmas, "es": SpanishLemmas, "fi": FinnishNameLemmas}
)
"""Language → its lemmatizer by rule."""


@registry.misc("spacy_deid.default_lemmas.v1")
def make_default_lemmas(lang: str) -> Lemmatizer:
    """Make the lemmatizer by rule of a language.

    lang (str): ISO 639-1 code.
    RETURNS (Lemmatizer): brings the forms of a name or word together; for what is more than that see the others.
    RAISES: ConfigError (D825) for a language without one.
    """
    if lang not in LANGUAGES:
        raise ConfigError(Errors.D825.format(lang=lang, known=", ".join(sorted(LANGUAGES))))
    return LANGUAGES[lang]()
