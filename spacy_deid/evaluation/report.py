"""The evaluation report: everything a privacy board asks of a pipeline, as plain values and as one page of HTML.

Nothing here quotes a note, except for `render` with examples that the caller asked for.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from spacy.language import Language

from .ablation import ablate, predict
from .curves import SERIES, curve_rows
from .documents import AnnotatedText
from .letters import RATES, measure_letters
from .metrics import REGIONS, evaluate
from .operating import measure
from .risk_levels import count_misses, list_misses
from .stages import detect, take_apart
from .svg import draw_lines
from .sweep import Sweep

__all__ = ["SCORES", "make_report", "render"]

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

    nlp (Language): a pipeline with ``deid_merge``.
    gold (Sequence[AnnotatedText]): with canonical labels.
    scheme (str): scheme to compare labels in.
    bootstrap (int): replicates for the 95 % intervals.
    seed (int): seed of the draws.
    with_text (bool): whether what was missed is quoted.
    RETURNS (tuple): the report, without text and without names of documents: "scores", "letters", "misses", "ablation"
        and, with a token classifier, "curve"; and the examples of `risk_levels.list_misses`, none unless they were
        asked for.
    RAISES: ConfigError (D342) if nothing is merged in the pipeline.
    """
    stages = take_apart(nlp)
    pred = predict(nlp, detect(nlp, (document.text for document in gold), stages), gold, stages)
    report: dict[str, Any] = {
        "scores": evaluate(gold, pred, scheme=scheme, bootstrap=bootstrap, seed=seed),
        "letters": {key: part for key, part in measure_letters(gold, pred, scheme=scheme).items() if key != "rows"},
        "misses": count_misses(gold, pred),
        "ablation": ablate(nlp, gold, scheme=scheme),
    }
    if stages.classifier:
        report["curve"] = curve_rows(measure(Sweep(nlp, gold, scheme)))
    return report, list_misses(gold, pred) if with_text else []


def render(
    report: Mapping[str, Any],
    about: Mapping[str, Any],
    *,
    points: Mapping[str, Mapping[str, Any]] | None = None,
    examples: Sequence[Mapping[str, str]] = (),
) -> str:
    """Write a report as one page that needs no network and no script.

    report (Mapping): as `make_report` gives it.
    about (Mapping): what was measured: "pipeline", "versions", "data", "operating_point", "date".
    points (Mapping): the named operating points, to be marked in the curve.
    examples (Sequence[Mapping]): quotes of what was missed; the page then is as confidential as the notes.
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
    """A figure, or a dash where it is not defined."""
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    """A share in percent."""
    return "–" if value is None else f"{100 * value:.1f} %"


def _interval(entry: Mapping[str, Any], name: str) -> str:
    """The interval of a figure."""
    ends = (entry.get("ci") or {}).get(name)
    return f"{ends[0]:.4f} – {ends[1]:.4f}" if ends else ""


def _change(value: float | None, whole: float | None) -> str:
    """The difference to the whole pipeline, with its sign."""
    return "" if value is None or whole is None else f"{value - whole:+.4f}"
