"""Choosing a lemmatizer by name, and combining several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..lang import all_languages, get_language
from ..registries import choose_part, registry
from .external import make_lookup_lemmatizer, make_simplemma_lemmatizer, make_voikko_lemmatizer, read_lemmas
from .forms import Lemmatizer, fill, lower_form

_STOPS = frozenset(".!?:;•")


def choose_lemmatizer(lemmatizer: Any, lang: str) -> Lemmatizer:
    """Return the lemmatizer that a setting names.

    lemmatizer (Any): a name: "rules" (rules of the language), "simplemma", "lookup" (spacy-lookups-data), "voikko",
        "doc" (``token.lemma_``), or a registered name; a list, of which the first lemmatizer that changes a word
        decides; a lemmatizer; or None for "rules" if the language has rules and "simplemma" otherwise.
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
    """Lemmatizes with the rules of a language.

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

    A lemmatizer that returns the word itself may not know it.

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

    At the start of a sentence or line a capital letter says nothing. A word that is capitalized only there is
    lemmatized by `others`, and by `capitalised` if that does not change it.

    capitalised, others (Lemmatizer): the two lemmatizers.
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
