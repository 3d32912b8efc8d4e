"""Adjectives of nationality: that of the country that stands for the original's, in the same gender and number."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..persons import fold
from .gazetteer import ABROAD, load_words
from .state import Note

__all__ = ["replace_nationality"]

_WITH_S = ("n", "i")  # ends of English adjectives that are nouns too: Mexicans, Somalis


class _Form(NamedTuple):
    """One form of an adjective: its country, its gender as a position in the table, and its number."""

    code: str
    gender: int
    plural: bool


def replace_nationality(core: str, variant: int, note: Note, region: Callable[[str, int], str | None]) -> str | None:
    """Replace an adjective of nationality.

    core (str): as written.
    variant (int): variant of the surrogate.
    note (Note): what the surrogates of the note share.
    region (Callable): the country that stands for another one.
    RETURNS (Optional[str]): another adjective; None if it is none, or if none is free.
    """
    form = _forms(note.lang).get(fold(core))
    if form is None:
        return None
    table = _table(note.lang)
    other = region(ABROAD + form.code, variant)
    pool = [code for code in table if code != form.code and _fits(table[code], table[form.code], form, note.lang)]
    if other is not None and other[1:] in pool:
        return _write(table[other[1:]], form, note.lang)
    names = [_write(table[code], form, note.lang) for code in pool]
    return note.pick(f"adjective {variant}", names, "adjective", *map(str, form), str(variant))


def _fits(other: Sequence[str], own: Sequence[str], form: _Form, lang: str) -> bool:
    """Whether an adjective has what the original has: one form for both genders, an English plural."""
    if lang == "en" and form.plural:
        return other[0].endswith(_WITH_S)
    return own[0] != own[1] or other[0] == other[1]


def _write(forms: Sequence[str], form: _Form, lang: str) -> str:
    """An adjective in a gender and number."""
    name = forms[form.gender]
    return _plural(name, lang) if form.plural else name


def _plural(name: str, lang: str) -> str:
    """The plural: "peruanos", "marroquíes", "portugueses"."""
    if lang == "en" or name[-1] in "aeoé":
        return name + "s"
    return (name[:-2] + "eses" if name.endswith("és") else name + "es").replace("ánes", "anes")


@cache
def _table(lang: str) -> Mapping[str, Sequence[str]]:
    """Code of a country → its adjective for a man and for a woman."""
    return dict(load_words(lang).get("nationalities", {}))


@cache
def _forms(lang: str) -> Mapping[str, _Form]:
    """Folded form → what it is a form of."""
    found: dict[str, _Form] = {}
    for plural in (False, True):
        for code, forms in _table(lang).items():
            for gender, name in enumerate(forms):
                written = _plural(name, lang) if plural else name
                found.setdefault(fold(written), _Form(code, gender, plural))
    return found
