"""Evaluate an English pipeline: names in visits, values in queries, and the synthetic test set.

    python -m benchmarks.evaluate_en spacy_deid/pipelines/en --assets corpus

The assets folder contains asq_phi and clinical_visit_notes, unpacked by `project.yml`, and en/test.spacy. Missing
corpora are skipped with a message. With --with-text, misses and false alarms are printed to the console and nowhere
else. False alarms in unlabelled text are counted by false_alarms.py, which also defines a false alarm.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from spacy.tokens import Doc

import spacy_deid
from scripts.english_corpora import read_aci_bench, read_asq_phi
from spacy_deid.evaluation import AnnotatedText, evaluate, from_doc
from spacy_deid.evaluation.counts import is_covered
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows, with_interval

from .false_alarms import changes, use_policy
from .test_sets import read_test_set

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

QUERIES = "asq_phi/synthetic_clinical_queries.txt"
VISITS = "clinical_visit_notes/data/aci-bench/challenge_data"

Interval = list[float] | None
Figure = tuple[str, float, float | None, str, str, Interval]  # name, value, target, data, split, interval

# figures of the synthetic test set: name, where the scores have it, target
MADE = (
    ("strict F1", "ner", "f1", 0.97),
    ("strict recall", "ner", "recall", None),
    ("character recall", "character", "recall", None),
    ("character precision", "character", "precision", None),
)


class Measure:
    """A pipeline with the Safe Harbor policy.

    nlp (Language): pipeline with "deid_surrogate".
    with_text (bool): whether to print misses and false alarms.
    """

    def __init__(self, pipeline: str, with_text: bool) -> None:
        self.nlp = spacy_deid.load(pipeline)
        use_policy(self.nlp)
        self.with_text = with_text

    def read(self, texts: Iterable[str]) -> list[Doc]:
        """Run the pipeline."""
        return list(self.nlp.pipe(texts))

    def show(self, kind: str, doc: Doc, start: int, end: int) -> None:
        """Print a miss or false alarm with its context."""
        if self.with_text:
            before, after = doc.text[max(0, start - 40) : start], doc.text[end : end + 30]
            typer.echo(f"{kind}: {before}[[{doc.text[start:end]}]]{after}".replace("\n", " "))

    def found(self, kind: str, notes: Sequence[AnnotatedText], wholes: Sequence[AnnotatedText]) -> float:
        """Compute the share of entities of `wholes` for which all contained entities of `notes` are covered."""
        hits = total = 0
        for note, whole, doc in zip(notes, wholes, self.read(note.text for note in notes), strict=True):
            found = from_doc(doc, note.name).entities
            for entity in whole.entities:
                parts = [part for part in note.entities if entity.start <= part.start and part.end <= entity.end]
                hit = all(is_covered(doc.text, part, found) for part in parts)
                hits, total = hits + hit, total + 1
                if not hit:
                    self.show(f"missed {kind}", doc, entity.start, entity.end)
        return hits / total

    def is_quiet(self, doc: Doc) -> bool:
        """Test whether the policy would leave a text unchanged."""
        alarms = changes(doc)
        for edit in alarms:
            self.show("alarm", doc, edit.start, edit.end)
        return not alarms


def measure_queries(measure: Measure, assets: Path) -> list[Figure]:
    """Measure ASQ-PHI, development half: recall of values, and hard negatives without a false alarm."""
    parts = read_asq_phi(assets / QUERIES, "dev")
    wholes = read_asq_phi(assets / QUERIES, "dev", parts=False)
    harmless = [note for note in wholes if not note.entities]
    quiet = [measure.is_quiet(doc) for doc in measure.read(note.text for note in harmless)]
    return [
        ("ASQ-PHI values found", measure.found("value", parts, wholes), 0.97, "asq_phi", "dev", None),
        ("ASQ-PHI hard negatives without a false alarm", sum(quiet) / len(quiet), 0.90, "asq_phi", "dev", None),
    ]


def measure_visits(measure: Measure, assets: Path) -> list[Figure]:
    """Measure ACI-Bench, validation part: recall of the names in the metadata."""
    notes = read_aci_bench(assets / VISITS / "valid.csv", assets / VISITS / "valid_metadata.csv")
    return [("ACI-Bench names found", measure.found("name", notes, notes), 0.98, "aci_bench", "valid", None)]


def measure_made(measure: Measure, assets: Path) -> list[Figure]:
    """Measure the synthetic test set."""
    gold = read_test_set("en", assets)
    docs = measure.read(note.text for note in gold)
    scores = evaluate(gold, [from_doc(doc, note.name) for doc, note in zip(docs, gold, strict=True)], bootstrap=1000)
    figures: list[Figure] = []
    for name, kind, key, target in MADE:
        score = scores["all"][kind]
        figures.append((f"synthetic English {name}", score[key], target, "synth_en", "test", score["ci"][key]))
    return figures


PARTS: tuple[tuple[Callable[[Measure, Path], list[Figure]], list[str]], ...] = (
    (measure_visits, [VISITS]),
    (measure_queries, [QUERIES]),
    (measure_made, ["en/test.spacy"]),
)


@app.command()
def main(
    context: typer.Context,
    pipeline: Annotated[str, typer.Argument(help="Pipeline to evaluate")],
    assets: Annotated[Path, typer.Option(help="Folder of the corpora")] = Path("assets"),
    metrics: Annotated[Path, typer.Option(help="File to write to")] = Path("metrics/detection_en.json"),
    with_text: Annotated[bool, typer.Option("--with-text", help="Show misses and alarms on the console")] = False,
) -> None:
    """Evaluate an English pipeline."""
    measure = Measure(pipeline, with_text)
    command, rows = command_line("benchmarks.evaluate_en", context), []
    for part, needed in PARTS:
        if missing := [path for path in needed if not (assets / path).exists()]:
            typer.echo(f"not measured, not there: {', '.join(missing)}", err=True)
            continue
        rows += [row for figure in part(measure, assets) for row in make_rows(figure, command)]
    replace_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name:<60}{row.value:8.4f}" + (f"  target {row.target}" if row.target else ""))


def make_rows(figure: Figure, command: str) -> list[MetricRow]:
    """Create the row of a figure and those of its interval."""
    name, value, target, data, split, interval = figure
    row = MetricRow(name, round(value, 5), target, "higher", data, split, command, date.today().isoformat())
    return with_interval(row, interval)


if __name__ == "__main__":
    app()
