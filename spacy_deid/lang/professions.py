"""Professions of a language by sector, and what a language says about replacing one by another.

The names are in ``synth/lists/professions.csv`` (masculine, feminine) or ``professions.txt`` (one form for both), the
sectors in the table ``professions`` of ``places.toml``.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .places import place_words, read_list
from .text import fold


class Profession(NamedTuple):
    """A listed profession.

    male (str): masculine form.
    female (str): feminine form.
    sector (int): number of its sector, -1 if it has none.
    folded (str): masculine form, folded.
    """

    male: str
    female: str
    sector: int
    folded: str


class ProfessionSurrogates(NamedTuple):
    """What can replace a profession.

    name (str): basic form of the original, folded. It is never a surrogate itself.
    options (Sequence[str]): basic forms that can replace it.
    inflect (Callable[[str], str]): writes an option in the gender, number and case of the original.
    """

    name: str
    options: Sequence[str]
    inflect: Callable[[str], str]


@cache
def read_professions(lang: str, *, compounds: bool = False) -> tuple[Profession, ...]:
    """Read the professions of a language with their sectors.

    lang (str): language code.
    compounds (bool): whether the words of a sector may be any part of a word, instead of its beginning.
    RETURNS (tuple[Profession, ...]): in the order of the list; empty without a list.
    """
    rows = [line.split(",") for line in read_list(lang, "synth/lists/professions.csv")[1:]]
    rows = rows or [[line, line] for line in read_list(lang, "synth/lists/professions.txt")]
    sectors = _sectors(lang, compounds)
    return tuple(Profession(male, female, _sector_of(fold(male), sectors), fold(male)) for male, female in rows)


def same_sector(lang: str, name: str, *, compounds: bool = False) -> Sequence[Profession]:
    """Return the professions of the same sector as a profession.

    lang (str): language code.
    name (str): a profession, folded; it need not be listed.
    compounds (bool): as for `read_professions`.
    RETURNS (Sequence[Profession]): all listed professions if the name belongs to no sector.
    """
    sector = _sector_of(name, _sectors(lang, compounds))
    return _by_sector(lang, compounds).get(sector, read_professions(lang, compounds=compounds))


@cache
def _by_sector(lang: str, compounds: bool) -> Mapping[int, Sequence[Profession]]:
    found: dict[int, list[Profession]] = {}
    for profession in read_professions(lang, compounds=compounds):
        if profession.sector >= 0:
            found.setdefault(profession.sector, []).append(profession)
    return found


def _sector_of(name: str, sectors: Sequence[Sequence[str]]) -> int:
    """Return the number of the sector whose word occurs first in a folded name; -1 for none."""
    padded = f" {name}"
    found = [
        (padded.find(stem), -len(stem), number)
        for number, stems in enumerate(sectors)
        for stem in stems
        if stem in padded
    ]
    return min(found)[2] if found else -1


@cache
def _sectors(lang: str, compounds: bool) -> tuple[tuple[str, ...], ...]:
    """Read the beginnings of words (or parts of compounds) of each sector; "_" in the file is a blank."""
    start = "" if compounds else " "
    lines = place_words(lang).get("professions", {}).get("sectors", [])
    return tuple(tuple(start + fold(stem.replace("_", " ")) for stem in line.split()) for line in lines)
