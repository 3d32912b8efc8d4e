"""Measure a Finnish pipeline: names in the Turku NER corpus, made notes, names in their cases, and false alarms.

    python scripts/evaluate_fi.py spacy_deid/pipelines/fi --assets-dir assets

Cases: every test template with a name in an oblique case is made twice by the same seed, as it is and with its names
in the nominative, and the recall on those names compared. False alarms are counted on the ministers' written answers,
which hold few names, by label; the answers are shown with --with-text on the console only.
"""

import argparse
import bz2
import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random

from spacy.language import Language

import spacy_deid
from spacy_deid.evaluation import AnnotatedText, Entity, from_doc
from spacy_deid.evaluation.conll import read_conll
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.surrogates.inflection.finnish import CASES
from spacy_deid.synth.corpus import make_corpus
from spacy_deid.synth.inject import render_template
from spacy_deid.synth.language import Language as WorkshopLanguage
from spacy_deid.synth.language import Template, load_language
from spacy_deid.synth.markup import Choice, Node, Slot

PEOPLE = {"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"}
SYNTHETIC, SEED, ROUNDS, ANSWERS = 400, 207, 6, 1500
COMMAND = "python scripts/evaluate_fi.py spacy_deid/pipelines/fi --assets-dir assets"
Counts = tuple[int, int, int]


def count(gold: Iterable[Entity], pred: Iterable[Entity]) -> Counts:
    """True positives, false positives and false negatives of entities that agree in everything."""
    gold, pred = set(gold), set(pred)
    return len(gold & pred), len(pred - gold), len(gold - pred)


def f1(counts: Iterable[Counts]) -> tuple[float, float, float]:
    """Precision, recall and F1 of counts added up."""
    hits, extra, missed = (sum(column) for column in zip(*counts, strict=True))
    precision, recall = hits / max(1, hits + extra), hits / max(1, hits + missed)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def people(entities: Iterable[Entity]) -> list[Entity]:
    """Names of persons, whatever their role, under one label."""
    return [Entity(e.start, e.end, "PERSON") for e in entities if e.label in PEOPLE]


def predict(nlp: Language, notes: Sequence[AnnotatedText]) -> list[AnnotatedText]:
    """What the pipeline finds in the notes."""
    docs = nlp.pipe(note.text for note in notes)
    return [from_doc(doc, note.name) for doc, note in zip(docs, notes, strict=True)]


def measure_turku(nlp: Language, path: Path) -> dict[str, float]:
    """Names of persons in the Turku corpus, strict."""
    gold = read_conll(path)
    found = predict(nlp, gold)
    counts = [count(people(g.entities), people(p.entities)) for g, p in zip(gold, found, strict=True)]
    return dict(zip(("precision", "recall", "F1"), f1(counts), strict=True))


def measure_made(nlp: Language, notes: Sequence[AnnotatedText]) -> dict[str, float]:
    """Made notes, strict in span and label; and each label's F1."""
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
    """Entities with their offsets alone."""
    return [Entity(e.start, e.end, "") for e in entities]


