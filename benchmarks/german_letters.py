"""Evaluate the pipelines of the package on letters in German (GraSCCo_PHI), a language without training data.

    python -m benchmarks.german_letters DATA [--out metrics/german.json]

DATA holds the corpus (Zenodo 11502329) as CAS JSON or XMI; a letter in both formats is read once. Nothing is adapted
to or chosen on these letters. Recall by kind counts what is covered under any label. Titles ("Dr.") are annotated in
this corpus and are not identifiers for the package: they count in figures of all characters, not in those of names.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.language import Language

import spacy_deid
from spacy_deid.evaluation import AnnotatedText, MetricRow, from_doc
from spacy_deid.evaluation.cas import read_cas
from spacy_deid.evaluation.per_document import format_documents, measure_documents
from spacy_deid.evaluation.rows import replace_rows

from .cas import SCHEME, find_files

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

PIPELINES = ("es", "en", "fi")
POINTS = ("balanced", "max_recall")
DATA = "GraSCCo_PHI, German"
KINDS = {
    "names": ("NAME_PATIENT", "NAME_DOCTOR", "NAME_RELATIVE", "NAME_USERNAME"),
    "dates": ("DATE",),
    "places and institutions": (
        *("LOCATION_STREET", "LOCATION_ZIP", "LOCATION_CITY", "LOCATION_COUNTRY"),
        *("LOCATION_HOSPITAL", "LOCATION_ORGANIZATION"),
    ),
    "numbers and addresses of contact": ("ID", "CONTACT_PHONE", "CONTACT_FAX", "CONTACT_EMAIL"),
}


@app.command()
def main(
    data: Annotated[Path, typer.Argument(help="Folder of GraSCCo_PHI.")],
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/german.json"),
) -> None:
    """Evaluate the shipped pipelines on German letters."""
    files = {file.stem: file for suffix in (".xmi", ".json") for file in find_files(data, suffix)}
    gold = [read_cas(file, scheme=SCHEME) for file in files.values()]
    rows: list[MetricRow] = []
    for name in PIPELINES:
        for point in POINTS:
            nlp = spacy_deid.load(name, operating_point=point)
            measured = measure_documents(gold, detect(nlp, gold), scheme=SCHEME)
            print(f"\n{name}, {point}\n{format_documents(measured)}")
            rows += make_rows(f"{name} {point}", measured)
    replace_rows(metrics, rows)


def detect(nlp: Language, gold: list[AnnotatedText]) -> list[AnnotatedText]:
    """Run a pipeline on the letters."""
    docs = nlp.pipe([letter.text for letter in gold])
    return [from_doc(doc, letter.name) for doc, letter in zip(docs, gold, strict=True)]


def figures(measured: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Compute the figures of a pipeline at an operating point."""
    yield "character recall", measured["micro"]["recall"]
    yield "character precision", measured["micro"]["precision"]
    yield "mean recall of letters", measured["macro"]["recall"]["mean"]
    due = [row for row in measured["rows"] if row["fn"] + row["tp"]]
    yield "letters with nothing missed", sum(not row["fn"] for row in due) / len(due)
    for kind, labels in KINDS.items():
        found = [measured["labels"][label] for label in labels if label in measured["labels"]]
        whole = sum(row["characters"] for row in found)
        yield f"recall of {kind}", 1 - sum(row["missed"] for row in found) / whole


def make_rows(variant: str, measured: dict[str, Any]) -> Iterator[MetricRow]:
    """Convert figures to metric rows without targets."""
    command = "python -m benchmarks.german_letters corpus/grascco_phi_de"
    for name, value in figures(measured):
        if value is not None:
            today = date.today().isoformat()
            yield MetricRow(f"{variant}: {name}", round(value, 5), None, "higher", DATA, "all", command, today)


if __name__ == "__main__":
    app()
