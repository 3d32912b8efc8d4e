"""Count what a native clinician would laugh at in surrogates: a changed sex, a town in the wrong country, a brand.

    python -m benchmarks.native_reader corpus/authored/es/dev --lang es
    python -m benchmarks.native_reader corpus/authored/es/dev --lang es --names apellidos_frecuencia.csv --abuse FOLDER

The corpus is one of authored notes, whose writers declared the sex of every person. Notes are de-identified by their
gold, so that errors of detection do not count. The gold of each figure is not what the surrogates are made from:

- *sex kept*: given names of persons whose sex the writer declared. The sex of the surrogate is that in the list of
  Jörg Michael (package gender-guesser, which is not part of this project); surrogates that it does not list, or calls
  unisex, do not count.
- *sex kept, unlisted names*: the same for names of this list that are on none of the lists of the package.
- *towns and codes agree*: drawn addresses of three forms: a town of each region with its postal code, in a note that
  also names a foreign country; a town that is on no list, with a code; a town that is on no list, with a country.
- *kind of facility kept*: institutions of the notes whose name has a word for its kind (`KINDS`, written for this
  benchmark), and drawn names with such a word before them. The surrogate has the same word and none of another kind.
- *offensive names*: surrogates of persons and towns in 10,000 draws that are in the lists of naughty-words (npm,
  CC BY 4.0), if --abuse names their folder.
- *firms and brands*: surrogates of organizations in 10,000 draws that are in the lists of organizations from which
  synthetic notes are made.
- *two surnames behind a title* (Spanish): pairs of rare surnames of --names, those behind the 15,000 that the package
  lists; read rightly if neither surrogate is a listed given name.

Rows are written to metrics/native_reader.json, without text of notes.
"""

import csv
import json
import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import typer

import spacy_deid
from spacy_deid.evaluation.documents import AnnotatedText, Entity
from spacy_deid.evaluation.gold_surrogates import replace_gold
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.synth.authored import AuthoredNote, read_authored

LANGUAGES = Path(spacy_deid.__file__).parent / "lang"
KEY = ProjectKey(bytes(range(50, 82)))
DRAWS = 10_000
RARE_FROM = 15_000  # rank behind which surnames are on no list of the package
COUNTRY_OF_NAMES = {"en": "usa", "es": "spain", "fi": "finland"}
# Words for kinds of facilities; in a name they may be inflected or parts of compounds.
KINDS = {
    "en": "hospital clinic pharmacy nursery daycare school college university church",
    "es": "hospital clinica farmacia guarderia colegio instituto universidad residencia ambulatorio laboratorio",
    "fi": "sairaala klinikka apteekki paivakoti koulu yliopisto terveysasema terveyskeskus",
}
# What is written before a name of this kind.
PLACED = {
    "en": [("goes to the nursery", "Bumblebees"), ("from the pharmacy", "Oldham"), ("at the school", "St Wulfric")],
    "es": [("va a la guardería", "Piececitos"), ("en la farmacia", "Zubieta"), ("del colegio", "Montserrat")],
    "fi": [],
}  # fmt: skip
OTHERS = {  # words of firms, which no nursery, pharmacy or school has
    "en": r"(?i)\b(?:roofing|logistics|motors|freight|foods|plumbing|insurance|inc|ltd)\b",
    "es": r"(?i)\b(?:talleres|transportes|conservas|aceros|laboratorios|muebles|bodegas|seguridad|s\.?[al]\.?)\b",
}
ABROAD = {"en": ("France", "Born in"), "es": ("Rusia", "Natural de"), "fi": ("Ranska", "Syntynyt:")}

SCANNED = str.maketrans("015l", "oisi")
"""Characters that a scan confuses → one of them."""

Figures = dict[str, tuple[float, int]]
"""Name of a figure → its value and the number of cases."""


def fold(text: str) -> str:
    """Return a text in lower case without accents; not the function of the package."""
    return text.lower().translate(str.maketrans("áéíóúüñäöåàèòç’", "aeiouunaoaaeoc'"))


