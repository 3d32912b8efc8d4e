"""Make the evaluation report for a privacy board, as plain values and as an HTML page.

The report counts what was missed by category of identifier and by risk level; the categories are defined in
``resources/risk_levels.json``, with their source and a reason for each level. It includes an ablation: the figures of
the pipeline without each component and of each detector alone. The detectors run once; their results are merged again
without the components that are left out.

The report quotes no note. `list_misses` quotes notes, and `render` prints these quotes if it is given them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from .counts import Mask, alphanumeric_mask, coverage_mask, find_words
from .documents import AnnotatedText, Entity, pair_documents
from .formats import from_doc
from .metrics import REGIONS, evaluate
from .operating_points import measure, operating_curve
from .per_document import RATES, measure_documents
from .plots import SERIES, draw_lines
from .sweep import Stages, Sweep, decide, detect, left_out, take_apart

LEVELS = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Category:
    """A category of identifiers with its risk level, as a privacy board groups them.

    name (str): name of the category.
    risk (str): "high", "medium" or "low".
    labels (tuple[str, ...]): canonical labels.
    reason (str): reason for the risk level.
    """

    name: str
    risk: str
    labels: tuple[str, ...]
    reason: str


@cache
def _table() -> dict[str, Any]:
    """Load ``resources/risk_levels.json``, which defines the categories and their risk levels."""
    text = (files("spacy_deid") / "resources" / "risk_levels.json").read_text(encoding="utf8")
    table: dict[str, Any] = json.loads(text)
    return table


def load_categories() -> tuple[Category, ...]:
    """Return all categories of identifiers from ``resources/risk_levels.json``, those of high risk first."""
    rows = _table()["categories"]
    return tuple(Category(row["name"], row["risk"], tuple(row["labels"]), row["reason"]) for row in rows)


def category_of(label: str) -> Category:
    """Return the category of identifiers that contains a canonical label."""
    return next(category for category in load_categories() if label in category.labels)


def count_misses(gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText]) -> dict[str, Any]:
    """Count missed identifiers by category and risk level. An identifier found under another label is not missed.

    A word is missed if none of its letters and digits is covered. An entity is missed partly if one of them is not
    covered, and wholly if none is.

    gold, pred (Sequence[AnnotatedText]): the same documents.
    RETURNS (dict): "categories", one row each with "words", "missed_words", "entities", "missed_entities" (partly or
        wholly), "wholly_missed", "documents" (with a miss) and "per_1000_notes" (missed entities per 1,000 notes); and
        "levels", the sums by risk level and in total. Plain numbers without text or names.
    RAISES: InputError if the two sides cannot be paired (D308–D310).
    """
    pairs = pair_documents(gold, pred)
    counts = {category.name: np.zeros(5, dtype=np.int64) for category in load_categories()}
    notes: dict[str, set[str]] = {category.name: set() for category in load_categories()}
    for one, other in pairs:
        letters, got = alphanumeric_mask(one.text), coverage_mask(other.entities, len(one.text))
        for entity in one.entities:
            name = category_of(entity.label).name
            row = _count(one.text, entity, letters, got)
            counts[name] += row
            if row[3]:
                notes[name].add(one.name)
    rows = [
        {"name": c.name, "risk": c.risk, "reason": c.reason, **_row(counts[c.name], notes[c.name], len(pairs))}
        for c in load_categories()
    ]
    levels = {level: [c.name for c in load_categories() if c.risk == level] for level in LEVELS} | {
        "all": list(counts)
    }
    added = {}
    for level, names in levels.items():
        total: Any = sum((counts[name] for name in names), start=np.zeros(5, dtype=np.int64))
        added[level] = _row(total, set().union(*(notes[name] for name in names)), len(pairs))
    return {"notes": len(pairs), "categories": rows, "levels": added, "source": str(_table()["source"])}


def _count(text: str, entity: Entity, letters: Mask, got: Mask) -> list[int]:
    """Count for one entity: its words, missed words, entities (1, or 0 without letters and digits), entities missed
    at least partly (0 or 1) and entities missed wholly (0 or 1)."""
    words = find_words(text, entity.start, entity.end)
    part = slice(entity.start, entity.end)
    due, covered = letters[part], (letters & got)[part]
    counts = bool(due.any())
    partly, wholly = counts and bool((due & ~covered).any()), counts and not covered.any()
    missed = sum(not got[start:end].any() for start, end in words)
    return [len(words), missed, int(counts), int(partly), int(wholly)]


def _row(counts: Any, notes: set[str], documents: int) -> dict[str, Any]:
    """Convert the summed counts of a category or risk level, in the order of `_count`, to a row of the report."""
    words, missed, entities, partly, wholly = counts.tolist()
    return {
        "words": words,
        "missed_words": missed,
        "word_recall": None if not words else round(1 - missed / words, 5),
        "entities": entities,
        "missed_entities": partly,
        "wholly_missed": wholly,
        "documents": len(notes),
        "per_1000_notes": round(1000 * partly / documents, 2) if documents else None,
    }


def list_misses(
    gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText], around: int = 60
) -> list[dict[str, str]]:
    """Quote every missed identifier with its context. The result contains text of notes and is as confidential.

    gold, pred (Sequence[AnnotatedText]): the same documents.
    around (int): number of characters of context on each side.
    RETURNS (list[dict]): one dict per missed entity: "name" of the document, "label", "category", "risk", "missed"
        (text of the entity), "before" and "after" (its context); those of high risk first.
    """
    found = []
    for one, other in pair_documents(gold, pred):
        letters, got = alphanumeric_mask(one.text), coverage_mask(other.entities, len(one.text))
        for e in one.entities:
            if _count(one.text, e, letters, got)[3]:
                category = category_of(e.label)
                where = {"name": one.name, "label": e.label, "category": category.name, "risk": category.risk}
                before, after = one.text[max(0, e.start - around) : e.start], one.text[e.end : e.end + around]
                found.append({**where, "before": before, "missed": one.text[e.start : e.end], "after": after})
    return sorted(found, key=lambda row: (LEVELS.index(row["risk"]), row["category"], row["name"]))


# name of the figure → region, score and key in the result of `metrics.evaluate`
FIGURES = {
    "strict_f1": ("all", "ner", "f1"),
    "narrative_strict_f1": ("narrative", "ner", "f1"),
    "word_precision": ("all", "word", "precision"),
    "word_recall": ("all", "word", "recall"),
    "word_f1": ("all", "word", "f1"),
    "character_precision": ("all", "character", "precision"),
    "character_recall": ("all", "character", "recall"),
    "clean": ("all", "clean", "share"),
}


def ablate(nlp: Language, gold: Sequence[AnnotatedText], *, scheme: str = "canonical") -> dict[str, dict[str, Any]]:
    """Run an ablation: evaluate a pipeline without each of its components, and with each of its detectors alone.

    nlp (Language): pipeline with ``deid_merge``; unchanged afterwards.
    gold (Sequence[AnnotatedText]): notes with canonical labels.
    scheme (str): label scheme of the comparison.
    RETURNS (dict): "whole pipeline", "without X" and "X alone" → the figures of `FIGURES`.
    RAISES: ConfigError (D415) if the pipeline has no ``deid_merge``.
    """
    stages = take_apart(nlp)
    docs = detect(nlp, (document.text for document in gold), stages)
    detectors = list(stages.detectors.values())
    variants: dict[str, list[str]] = {"whole pipeline": []}
    variants |= {f"without {name}": [name] for name in stages.parts if len(detectors) > 1 or name not in detectors}
    if len(detectors) > 1:
        variants |= {f"{one} alone": [name for name in stages.parts if name != one] for one in detectors}
    return {
        variant: summarize_scores(evaluate(gold, predict(nlp, docs, gold, stages, names), scheme=scheme, bootstrap=0))
        for variant, names in variants.items()
    }


def predict(
    nlp: Language, docs: Sequence[Doc], gold: Sequence[AnnotatedText], stages: Stages, without: Sequence[str] = ()
) -> list[AnnotatedText]:
    """Decide on the detections of a pipeline and return the final entities, as if some components were not there.

    nlp (Language): the pipeline.
    docs (Sequence[Doc]): Docs with the span groups of all detectors, from `sweep.detect`.
    gold (Sequence[AnnotatedText]): the same notes in the same order; only their names are used.
    stages (Stages): detectors and deciders of the pipeline, from `sweep.take_apart`.
    without (Sequence[str]): names of detectors and deciders to leave out.
    RETURNS (list[AnnotatedText]): the predicted entities of each note.
    """
    with left_out(nlp, docs, stages, without):
        decided = (decide(nlp, doc, stages, without=without) for doc in docs)
        return [from_doc(doc, document.name) for doc, document in zip(decided, gold, strict=True)]


def summarize_scores(scores: dict[str, Any]) -> dict[str, Any]:
    """Select the figures of `FIGURES` from an evaluation, with five decimals; None if undefined."""
    values = {name: scores[region].get(kind, {}).get(key) for name, (region, kind, key) in FIGURES.items()}
    return {name: None if value is None else round(value, 5) for name, value in values.items()}


# score → its title on the page
SCORES = {
    "word": "word, PII against non-PII",
    "character": "letter and digit, whatever the label",
    "ner": "entity and label, exact",
    "span_strict": "entity, exact, whatever the label",
    "span_merged": "entity, neighbours united",
}


def make_report(
    nlp: Language,
    gold: Sequence[AnnotatedText],
    *,
    scheme: str = "canonical",
    bootstrap: int = 100,
    seed: int = 0,
    with_text: bool = False,
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Evaluate a pipeline on a gold corpus and collect all figures of the report.

    nlp (Language): pipeline with ``deid_merge``.
    gold (Sequence[AnnotatedText]): notes with canonical labels.
    scheme (str): label scheme of the comparison.
    bootstrap (int): number of replicates for the 95 % intervals.
    seed (int): seed of the random generator.
    with_text (bool): whether to quote the missed identifiers.
    RETURNS (tuple): the report, without text and without names of documents: "scores", "per_document", "misses",
        "ablation" and, if there is a token classifier, "curve"; and the examples of `list_misses`, empty unless
        `with_text`.
    RAISES: ConfigError (D415) if the pipeline has no ``deid_merge``.
    """
    stages = take_apart(nlp)
    pred = predict(nlp, detect(nlp, (document.text for document in gold), stages), gold, stages)
    measured = measure_documents(gold, pred, scheme=scheme)
    report: dict[str, Any] = {
        "scores": evaluate(gold, pred, scheme=scheme, bootstrap=bootstrap, seed=seed),
        "per_document": {key: part for key, part in measured.items() if key != "rows"},
        "misses": count_misses(gold, pred),
        "ablation": ablate(nlp, gold, scheme=scheme),
    }
    if stages.classifier:
        report["curve"] = operating_curve(measure(Sweep(nlp, gold, scheme)))
    return report, list_misses(gold, pred) if with_text else []


