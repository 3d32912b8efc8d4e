"""Gazetteer of the places that a language knows: towns by region and size, regions and countries.

``places.csv`` of a language lists its towns; ``places.toml`` adds capitals, other spellings, and which regions are
alike. Towns and countries of the world are shared by all languages. NOTICE names the sources.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from ...lang import get_language
from ...lang.places import place_words
from ...lang.text import fold

_LISTS = files("spacy_deid") / "resources" / "surrogates" / "places"
ABROAD = "@"
"""Prefix of the code of a country, which distinguishes it from the code of a US state."""

_LARGE = 4  # band of a city of 100,000
_MOST_WORDS = 4  # of a town that can replace an unknown one
_STEPS = ((0,), (-1, 1), (-2, 2), (-3, 3, -4, 4, -5, 5))


class Place(NamedTuple):
    """A place of the gazetteer.

    name (str): as written.
    kind (str): "city", "region" or "country".
    region (str): region of a city, or `ABROAD` and its country code if it is abroad; for a region its own key; for a
        country `ABROAD` and its code.
    band (int): size band, from 0 for a village to 5 for a city of 500,000 inhabitants.
    """

    name: str
    kind: str
    region: str
    band: int


@cache
def load_gazetteer(lang: str) -> "Gazetteer":
    """Return the gazetteer of a language, which is read once per process."""
    return Gazetteer(lang)


@dataclass(frozen=True)
class Gazetteer:
    """The places of a language.

    lang (str): language code. A language without lists has countries and large cities only.
    """

    lang: str

    @cached_property
    def cities(self) -> Mapping[tuple[str, int], Sequence[str]]:
        """Towns by (region or country code, size band)."""
        lists = ((get_language(self.lang).read_lines("places.csv"), ""), (_read_lines("world.csv"), ABROAD))
        found = {
            (mark + region, int(band)): names.split("|")
            for lines, mark in lists
            for region, band, names in (line.split(";") for line in lines)
            if not mark or (mark + region in _countries() and region not in self._words.get("home", ()))
        }
        own = {ABROAD + code: names for code, names in self._words.get("world", {}).items()}
        found = {place: names for place, names in found.items() if place[0] not in own}
        return found | {(code, _LARGE): names for code, names in own.items()}

    @cached_property
    def countries(self) -> Mapping[str, str]:
        """Country code → name of the country in the language."""
        own = self._words.get("countries", {})
        return {code: own.get(code[1:], row.get(self.lang, row["en"])) for code, row in _countries().items()}

    @cached_property
    def regions(self) -> Mapping[str, str]:
        """Region, as the lists write it → full name."""
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
        """Region or country code → the regions or countries that can replace it, itself among them, sorted."""
        tiers = [sorted(set(tier) & set(self.regions)) for tier in self._words.get("tiers", [])]
        rest = sorted(set(self.regions) - {name for tier in tiers for name in tier})
        groups = defaultdict(list)
        for code, row in _countries().items():
            groups[row["group"]].append(code)
        return {name: tier for tier in (*tiers, rest, *groups.values()) for name in tier}

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Place]]:
        """Folded name → the places of that name: those in the country of the language first, then the largest."""
        found: dict[str, list[Place]] = defaultdict(list)
        for place in sorted(self._places(), key=lambda p: (p.region.startswith(ABROAD), -p.band)):
            if place not in found[fold(place.name)]:
                found[fold(place.name)].append(place)
        for other, name in self._words.get("aliases", {}).items():
            found[fold(other)] = found.get(fold(name)) or found[fold(other)]
        return {name: places for name, places in found.items() if places}

    def find(self, name: str) -> Sequence[Place]:
        """Return the places that have a name, in any capitals."""
        return self.by_name.get(fold(name), ())

    def towns(self, region: str, band: int) -> Iterator[Sequence[str]]:
        """Yield the towns of a region: those of a size band, then those of neighbouring bands, the capital last."""
        capital = self.capitals.get(region)
        for steps in _STEPS:
            near = [name for step in steps for name in self.cities.get((region, band + step), ())]
            yield [name for name in near if name != capital]
        if capital:
            yield [capital]

    @cached_property
    def small(self) -> Sequence[str]:
        """Small towns and villages of the language's country, for unlisted places."""
        return [
            name
            for (region, band), names in self.cities.items()
            if region in self.regions and band <= 2
            for name in names
            if name[0].isupper() and len(name.split()) <= _MOST_WORDS
        ]

    @property
    def _words(self) -> Mapping[str, Any]:
        return place_words(self.lang)

    def _places(self) -> Iterator[Place]:
        """Yield all places."""
        for (region, band), names in self.cities.items():
            yield from (Place(name, "city", region, band) for name in names)
        for region, name in self.regions.items():
            yield Place(name, "region", region, _LARGE)
            if name != region:
                yield Place(region, "region", region, _LARGE)
        listed = {name for names in self.cities.values() for name in names}
        yield from (Place(name, "city", key, _LARGE) for key, name in self.capitals.items() if name not in listed)
        yield from (Place(name, "country", code, _LARGE) for code, name in self.countries.items())


def _read_lines(name: str) -> list[str]:
    """Read a list that all languages share."""
    return (_LISTS / name).read_text(encoding="utf8").splitlines()


@cache
def _countries() -> Mapping[str, Mapping[str, str]]:
    """Map country codes to their names by language, and to the group of countries that can replace each other."""
    head, *lines = _read_lines("countries.csv")
    rows = (dict(zip(head.split(","), line.split(","), strict=True)) for line in lines)
    return {ABROAD + row["code"]: row | {"group": _group(row["code"], row["continent"])} for row in rows}


def _group(code: str, continent: str) -> str:
    """Return the group of a country: English-speaking, western Europe, Latin America, or its continent."""
    if code in ("US", "CA", "GB", "IE", "AU", "NZ"):
        return "english"
    if code in ("ES", "PT", "FR", "IT", "GR", "AT", "CH", "BE", "NL", "DE", "FI", "SE", "NO", "DK"):
        return "west"
    if code in "AR BO CL CO CR CU DO EC GT HN MX NI PA PE PR PY SV UY VE".split():
        return "latin"
    return "americas" if continent in ("NA", "SA") else continent
