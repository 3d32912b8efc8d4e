"""The evaluation report for a privacy board: plain values and an HTML page.

The report includes an ablation, the figures of the pipeline without each component and of each detector alone. The
detectors run once; their results are merged again without those that are left out.

Nothing here quotes a note, except `render` with examples that the caller asked for.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from .docbin import from_doc
from .documents import AnnotatedText
from .metrics import REGIONS, evaluate
from .operating_points import measure, operating_curve
from .per_document import RATES, measure_documents
from .plots import SERIES, draw_lines
from .risk_levels import count_misses, list_misses
from .sweep import Stages, Sweep, decide, detect, left_out, take_apart

# name of the figure → where `metrics.evaluate` has it
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
    """Measure a pipeline without each of its components, and each of its detectors alone.

    nlp (Language): pipeline with ``deid_merge``; unchanged afterwards.
    gold (Sequence[AnnotatedText]): notes with canonical labels.
    scheme (str): label scheme of the comparison.
    RETURNS (dict): "whole pipeline", "without X" and "X alone" → the figures of `FIGURES`.
    RAISES: ConfigError (D342) if the pipeline has no ``deid_merge``.
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
    """Decide on Docs with detections, leaving out some components.

    nlp (Language): the pipeline.
    docs (Sequence[Doc]): result of `sweep.detect`.
    gold (Sequence[AnnotatedText]): notes that give the names of the documents.
    stages (Stages): parts of the pipeline.
    without (Sequence[str]): names of detectors and deciders to leave out.
    RETURNS (list[AnnotatedText]): predictions.
    """
    with left_out(nlp, docs, stages, without):
        decided = (decide(nlp, doc, stages, without=without) for doc in docs)
        return [from_doc(doc, document.name) for doc, document in zip(decided, gold, strict=True)]


def summarize_scores(scores: dict[str, Any]) -> dict[str, Any]:
    """Select the figures of `FIGURES` from an evaluation, with five decimals; None if undefined."""
    values = {name: scores[region].get(kind, {}).get(key) for name, (region, kind, key) in FIGURES.items()}
    return {name: None if value is None else round(value, 5) for name, value in values.items()}


# kinds of score on the page, with what they are called there
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
    """Measure a pipeline on a gold corpus.

    nlp (Language): pipeline with ``deid_merge``.
    gold (Sequence[AnnotatedText]): notes with canonical labels.
    scheme (str): label scheme of the comparison.
    bootstrap (int): number of replicates for the 95 % intervals.
    seed (int): seed of the random generator.
    with_text (bool): whether to quote what was missed.
    RETURNS (tuple): the report, without text and without names of documents: "scores", "letters", "misses", "ablation"
        and, if there is a token classifier, "curve"; and the examples of `risk_levels.list_misses`, empty unless
        `with_text`.
    RAISES: ConfigError (D342) if the pipeline has no ``deid_merge``.
    """
    stages = take_apart(nlp)
    pred = predict(nlp, detect(nlp, (document.text for document in gold), stages), gold, stages)
    report: dict[str, Any] = {
        "scores": evaluate(gold, pred, scheme=scheme, bootstrap=bootstrap, seed=seed),
        "letters": {key: part for key, part in measure_documents(gold, pred, scheme=scheme).items() if key != "rows"},
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
    environment.filters |= {"figure": _figure, "percent": _percent, "interval": _interval, "change": _change}
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
    """Format a figure, or a dash if it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    """Format a share in percent."""
    return "–" if value is None else f"{100 * value:.1f} %"


def _interval(entry: Mapping[str, Any], name: str) -> str:
    """Format the interval of a figure."""
    ends = (entry.get("ci") or {}).get(name)
    return f"{ends[0]:.4f} – {ends[1]:.4f}" if ends else ""


def _change(value: float | None, whole: float | None) -> str:
    """Format the signed difference from the whole pipeline."""
    return "" if value is None or whole is None else f"{value - whole:+.4f}"
