"""Lemmatizers map all forms of a word in a note to one lemma, so that context masking can mask all of them.

A `Lemmatizer` is any callable that takes a Doc and returns one lemma per token. A config names one in the setting
``lemmatizer`` of ``deid_surprisal``; other packages add lemmatizers in the registry ``deid_lemmatizers``.

A lemma is a key: in lower case and in Unicode's composed form (NFC), so that "VIRTASEN" and "Virtanen" compare equal.
Lemmatizers store no words of notes beyond a call.

simplemma (MIT) has tables and rules for some fifty languages. The tables of spacy-lookups-data (MIT) have licences of
their own. Voikko is under the GPL, so it is used only where it is installed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import spacy
from spacy.language import Language
from spacy.lookups import load_lookups
from spacy.tokens import Doc

from .errors import ConfigError, Errors
from .lang import all_languages, get_language
from .registries import choose_part, registry
from .workers import memory_zone

Lemmatizer = Callable[[Doc], list[str]]
"""Doc → one lemma per token, none of them empty."""


def lower_form(word: str) -> str:
    """Normalize a word like a lemma, so that words and lemmas can be compared.

    word (str): the word as written.
    RETURNS (str): the word in lower case and in NFC.
    """
    return normalize("NFC", word).lower()


def fill(words: Iterable[str], lemmas: Iterable[str | None]) -> list[str]:
    """Fill in missing lemmas, and give all occurrences of a word the same lemma.

    A lemmatizer that uses the context, or fails on capitalized words, may return several lemmas for a word; two
    occurrences of it would then count as two words. The first lemma that differs from the word itself is used for all.

    words (Iterable[str]): the words as written.
    lemmas (Iterable[Optional[str]]): a lemma for each word; None or blank if unknown.
    RETURNS (list[str]): one lemma per word; the lower-case form of a word without one.
    """
    forms = []
    chosen: dict[str, str] = {}
    for word, lemma in zip(words, lemmas, strict=True):
        form = lower_form(word)
        forms.append(form)
        if lemma and chosen.get(form, form) == form and not lemma.isspace():
            chosen[form] = lower_form(lemma)
    return [chosen.get(form, form) for form in forms]


def lemmatize_words(doc: Doc, lemma_of: Callable[[str], str | None]) -> list[str]:
    """Lemmatize a Doc word by word; each distinct word is looked up once.

    doc (Doc): the Doc.
    lemma_of (Callable[[str], Optional[str]]): word as written → lemma; None or blank if unknown.
    RETURNS (list[str]): one lemma per token.
    """
    words = [token.text for token in doc]
    distinct = list(dict.fromkeys(words))
    lemmas = dict(zip(distinct, fill(distinct, map(lemma_of, distinct)), strict=True))
    return [lemmas[word] for word in words]


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
    """Load the lemma table of a language. RAISES: ConfigError (D820) if there is none."""
    try:
        return load_lookups(lang, [_TABLE]).get_table(_TABLE)  # type: ignore[no-any-return]
    except ValueError:
        raise ConfigError(Errors.D820.format(lang=lang, package="spacy-lookups-data", extra="lookups")) from None


@dataclass(frozen=True, slots=True)
class SimplemmaLemmatizer:
    """Lemmatizes word by word with the tables and rules of simplemma.

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
    """Lemmatizes Finnish word by word with the morphological analyzer Voikko."""

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
    """Load Voikko and return its function from a word to its analyses.

    RAISES: ConfigError (D822) if Voikko or its Finnish dictionary is not installed.
    """
    try:
        from libvoikko import Voikko

        voikko = Voikko("fi")  # Finnish is the only language with a complete dictionary for Voikko
    except Exception:  # Voikko has its own exceptions for a missing library and a missing dictionary
        raise ConfigError(Errors.D822) from None
    voikko.setSpellerCacheSize(-1)  # no cache, which would store words of notes
    analyse: Analyse = voikko.analyze
    return analyse


def _base_form(word: str) -> str | None:
    """Return the base form of a word; None if Voikko has no analysis for it."""
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
        with memory_zone(nlp):  # so that the vocab of the pipeline does not keep the words
            read = nlp(Doc(nlp.vocab, words=words, spaces=spaces))
            return fill(words, [token.lemma_ for token in read])


@registry.deid_lemmatizers("spacy_deid.edit_tree_lemmatizer.v1")
def make_edit_tree_lemmatizer(path: str | Path) -> Lemmatizer:
    """Make a lemmatizer from a trained spaCy pipeline, such as one trained with configs/lemmatizer.cfg.

    path (str | Path): folder of the pipeline.
    RETURNS (Lemmatizer): runs the pipeline on the words of each Doc.
    RAISES: ConfigError (D823) if the folder is not a pipeline with a lemmatizer.
    """
    _load_pipeline(str(path))
    return EditTreeLemmatizer(str(path))


@cache
def _load_pipeline(path: str) -> Language:
    """Load a pipeline with a lemmatizer. RAISES: ConfigError (D823) if the folder has none."""
    try:
        nlp = spacy.load(path)
    except (OSError, ValueError, TypeError):
        raise ConfigError(Errors.D823.format(path=path)) from None
    if not any("lemmatizer" in nlp.get_pipe_meta(name).factory for name in nlp.pipe_names):
        raise ConfigError(Errors.D823.format(path=path))
    return nlp


_STOPS = frozenset(".!?:;•")