def release(marked: Sequence[tuple[str, str]], lang: str, patient: str) -> list[str]:
    """Replace the labelled pieces of a text, given as (text, label or ""), and return their surrogates."""
    text, entities = "", []
    for piece, label in marked:
        if label:
            entities.append(Entity(len(text), len(text) + len(piece), label))
        text += piece
    released = replace_gold(AnnotatedText(patient, text, tuple(entities)), KEY.patient(patient), lang)
    return [made.text for made in released.replacements]


def column(path: Path, number: int = 0, separator: str = ",") -> list[str]:
    """Read one column of a table."""
    with path.open(encoding="utf8", newline="") as file:
        return [row[number] for row in csv.reader(file, delimiter=separator) if len(row) > number]


# --- sex


def sex_of_list(name: str, lang: str, detector: object) -> str:
    """Return the sex of a given name in the independent list; "" if it is unisex or not listed."""
    found = detector.get_gender(name.capitalize(), COUNTRY_OF_NAMES[lang])  # type: ignore[attr-defined]
    found = found if found in ("male", "female") else detector.get_gender(name.capitalize())  # type: ignore[attr-defined]
    return found if found in ("male", "female") else ""


def sexes(notes: Sequence[AuthoredNote], lang: str) -> Figures:
    """Compare the declared sex of persons with that of their surrogates."""
    try:
        from gender_guesser.detector import Detector
    except ImportError:
        return {}
    detector = Detector()
    flags = []
    for note in notes:
        document = note.annotated()
        released = replace_gold(document, KEY.patient(note.name), lang)
        made = {(e.start, e.end): r.text for e, r in zip(released.entities, released.replacements, strict=True)}
        for mark in note.marks:
            person = note.persons.get(mark.key)
            words, new = note.text[mark.start : mark.end].split(), made.get((mark.start, mark.end), "").split()
            if person is None or not person.given or len(words) != len(new):
                continue
            for word, other in zip(words, new, strict=True):
                if fold(word.strip(".,")) == fold(person.given[0]) and (
                    sex := sex_of_list(other.strip(".,"), lang, detector)
                ):
                    flags.append(sex == person.sex)
    listed = {
        fold(name)
        for sex in ("female", "male")
        for row in column(LANGUAGES / lang / "names" / f"{sex}.csv")
        for name in row.split()
    }
    rare = sorted(
        name
        for name in detector.names
        if name.isalpha() and fold(name) not in listed and sex_of_country(name, lang, detector)
    )
    drawn = random.Random(1).sample(rare, min(600, len(rare)))
    surname = {"en": "Baker", "es": "Romero", "fi": "Laine"}[lang]
    others = []
    for name in drawn:
        new = release([("Name: ", ""), (f"{name.title()} {surname}", "PATIENT")], lang, name)[0].split()[0]
        if sex := sex_of_list(new, lang, detector):
            others.append(sex == sex_of_country(name, lang, detector))
    return {"sex kept": share(flags), "sex kept, unlisted names": share(others)}


def sex_of_country(name: str, lang: str, detector: object) -> str:
    """Return the sex of a name that the independent list has for the country of the language; "" for others."""
    found = detector.get_gender(name.capitalize(), COUNTRY_OF_NAMES[lang])  # type: ignore[attr-defined]
    return found if found in ("male", "female") else ""


def share(flags: Sequence[bool]) -> tuple[float, int]:
    """Return the share of true values and their number."""
    return (sum(flags) / len(flags) if flags else 0.0), len(flags)


# --- addresses


def towns_by_region(lang: str) -> dict[str, list[str]]:
    """Read the towns of the country by region."""
    towns: dict[str, list[str]] = {}
    for line in (LANGUAGES / lang / "places.csv").read_text(encoding="utf8").splitlines():
        region, _, names = line.split(";")
        towns.setdefault(region, []).extend(names.split("|"))
    return towns