def render(
    report: Mapping[str, Any],
    about: Mapping[str, Any],
    *,
    points: Mapping[str, Mapping[str, Any]] | None = None,
    examples: Sequence[Mapping[str, str]] = (),
) -> str:
    """Render a report as an HTML page without scripts and external resources.

    report (Mapping): result of `make_report`.
    about (Mapping): description of the measurement: "pipeline", "versions", "data", "operating_point", "date".
    points (Mapping): named operating points to mark in the curve.
    examples (Sequence[Mapping]): quotes of what was missed; they make the page as confidential as the notes.
    RETURNS (str): HTML.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "figure": _figure,
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f} %",
        "interval": _interval,
        "change": lambda value, whole: "" if value is None or whole is None else f"{value - whole:+.4f}",
    }
    source = (files("spacy_deid") / "resources" / "report.html.jinja").read_text(encoding="utf8")
    return environment.from_string(source).render(
        about=about,
        report=report,
        regions=REGIONS,
        kinds=SCORES,
        rates=RATES,
        series=SERIES,
        curve=draw_lines(report["curve"], "threshold", SERIES, points or {}) if report.get("curve") else "",
        points=points or {},
        examples=examples,
    )


def _figure(value: float | None, digits: int = 4) -> str:
    """Format a figure with a number of decimals, or as a dash if it is None."""
    return "–" if value is None else f"{value:.{digits}f}"


def _interval(entry: Mapping[str, Any], name: str) -> str:
    """Format the confidence interval of a figure; return "" if it has none."""
    ends = (entry.get("ci") or {}).get(name)
    return f"{ends[0]:.4f} – {ends[1]:.4f}" if ends else ""
