"""Generate the tables of a fictional hospital: patients, clinics, wards and staff, from the name lists of the package.

A third each of the patients is Spanish, English-speaking and Finnish, in separate tables. Names are drawn by
frequency, 30 % of them uniformly, so that rare ones occur; identifiers have valid check digits. The same seed gives
the same tables.
"""

import csv
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import islice, product
from pathlib import Path
from random import Random

from spacy_deid.lang import get_language
from spacy_deid.lang.synthesis import IdBearer
from spacy_deid.synth.identity import make_id
from spacy_deid.synth.language import read_table

SEED = 20
_LANGS = ("es", "en", "fi")
_FLAT = 0.3  # share of names that are drawn evenly
_BLOCK = 10_000
_ID = {"es": "dni", "en": "ssn", "fi": "hetu"}
_PHONE = {"es": "6{:08}", "en": "+1 (617) {:03}-{:04}", "fi": "040 {:03} {:04}"}
_MAIL = {"es": "example.es", "en": "example.org", "fi": "example.fi"}
_AREAS = ("Norte", "Sur", "Este", "Oeste", "Puerta", "Ribera", "Molino", "Jardines", "Ensanche", "Vega", "Robledal")
_KINDS = ("Centro de Salud", "Consultorio", "Clínica", "Hospital", "Residencia", "Laboratorio", "Farmacia", "Mutua")
_WARDS = ("Planta", "Unidad", "Consulta", "Sala", "Módulo", "Pabellón", "Hospital de Día", "Quirófano")

PATIENT_COLUMNS = {
    "mrn": "id:MRN",
    "given": "given",
    "surname": "surname",
    "surname2": "surname",
    "born": "birth_date",
    "national_id": "id:NATIONAL_ID",
    "phone": "phone",
    "email": "email",
    "street": "street",
    "zip": "zip",
    "city": "city",
    "contact": "relative.full",
}


def write_tables(folder: Path, patients: int, clinics: int, wards: int, staff: int) -> Path:
    """Write the tables and their mapping.

    folder (Path): target folder.
    patients, clinics, wards, staff (int): number of rows of each table.
    RETURNS (Path): the mapping file.
    """
    tables = []
    for number, lang in enumerate(_LANGS):
        count = patients // len(_LANGS) + (number < patients % len(_LANGS))
        rows = _patients(lang, count, Random(f"{SEED}/{lang}"), first=number * 10_000_000)
        _write(folder / f"patients_{lang}.csv", tuple(PATIENT_COLUMNS), rows)
        columns = "".join(f'{name} = "{kind}"\n' for name, kind in PATIENT_COLUMNS.items())
        tables.append(f'[tables.patients_{lang}]\nsource = "patients_{lang}"\nlang = "{lang}"\npatient_id = "mrn"\n')
        tables.append(f"[tables.patients_{lang}.columns]\n{columns}")
    rng = Random(SEED)
    _write(folder / "clinics.csv", ("name",), _phrases(_KINDS, clinics, rng))
    _write(folder / "wards.csv", ("name",), _phrases(_WARDS, wards, rng))
    _write(folder / "staff.csv", ("name",), ((name,) for name in _names("es", staff, rng)))
    for name, kind in {"clinics": "clinic", "wards": "location", "staff": "clinician"}.items():
        tables.append(f'[tables.{name}]\nsource = "{name}"\n[tables.{name}.columns]\nname = "{kind}"\n')
    sources = "".join(f'[sources.{path.stem}]\npath = "{path.name}"\n' for path in sorted(folder.glob("*.csv")))
    mapping = folder / "mapping.toml"
    mapping.write_text('lang = "es"\n' + sources + "".join(tables), encoding="utf-8")
    return mapping


def _write(path: Path, header: Sequence[str], rows: Iterator[tuple[str, ...]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _draw(lang: str, part: str, rng: Random) -> Iterator[str]:
    """Yield names endlessly, drawing in blocks."""
    table = read_table(lang, part)
    while True:
        often = rng.choices(table.names, cum_weights=table.cumulative, k=_BLOCK)
        evenly = rng.choices(table.names, k=_BLOCK)
        yield from (even if rng.random() < _FLAT else name for name, even in zip(often, evenly, strict=True))


def _patients(lang: str, count: int, rng: Random, first: int) -> Iterator[tuple[str, ...]]:
    """Yield patients with all columns."""
    given = {sex: _draw(lang, sex, rng) for sex in ("female", "male")}
    surnames = _draw(lang, "surname", rng)
    places, streets = _places(lang), _streets(lang)
    for number in range(first, first + count):
        sex = rng.choice(("female", "male"))
        name, surname = next(given[sex]), next(surnames)
        second = next(surnames) if lang == "es" else ""
        born = date(1925, 1, 1) + timedelta(days=rng.randrange(36_000))
        city, code = rng.choice(places)
        whole = f"{surname} {second}".strip()
        account = f"{name.split()[0]}.{surname.split()[0]}".lower().replace("'", "")
        yield (
            f"{number:08}",
            name,
            surname,
            second,
            born.isoformat(),
            make_id(_ID[lang], rng, IdBearer(sex, born, "", whole[:2])),
            _PHONE[lang].format(*_digits(lang, rng)),
            f"{account}{rng.randrange(100)}@{_MAIL[lang]}" if rng.random() < 0.5 else "",
            _address(lang, rng.choice(streets), rng.randrange(1, 120)),
            "".join(str(rng.randrange(10)) if char == "#" else char for char in code),
            city,
            f"{next(given[rng.choice(('female', 'male'))])} {whole}" if rng.random() < 0.3 else "",
        )


def _digits(lang: str, rng: Random) -> tuple[int, ...]:
    """Draw the digits of a phone number."""
    return (rng.randrange(100_000_000),) if lang == "es" else (rng.randrange(1000), rng.randrange(10_000))


def _address(lang: str, street: str, number: int) -> str:
    """Write a street with house number in the order of the language."""
    return f"{number} {street}" if lang == "en" else f"{street}{', ' if lang == 'es' else ' '}{number}"


def _places(lang: str) -> list[tuple[str, str]]:
    """Read towns and their postal codes."""
    with get_language(lang).resource("synth/lists/places.csv").open(encoding="utf-8", newline="") as file:
        return [(row["city"], row["zip"]) for row in csv.DictReader(file)]


def _streets(lang: str) -> list[str]:
    """Read street names."""
    lines = get_language(lang).read_text("synth/lists/streets.txt").splitlines()
    return [line for line in lines if line and "{" not in line and not line.startswith("#")]


def _phrases(kinds: Sequence[str], count: int, rng: Random) -> Iterator[tuple[str]]:
    """Yield different names of institutions from a type, a name, a district, and a number if necessary."""
    names = list(read_table("es", "surname").names)
    rng.shuffle(names)
    parts = product(range(1, count + 2), _AREAS, names, kinds)
    for number, area, name, kind in islice(parts, count):
        yield (f"{kind} {name} {area}" + (f" {number}" if number > 1 else ""),)


def _names(lang: str, count: int, rng: Random) -> Iterator[str]:
    """Yield different names of staff, such as "Dra. Ana García López"."""
    given, surnames = _draw(lang, "female", rng), _draw(lang, "surname", rng)
    seen: set[str] = set()
    while len(seen) < count:
        name = f"Dra. {next(given)} {next(surnames)} {next(surnames)}"
        if name not in seen:
            seen.add(name)
            yield name