def choose_lemmatizer(lemmatizer: Any, lang: str) -> Lemmatizer:
    """Make the lemmatizer for a value of the setting ``lemmatizer``.

    lemmatizer (Any): a name: "rules" (rules of the language), "simplemma", "lookup" (spacy-lookups-data), "voikko",
        "doc" (``token.lemma_``), or a registered name; a list of such values, where each word gets
        the first lemma that differs from it; a `Lemmatizer`; or None for "rules" if the language has rules and
        "simplemma" otherwise.
    lang (str): ISO 639-1 code of the language of the notes.
    RETURNS (Lemmatizer): the lemmatizer.
    RAISES: ConfigError for an unknown name (D697, D698), an empty list (D824), a language without rules (D825), or
        packages that are missing or do not support the language (D820 – D823).
    """
    if lemmatizer is None:
        lemmatizer = "rules" if get_language(lang).lemmatize else "simplemma"
    if isinstance(lemmatizer, list | tuple):
        if not lemmatizer:
            raise ConfigError(Errors.D824)
        return FirstLemmatizer([choose_lemmatizer(one, lang) for one in lemmatizer])
    plain: dict[str, Callable[[], Lemmatizer]] = {
        "rules": partial(make_rule_lemmatizer, lang),
        "simplemma": partial(make_simplemma_lemmatizer, lang),
        "lookup": partial(make_lookup_lemmatizer, lang),
        "voikko": make_voikko_lemmatizer,
        "doc": lambda: read_lemmas,
    }
    found: Lemmatizer = choose_part("deid_lemmatizers", lemmatizer, plain, setting="lemmatizer")
    return found


@dataclass(frozen=True, slots=True)
class RuleLemmatizer:
    """Lemmatizes with the rules in the language's folder of spacy_deid; see `lang`.

    lang (str): ISO 639-1 code.
    """

    lang: str

    def __call__(self, doc: Doc) -> list[str]:
        """Return one lemma per token of a Doc."""
        lemmatize = get_language(self.lang).lemmatize
        return lemmatize([token.text for token in doc]) if lemmatize else [lower_form(token.text) for token in doc]


def make_rule_lemmatizer(lang: str) -> Lemmatizer:
    """Make the rule-based lemmatizer of a language, which needs no other package.

    lang (str): ISO 639-1 code.
    RETURNS (Lemmatizer): the lemmatizer.
    RAISES: ConfigError (D825) for a language without rules.
    """
    if not get_language(lang).lemmatize:
        known = ", ".join(language.code for language in all_languages() if language.lemmatize)
        raise ConfigError(Errors.D825.format(lang=lang, known=known))
    return RuleLemmatizer(lang)


@dataclass(frozen=True, slots=True)
class FirstLemmatizer:
    """Runs several lemmatizers and uses the first lemma that differs from the word.

    If a lemmatizer returns the word itself, the word may be missing from its dictionary, so the next one is used.

    lemmatizers (Sequence[Lemmatizer]): in descending order of priority.
    """

    lemmatizers: Sequence[Lemmatizer]

    def __call__(self, doc: Doc) -> list[str]:
        """Return one lemma per token of a Doc."""
        words = [lower_form(token.text) for token in doc]
        lemmas = list(words)
        for lemmatizer in self.lemmatizers:
            proposed = fill(words, lemmatizer(doc))
            lemmas = [new if old == word else old for word, old, new in zip(words, lemmas, proposed, strict=True)]
        return lemmas


@registry.deid_lemmatizers("spacy_deid.capitalised_lemmatizer.v1")
def make_capitalised_lemmatizer(capitalised: Any, others: Any, lang: str) -> Lemmatizer:
    """Make a lemmatizer that uses one lemmatizer for words that may be names and another for all other words.

    capitalised (Any): lemmatizer of words that are capitalized inside a sentence anywhere in the note; see
        `choose_lemmatizer`.
    others (Any): lemmatizer of all other words.
    lang (str): ISO 639-1 code of the language of the notes.
    RETURNS (Lemmatizer): uses the same lemmatizer for all occurrences of a word, however each is capitalized.
    RAISES: ConfigError as `choose_lemmatizer`.
    """
    return CapitalisedLemmatizer(choose_lemmatizer(capitalised, lang), choose_lemmatizer(others, lang))


@dataclass(frozen=True, slots=True)
class CapitalisedLemmatizer:
    """Uses one lemmatizer for capitalized words and another for all other words.

    At the start of a sentence or line, any word is capitalized. A word that is capitalized only there is lemmatized by
    `others`, and by `capitalised` if `others` returns the word itself.

    capitalised (Lemmatizer): lemmatizer of words that are capitalized inside a sentence anywhere in the note.
    others (Lemmatizer): lemmatizer of all other words.
    """

    capitalised: Lemmatizer
    others: Lemmatizer

    def __call__(self, doc: Doc) -> list[str]:
        """Return one lemma per token of a Doc."""
        words = [lower_form(token.text) for token in doc]
        within, first = _capitalised_words(doc, words)
        names, others = fill(words, self.capitalised(doc)), fill(words, self.others(doc))
        return [
            name if word in within or (word in first and other == word) else other
            for word, name, other in zip(words, names, others, strict=True)
        ]


def _capitalised_words(doc: Doc, words: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the words that are capitalized inside a sentence, and those at the start of a sentence or line."""
    within: set[str] = set()
    first: set[str] = set()
    starts = True
    for token, word in zip(doc, words, strict=True):
        text = token.text
        if text[:1].isupper():
            (first if starts else within).add(word)
        starts = text in _STOPS or "\n" in text or (starts and not text[:1].isalnum())
    return within, first
