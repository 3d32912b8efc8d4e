"""Evaluate a Finnish pipeline: names in the Turku NER corpus, the synthetic test set, and inflected names.

    python -m benchmarks.evaluate_fi spacy_deid/pipelines/fi --assets corpus

The assets folder contains turku_ner, unpacked by `project.yml`, and fi/test.spacy. For inflected names, each test
template that has a name in an oblique case is filled many times, once as it is and once with the same names in the
nominative, and the recall of these names is compared. The bootstrap draws templates instead of names, in pairs,
because names in the same sentence are not independent. False alarms in unlabelled text are counted by false_alarms.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from spacy.language import Language

import spacy_deid
from scripts.conll import read_conll
from spacy_deid.evaluation import AnnotatedText, Entity, from_doc
from spacy_deid.evaluation.counts import is_covered
from spacy_deid.evaluation.metrics import interval, ratio, resample
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows, with_interval
from spacy_deid.lang.fi.inflection import CASES
from spacy_deid.synth.corpus import render_template
from spacy_deid.synth.language import Language as WorkshopLanguage
from spacy_deid.synth.language import Template, load_language
from spacy_deid.synth.markup import Choice, Node, Slot

from .test_sets import read_test_set

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

PEOPLE = {"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"}
REPLICATES = 2000
Counts = tuple[int, int, int]
Figure = tuple[str, float, float | None, Any, list[float] | None]  # name, value, target, better, interval


def count(gold: Iterable[Entity], pred: Iterable[Entity]) -> Counts:
    """Count true positives, false positives and false negatives of entities that must be equal."""
    gold, pred = set(gold), set(pred)
    return len(gold & pred), len(pred - gold), len(gold - pred)


def f1(counts: Iterable[Counts]) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of summed counts."""
    hits, extra, missed = (sum(column) for column in zip(*counts, strict=True))
    precision, recall = hits / max(1, hits + extra), hits / max(1, hits + missed)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def people(entities: Iterable[Entity]) -> list[Entity]:
    """Map all names of persons to one label, whatever their role."""
    return [Entity(e.start, e.end, "PERSON") for e in entities if e.label in PEOPLE]


def predict(nlp: Language, notes: Sequence[AnnotatedText]) -> list[AnnotatedText]:
    """Run the pipeline on notes."""
    docs = nlp.pipe(note.text for note in notes)
    return [from_doc(doc, note.name) for doc, note in zip(docs, notes, strict=True)]


def measure_turku(nlp: Language, path: Path) -> dict[str, float]:
    """Measure names of persons in the Turku corpus, exact match."""
    gold = read_conll(path)
    found = predict(nlp, gold)
    counts = [count(people(g.entities), people(p.entities)) for g, p in zip(gold, found, strict=True)]
    return dict(zip(("precision", "recall", "F1"), f1(counts), strict=True))


def measure_made(nlp: Language, notes: Sequence[AnnotatedText]) -> dict[str, float]:
    """Measure synthetic notes, exact match of span and label; and the F1 of each label."""
    found = predict(nlp, notes)
    pairs = list(zip(notes, found, strict=True))
    figures = dict(
        zip(("precision", "recall", "F1"), f1(count(g.entities, p.entities) for g, p in pairs), strict=True)
    )
    spans = (count(unlabelled(g.entities), unlabelled(p.entities)) for g, p in pairs)
    figures["span F1"] = f1(spans)[2]
    for label in sorted({e.label for note in notes for e in note.entities}):
        of = ([[e for e in note.entities if e.label == label] for note in pair] for pair in pairs)
        figures[f"F1, {label}"] = f1(count(gold, pred) for gold, pred in of)[2]
    return figures


def unlabelled(entities: Iterable[Entity]) -> list[Entity]:
    """Remove the labels of entities."""
    return [Entity(e.start, e.end, "") for e in entities]


