"""Look up towns, regions and countries by name, and find the ones of similar kind and size that can replace them.

``places.csv`` of a language lists the towns of its country by region and size. ``places.toml`` adds capitals, other
spellings, and groups of regions that can replace each other. ``places_abroad.csv`` lists the towns of other countries
of the language by region. All languages share the lists of foreign towns and
countries. The file NOTICE names the sources.
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

_LARGE = 4  # size band of a city of 100,000 inhabitants
_MOST_WORDS = 4  # words in the name of a town that can replace an unlisted one
_STEPS = ((0,), (-1, 1), (-2, 2), (-3, 3, -4, 4, -5, 5))


class Place(NamedTuple):
    """A listed town, region or country.

    name (str): the name in the nominative.
    kind (str): "city", "region" or "country".
    region (str): for a town at home its region; for a foreign town and for a country, `ABROAD` followed by the country
        code, and by "/" and its region if the regions of the country are listed; for a region its own key in the
        lists.
    band (int): size band, from 0 for a village to 5 for a city of 500,000 inhabitants.
    """

    name: str
    kind: str
    region: str
    band: int


@cache
def load_gazetteer(lang: str) -> "Gazetteer":
    """Return the gazetteer of a language. Its lists are read once per process."""
    return Gazetteer(lang)


@dataclass(frozen=True)
class Gazetteer:
    """The listed places of a language: those of its own country, and foreign countries and towns.

    lang (str): ISO 639-1 code. A language without lists of its own has only the countries and towns of the world.
    """

    lang: str

    @cached_property
    def cities(self) -> Mapping[tuple[str, int], Sequence[str]]:
        """(Region, or `ABROAD` and country code; size band) → names of the towns."""
        language = get_language(self.lang)
        abroad = [*_read_lines("world.csv"), *language.read_lines("places_abroad.csv")]
        home = self._words.get("home", ())
        lists = ((language.read_lines("places.csv"), ""), (abroad, ABROAD))
        found = {
            (mark + region, int(band)): names.split("|")
            for lines, mark in lists
            for region, band, names in (line.split(";") for line in lines)
            if not mark or "/" in region or (mark + region in _countries() and region not in home)
        }
        own = {ABROAD + code: names for code, names in self._words.get("world", {}).items()}
        found = {place: names for place, names in found.items() if place[0] not in own}
        return found | {(code, _LARGE): names for code, names in own.items()}

    @cached_property
    def countries(self) -> Mapping[str, str]:
        """`ABROAD` and country code → name of the country in the language, or in English."""
        own = self._words.get("countries", {})
        return {code: own.get(code[1:], row.get(self.lang, row["en"])) for code, row in _countries().items()}

    @cached_property
    def regions(self) -> Mapping[str, str]:
        """Key of a region in the lists, such as the code of a US state → its full name."""
        named: dict[str, str] = self._words.get("region_names", {})
        home = {region for region, _ in self.cities if not region.startswith(ABROAD)}
        own = {name for tier in self._words.get("tiers", []) for name in tier}
        return {region: named.get(region, region) for region in sorted(home | own)}

    @cached_property
    def provinces(self) -> Mapping[str, str]:
        """Key of a listed region of a foreign country → its name."""
        return {key: key.partition("/")[2] for key, _ in sorted(self.cities) if "/" in key}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Key of a region or country → its name."""
        return {**self.regions, **self.provinces, **self.countries}

    @cached_property
    def capitals(self) -> Mapping[str, str]:
        """Region → name of its capital. Capitals are replaced by capitals."""
        towns = {(region, name) for (region, _), names in self.cities.items() for name in names}
        same = {region: region for region in self.regions if (region, region) in towns}
        own: dict[str, str] = self._words.get("capitals", {})
        return same | own

    @cached_property
    def cycles(self) -> Mapping[str, Sequence[str]]:
        """Region, or `ABROAD` and country code → the regions or countries that can replace it, including itself."""
        tiers = [sorted(set(tier) & set(self.regions)) for tier in self._words.get("tiers", [])]
        rest = sorted(set(self.regions) - {name for tier in tiers for name in tier})
        groups = defaultdict(list)
        for code, row in _countries().items():
            groups[row["group"]].append(code)
        for key in self.provinces:
            groups[key.partition("/")[0]].append(key)
        return {name: tier for tier in (*tiers, rest, *groups.values()) for name in tier}

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Place]]:
        """Folded name → the places with this name: those at home first, then by decreasing size."""
        found: dict[str, list[Place]] = defaultdict(list)
        for place in sorted(self._places(), key=lambda p: (p.region.startswith(ABROAD), -p.band)):
            if place not in found[fold(place.name)]:
                found[fold(place.name)].append(place)
        for other, name in self._words.get("aliases", {}).items():
            found[fold(other)] = found.get(fold(name)) or found[fold(other)]
        return {name: places for name, places in found.items() if places}

    def find(self, name: str) -> Sequence[Place]:
        """Return the places with a name, which is compared without case and accents; () if there are none."""
        return self.by_name.get(fold(name), ())

    def towns(self, region: str, band: int) -> Iterator[Sequence[str]]:
        """Yield lists of the towns of a region: those of a size band, then those of ever more distant bands.

        The capital of the region comes last, in a list of its own.
        region (str): region, or `ABROAD` and country code.
        band (int): size band; see `Place`.
        """
        capital = self.capitals.get(region)
        for steps in _STEPS:
            near = [name for step in steps for name in self.cities.get((region, band + step), ())]
            yield [name for name in near if name != capital]
        if capital:
            yield [capital]

    def country_of(self, region: str) -> str:
        """Return the code of the country that a region belongs to; "" if the language has no country."""
        if region.startswith(ABROAD):
            return region[1:].partition("/")[0]
        home = self._words.get("home", ())
        return str(self._words.get("region_countries", {}).get(region, next(iter(home), "")))

    def regions_of(self, country: str) -> Sequence[str]:
        """Return the names of the listed regions of a foreign country."""
        return [name for key, name in self.provinces.items() if self.country_of(key) == country]

    def small_towns(self, country: str) -> Sequence[str]:
        """Return small towns of a country with listed regions, or of all home countries for ""; see `small`."""
        return self._small_by_country.get(country, ()) or self.small

    @cached_property
    def _small_by_country(self) -> Mapping[str, Sequence[str]]:
        """Code of a home country → its towns in `small`."""
        found: dict[str, list[str]] = defaultdict(list)
        own = {name: self.country_of(region) for (region, _), names in self.cities.items() for name in names}
        for name in self.small:
            found[own[name]].append(name)
        for (key, band), names in self.cities.items():
            if key in self.provinces and band <= 2:
                found[self.country_of(key)] += [name for name in names if len(name.split()) <= _MOST_WORDS]
        return found

    @cached_property
    def small(self) -> Sequence[str]:
        """Small towns and villages of the language's own country, which can replace unlisted places."""
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
        """Yield all towns, regions and countries of the lists."""
        for (region, band), names in self.cities.items():
            yield from (Place(name, "city", region, band) for name in names)
        yield from (Place(name, "region", key, _LARGE) for key, name in self.provinces.items())
        for region, name in self.regions.items():
            yield Place(name, "region", region, _LARGE)
            if name != region:
                yield Place(region, "region", region, _LARGE)
        listed = {name for (key, _), names in self.cities.items() if key not in self.provinces for name in names}
        yield from (Place(name, "city", key, _LARGE) for key, name in self.capitals.items() if name not in listed)
        yield from (Place(name, "country", code, _LARGE) for code, name in self.countries.items())


def _read_lines(name: str) -> list[str]:
    """Return the lines of a CSV file of places that all languages share."""
    return (_LISTS / name).read_text(encoding="utf8").splitlines()


@cache
def _countries() -> Mapping[str, Mapping[str, str]]:
    """Map `ABROAD` and country code to a country's names by language, its continent and its group (`_group`)."""
    head, *lines = _read_lines("countries.csv")
    rows = (dict(zip(head.split(","), line.split(","), strict=True)) for line in lines)
    return {ABROAD + row["code"]: row | {"group": _group(row["code"], row["continent"])} for row in rows}


def _group(code: str, continent: str) -> str:
    """Return the group within which a country is replaced: English-speaking, western Europe, Latin America, …"""
    if code in ("US", "CA", "GB", "IE", "AU", "NZ"):
        return "english"
    if code in ("ES", "PT", "FR", "IT", "GR", "AT", "CH", "BE", "NL", "DE", "FI", "SE", "NO", "DK"):
        return "west"
    if code in "AR BO CL CO CR CU DO EC GT HN MX NI PA PE PR PY SV UY VE".split():
        return "latin"
    return "americas" if continent in ("NA", "SA") else continent
