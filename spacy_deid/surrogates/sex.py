"""Words for the sex of a patient: a word takes their place that says the same of both, as "paciente" of "varón".

Another word for the same sex would give it away, one for the other would be wrong, and a tag would mark the text. So
the value says nothing any more and the sentence stays one: articles fit, and the case of the original is kept.

- A field says that nothing is stated: "Sexo: no especificado". A letter becomes the X of passports (ICAO 9303).
- Beside a word for the patient there is nothing to say: "paciente varón de 40 años" becomes "paciente de 40 años".
- What is in no list has no surrogate.

The grammar of a note may still tell the sex ("ingresada"): a value is replaced, a note is not rewritten.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..lang import get_language
from .mention import Mention
from .persons import fold

__all__ = ["replace_sex"]

_LETTER = "x"
_BEFORE = re.compile(r"([^\W\d_]+)[ \t]*([:=.,;()\[\]*-]*)[ \t]*\Z")
_AFTER = re.compile(r" ([^\W\d_]+)")
_WEAK = ("n", "ssa", "sta", "lla", "lta", "lle", "ksi", "tta", "t")
_FRONT = str.maketrans("a", "ä")


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a language; keys are folded.

    neutral (Mapping[str, str]): word for a sex → word for both.
    fields (frozenset[str]): names of a field of the sex.
    beside (frozenset[str]): words for a patient.
    letters (str): letters for a sex.
    unstated, unstated_before (str): what a field says; what stands before its name, as in "of unspecified sex".
    opening (str): what begins a sentence in place of a word for a sex; "" if that never stands first.
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

    mentions (Sequence[Mention]): the mentions, with what stands around them.
    lang (str): ISO 639-1 code.
    RETURNS (list[Optional[str]]): for each what takes its place; "" where nothing does, None for what is not known.
    """
    words = _load(lang)
    return [_replace(mention, words) if words else None for mention in mentions]


def _replace(mention: Mention, words: _Words) -> str | None:
    """Replace one mention."""
    folded = fold(mention.text)
    if len(folded) == 1 and folded in words.letters:
        return _like(mention.text, _LETTER)
    neutral = words.neutral.get(folded) or words.neutral.get(folded.replace(" ", ""))  # "N iño", cut by a line
    if neutral is None:
        return None
    before, mark, after = _around(mention)
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


def _around(mention: Mention) -> tuple[str, str, str]:
    """The word before a mention on its line, folded, what stands between both, and the word that follows at once."""
    left = _BEFORE.search(mention.before)
    right = _AFTER.match(mention.after)
    return fold(left[1]) if left else "", left[2] if left else "", fold(right[1]) if right else ""


def _like(text: str, word: str) -> str:
    """Write a word in capitals, or with one, as a text is."""
    if text.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if text[:1].isupper() else word


@cache
def _load(lang: str) -> _Words | None:
    """The words of a language; None if there are none."""
    data = get_language(lang).read_toml("sex.toml")
    if not data:
        return None
    neutral = {
        fold(form): to
        for group in data["neutral"]
        for word in group["of"]
        for form, to in zip(_forms(word), _forms(group["word"]), strict=True)
    }
    return _Words(
        neutral,
        frozenset(data["fields"]),
        frozenset(data["beside"]),
        data["letters"],
        data["unstated"],
        data.get("unstated_before", data["unstated"]),
        data.get("opening", ""),
    )


def _forms(word: str | Sequence[str]) -> list[str]:
    """The forms of a word: itself, or the Finnish cases of the singular and the nominative plural of five parts."""
    if isinstance(word, str):
        return [word]
    nominative, weak, strong, partitive, illative = word
    front = partitive.endswith("ä")
    made = [weak + ending for ending in _WEAK] + [strong + "na"]
    stems = [len(weak)] * len(_WEAK) + [len(strong)]
    cases = [
        form[:n] + (form[n:].translate(_FRONT) if front else form[n:]) for form, n in zip(made, stems, strict=True)
    ]
    return [nominative, partitive, illative, *cases]
