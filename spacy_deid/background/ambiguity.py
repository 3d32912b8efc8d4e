"""Which words of a record are also words of the language: "Will", "Rosa", "Kivi", "Primary Care".

A phrase that stands more often in a background corpus than the limit says is no evidence of a person or a place. In
the institution's dictionary it is dropped, because that is used on every note; in a patient's own it counts in the
context of a name.

Counts cannot tell "Virtanen", common because many are called so, from "Kivi", common because it is a stone. So the
names that ship with the package may be `_NAME_BONUS` times as common, and those that are known to be words only a
tenth.
"""

from collections.abc import Callable
from functools import cache, lru_cache

from ..dictionaries.normalise import normal_form
from ..dictionaries.person_names import name_words
from ..dictionaries.terms import function_words
from ..lang import all_languages
from .counts import PhraseCounts, background_languages, load_background

__all__ = ["LIMIT", "Ambiguity", "common_words"]

LIMIT = 5.0
"""Occurrences in a million words above which a phrase is ambiguous."""

_NAME_BONUS = 5.0
_WORD_BONUS = 0.1
_SHORT = 3  # letters; a shorter name is an abbreviation somewhere
_KEPT = 50_000  # words whose answers are kept


class Ambiguity:
    """What is ambiguous in one language.

    counts (PhraseCounts | None): counts of a background corpus; without them only function words and short names are
        ambiguous.
    limit (float): occurrences in a million words.
    """

    def __init__(self, counts: PhraseCounts | None, limit: float = LIMIT) -> None:
        self.counts = counts
        self.limit = limit
        self.is_common = lru_cache(_KEPT)(self._is_common)
        self.is_weak_name = lru_cache(_KEPT)(self._is_weak_name)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the answers that are kept: they are words of the record."""
        return Ambiguity, (self.counts, self.limit)

    @classmethod
    def of(cls, lang: str, limit: float = LIMIT) -> "Ambiguity":
        """With the counts that ship for a language, if there are any.

        lang (str): ISO 639-1 code.
        limit (float): occurrences in a million words.
        RETURNS (Ambiguity): what is ambiguous.
        """
        return cls(load_background(lang) if lang in background_languages() else None, limit)

    def _is_common(self, phrase: str) -> bool:
        """Whether a phrase is commoner than the limit, or nothing but function words.

        phrase (str): in normal form.
        """
        words = phrase.split()
        if all(word in function_words() for word in words):
            return True
        if self.counts is None:
            return False
        return self.counts.per_million(phrase) > self.limit * _bonus(words)

    def _is_weak_name(self, form: str) -> bool:
        """Whether a form of a name needs the context of a name.

        form (str): in normal form. Two whole words side by side ("lumi kivi") and what has the marks of a name
            ("a. kivi", "kivi, l.") are enough by themselves; "a kivi" is not more than "kivi".
        """
        words = [word.strip(".,") for word in form.split()]
        whole = [word for word in words if len(word) >= _SHORT and word not in function_words()]
        if not whole:
            return True
        if len(whole) > 1 or "." in form or "," in form:
            return False
        return self.is_common(whole[0])


@cache
def common_words(lang: str) -> Callable[[str], bool]:
    """What tells the words of a language from names and from what is no word, with the counts that ship.

    lang (str): ISO 639-1 code; without counts of the language only function words are words.
    RETURNS (Callable): as `Ambiguity.is_common`.
    """
    return Ambiguity.of(lang).is_common


def _bonus(words: list[str]) -> float:
    """How much commoner than the limit words may be."""
    if all(word in _words_as_names() for word in words):
        return _WORD_BONUS
    return _NAME_BONUS if all(word in name_words() for word in words) else 1.0


@cache
def _words_as_names() -> frozenset[str]:
    """Words that are also names, of all languages together, as the corpus workshop lists them."""
    settings = (language.read_toml("synth/language.toml") for language in all_languages())
    names = (setting.get("names", {}).get("words", {}) for setting in settings)
    return frozenset(normal_form(name) for groups in names for group in groups.values() for name in group)
