"""Measure the effect of local knowledge: pipelines with and without dictionaries, with and without recovery.

    python -m benchmarks.local_ablation es training/es --gold corpus/meddocan/dev/brat --scheme meddocan
    python -m benchmarks.local_ablation en spacy_deid/pipelines/en

The record system is simulated with half of the different names, addresses and identifiers of the gold, each in the
table where a hospital would have it, so that dictionaries are not an oracle. Persons are recorded by full name only:
what a note calls somebody ("Bill", "madre") is not in the tables. Values of a patient are known for the patient's own
note only. Without --gold, notes are generated as by `spacy-deid synth --split test`. Writes
metrics/local_ablation.json.
"""

import csv
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.language import Language
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.ehr.builder import Settings, build_dictionary
from spacy_deid.ehr.mapping import read_mapping
from spacy_deid.evaluation import AnnotatedText, evaluate, read_folder
from spacy_deid.evaluation.report import predict
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.evaluation.sweep import detect, take_apart
from spacy_deid.synth import make_corpus

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

OF_PATIENTS = {  # label → kind of the column
    "PATIENT": "patient.full",
    "RELATIVE": "relative.full",
    "PHONE": "phone",
    "EMAIL": "email",
    "STREET": "street",
    "MRN": "id:MRN",
    "NATIONAL_ID": "id:NATIONAL_ID",
    "INSURANCE_ID": "id:INSURANCE_ID",
    "ENCOUNTER_ID": "id:ENCOUNTER_ID",
}
OF_THE_INSTITUTION = {"CLINICIAN": "clinician", "HOSPITAL": "clinic", "HEALTH_CENTER": "clinic:HEALTH_CENTER"}
PERSONS = {"PATIENT", "RELATIVE", "CLINICIAN"}
DICTIONARIES = "deid_dictionaries"  # beside the public lists of the pipeline
VARIANTS = {"base": [DICTIONARIES, "deid_recovery"], "with dictionaries": ["deid_recovery"]}
VARIANTS |= {"with recovery": [DICTIONARIES], "with both": []}
MOST_PRECISION, MOST_RECALL = 0.002, 0.0005  # what the one may cost for the other to rise
NOTES, SEED, REPLICATES = 300, 91, 100


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language of the notes.")],
    pipeline: Annotated[str, typer.Argument(help="Pipeline: a name or a folder.")],
    gold: Annotated[Path | None, typer.Option(help="Folder of gold notes; synthetic notes by default.")] = None,
    scheme: Annotated[str, typer.Option(help="Label scheme of the gold folder.")] = "canonical",
    output: Annotated[Path, typer.Option(help="Number of rows to write.")] = Path("metrics/local_ablation.json"),
) -> None:
    """Evaluate the four variants."""
    notes = list(read_folder(gold, scheme=scheme) if gold else make_corpus(lang, NOTES, SEED, split="test"))
    with tempfile.TemporaryDirectory() as folder:
        dictionaries = simulate(notes, Path(folder), lang)
        scores = measure(pipeline, notes, dictionaries)
    data = f"{gold.parts[-3]}" if gold else "synthetic notes"
    command = f"python -m benchmarks.local_ablation {lang} {pipeline}" + (
        f" --gold {gold} --scheme {scheme}" if gold else ""
    )
    split = gold.parts[-2] if gold else "test"
    rows = [
        MetricRow(f"{lang}: {name}", value, target, better, f"{data} {lang}", split, command, f"{date.today()}")
        for name, value, target, better in figures(scores)
    ]
    write_rows(output, rows)
    typer.echo("\n".join(f"{row.name:<50}{row.value:+.5f}" for row in rows))


def is_known(value: str) -> bool:
    """Test whether the record system has a value: every second one, by hash."""
    return hashlib.sha256(value.casefold().encode("utf8")).digest()[0] % 2 == 0


def is_full_name(value: str) -> bool:
    """Test whether a value is a full name as in a record: at least two capitalized words."""
    words = value.replace(",", " ").split()
    return sum(word[0].isupper() for word in words) >= 2


