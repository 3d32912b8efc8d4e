"""Replace words that describe a person: professions (PROFESSION), the sex (SEX), nationalities and others (OTHER).

A profession becomes another one of its sector, in the grammatical form of the original. A nationality becomes that of
the country that replaces its own, in the same gender and number. Stages of life and kinship words are kept, because
they reveal neither an age over 89 nor a name. Other descriptions (descent, civil status, looks) have no surrogate,
because any other word would state something false.

Words for the sex become words that fit both sexes, such as "paciente" for "varón". Another word for the same sex would
reveal it, one for the other sex would be wrong, and a tag would disturb the text. The sentence remains grammatical:

- In a field, the value is unspecified: "Sexo: no especificado". A letter becomes X, as in passports (ICAO 9303).
- Beside a word for the patient, the word is removed: "paciente varón de 40 años" becomes "paciente de 40 años".
- A word that is on no list has no surrogate.

The grammar of a note may still reveal the sex ("ingresada"): only values are replaced, a note is not rewritten.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from ...lang import get_language
from ...lang.places import place_words
from ...lang.text import fold, match_style, split_marks
from ..mention import Mention
from .gazetteer import ABROAD
from .state import NoteState

RegionMap = Callable[[str, int], str | None]
"""A function (key of a region or country, variant) → the key of the region or country that replaces it, or None."""

_LETTER = "x"
_BEFORE = re.compile(r"([^\W\d_]+)[ \t]*([:=.,;()\[\]*-]*)[ \t]*\Z")
_AFTER = re.compile(r" ([^\W\d_]+)")


class _Form(NamedTuple):
    """Identifies a form of an adjective of nationality: its country, gender and number.

    code (str): country code.
    gender (int): 0 for the masculine, 1 for the feminine.
    plural (bool): whether it is the plural.
    """

    code: str
    gender: int
    plural: bool


def replace_description(mention: Mention, state: NoteState, region: RegionMap) -> str | None:
    """Replace a mention with the label OTHER, such as a nationality or a stage of life.

    mention (Mention): the mention.
    state (NoteState): draws the surrogates of the note.
    region (RegionMap): determines by which country another one is replaced.
    RETURNS (Optional[str]): the surrogate; the text itself for a stage of life, which is kept; None if there is no
        surrogate.
    """
    before, core, after = split_marks(mention.text)
    stay = str(place_words(state.lang).get("characteristics", "")).split()
    if core and all(fold(word) in map(fold, stay) for word in core.split()):
        return mention.text
    made = replace_nationality(core, mention.variant, state, region)
    return before + match_style(made, core) + after if made else None


def replace_nationality(core: str, variant: int, state: NoteState, region: RegionMap) -> str | None:
    """Replace an adjective of nationality by that of another country, in the same gender and number.

    core (str): the adjective as written, without punctuation around it.
    variant (int): variant of the mention; see `Mention`.
    state (NoteState): draws the surrogates of the note.
    region (RegionMap): determines by which country another one is replaced.
    RETURNS (Optional[str]): the new adjective; None if the text is not a listed nationality, or no other one is free.
    """
    form = _nationality_forms(state.lang).get(fold(core))
    if form is None:
        return None
    table: Mapping[str, Sequence[str]] = place_words(state.lang)["nationalities"]
    agrees = get_language(state.lang).places.nationality_agrees
    other = region(ABROAD + form.code, variant)
    pool = [code for code in table if code != form.code and agrees(table[code], table[form.code], form.plural)]
    if other is not None and other[1:] in pool:
        return _write_nationality(table[other[1:]], form, state.lang)
    names = [_write_nationality(table[code], form, state.lang) for code in pool]
    return state.pick(f"adjective {variant}", names, "adjective", *map(str, form), str(variant))


def _write_nationality(forms: Sequence[str], form: _Form, lang: str) -> str:
    """Return the form of an adjective in the gender and number of `form`, from its masculine and feminine singular."""
    name = forms[form.gender]
    return get_language(lang).places.nationality_plural(name) if form.plural else name


@cache
def _nationality_forms(lang: str) -> Mapping[str, _Form]:
    """Return a dict of all adjectives of nationality in all forms: folded form → country, gender and number."""
    found: dict[str, _Form] = {}
    for plural in (False, True):
        for code, forms in place_words(lang).get("nationalities", {}).items():
            for gender in range(len(forms)):
                form = _Form(code, gender, plural)
                found.setdefault(fold(_write_nationality(forms, form, lang)), form)
    return found


def replace_profession(mention: Mention, state: NoteState) -> str | None:
    """Replace a profession or activity ("mantenimiento de calderas"). None if the language has no professions."""
    before, core, after = split_marks(mention.text)
    find = get_language(state.lang).replace_profession
    if not core or find is None:
        return None
    found = find(core, mention.before)
    state.avoid(found.name)
    made = state.pick("profession", found.options, found.name, str(mention.variant))
    return before + match_style(found.inflect(made), core, noun=True) + after if made else None


# --- sex ---


@dataclass(frozen=True, slots=True)
class SexWords:
    """The words of a language that refer to the sex of a person, and what replaces them. Keys are folded.

    neutral (Mapping[str, str]): word for one sex → word that fits both, such as "varón" → "paciente".
    fields (frozenset[str]): names of form fields for the sex, such as "sexo".
    beside (frozenset[str]): words for a patient, next to which a word for the sex is removed.
    letters (str): letters that stand for a sex, such as "m".
    unstated, unstated_before (str): replacement after the name of a field, and before it ("of unspecified sex").
    opening (str): replacement at the beginning of a sentence, before a word for a patient; "" to remove the word.
    """

    neutral: Mapping[str, str]
    fields: frozenset[str]
    beside: frozenset[str]
    letters: str
    unstated: str
    unstated_before: str
    opening: str


def replace_sex(mentions: Sequence[Mention], lang: str) -> list[str | None]:
    """Replace words for a person's sex by words that fit both sexes, in the capitals of the original.

    mentions (Sequence[Mention]): the mentions with their context.
    lang (str): ISO 639-1 code.
    RETURNS (list[Optional[str]]): the replacement of each mention; "" to remove it, None for an unknown word.
    """
    words = _load_sex_words(lang)
    if words is None:
        return [None] * len(mentions)
    made: list[str | None] = []
    for mention in mentions:
        new = _replace_sex(mention, words)
        if new and mention.text.isupper():
            new = new.upper()
        elif new and mention.text[:1].isupper():
            new = new[:1].upper() + new[1:]
        made.append(new)
    return made


def _replace_sex(mention: Mention, words: SexWords) -> str | None:
    """Choose the replacement of one word by its neighbours; "" to remove the word, None if it is not listed."""
    folded = fold(mention.text)
    if len(folded) == 1 and folded in words.letters:
        return _LETTER
    neutral = words.neutral.get(folded) or words.neutral.get(folded.replace(" ", ""))  # "N iño", cut by a line
    if neutral is None:
        return None
    left, right = _BEFORE.search(mention.before), _AFTER.match(mention.after)
    before, mark = (fold(left[1]), left[2]) if left else ("", "")
    after = fold(right[1]) if right else ""
    if before in words.fields and mark != ",":
        return words.unstated
    if after in words.fields:
        return words.unstated_before
    if before in words.beside and not mark:
        return ""
    if after in words.beside:
        inside = mention.before.endswith(" ") and not mention.text[:1].isupper()
        return "" if inside else words.opening
    return neutral


@cache
def _load_sex_words(lang: str) -> SexWords | None:
    """Load the words for the sex from the ``sex.toml`` of a language; None if there is no such file."""
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
