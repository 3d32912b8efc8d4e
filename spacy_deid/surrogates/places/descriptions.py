"""Surrogates of words that describe a person: professions (PROFESSION), nationalities and others (OTHER).

A profession becomes another one of its sector, in the grammatical form of the original. A nationality becomes that of
the country that replaces its own, in the same gender and number. Stages of life and words of kinship stay, because
they show neither an age over 89 nor a name. Other descriptions (descent, civil status, looks) have no surrogate,
because any other word would be another fact.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ...lang import get_language
from ...lang.places import place_words
from ...lang.text import fold, match_style, split_marks
from ..mention import Mention
from .gazetteer import ABROAD
from .state import NoteState

RegionMap = Callable[[str, int], str | None]
"""(region or country key, variant) → the region or country that replaces it, None if there is none."""


class _Form(NamedTuple):
    """A form of an adjective of nationality.

    code (str): country code.
    gender (int): 0 for the masculine, 1 for the feminine.
    plural (bool): whether it is the plural.
    """

    code: str
    gender: int
    plural: bool


def replace_description(mention: Mention, state: NoteState, region: RegionMap) -> str | None:
    """Replace a description.

    mention (Mention): mention with the label OTHER.
    state (NoteState): state of the note's surrogates.
    region (RegionMap): the countries that replace others.
    RETURNS (Optional[str]): the text itself if it stays, None if there is no surrogate.
    """
    before, core, after = split_marks(mention.text)
    stay = str(place_words(state.lang).get("characteristics", "")).split()
    if core and all(fold(word) in map(fold, stay) for word in core.split()):
        return mention.text
    made = replace_nationality(core, mention.variant, state, region)
    return before + match_style(made, core) + after if made else None


def replace_nationality(core: str, variant: int, state: NoteState, region: RegionMap) -> str | None:
    """Replace an adjective of nationality.

    core (str): as written, without punctuation around it.
    variant (int): variant of the surrogate.
    state (NoteState): state of the note's surrogates.
    region (RegionMap): the countries that replace others.
    RETURNS (Optional[str]): another adjective in the same gender and number; None if the text is no listed
        nationality, or none is free.
    """
    form = _forms(state.lang).get(fold(core))
    if form is None:
        return None
    table, agrees = _table(state.lang), get_language(state.lang).places.nationality_agrees
    other = region(ABROAD + form.code, variant)
    pool = [code for code in table if code != form.code and agrees(table[code], table[form.code], form.plural)]
    if other is not None and other[1:] in pool:
        return _write(table[other[1:]], form, state.lang)
    names = [_write(table[code], form, state.lang) for code in pool]
    return state.pick(f"adjective {variant}", names, "adjective", *map(str, form), str(variant))


def _write(forms: Sequence[str], form: _Form, lang: str) -> str:
    """Write an adjective in a gender and number."""
    name = forms[form.gender]
    return get_language(lang).places.nationality_plural(name) if form.plural else name


@cache
def _table(lang: str) -> Mapping[str, Sequence[str]]:
    """Map country codes to the masculine and the feminine adjective."""
    return dict(place_words(lang).get("nationalities", {}))


@cache
def _forms(lang: str) -> Mapping[str, _Form]:
    """Map folded adjectives to their forms."""
    found: dict[str, _Form] = {}
    for plural in (False, True):
        for code, forms in _table(lang).items():
            for gender in range(len(forms)):
                form = _Form(code, gender, plural)
                found.setdefault(fold(_write(forms, form, lang)), form)
    return found


def replace_profession(mention: Mention, state: NoteState) -> str | None:
    """Replace a profession, or an activity ("mantenimiento de calderas").

    mention (Mention): mention with the label PROFESSION.
    state (NoteState): state of the note's surrogates.
    RETURNS (Optional[str]): surrogate in the style of the mention, None if the language has no professions.
    """
    before, core, after = split_marks(mention.text)
    find = get_language(state.lang).replace_profession
    if not core or find is None:
        return None
    found = find(core, mention.before)
    state.avoid(found.name)
    made = state.pick("profession", found.options, found.name, str(mention.variant))
    return before + match_style(found.inflect(made), core, noun=True) + after if made else None
