"""Run a pipeline on a gold corpus; write every score, and a row for each figure that has a target.

    python scripts/evaluate.py spacy_deid/pipelines/es corpus/meddocan/dev/brat --data meddocan --split dev

Beside the whole pipeline it measures what each detector adds (the ablation merges the same detections without it),
other operating points of the classifier, and the same notes typed in capitals, in lower case and without accents.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.evaluation import AnnotatedText, evaluate, format_table, from_doc, read_folder
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.ml.augment import retype

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

# name of the row, where it stands in the result, target
TARGETS = (
    ("NER strict F1", ("all", "ner", "f1"), 0.960),
    ("merged span F1", ("all", "span_merged", "f1"), 0.975),
    ("narrative NER strict F1", ("narrative", "ner", "f1"), 0.88),
    ("character recall", ("all", "character", "recall"), 0.985),
    ("character precision", ("all", "character", "precision"), 0.96),
    ("documents with nothing missed", ("all", "clean", "share"), 0.75),
)
# figures without a target that the documents quote
OTHERS = (
    ("NER strict precision", ("all", "ner", "precision")),
    ("NER strict recall", ("all", "ner", "recall")),
    ("header NER strict F1", ("header", "ner", "f1")),
    ("strict span F1", ("all", "span_strict", "f1")),
    ("leak", ("all", "leak", "leak")),
)
THRESHOLDS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)


@app.command()
def main(
    pipeline: Annotated[str, typer.Argument(help="Pipeline to evaluate")],
    gold: Annotated[Path, typer.Argument(help="Folder of brat or i2b2 XML files")],
    data: Annotated[str, typer.Option(help="Name of the corpus, for the rows")],
    split: Annotated[str, typer.Option(help="Name of the split, for the rows")],
    scheme: Annotated[str, typer.Option(help="Labels of the corpus")] = "meddocan",
    metrics: Annotated[Path, typer.Option(help="Folder to write to")] = Path("metrics"),
    command: Annotated[str, typer.Option(help="Command that the rows name")] = "spacy project run evaluate",
) -> None:
    """Evaluate a pipeline."""
    nlp = spacy_deid.load(pipeline)
    texts = read_folder(gold, scheme=scheme)
    metrics.mkdir(parents=True, exist_ok=True)
    docs = list(nlp.pipe(text.text for text in texts))
    scores = evaluate(texts, name_docs(docs, texts), scheme=scheme)
    typer.echo(format_table(scores))
    srsly.write_json(metrics / f"{nlp.lang}_{data}_{split}.json", scores)
    stamp = {"data": data, "split": split, "command": command, "date": date.today().isoformat()}
    write_rows(metrics / "foundation.json", figure_rows(scores, stamp))
    ablation = measure_ablation(nlp, texts, scheme)
    write_rows(metrics / "ablation.json", variant_rows(ablation, stamp))
    points = measure_points(nlp, texts, scheme)
    write_rows(metrics / "operating_points.json", variant_rows(points, stamp))
    hands = measure_hands(nlp, texts, scheme)
    write_rows(metrics / "typing.json", variant_rows(hands, stamp))
    for name, figures in {**ablation, **points, **hands}.items():
        typer.echo(f"{name:<32}" + "  ".join(f"{key} {value:.4f}" for key, value in figures.items()))


def name_docs(docs: Iterable[Doc], texts: Sequence[AnnotatedText]) -> list[AnnotatedText]:
    """Predictions under the names of the gold documents."""
    return [from_doc(doc, text.name) for doc, text in zip(docs, texts, strict=True)]


def figure_rows(scores: dict[str, Any], stamp: dict[str, str]) -> list[MetricRow]:
    """A row for each figure, with its target if it has one."""
    wanted = [*TARGETS, *((name, path, None) for name, path in OTHERS)]
    rows = [(name, scores[region][kind][key], target) for name, (region, kind, key), target in wanted]
    return [make_row(name, value, target, stamp) for name, value, target in rows if value is not None]


def make_row(name: str, value: float, target: float | None, stamp: dict[str, str]) -> MetricRow:
    """One row; only the leak is better when it is lower."""
    better: Any = "lower" if name.endswith("leak") else "higher"
    return MetricRow(name=name, value=round(value, 5), target=target, better=better, **stamp)


def variant_rows(variants: dict[str, dict[str, float]], stamp: dict[str, str]) -> list[MetricRow]:
    """Rows of an ablation or of operating points."""
    return [
        make_row(f"{variant}: {name}", value, None, stamp)
        for variant, figures in variants.items()
        for name, value in figures.items()
    ]


def measure_ablation(nlp: Any, texts: Sequence[AnnotatedText], scheme: str) -> dict[str, dict[str, float]]:
    """Figures of the pipeline without each of its detectors, and of each detector alone."""
    merge = nlp.get_pipe("deid_merge")
    detectors = {key: name for name, part in nlp.components if (key := getattr(part, "key", None)) in merge.sources}
    variants = {"all detectors": []}
    if len(detectors) > 1:
        variants |= {f"without {name}": [name] for name in detectors.values()}
        variants |= {f"{one} alone": [n for n in detectors.values() if n != one] for one in detectors.values()}
    sources, found = list(merge.sources), {}
    for variant, left_out in variants.items():
        merge.sources = [key for key in sources if detectors[key] not in left_out]
        with nlp.select_pipes(disable=left_out):
            found[variant] = summarize(evaluate(texts, predict(nlp, texts), scheme=scheme, bootstrap=0))
    merge.sources = sources
    return found


def measure_points(nlp: Any, texts: Sequence[AnnotatedText], scheme: str) -> dict[str, dict[str, float]]:
    """Figures of the whole pipeline at several operating points of the classifier."""
    ner = nlp.get_pipe("deid_ner")
    chosen, found = ner.threshold, {}
    for threshold in THRESHOLDS:
        ner.set_threshold(threshold)
        found[f"threshold {threshold}"] = summarize(evaluate(texts, predict(nlp, texts), scheme=scheme, bootstrap=0))
    ner.set_threshold(chosen)
    return found


def measure_hands(nlp: Any, texts: Sequence[AnnotatedText], scheme: str) -> dict[str, dict[str, float]]:
    """Figures on the same notes typed by other hands: in capitals, in lower case, without accents."""
    found = {}
    for hand, name in (("upper", "in capitals"), ("lower", "in lower case"), ("plain", "without accents")):
        typed = [AnnotatedText(text.name, retype(text.text, hand), text.entities) for text in texts]
        found[name] = summarize(evaluate(typed, predict(nlp, typed), scheme=scheme, bootstrap=0))
    return found


def predict(nlp: Any, texts: Sequence[AnnotatedText]) -> list[AnnotatedText]:
    """Run a pipeline on the texts."""
    return name_docs(nlp.pipe(text.text for text in texts), texts)


def summarize(scores: dict[str, Any]) -> dict[str, float]:
    """The figures that have a target."""
    figures = {name: scores[region][kind][key] for name, (region, kind, key), _ in TARGETS}
    return {name: round(value, 5) for name, value in figures.items() if value is not None}


if __name__ == "__main__":
    app()
