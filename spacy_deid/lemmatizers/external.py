"""Lemmatizers of other packages and pipelines: spacy-lookups-data, simplemma, Voikko, and spaCy's edit trees.

simplemma (MIT) has tables and rules for some fifty languages. The tables of spacy-lookups-data (MIT) have licences of
their own. Voikko is under the GPL, so it is used only where it is installed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.lookups import load_lookups
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..registries import registry
from .forms import Lemmatizer, fill, lemmatize_words, lower_form

_TABLE = "lemma_lookup"
_NAMES = ("etunimi", "sukunimi", "paikannimi", "nimi")  # Voikko's word classes of names
Analyse = Callable[[str], Sequence[Mapping[str, str]]]


def read_lemmas(doc: Doc) -> list[str]:
    """Return the lemmas that a lemmatizer earlier in the pipeline wrote to ``token.lemma_``.

    doc (Doc): the Doc.
    RETURNS (list[str]): one lemma per token; the lower-case form where the Doc has none.
    """
    return fill((token.text for token in doc), (token.lemma_ for token in doc))


@dataclass(frozen=True, slots=True)
class LookupLemmatizer:
    """Looks words up in a table of spacy-lookups-data, first as written, then in lower case.

    lang (str): ISO 639-1 code.
    """

    lang: str

    def __call__(self, doc: Doc) -> list[str]:
        """Return one lemma per token of a Doc."""
        table = _load_table(self.lang)
        return lemmatize_words(doc, lambda word: table.get(word) or table.get(lower_form(word)))


def make_lookup_lemmatizer(lang: str) -> Lemmatizer:
    """Make a lemmatizer from a table of spacy-lookups-data.

    lang (str): ISO 639-1 code.
    RETURNS (Lemmatizer): uses no part-of-speech tags, so each form has one lemma.
    RAISES: ConfigError (D820) if the package is not installed or has no table for the language.
    """
    _load_table(lang)
    return LookupLemmatizer(lang)


@cache
def _load_table(lang: str) -> Mapping[str, str]:
    """Load the table of a language."""
    try:
        return load_lookups(lang, [_TABLE]).get_table(_TABLE)  # type: ignore[no-any-return]
    except ValueError:
        raise ConfigError(Errors.D820.format(lang=lang, package="spacy-lookups-data", extra="lookups")) from None


@dataclass(frozen=True, slots=True)
class SimplemmaLemmatizer:
    """Lemmatizes with simplemma.

    lang (str): ISO 639-1 code.
    """

    lang: str

    def __call__(self, doc: Doc) -> list[str]:
        """Return one lemma per token of a Doc."""
        lemmatize = _load_simplemma()
        return lemmatize_words(doc, lambda word: lemmatize(word, self.lang))


def make_simplemma_lemmatizer(lang: str) -> Lemmatizer:
    """Make a lemmatizer that uses simplemma.

    lang (str): ISO 639-1 code.
    RETURNS (Lemmatizer): the first call in a process loads the tables, which takes a second or more.
    RAISES: ConfigError if simplemma is not installed (D821) or does not support the language (D820).
    """
    lemmatize = _load_simplemma()
    try:
        lemmatize("a", lang)
    except ValueError:
        raise ConfigError(Errors.D820.format(lang=lang, package="simplemma", extra="lemmas")) from None
    return SimplemmaLemmatizer(lang)


@cache
def _load_simplemma() -> Callable[[str, str], str]:
    """Load simplemma's lemmatizer without its cache, which would store words of notes."""
    try:
        from simplemma import Lemmatizer as Tables
    except ImportError:
        raise ConfigError(Errors.D821.format(package="simplemma", extra="lemmas")) from None
    lemmatize: Callable[[str, str], str] = Tables(cache_max_size=0).lemmatize
    return lemmatize


@dataclass(frozen=True, slots=True)
class VoikkoLemmatizer:
    """Lemmatizes Finnish with Voikko."""

    def __call__(self, doc: Doc) -> list[str]:
        """Return one lemma per token of a Doc."""
        return lemmatize_words(doc, _base_form)


def make_voikko_lemmatizer() -> Lemmatizer:
    """Make a lemmatizer that uses Voikko's Finnish dictionary.

    RETURNS (Lemmatizer): prefers the analysis as a name for capitalized words, else the first analysis.
    RAISES: ConfigError (D822) if Voikko or its dictionary is not installed.
    """
    _load_voikko()
    return VoikkoLemmatizer()


@cache
def _load_voikko() -> Analyse:
    """Load Voikko's function that analyses a word."""
    try:
        from libvoikko import Voikko

        voikko = Voikko("fi")
    except Exception:  # Voikko has its own exceptions for a missing library and a missing dictionary
        raise ConfigError(Errors.D822) from None
    voikko.setSpellerCacheSize(-1)  # no cache, which would store words of notes
    analyse: Analyse = voikko.analyze
    return analyse


def _base_form(word: str) -> str | None:
    """Return the base form of a word; None if Voikko does not know it."""
    analyses = _load_voikko()(word)
    names = [found for found in analyses if found.get("CLASS") in _NAMES] if word[:1].isupper() else []
    for found in names or analyses:
        return found.get("BASEFORM")
    return None


@dataclass(frozen=True, slots=True)
class EditTreeLemmatizer:
    """Lemmatizes with a trained spaCy pipeline, which runs on the words of each Doc.

    path (str): folder of the pipeline.
    """

    path: str

    def __call__(self, doc: Doc) -> list[str]:
        """Return one lemma per token of a Doc. The Doc is not changed."""
        if not len(doc):
            return []
        nlp = _load_pipeline(self.path)
        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        with nlp.memory_zone():  # so that the vocab of the pipeline does not keep the words
            read = nlp(Doc(nlp.vocab, words=words, spaces=spaces))
            return fill(words, [token.lemma_ for token in read])


@registry.deid_lemmatizers("spacy_deid.edit_tree_lemmatizer.v1")
def make_edit_tree_lemmatizer(path: str | Path) -> Lemmatizer:
    """Make a lemmatizer from a trained pipeline, such as configs/lemmatizer.cfg trains.

    path (str | Path): folder of the pipeline.
    RETURNS (Lemmatizer): runs the pipeline on the words of each Doc.
    RAISES: ConfigError (D823) if the folder is not a pipeline with a lemmatizer.
    """
    _load_pipeline(str(path))
    return EditTreeLemmatizer(str(path))


@cache
def _load_pipeline(path: str) -> Language:
    """Load the pipeline."""
    try:
        nlp = spacy.load(path)
    except (OSError, ValueError, TypeError):
        raise ConfigError(Errors.D823.format(path=path)) from None
    if not any("lemmatizer" in nlp.get_pipe_meta(name).factory for name in nlp.pipe_names):
        raise ConfigError(Errors.D823.format(path=path))
    return nlp
