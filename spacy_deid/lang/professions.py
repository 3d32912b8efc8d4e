"""Read lists of professions, grouped by sector so that a surrogate comes from the same sector as the original.

The professions are in ``synth/lists/professions.csv`` (masculine, feminine) or ``professions.txt`` (one form for
both). The sectors, such as health care, are in the table ``professions`` of ``places.toml``. What a language returns
from `LanguageData.replace_profession` is a `ProfessionSurrogates`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .places import place_words, read_list
from .text import fold


class Profession(NamedTuple):
    """A profession from the word list of a language, with its sector.

    male (str): masculine form.
    female (str): feminine form; the same as the masculine form if the language has one form for both.
    sector (int): index of its sector in places.toml, -1 if it belongs to none.
    folded (str): masculine form in lower case without accents.
    """

    male: str
    female: str
    sector: int
    folded: str


class ProfessionSurrogates(NamedTuple):
    """The professions that can replace the profession of a mention.

    name (str): the original in its basic form, in lower case without accents. It is never chosen as the surrogate.
    options (Sequence[str]): basic forms of the professions to choose from.
    inflect (Callable[[str], str]): option → the same profession in the gender, number and case of the original.
    """

    name: str
    options: Sequence[str]
    inflect: Callable[[str], str]


@cache
def read_professions(lang: str, *, compounds: bool = False) -> tuple[Profession, ...]:
    """Read the professions of a language with their sectors.

    lang (str): language code.
    compounds (bool): whether a profession belongs to a sector if it contains a word stem of the sector anywhere, as in
        compounds; otherwise one of its words must begin with the stem.
    RETURNS (tuple[Profession, ...]): the professions in the order of the list; empty if the language has no list.
    """
    rows = [line.split(",") for line in read_list(lang, "synth/lists/professions.csv")[1:]]
    rows = rows or [[line, line] for line in read_list(lang, "synth/lists/professions.txt")]
    sectors = _sectors(lang, compounds)
    return tuple(Profession(male, female, _sector_of(fold(male), sectors), fold(male)) for male, female in rows)


def same_sector(lang: str, name: str, *, compounds: bool = False) -> Sequence[Profession]:
    """Return the listed professions that belong to the same sector as a profession.

    lang (str): language code.
    name (str): the profession, in lower case without accents; it need not be listed.
    compounds (bool): as for `read_professions`.
    RETURNS (Sequence[Profession]): professions of the sector; all listed professions if the name belongs to none.
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
    """Return the index of the sector whose word stem occurs first in a folded name; -1 if there is none."""
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
    """Read the word stems of each sector; without ``compounds`` they start with a blank. "_" in the file is a
    blank.
    """
    start = "" if compounds else " "
    lines = place_words(lang).get("professions", {}).get("sectors", [])
    return tuple(tuple(start + fold(stem.replace("_", " ")) for stem in line.split()) for line in lines)