def in_nominative(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Put the names of a template into the nominative."""
    changed: list[Node] = []
    for node in nodes:
        if isinstance(node, Slot):
            node = replace(node, filters=tuple(name for name in node.filters if name not in CASES))
        elif isinstance(node, Choice):
            node = Choice(tuple(in_nominative(branch) for branch in node.branches))
        changed.append(node)
    return tuple(changed)


def count_cases(nlp: Language, language: WorkshopLanguage, least: int) -> NDArray[np.int64]:
    """Count found names in oblique cases and in the nominative, in notes of the test templates.

    least (int): minimum number of names.
    RETURNS (NDArray): shape (templates, 3): names found in oblique cases, found in the nominative, and names.
    """
    templates = [t for t in (*language.notes, *language.sentences) if t.split == "test"]
    twins = [(t, twin) for t in templates if (twin := replace(t, nodes=in_nominative(t.nodes))).nodes != t.nodes]
    counts, number = np.zeros((len(twins), 3), dtype=np.int64), 0
    while counts[:, 2].sum() < least:
        sides = ([make(pair[side], language, number) for pair in twins] for side in (0, 1))
        found = [zip(notes, predict(nlp, notes), strict=True) for notes in sides]
        names = np.array([count_names(oblique, plain) for oblique, plain in zip(*found, strict=True)])
        if not names.any() and not number:
            raise ValueError("no test template has a name in an oblique case")
        counts, number = counts + names, number + 1
    return counts


def count_names(oblique: tuple[AnnotatedText, AnnotatedText], plain: tuple[AnnotatedText, AnnotatedText]) -> list[int]:
    """Compare a note and its nominative twin: names found in each, and number of names that differ."""
    hits = [0, 0, 0]
    for entity, twin in zip(oblique[0].entities, plain[0].entities, strict=True):
        words = oblique[0].text[entity.start : entity.end], plain[0].text[twin.start : twin.end]
        if entity.label in PEOPLE and words[0] != words[1]:
            hits[0] += is_covered(oblique[0].text, entity, oblique[1].entities)
            hits[1] += is_covered(plain[0].text, twin, plain[1].entities)
            hits[2] += 1
    return hits


def make(template: Template, language: WorkshopLanguage, number: int) -> AnnotatedText:
    """Fill a template; the number determines the persons."""
    name = f"{template.name}-{number}"
    return render_template(template, language, Random(name), "test", name)


def make_case_figures(counts: NDArray[np.int64]) -> list[Figure]:
    """Compute recall in oblique cases, in the nominative, and their difference, with intervals.

    counts (NDArray): result of `count_cases`.
    RETURNS (list[Figure]): the figures.
    """

    def recalls(table: NDArray[np.int64]) -> NDArray[np.float64]:
        oblique, plain = (ratio(table[..., side], table[..., 2]) for side in (0, 1))
        return np.stack([oblique, plain, plain - oblique], axis=-1)

    values, replicates = recalls(counts.sum(axis=0)), recalls(resample(counts, REPLICATES, 0))
    kinds = (
        ("recall on names in oblique cases", None, "higher"),
        ("recall on the same names in the nominative", None, "higher"),
        ("recall lost in oblique cases", 0.01, "lower"),
    )
    return [
        (name, float(values[i]), target, better, interval(replicates[:, i]))
        for i, (name, target, better) in enumerate(kinds)
    ]


def name_figures(kind: str, figures: dict[str, float], target: float) -> list[Figure]:
    """Name figures after the data; F1 gets a target."""
    return [
        (f"{kind}, {key}", value, target if key == "F1" else None, "higher", None) for key, value in figures.items()
    ]


@app.command()
def main(
    context: typer.Context,
    pipeline: Annotated[str, typer.Argument(help="Pipeline to evaluate")],
    assets: Annotated[Path, typer.Option(help="Folder of the corpora")] = Path("assets"),
    names: Annotated[int, typer.Option(help="Names in oblique cases, at least")] = 3000,
    metrics: Annotated[Path, typer.Option(help="File to write to")] = Path("metrics/detection_fi.json"),
) -> None:
    """Evaluate a Finnish pipeline."""
    nlp = spacy_deid.load(pipeline)
    counts = count_cases(nlp, load_language("fi"), names)
    turku = measure_turku(nlp, assets / "turku_ner/data/conll/dev.tsv")
    made = measure_made(nlp, read_test_set("fi", assets))
    figures = {
        ("Turku NER", "dev"): name_figures("Turku persons", turku, 0.85),
        ("synth_fi", "test"): name_figures("made notes", made, 0.96),
        ("names in made Finnish notes", "test"): make_case_figures(counts),
    }
    about = {"command": command_line("benchmarks.evaluate_fi", context), "date": date.today().isoformat()}
    rows = []
    for (data, split), found in figures.items():
        for name, value, target, better, ends in found:
            row = MetricRow(name, round(value, 5), target, better, data, split, **about)
            rows += with_interval(row, ends)
    replace_rows(metrics, rows)
    typer.echo(f"{counts[:, 2].sum()} names in oblique cases, {len(counts)} templates")
    for row in rows:
        typer.echo(f"{row.name:<75}{row.value:8.4f}" + (f"  target {row.target}" if row.target else ""))


if __name__ == "__main__":
    app()