def heads(lang: str) -> dict[str, list[str]]:
    """Read the first digits of the postal codes of each region."""
    words = tomllib.loads((LANGUAGES / lang / "places.toml").read_text(encoding="utf8"))
    if lang == "es":
        return {region: [digits] for region, digits in words["zip"].items()}
    found: dict[str, list[str]] = {}
    for region, spans in words.get("zip_areas", {}).items():
        for span in spans.split():
            first, _, last = span.partition("-")
            found.setdefault(region, []).extend(f"{n:03}" for n in range(int(first), int(last or first) + 1))
    return found


def addresses(lang: str) -> Iterator[bool]:
    """Draw addresses, replace them, and test whether their parts agree."""
    chosen = random.Random(2)
    towns, codes = towns_by_region(lang), heads(lang)
    country, born = ABROAD[lang]
    for number, region in enumerate(sorted(codes) * (6 if lang == "es" else 4)):
        if region not in towns:
            continue
        code = chosen.choice(codes[region]) + ("".join(chosen.choices("123456789", k=5))[: 5 - len(codes[region][0])])
        name = "Villaquemada del Roble" if number % 3 == 0 else chosen.choice(towns[region])
        state: list[tuple[str, str]] = [(", ", ""), (region, "STATE"), (" ", "")] if lang == "en" else [(", ", "")]
        head = [(born + " ", ""), (country, "COUNTRY"), (". ", "")]
        made = release([*head, (name, "CITY"), *state, (code, "ZIP"), (".", "")], lang, f"a{number}")
        town, new = made[1], made[-1]
        fit = {r for r, names in towns.items() if fold(town) in map(fold, names)}
        fit |= {r for r in codes if fold(r) == fold(town)}
        agrees = any(new.startswith(start) for r in fit for start in codes.get(r, ()))
        yield agrees or (lang == "en" and new[:3] == "000")
    lands = towns_abroad(lang)
    for number in range(150):
        address = [(born + " ", ""), ("Quemadville", "CITY"), (", ", ""), (country, "COUNTRY")]
        town, land = release(address, lang, f"b{number}")
        yield fold(town) in lands.get(fold(land), ())


def towns_abroad(lang: str) -> dict[str, set[str]]:
    """Read the towns of each country by its name in a language."""
    shared = LANGUAGES.parent / "resources" / "surrogates" / "places"
    words = tomllib.loads((LANGUAGES / lang / "places.toml").read_text(encoding="utf8"))
    towns: dict[str, set[str]] = {}
    for line in (shared / "world.csv").read_text(encoding="utf8").splitlines():
        code, _, names = line.split(";")
        towns.setdefault(code, set()).update(map(fold, names.split("|")))
    for code, names in words.get("world", {}).items():
        towns[code] = set(map(fold, names))
    with (shared / "countries.csv").open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        fold(words.get("countries", {}).get(row["code"], row[lang])): towns.get(row["code"], set()) for row in rows
    }


# --- institutions


def kinds_of(name: str, lang: str) -> set[str]:
    """Return the words for a kind of facility in a name, as they were before a scan or a line end damaged it."""
    whole = re.sub(r"-\s*\n\s*", "", fold(name)).translate(SCANNED)
    return {kind for kind in KINDS[lang].split() if kind.translate(SCANNED) in whole}


def facilities(notes: Sequence[AuthoredNote], lang: str) -> Iterator[bool]:
    """For each institution with a word for its kind, test whether the surrogate is of this kind."""
    for note in notes:
        released = replace_gold(note.annotated(), KEY.patient(note.name), lang)
        for mention, made in zip(released.mentions, released.replacements, strict=True):
            named = mention.label in ("HOSPITAL", "HEALTH_CENTER", "ORGANIZATION") and made.action == "replace"
            if named and (own := kinds_of(mention.text, lang)):
                yield kinds_of(made.text, lang) == own
    for before, name in PLACED[lang]:
        for number in range(100):
            made = release([(before + " ", ""), (name, "ORGANIZATION"), (".", "")], lang, f"c{number}")[0]
            yield not re.search(OTHERS[lang], made) and not kinds_of(made, lang) - kinds_of(before, lang)