def simulate(notes: Sequence[AnnotatedText], folder: Path, lang: str) -> Path:
    """Write the tables and their mapping, and build the dictionaries.

    notes (Sequence[AnnotatedText]): gold.
    folder (Path): target folder.
    lang (str): language.
    RETURNS (Path): the dictionaries.
    """
    write_table(folder / "patients.csv", ["patient_id", *OF_PATIENTS], known_values(notes, OF_PATIENTS))
    write_table(folder / "staff.csv", ["patient_id", *OF_THE_INSTITUTION], known_values(notes, OF_THE_INSTITUTION))
    mapping = [f'lang = "{lang}"', '[sources.patients]\npath = "patients.csv"', '[sources.staff]\npath = "staff.csv"']
    for table, head, kinds in (
        ("patients", 'patient_id = "patient_id"', OF_PATIENTS),
        ("staff", "", OF_THE_INSTITUTION),
    ):
        mapping += [f'[tables.{table}]\nsource = "{table}"\n{head}', f"[tables.{table}.columns]"]
        mapping += [f'{label} = "{kind}"' for label, kind in kinds.items()]
    (folder / "mapping.toml").write_text("\n".join(mapping), encoding="utf8")
    target = folder / "dictionaries"
    build_dictionary(read_mapping(folder / "mapping.toml"), target, folder / "report.json", Settings())
    return target


def known_values(notes: Sequence[AnnotatedText], kinds: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a table, one per value."""
    for note in notes:
        for entity in note.entities:
            value = " ".join(note.text[entity.start : entity.end].split())
            if entity.label in kinds and is_known(value) and (entity.label not in PERSONS or is_full_name(value)):
                yield {"patient_id": note.name, entity.label: value}


def write_table(path: Path, columns: list[str], rows: Iterator[dict[str, str]]) -> None:
    """Write a CSV table."""
    with path.open("w", encoding="utf8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def measure(pipeline: str, notes: Sequence[AnnotatedText], dictionaries: Path) -> dict[str, dict[str, Any]]:
    """Evaluate all variants."""
    nlp = with_local_knowledge(spacy_deid.load(pipeline), dictionaries)
    stages = take_apart(nlp)
    docs = detect(nlp, [of_patient(nlp, note) for note in notes], stages)
    return {
        name: evaluate(notes, predict(nlp, docs, notes, stages, without), scheme="canonical", bootstrap=REPLICATES)[
            "all"
        ]
        for name, without in VARIANTS.items()
    }


def with_local_knowledge(nlp: Language, dictionaries: Path) -> Language:
    """Add the dictionary detector and the recovery to a pipeline."""
    config = {"key": "deid/dictionaries"}
    ruler = nlp.add_pipe("deid_ruler", name=DICTIONARIES, before="deid_merge", config=config)
    ruler.open_dictionaries(dictionaries)
    nlp.get_pipe("deid_merge").sources = [ruler.key, *nlp.get_pipe("deid_merge").sources]
    recovery = {"lists": ["deid/ruler", ruler.key]}
    if "deid_recovery" in nlp.pipe_names:
        nlp.remove_pipe("deid_recovery")
    nlp.add_pipe("deid_recovery", after="deid_merge", config=recovery)
    return nlp


def of_patient(nlp: Language, note: AnnotatedText) -> Doc:
    """Return a note with the context of its patient."""
    doc = nlp.make_doc(note.text)
    doc._.ehr = {"patient_id": note.name}
    return doc


def figures(scores: dict[str, dict[str, Any]]) -> Iterator[tuple[str, float, float | None, str]]:
    """Yield name, value, target and direction: word-level figures of the variants, and the effect of each part."""
    words = {name: variant["word"] for name, variant in scores.items()}
    for name, counts in words.items():
        for figure in ("precision", "recall", "f1"):
            yield f"{name}, word {figure}", round(counts[figure], 5), None, "higher"
        yield f"{name}, notes with nothing missed", round(scores[name]["clean"]["share"], 5), None, "higher"

    def change(name: str, figure: str) -> float:
        return round(words[name][figure] - words["base"][figure], 5)

    def loss(name: str, figure: str) -> float:
        return 0.0 - change(name, figure)

    yield "dictionaries: gain in recall", change("with dictionaries", "recall"), 0.0, "higher"
    yield "dictionaries: loss of precision", loss("with dictionaries", "precision"), MOST_PRECISION, "lower"
    yield "recovery: gain in precision", change("with recovery", "precision"), 0.0, "higher"
    yield "recovery: loss of recall", loss("with recovery", "recall"), MOST_RECALL, "lower"


if __name__ == "__main__":
    app()
