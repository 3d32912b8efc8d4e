"""Check that a surrogate is not a value of the same note, a medical eponym, an offensive word or a real person.

`Forbidden` makes this check for one note; `offensive_words` loads the offensive words of a language.
"""

import re
from collections.abc import Collection, Container, Sequence
from functools import cache, cached_property, lru_cache

from ..lang import get_language, shared_words
from ..lang.inflection import case_forms, inflects
from ..lang.text import fold
from .mention import PERSONS, Mention

_WORD = re.compile(r"[^\W\d_]{2,}")
_SHORTEST = 3  # letters: a shorter word of a name ("de", "Li") does not identify it
_LONG = 5  # letters: all cases of a long word share its first three letters, those of a shorter one its first two
_CACHED = 50_000  # words whose case forms are cached


class Forbidden:
    """Checks whether a value must not be used as a surrogate in a note.

    A value is forbidden if it is a value of the note or contains a name of the note or of `names` (in any inflection),
    if it contains one of `words`, or if it is in `roster`. The repr does not quote the note.

    mentions (Sequence[Mention]): all mentions of the note.
    lang (str): ISO 639-1 code.
    words (Collection[str]): folded words that no surrogate may contain, such as eponyms and offensive words.
    roster (Container[str]): full names and numbers of real persons.
    names (Collection[str]): further folded names, such as those in other records of the patient.
    """

    def __init__(
        self,
        mentions: Sequence[Mention],
        lang: str,
        words: Collection[str] = frozenset(),
        roster: Container[str] = (),
        names: Collection[str] = frozenset(),
    ) -> None:
        self._mentions, self._lang, self._words, self._roster = mentions, lang, frozenset(words), roster
        self._others = names

    def __repr__(self) -> str:
        return f"Forbidden({len(self._mentions)} mentions)"

    def __call__(self, value: str) -> bool:
        """Check whether a value must not be used as a surrogate in the note.

        value (str): a surrogate or a part of one, uninflected.
        RETURNS (bool): True if the value must not be used.
        """
        folded = fold(value)
        words = frozenset(_WORD.findall(folded)) - _particles()  # "von" is a word of eponyms
        if folded in self._values or not words.isdisjoint(self._names) or not words.isdisjoint(self._words):
            return True
        for word in _WORD.findall(value) if inflects(self._lang) else ():
            plain = fold(word)
            if plain[: 2 if len(plain) < _LONG else 3] in self._starts:
                # a name or a place of the note may be a case form of the word: "Virtasen" of "Virtanen"
                forms = _folded_forms(word, self._lang)
                if not forms.isdisjoint(self._names) or not forms.isdisjoint(self._values):
                    return True
        return value in self._roster

    @cached_property
    def _values(self) -> frozenset[str]:
        """The folded texts of all mentions of the note."""
        return frozenset(fold(mention.text) for mention in self._mentions)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The folded words of the names of persons in the note, and of the further names, without particles and words
        of one or two letters."""
        names = [*self._others, *(fold(mention.text) for mention in self._mentions if mention.label in PERSONS)]
        words = {word for name in names for word in _WORD.findall(name) if len(word) >= _SHORTEST}
        return frozenset(words - _particles())

    @cached_property
    def _starts(self) -> frozenset[str]:
        """The first two and three letters of the names and one-word values of the note.

        Only a word that begins with one of them is inflected and compared with the values of the note.
        """
        words = self._names | {value for value in self._values if _WORD.fullmatch(value)}
        return frozenset(word[:n] for word in words for n in (2, 3))


@cache
def _particles() -> frozenset[str]:
    """Return the particles of names in all languages, such as "von" and "de", which identify nobody."""
    return frozenset(shared_words("people.toml", "particles", "common"))


@lru_cache(_CACHED)
def _folded_forms(word: str, lang: str) -> frozenset[str]:
    """Return the folded case forms of a word, inflected as a surname and as the name of a place."""
    return frozenset(fold(form) for kind in ("surname", "place") for form in case_forms(word, lang, kind=kind))


@cache
def offensive_words(lang: str) -> frozenset[str]:
    """Load words that would make a surrogate offensive or absurd: those of the language and the English ones.

    lang (str): ISO 639-1 code.
    RETURNS (frozenset[str]): folded words.
    """
    lines = (line for code in {lang, "en"} for line in get_language(code).read_lines("offensive.txt"))
    return frozenset(map(fold, lines))