def drawn_names(lang: str) -> Iterator[str]:
    """Yield the words of 10,000 surrogates of persons and towns."""
    originals = {"en": ("Anna Baker", "Fresno"), "es": ("Ana Romero", "Getafe"), "fi": ("Anna Laine", "Espoo")}[lang]
    for number in range(DRAWS // 3):
        name, town = originals
        for made in release([(name, "PATIENT"), (" / ", ""), (town, "CITY")], lang, f"d{number}"):
            yield from re.findall(r"[^\W\d_]+", made)


def drawn_firms(lang: str) -> Iterator[str]:
    """Yield 10,000 surrogates of organizations."""
    for number in range(DRAWS // 4):
        named = ["Zorbleton", "Pfizer", "Xandrix Group", "Brambletop"]
        yield from release(
            [piece for name in named for piece in ((name, "ORGANIZATION"), ("; ", ""))], lang, f"e{number}"
        )


def two_surnames(path: Path) -> Iterator[bool]:
    """Test whether the surrogates of two rare surnames behind a title are surnames, too."""
    given = {fold(name) for sex in ("female", "male") for name in column(LANGUAGES / "es" / "names" / f"{sex}.csv")}
    listed = {fold(name) for name in column(LANGUAGES / "es" / "names" / "surname.csv")}
    rare = [name for name in column(path, 1)[RARE_FROM:] if name.isalpha() and fold(name) not in listed | given]
    chosen = random.Random(3)
    for number in range(300):
        name = f"{chosen.choice(rare).title()} {chosen.choice(rare).title()}"
        made = release([("Valorada por la Dra. ", ""), (name, "CLINICIAN"), (".", "")], "es", f"f{number}")[0]
        first = fold(made.split()[0])
        yield first in listed or first not in given


# traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


def aim(name: str) -> tuple[float, Literal["higher", "lower"]]:
    """Return target and direction of a figure."""
    return (0.0, "lower") if name.startswith(("offensive", "firms")) else (0.98, "higher")


@app.command()
def main(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder of authored notes.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    names: Annotated[Path | None, typer.Option(help="Full list of Spanish surnames, with rank and name.")] = None,
    abuse: Annotated[Path | None, typer.Option(help="Folder of the lists of naughty-words.")] = None,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/native_reader.json"),
) -> None:
    """Measure and write the rows."""
    notes = read_authored(folder)
    figures = sexes(notes, lang)
    figures["towns and codes agree"] = share(list(addresses(lang)))
    figures["kind of facility kept"] = share(list(facilities(notes, lang)))
    firms = {
        fold(line.strip()) for line in (LANGUAGES / lang / "synth/lists/organizations.txt").read_text().splitlines()
    }
    found = [fold(firm) in firms for firm in drawn_firms(lang)]
    figures["firms and brands drawn"] = float(sum(found)), len(found)
    if abuse is not None:
        words = {
            fold(word) for code in {lang, "en"} for word in json.loads((abuse / f"{code}.json").read_text("utf8"))
        }
        drawn = [fold(word) in words for word in drawn_names(lang)]
        figures["offensive names drawn"] = float(sum(drawn)), len(drawn)
    if names is not None and lang == "es":
        figures["two surnames behind a title"] = share(list(two_surnames(names)))
    command, today = command_line("benchmarks.native_reader", context), date.today().isoformat()
    rows = []
    for name, (value, cases) in figures.items():
        target, better = aim(name)
        rows.append(MetricRow(name, round(value, 5), target, better, f"authored {lang}", folder.name, command, today))
        typer.echo(f"{name}: {value:g} of {cases} cases" + ("" if rows[-1].met is not False else "  (missed)"))
    replace_rows(metrics, rows)


if __name__ == "__main__":
    app()
