"""Finnish lemmas from Voikko, where it is installed. It is under the GPL, so nothing here depends on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from spacy.tokens import Doc
from spacy.util import registry

from ..errors import ConfigError, Errors
from .words import Lemmatizer, each_word

__all__ = ["VoikkoLemmas", "make_voikko_lemmas"]

Analyse = Callable[[str], Sequence[Mapping[str, str]]]
_NAMES = ("etunimi", "sukunimi", "paikannimi", "nimi")


@registry.misc("spacy_deid.voikko_lemmas.v1")
def make_voikko_lemmas() -> Lemmatizer:
    """Make a lemmatizer of Voikko's dictionary.

    RETURNS (Lemmatizer): takes the reading as a name for words with a capital, if there is one, else the first.
    RAISES: ConfigError (D822) if Voikko or its dictionary is not installed.
    """
    _load()
    return VoikkoLemmas()


@cache
def _load() -> Analyse:
    """Voikko's analysis of a word."""
    try:
        from libvoikko import Voikko

        voikko = Voikko("fi")
    except Exception:  # it has errors of its own for a missing library and a missing dictionary
        raise ConfigError(Errors.D822) from None
    voikko.setSpellerCacheSize(-1)  # no word of a note stays behind
    analyse: Analyse = voikko.analyze
    return analyse


@dataclass(frozen=True, slots=True)
class VoikkoLemmas:
    """Asks Voikko."""

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc.
        RETURNS (list[str]): one for each token.
        """
        return each_word(doc, _base_form)


def _base_form(word: str) -> str | None:
    """The base form of a word; None if Voikko does not know it."""
    readings = _load()(word)
    names = [reading for reading in readings if reading.get("CLASS") in _NAMES] if word[:1].isupper() else []
    for reading in names or readings:
        return reading.get("BASEFORM")
    return None
