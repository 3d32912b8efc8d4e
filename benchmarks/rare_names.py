"""Measure recall of names that no model has seen, with and without the patient's dictionary.

    python -m benchmarks.rare_names [--notes N] [--lang LANG] [--out metrics/rare_names.json]

Notes are generated from test templates with deliberately rare names: half are drawn from groups of origin other than
the largest one of the country, half are blended from two such names. A record system of the same persons is simulated,
with id, given names and surnames of each patient, and the names of the relatives mentioned in the note. A name is
found if every character of it is covered. All "badly typed" notes have typing and OCR errors, some of them in names;
there, names with an error count too.
"""

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from spacy.language import Language as Pipeline

import spacy_deid
from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.ehr.builder import Settings, build_dictionary
from spacy_deid.ehr.mapping import read_mapping
from spacy_deid.evaluation.documents import AnnotatedText
from spacy_deid.evaluation.fairness import blend
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.synth.corpus import asks_of
from spacy_deid.synth.identity import Case, base_of
from spacy_deid.synth.language import Language, load_language, read_origins
from spacy_deid.synth.markup import Writer
from spacy_deid.synth.noise import add_noise
from spacy_deid.synth.values import Filler

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

SEED = 20
TARGET = 0.995
NAMES = ("PATIENT", "RELATIVE")
CLINICIANS = ("clinician", "person", "hospital", "center", "note", "decoy", "eponym")
MAPPING = """lang = "{lang}"
[sources.patients]
path = "patients.csv"
[tables.patients]
source = "patients"
patient_id = "id"
[tables.patients.columns]
given = "given"
surname = "surname"
surname2 = "surname"
[sources.relatives]
path = "relatives.csv"
may_be_empty = true
[tables.relatives]
source = "relatives"
patient_id = "id"
[tables.relatives.columns]
given = "relative.given"
surname = "relative.surname"
surname2 = "relative.surname"
"""


class RareCase(Case):
    """Cast of a note with rare names."""

    def _names(self, sex: str) -> tuple[str, tuple[str, ...]]:
        """Draw names of a group of origin that is not the largest, half of them blended."""
        groups = list(read_origins(self.language.lang).values())[1:]
        group = self.rng.choice(groups)
        blended = self.rng.random() < 0.5

        def draw(part: str) -> str:
            first, second = self.rng.choice(group[part]), self.rng.choice(group[part])
            return blend(first, second, self.rng) if blended else first

        count = 2 if self.language.get("names", "family") == "double" else 1
        return draw(sex), tuple(draw("surname") for _ in range(count))


@dataclass(frozen=True)
class Note:
    """A note and the persons in it: given names and surnames, the patient first."""

    text: AnnotatedText
    people: tuple[tuple[str, tuple[str, ...]], ...]


def make_notes(language: Language, count: int, noise: bool) -> Iterator[Note]:
    """Generate notes."""
    templates = [template for template in language.notes if template.split == "test"]
    for number in range(count):
        rng = Random(f"{SEED}/{language.lang}/{number}")
        template = rng.choice(templates)
        case = RareCase(language, rng, "test", asks_of([template]), template.directives)
        writer = Writer()
        Filler(case).write(template.nodes, writer)
        note = writer.finish(f"{number:05}")
        whos = ["patient", *(who for who in case._people if base_of(who) not in (*CLINICIANS, "patient"))]
        people = tuple((case.person(who).given, case.person(who).surnames) for who in whos)
        yield Note(add_noise(note, rng) if noise else note, people)


def build(folder: Path, lang: str, notes: Sequence[Note], fuzzy: bool) -> Path:
    """Write the record system of the patients and build its dictionary."""
    for name, chosen in {"patients": slice(0, 1), "relatives": slice(1, None)}.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("id", "given", "surname", "surname2"))
            for note in notes:
                for given, surnames in note.people[chosen]:
                    writer.writerow((note.text.name, given, surnames[0], surnames[1] if len(surnames) > 1 else ""))
    (folder / "mapping.toml").write_text(MAPPING.format(lang=lang), encoding="utf-8")
    build_dictionary(
        read_mapping(folder / "mapping.toml"), folder / "local", folder / "report.json", Settings(fuzzy=fuzzy)
    )
    return folder / "local"


def spans_of(note: Note) -> list[tuple[int, int]]:
    """Return the names of the patient and the relatives, without kinship words and other persons."""
    words = {
        word for given, surnames in note.people for name in (given, *surnames) for word in normal_form(name).split()
    }
    starts = tuple(word[:3] for word in words if len(word) > 2)
    text = note.text.text
    spans = [(e.start, e.end) for e in note.text.entities if e.label in NAMES]
    return [
        (start, end)
        for start, end in spans
        if any(word.startswith(starts) for word in normal_form(text[start:end]).replace(".", " ").split())
    ]


def recall(nlp: Pipeline, notes: Sequence[Note], show: bool) -> tuple[float, int]:
    """Return the share of names that are completely covered, and their number."""
    found = total = 0
    docs = (nlp.make_doc(note.text.text) for note in notes)
    for note, doc in zip(notes, docs, strict=True):
        doc._.ehr = {"patient_id": note.text.name}
        covered = {i for ent in nlp(doc).ents for i in range(ent.start_char, ent.end_char)}
        for start, end in spans_of(note):
            whole = all(i in covered or not note.text.text[i].isalnum() for i in range(start, end))
            total += 1
            found += whole
            if show and not whole:
                around = note.text.text[max(0, start - 30) : end + 20]
                print(repr(note.text.text[start:end]), "|", repr(around), "|", note.people)
    return found / total, total


def measure(lang: str, count: int, show: bool) -> Iterator[tuple[str, float, float | None, int]]:
    """Yield name, recall, target and number of names of each figure of a language."""
    language = load_language(lang)
    for noise in (False, True):
        notes = list(make_notes(language, count, noise))
        kind = "rare names, badly typed" if noise else "rare names"
        with tempfile.TemporaryDirectory() as name:
            local = build(Path(name), lang, notes, fuzzy=noise)
            value, total = recall(spacy_deid.load(lang, dictionaries=local), notes, show)
            yield f"{kind}: recall with the patient's dictionary", value, None if noise else TARGET, total
        value, total = recall(spacy_deid.load(lang), notes, show=False)
        yield f"{kind}: recall without", value, None, total


@app.command()
def main(
    notes: Annotated[int, typer.Option(help="Notes per language.")] = 1000,
    lang: Annotated[list[str] | None, typer.Option(help="Language to measure; all by default.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print missed names; all persons are invented.")] = False,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/rare_names.json"),
) -> None:
    """Measure detection of rare names with and without a dictionary."""
    command = f"python -m benchmarks.rare_names --notes {notes}"
    rows = []
    for language in lang or ("es", "en", "fi"):
        row = partial(MetricRow, better="higher", split=language, command=command, date=date.today().isoformat())
        for name, value, target, total in measure(language, notes, show):
            print(f"{language}  {name:52} {value:.4f}  of {total:,}")
            rows.append(row(name=name, value=round(value, 5), target=target, data="notes with rare names"))
    write_rows(metrics, rows)


if __name__ == "__main__":
    app()