def in_nominative(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """A template with its names in the nominative."""
    changed: list[Node] = []
    for node in nodes:
        if isinstance(node, Slot):
            node = replace(node, filters=tuple(name for name in node.filters if name not in CASES))
        elif isinstance(node, Choice):
            node = Choice(tuple(in_nominative(branch) for branch in node.branches))
        changed.append(node)
    return tuple(changed)


def make_pairs(language: WorkshopLanguage) -> list[tuple[AnnotatedText, AnnotatedText]]:
    """Notes of the test templates in oblique cases, each with its twin in the nominative."""
    pairs = []
    for template in (t for t in (*language.notes, *language.sentences) if t.split == "test"):
        twin = replace(template, nodes=in_nominative(template.nodes))
        if twin.nodes != template.nodes:
            pairs += [(make(template, language, i), make(twin, language, i)) for i in range(ROUNDS)]
    return pairs


def make(template: Template, language: WorkshopLanguage, number: int) -> AnnotatedText:
    """A note of a template; the same number makes the same people."""
    name = f"{template.name}-{number}"
    return render_template(template, language, Random(name), "test", name)


def measure_cases(nlp: Language, pairs: Sequence[tuple[AnnotatedText, AnnotatedText]]) -> tuple[float, float, int]:
    """Recall on the names that differ between twins: in oblique cases, in the nominative; and how many there are."""
    hits, total = Counter[str](), 0
    found = [predict(nlp, [pair[side] for pair in pairs]) for side in (0, 1)]
    for number, (oblique, plain) in enumerate(pairs):
        for entity, twin in zip(oblique.entities, plain.entities, strict=True):
            same = oblique.text[entity.start : entity.end] == plain.text[twin.start : twin.end]
            if entity.label in PEOPLE and not same:
                total += 1
                hits["oblique"] += is_covered(entity, found[0][number])
                hits["nominative"] += is_covered(twin, found[1][number])
    return hits["oblique"] / total, hits["nominative"] / total, total


def is_covered(entity: Entity, note: AnnotatedText) -> bool:
    """Whether all of an entity was found, under whatever label."""
    return set(range(entity.start, entity.end)) <= {i for e in note.entities for i in range(e.start, e.end)}


def measure_answers(nlp: Language, path: Path, with_text: bool) -> dict[str, float]:
    """What is found in the answers, per 1,000 words and label. Names of ministers and agencies are among it."""
    with bz2.open(path, "rt", encoding="utf8", newline="") as file:
        lines = [row["sentence"] for row in islice(csv.DictReader(file), ANSWERS)]
    notes = [AnnotatedText(str(i), text) for i, text in enumerate(lines)]
    words = sum(len(note.text.split()) for note in notes)
    alarms: Counter[str] = Counter()
    for note, pred in zip(notes, predict(nlp, notes), strict=True):
        alarms.update(e.label for e in pred.entities)
        if with_text:
            for e in pred.entities:
                around = note.text[max(0, e.start - 30) : e.start], note.text[e.start : e.end], note.text[e.end :][:30]
                print(f"  {e.label}: {around[0]}[{around[1]}]{around[2]}")
    figures = {label: 1000 * number / words for label, number in alarms.most_common()}
    return figures | {"persons": sum(v for k, v in figures.items() if k in PEOPLE), "all": sum(figures.values())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--assets-dir", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, default=Path("metrics/detection_fi.json"))
    parser.add_argument("--with-text", action="store_true", help="show what is found in the answers, here only")
    args = parser.parse_args()
    nlp = spacy_deid.load(args.pipeline)
    today = datetime.now(UTC).date().isoformat()
    rows: list[MetricRow] = []

    def add(name: str, value: float, target: float | None, lower: bool, data: str, split: str) -> None:
        rows.append(MetricRow(name, value, target, "lower" if lower else "higher", data, split, COMMAND, today))
        print(f"{name:45} {value:.4f}" + (f"  (target {target})" if target is not None else ""))

    for key, value in measure_turku(nlp, args.assets_dir / "turku_ner/data/conll/dev.tsv").items():
        add(f"Turku persons, {key}", value, 0.85 if key == "F1" else None, False, "Turku NER", "dev")
    made = list(make_corpus("fi", SYNTHETIC, SEED, split="test"))
    for key, value in measure_made(nlp, made).items():
        add(f"made notes, {key}", value, 0.96 if key == "F1" else None, False, "made Finnish notes", "test")
    oblique, nominative, total = measure_cases(nlp, make_pairs(load_language("fi")))
    data = f"{total} names in made Finnish notes"
    add("recall on names in oblique cases", oblique, None, False, data, "test")
    add("recall on the same names in the nominative", nominative, None, False, data, "test")
    add("recall lost in oblique cases", nominative - oblique, 0.01, True, data, "test")
    answers = args.assets_dir / "fi_eduskunta_vkk/vkk/dev.csv.bz2"
    for key, value in measure_answers(nlp, answers, args.with_text).items():
        add(f"found per 1,000 words of answers, {key}", value, None, True, "eduskunta-vkk", "dev")
    args.metrics.unlink(missing_ok=True)  # a label that is not found any more leaves no row behind
    write_rows(args.metrics, rows)


if __name__ == "__main__":
    main()
