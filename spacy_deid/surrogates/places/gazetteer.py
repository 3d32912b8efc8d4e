"""The places that are known in a language: towns by region and size, regions, countries.

The lists are made by scripts/places.py; NOTICE names their sources. What a language's list leaves open (capitals of
regions, other spellings, which regions are alike) stands in its TOML file.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from ...lang import get_language
from ..persons import fold

__all__ = ["ABROAD", "Gazetteer", "Place", "load_gazetteer", "load_words", "read_lines"]

ABROAD = "@"  # before the code of a country, since US states have such codes too
_LARGE = 4  # band of a city of 100,000
_WORDS = 4  # of a name that may stand for an unknown one
_NEAR = ((0,), (-1, 1), (-2, 2), (-3, 3, -4, 4, -5, 5))


class Place(NamedTuple):
    """One place.

    name (str): as written.
    kind (str): "city", "region" or "country".
    region (str): region of a city, or its country's code if it lies abroad; a region itself; "@" and the code of a
        country.
    band (int): from 0 for a village to 5 for a city of 500,000.
    """

    name: str
    kind: str
    region: str
    band: int


@cache
def load_words(lang: str) -> Mapping[str, Any]:
    """The word lists of a language, for places, streets, institutions and professions; empty for one without."""
    return get_language(lang).read_toml("places.toml")


def read_lines(lang: str, name: str) -> list[str]:
    """The lines of a list of a language, without those that have slots; [] if the language has no such list."""
    return _without_slots(get_language(lang).read_text(name))


def _read_common(name: str) -> list[str]:
    """The lines of a list of all languages together."""
    return _without_slots((files("spacy_deid") / "resources" / "surrogates" / "places" / name).read_text("utf8"))


def _without_slots(text: str) -> list[str]:
    """The lines that hold no slot."""
    lines = text.splitlines()
    return [line for line in lines if line and "{" not in line and "[[" not in line]


@cache
def load_gazetteer(lang: str) -> "Gazetteer":
    """The places of a language, read once in a process."""
    return Gazetteer(lang)


@dataclass(frozen=True)
class Gazetteer:
    """The places of a language.

    lang (str): ISO 639-1 code; a language without lists knows countries and large cities alone.
    """

    lang: str

    @cached_property
    def cities(self) -> Mapping[tuple[str, int], Sequence[str]]:
        """(region or code of a country, band) → towns."""
        found = {
            (mark + region, int(band)): names.split("|")
            for lines, mark in ((read_lines(self.lang, "places.csv"), ""), (_read_common("world.csv"), ABROAD))
            for region, band, names in (line.split(";") for line in lines)
            if not mark or (mark + region in _countries() and region not in self._words.get("home", ()))
        }
        own = {ABROAD + code: names for code, names in self._words.get("world", {}).items()}
        found = {place: names for place, names in found.items() if place[0] not in own}
        return found | {(code, _LARGE): names for code, names in own.items()}

    @cached_property
    def countries(self) -> Mapping[str, str]:
        """Code of a country → its name."""
        rows = _countries()
        column = self.lang if self.lang in next(iter(rows.values())) else "en"
        own = self._words.get("countries", {})
        return {code: own.get(code[1:], row[column]) for code, row in rows.items()}

    @cached_property
    def regions(self) -> Mapping[str, str]:
        """Region, as the lists write it → its full name."""
        named: dict[str, str] = self._words.get("region_names", {})
        home = {region for region, _ in self.cities if not region.startswith(ABROAD)}
        own = {name for tier in self._words.get("tiers", []) for name in tier}
        return {region: named.get(region, region) for region in sorted(home | own)}

    @cached_property
    def capitals(self) -> Mapping[str, str]:
        """Region → its capital."""
        towns = {(region, name) for (region, _), names in self.cities.items() for name in names}
        same = {region: region for region in self.regions if (region, region) in towns}
        own: dict[str, str] = self._words.get("capitals", {})
        return same | own

    @cached_property
    def cycles(self) -> Mapping[str, Sequence[str]]:
        """Region or code of a country → those like it, in the order of the lists, itself among them."""
        tiers = [sorted(set(tier) & set(self.regions)) for tier in self._words.get("tiers", [])]
        rest = sorted(set(self.regions) - {name for tier in tiers for name in tier})
        groups = defaultdict(list)
        for code, row in _countries().items():
            groups[row["group"]].append(code)
        return {name: tier for tier in (*tiers, rest, *groups.values()) for name in tier}

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Place]]:
        """Folded name → the places that have it: at home first, then the largest."""
        found: dict[str, list[Place]] = defaultdict(list)
        for place in sorted(self._places(), key=lambda p: (p.region.startswith(ABROAD), -p.band)):
            if place not in found[fold(place.name)]:
                found[fold(place.name)].append(place)
        for other, name in self._words.get("aliases", {}).items():
            found[fold(other)] = found.get(fold(name)) or found[fold(other)]
        return {name: places for name, places in found.items() if places}

    @cached_property
    def longest(self) -> int:
        """Words of the longest name."""
        return max(len(name.split()) for name in self.by_name)

    def find(self, name: str) -> Sequence[Place]:
        """The places that have a name, in any capitals."""
        return self.by_name.get(fold(name), ())

    def towns(self, region: str, band: int) -> Iterator[Sequence[str]]:
        """Towns of a region, those of a band first, then those of the next ones; the capital, if need be, last."""
        capital = self.capitals.get(region)
        for steps in _NEAR:
            near = [name for step in steps for name in self.cities.get((region, band + step), ())]
            yield [name for name in near if name != capital]
        if capital:
            yield [capital]

    @cached_property
    def small(self) -> Sequence[str]:
        """The small towns and villages at home, for places that no list has."""
        return [
            name
            for (region, band), names in self.cities.items()
            if region in self.regions and band <= 2
            for name in names
            if name[0].isupper() and len(name.split()) <= _WORDS
        ]

    @property
    def _words(self) -> Mapping[str, Any]:
        return load_words(self.lang)

    def _places(self) -> Iterator[Place]:
        """All places."""
        for (region, band), names in self.cities.items():
            yield from (Place(name, "city", region, band) for name in names)
        for region, name in self.regions.items():
            yield Place(name, "region", region, _LARGE)
            if name != region:
                yield Place(region, "region", region, _LARGE)
        listed = {name for names in self.cities.values() for name in names}
        yield from (Place(name, "city", key, _LARGE) for key, name in self.capitals.items() if name not in listed)
        yield from (Place(name, "country", code, _LARGE) for code, name in self.countries.items())


@cache
def _countries() -> Mapping[str, Mapping[str, str]]:
    """Code of a country → its names, and the group of countries that stand for each other."""
    head, *lines = _read_common("countries.csv")
    rows = (dict(zip(head.split(","), line.split(","), strict=True)) for line in lines)
    return {ABROAD + row["code"]: row | {"group": _group(row["code"], row["continent"])} for row in rows}


def _group(code: str, continent: str) -> str:
    """The group of a country: where English is spoken, where Spanish is in America, or the continent."""
    if code in ("US", "CA", "GB", "IE", "AU", "NZ"):
        return "english"
    if code in ("ES", "PT", "FR", "IT", "GR", "AT", "CH", "BE", "NL", "DE", "FI", "SE", "NO", "DK"):
        return "west"
    if code in "AR BO CL CO CR CU DO EC GT HN MX NI PA PE PR PY SV UY VE".split():
        return "latin"
    return "americas" if continent in ("NA", "SA") else continent
