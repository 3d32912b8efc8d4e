"""Replaces words for the sex of a patient by words that fit both sexes, such as "paciente" for "varón".

Another word for the same sex would reveal it, one for the other sex would be wrong, and a tag would disturb the text.
The sentence remains grammatical, and the capitals of the original are kept:

- In a field, the value is unspecified: "Sexo: no especificado". A letter becomes X, as in passports (ICAO 9303).
- Beside a word for the patient, the word is removed: "paciente varón de 40 años" becomes "paciente de 40 años".
- A word that is on no list has no surrogate.

The grammar of a note may still reveal the sex ("ingresada"): only values are replaced, a note is not rewritten.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..lang import get_language
from ..lang.text import fold
from .mention import Mention

_LETTER = "x"
_BEFORE = re.compile(r"([^\W\d_]+)[ \t]*([:=.,;()\[\]*-]*)[ \t]*\Z")
_AFTER = re.compile(r" ([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class SexWords:
    """The words for the sex in a language. Keys are folded.

    neutral (Mapping[str, str]): word for a sex → word for both.
    fields (frozenset[str]): names of a field for the sex.
    beside (frozenset[str]): words for a patient.
    letters (str): letters for a sex.
    unstated, unstated_before (str): value after the name of a field, and before it ("of unspecified sex").
    opening (str): word at the beginning of a sentence before a word for a patient; "" if a language needs none.
    """

    neutral: Mapping[str, str]
    fields: frozenset[str]
    beside: frozenset[str]
    letters: str
    unstated: str
    unstated_before: str
    opening: str


def replace_sex(mentions: Sequence[Mention], lang: str) -> list[str | None]:
    """Replace words for the sex.

    mentions (Sequence[Mention]): the mentions with their context.
    lang (str): ISO 639-1 code.
    RETURNS (list[Optional[str]]): the replacement of each mention; "" to remove it, None for an unknown word.
    """
    words = _load_words(lang)
    return [_replace(mention, words) if words else None for mention in mentions]


def _replace(mention: Mention, words: SexWords) -> str | None:
    folded = fold(mention.text)
    if len(folded) == 1 and folded in words.letters:
        return _like(mention.text, _LETTER)
    neutral = words.neutral.get(folded) or words.neutral.get(folded.replace(" ", ""))  # "N iño", cut by a line
    if neutral is None:
        return None
    left, right = _BEFORE.search(mention.before), _AFTER.match(mention.after)
    before, mark = (fold(left[1]), left[2]) if left else ("", "")
    after = fold(right[1]) if right else ""
    if before in words.fields and mark != ",":
        return _like(mention.text, words.unstated)
    if after in words.fields:
        return _like(mention.text, words.unstated_before)
    if before in words.beside and not mark:
        return ""
    if after in words.beside:
        inside = mention.before.endswith(" ") and not mention.text[:1].isupper()
        return "" if inside else _like(mention.text, words.opening)
    return _like(mention.text, neutral)


def _like(text: str, word: str) -> str:
    """Write a word in capitals, or with an initial capital, if a text is written so."""
    if text.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if text[:1].isupper() else word


@cache
def _load_words(lang: str) -> SexWords | None:
    """Read ``sex.toml`` of a language; None if it has none."""
    language = get_language(lang)
    data = language.read_toml("sex.toml")
    if not data:
        return None

    def forms(word: str | Sequence[str]) -> list[str]:
        return [word] if isinstance(word, str) else language.decline(word)

    neutral = {
        fold(form): to
        for group in data["neutral"]
        for word in group["of"]
        for form, to in zip(forms(word), forms(group["word"]), strict=True)
    }
    return SexWords(
        neutral,
        frozenset(data["fields"]),
        frozenset(data["beside"]),
        data["letters"],
        data["unstated"],
        data.get("unstated_before", data["unstated"]),
        data.get("opening", ""),
    )
