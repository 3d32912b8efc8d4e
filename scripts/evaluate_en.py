"""Measure an English pipeline: names in visits, values in queries, made notes, and false alarms on text of others.

    python scripts/evaluate_en.py spacy_deid/pipelines/en --assets assets

The folder of assets holds asq_phi, clinical_visit_notes and e3c, as `project.yml` unpacks them; a corpus that is not
there is passed over and said so. With --with-text the misses and alarms are shown on the console, and only there.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.context import get_edits
from spacy_deid.evaluation import AnnotatedText, Entity, evaluate, from_doc
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.synth import make_corpus
from spacy_deid.synth.carriers import read_carriers
from spacy_deid.synth.language import split_of
from spacy_deid.synth.listed_values import read_aci_bench, read_asq_phi

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

QUERIES = "asq_phi/synthetic_clinical_queries.txt"
VISITS = "clinical_visit_notes/data/aci-bench/challenge_data"
SECTIONS = "clinical_visit_notes/data/mts-dialog/MTS_Dataset_ValidationSet.csv"
CASES = "e3c/e3c_en_ccby.jsonl"
MADE_NOTES, MADE_SEED, MOST_CASES, COMMONEST = 500, 77, 800, 8

Figure = tuple[str, float, float | None, str, str]  # name, value, target, data, split


class Measure:
    """A pipeline under the Safe Harbor policy, and whether to show texts.

    nlp (Language): the pipeline, with "deid_surrogate".
    with_text (bool): whether misses and alarms are shown.
    """

    def __init__(self, pipeline: str, with_text: bool) -> None:
        self.nlp = spacy_deid.load(pipeline)
        surrogate: Any = self.nlp.get_pipe("deid_surrogate")
        surrogate.set_policy("safe_harbor")
        self.with_text = with_text

    def read(self, texts: Iterable[str]) -> list[Doc]:
        """Run the pipeline."""
        return list(self.nlp.pipe(texts))

    def show(self, kind: str, doc: Doc, start: int, end: int) -> None:
        """Show a miss or an alarm with its surroundings."""
        if self.with_text:
            before, after = doc.text[max(0, start - 40) : start], doc.text[end : end + 30]
            typer.echo(f"{kind}: {before}[[{doc.text[start:end]}]]{after}".replace("\n", " "))

    def found(self, kind: str, notes: Sequence[AnnotatedText], wholes: Sequence[AnnotatedText]) -> float:
        """Share of the entities of `wholes` whose parts, the entities of `notes` in them, are covered whole."""
        hits = total = 0
        for note, whole, doc in zip(notes, wholes, self.read(note.text for note in notes), strict=True):
            for entity in whole.entities:
                parts = [part for part in note.entities if entity.start <= part.start and part.end <= entity.end]
                hit = all(is_covered(doc, part) for part in parts)
                hits, total = hits + hit, total + 1
                if not hit:
                    self.show(f"missed {kind}", doc, entity.start, entity.end)
        return hits / total

    def alarms(self, kind: str, doc: Doc, rules: bool = True) -> list[str]:
        """Labels of what the policy would change in a text; without `rules`, of what no rule found."""
        groups = [] if rules else [doc.spans[key] for key in ("deid/patterns",) if key in doc.spans]
        by_rules = {token.i for group in groups for span in group for token in span}
        labels = []
        for edit in get_edits(doc):
            known = any(token.i in by_rules and edit.start <= token.idx < edit.end for token in doc)
            if not known and edit.replacement != doc.text[edit.start : edit.end]:
                labels.append(edit.label)
                self.show(f"alarm {kind}", doc, edit.start, edit.end)
        return labels


def is_covered(doc: Doc, entity: Entity) -> bool:
    """Whether every letter and digit of an entity is in some entity of the Doc."""
    covered = {i for ent in doc.ents for i in range(ent.start_char, ent.end_char)}
    return all(i in covered for i in range(entity.start, entity.end) if doc.text[i].isalnum())


def measure_queries(measure: Measure, assets: Path) -> list[Figure]:
    """ASQ-PHI, the half for development: values found, and hard negatives without an alarm."""
    parts = read_asq_phi(assets / QUERIES, "dev")
    wholes = read_asq_phi(assets / QUERIES, "dev", parts=False)
    harmless = [note for note in wholes if not note.entities]
    quiet = [not measure.alarms("query", doc) for doc in measure.read(note.text for note in harmless)]
    return [
        ("ASQ-PHI values found", measure.found("value", parts, wholes), 0.97, "asq_phi", "dev"),
        ("ASQ-PHI hard negatives without a false alarm", sum(quiet) / len(quiet), 0.90, "asq_phi", "dev"),
    ]


def measure_visits(measure: Measure, assets: Path) -> list[Figure]:
    """ACI-Bench, validation: mentions of the names in the metadata."""
    notes = read_aci_bench(assets / VISITS / "valid.csv", assets / VISITS / "valid_metadata.csv")
    return [("ACI-Bench names found", measure.found("name", notes, notes), 0.98, "aci_bench", "valid")]


def measure_made(measure: Measure, assets: Path) -> list[Figure]:
    """Notes made from the templates that are kept for the test."""
    gold = list(make_corpus("en", MADE_NOTES, MADE_SEED, split="test"))
    docs = measure.read(note.text for note in gold)
    scores = evaluate(gold, [from_doc(doc, note.name) for doc, note in zip(docs, gold, strict=True)], bootstrap=0)
    figures = scores["all"]
    return [
        ("synthetic English strict F1", figures["ner"]["f1"], 0.97, "synth_en", "test"),
        ("synthetic English strict recall", figures["ner"]["recall"], None, "synth_en", "test"),
        ("synthetic English character recall", figures["character"]["recall"], None, "synth_en", "test"),
        ("synthetic English character precision", figures["character"]["precision"], None, "synth_en", "test"),
    ]


def measure_alarms(measure: Measure, assets: Path) -> list[Figure]:
    """Text that names hardly anybody: what the policy would change in it, for each 1,000 words."""
    figures: list[Figure] = []
    for data, texts in (("e3c_en", read_cases(assets)), ("mts_dialog", read_sections(assets / SECTIONS))):
        docs = measure.read(texts)
        words = sum(len(text.split()) for text in texts) / 1000
        for kind, rules in (("changes", True), ("changes beyond the rules", False)):
            labels = Counter(label for doc in docs for label in measure.alarms(data, doc, rules))
            figures.append((f"{data} {kind} per 1,000 words", labels.total() / words, None, data, "dev"))
            for label, count in labels.most_common(COMMONEST):
                figures.append((f"{data} {kind} per 1,000 words: {label}", count / words, None, data, "dev"))
    return figures


def read_cases(assets: Path) -> list[str]:
    """Case reports that no training note is made from."""
    cases = (
        text for name, text in read_carriers(assets, "en") if name.startswith("e3c/") and split_of(name) == "test"
    )
    return list(islice(cases, MOST_CASES))


def read_sections(path: Path) -> list[str]:
    """Sections of visit notes."""
    with path.open(encoding="utf8", newline="") as file:
        return [row["section_text"] for row in csv.DictReader(file) if row["section_text"].strip()]


PARTS: tuple[tuple[Callable[[Measure, Path], list[Figure]], list[str]], ...] = (
    (measure_visits, [VISITS]),
    (measure_queries, [QUERIES]),
    (measure_made, []),
    (measure_alarms, [CASES, SECTIONS]),
)


@app.command()
def main(
    pipeline: Annotated[str, typer.Argument(help="Pipeline to evaluate")],
    assets: Annotated[Path, typer.Option(help="Folder of the corpora")] = Path("assets"),
    metrics: Annotated[Path, typer.Option(help="File to write to")] = Path("metrics/detection_en.json"),
    command: Annotated[str, typer.Option(help="Command that the rows name")] = "spacy project run evaluate-en",
    with_text: Annotated[bool, typer.Option("--with-text", help="Show misses and alarms on the console")] = False,
) -> None:
    """Evaluate an English pipeline."""
    measure = Measure(pipeline, with_text)
    rows = []
    for part, needed in PARTS:
        if missing := [path for path in needed if not (assets / path).exists()]:
            typer.echo(f"not measured, not there: {', '.join(missing)}", err=True)
            continue
        rows += [make_row(figure, command) for figure in part(measure, assets)]
    metrics.unlink(missing_ok=True)  # a label that is not found any more leaves no row behind
    write_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name:<60}{row.value:8.4f}" + (f"  target {row.target}" if row.target else ""))


def make_row(figure: Figure, command: str) -> MetricRow:
    """One row."""
    name, value, target, data, split = figure
    better: Any = "lower" if "per 1,000 words" in name else "higher"
    return MetricRow(name, round(value, 5), target, better, data, split, command, date.today().isoformat())


if __name__ == "__main__":
    app()
