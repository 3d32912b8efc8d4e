"""Ambiguous phrases: entries of a record that are also words of the language ("Will", "Rosa", "Kivi", "Primary Care").

A phrase that is more frequent in a background corpus than a limit is no evidence of a person or a place. It is dropped
from the dictionary of the institution, which is used for every note; in a patient's own dictionary it counts in the
context of a name.

Counts cannot distinguish "Virtanen", frequent because many people have the name, from "Kivi", frequent because it is
the word for stone. Names that ship with the package may therefore be `_NAME_BONUS` times as frequent, and those that
are known to be words only a tenth.
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
    """Decides which phrases of a language are ambiguous.

    counts (PhraseCounts | None): counts of a background corpus; without them only function words and short names are
        ambiguous.
    limit (float): occurrences per million words.
    """

    def __init__(self, counts: PhraseCounts | None, limit: float = LIMIT) -> None:
        self.counts = counts
        self.limit = limit
        self.is_common = lru_cache(_KEPT)(self._is_common)
        self.is_weak_name = lru_cache(_KEPT)(self._is_weak_name)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the cache, which contains words of the record."""
        return Ambiguity, (self.counts, self.limit)

    @classmethod
    def of(cls, lang: str, limit: float = LIMIT) -> "Ambiguity":
        """Make it with the counts that ship for a language, if any.

        lang (str): ISO 639-1 code.
        limit (float): occurrences per million words.
        RETURNS (Ambiguity): the result.
        """
        return cls(load_background(lang) if lang in background_languages() else None, limit)

    def _is_common(self, phrase: str) -> bool:
        """Return whether a phrase is more frequent than the limit, or consists of function words.

        phrase (str): in normalized form.
        """
        words = phrase.split()
        if all(word in function_words() for word in words):
            return True
        if self.counts is None:
            return False
        return self.counts.per_million(phrase) > self.limit * _bonus(words)

    def _is_weak_name(self, form: str) -> bool:
        """Return whether a form of a name requires the context of a name.

        form (str): in normalized form. Two whole words ("lumi kivi"), and forms with punctuation of names ("a. kivi",
            "kivi, l."), do not; "a kivi" does, as "kivi" does.
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
    """Return a function that tells words of a language from names and other strings, with the counts that ship.

    lang (str): ISO 639-1 code; without counts of the language only function words are words.
    RETURNS (Callable): as `Ambiguity.is_common`.
    """
    return Ambiguity.of(lang).is_common


def _bonus(words: list[str]) -> float:
    """Return the factor by which words may exceed the limit."""
    if all(word in _words_as_names() for word in words):
        return _WORD_BONUS
    return _NAME_BONUS if all(word in name_words() for word in words) else 1.0


@cache
def _words_as_names() -> frozenset[str]:
    """Return words of all languages that are also names, as listed for synthetic notes."""
    settings = (language.read_toml("synth/language.toml") for language in all_languages())
    names = (setting.get("names", {}).get("words", {}) for setting in settings)
    return frozenset(normal_form(name) for groups in names for group in groups.values() for name in group)
