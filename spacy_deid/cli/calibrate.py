"""``spacy-deid calibrate``: fits the scores and operating points of a trained pipeline on development data.

An operating point is a named set of thresholds, such as "high_recall".
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from spacy.language import Language
from spacy.training import Example

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, make_docs
from ..evaluation.constraints import check_documents, control_point, recall_point
from ..evaluation.operating_points import (
    PointWarning,
    Record,
    Table,
    fit_points,
    measure,
    operating_curve,
    write_operating_curve,
)
from ..evaluation.plots import plot_operating_curve
from ..evaluation.sweep import Sweep, detect, take_apart
from ..loading import find_component, load, use_operating_point
from ..saving import check_target, save
from .console import reporting, say
from .measure import read_gold
from .options import Scheme

Loss = Literal["entity", "character"]


def calibrate(
    pipeline: Annotated[Path, typer.Argument(help="Trained pipeline: its folder or name.")],
    dev: Annotated[
        Path, typer.Argument(metavar="DEV", help="Development data: a .spacy file of 'convert', or a corpus.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to save the calibrated pipeline to.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus and of the comparison.")] = "canonical",
    precision: Annotated[
        float | None,
        typer.Option(help="Character precision to keep at the point 'balanced'. Default: its best F1 of entities."),
    ] = None,
    recall: Annotated[float | None, typer.Option(help="Character recall to reach. Adds the point 'recall'.")] = None,
    risk: Annotated[
        float | None, typer.Option(help="Bound on the missed share of a note. Adds the point 'risk'.")
    ] = None,
    risk_data: Annotated[Path | None, typer.Option(help="Gold for --risk that was used for nothing else.")] = None,
    loss: Annotated[Loss, typer.Option(help="Unit that --risk counts.")] = "entity",
    per_label: Annotated[bool, typer.Option("--per-label", help="Reach --recall or --risk for each label.")] = False,
    operating_point: Annotated[
        str | None, typer.Option(help="Operating point to save the pipeline at. Default: its threshold stays.")
    ] = None,
    curves: Annotated[Path | None, typer.Option(help="Folder for curves.json and curves.png.")] = None,
) -> None:
    """Fit the scores and the operating points of deid_ner, and save the pipeline. It contains no text of the data.

    The points balanced, high_recall and max_recall are always fitted. --recall and --risk add a point, and the
    pipeline is saved at that point. The pipeline must not have been trained on the data, and the data of --risk-data
    must not have been used for anything else.
    """
    with reporting():
        _check_options(precision, recall, risk, risk_data, per_label)
        if output.resolve() == pipeline.resolve():
            raise ConfigError(Errors.D419.format(path=output))
        check_target(output)
        nlp = load(pipeline)
        ner = find_component(nlp, "deid_ner")
        gold = read_gold(dev, scheme)
        if not any(document.entities for document in gold):
            raise InputError(Errors.D349.format(path=dev))
        fresh = _read_fresh(risk_data, gold, scheme) if risk_data else []
        if risk is not None:
            check_documents(len(fresh), risk)  # before the models run
        _fit_scores(nlp, ner, gold)
        table = measure(Sweep(nlp, gold, scheme))
        points = _fit_points(table, precision)
        if recall is not None:
            points["recall"] = recall_point(table, recall, per_label=per_label)
        if risk is not None:
            points["risk"] = _bound(Sweep(nlp, fresh, scheme), risk, loss, per_label)
        ner.cfg["points"] = points
        wanted = operating_point or ("recall" if recall is not None else "risk" if risk is not None else None)
        if wanted:
            use_operating_point(nlp, wanted)
        save(nlp, output)
        _print_points(points)
        typer.echo(f"calibrated on {len(gold)} documents, saved to {output}" + (f" at '{wanted}'" if wanted else ""))
        if curves:
            rows = operating_curve(table)
            write_operating_curve(curves, rows, points)
            plot_operating_curve(curves, rows, points)


def _check_options(
    precision: float | None, recall: float | None, risk: float | None, risk_data: Path | None, per_label: bool
) -> None:
    """Check the constraints. RAISES: ConfigError for a value that is no share, or options that do not go together."""
    if recall is not None and risk is not None:
        raise ConfigError(Errors.D412.format(first="recall", second="risk"))
    if per_label and recall is None and risk is None:
        raise ConfigError(Errors.D411.format(option="recall or --risk, which --per-label goes with,"))
    for name, value in (("--precision", precision), ("--recall", recall), ("--risk", risk)):
        if value is not None and not 0.0 < value < 1.0:
            raise ConfigError(Errors.D345.format(name=name, value=value))
    if risk is not None and risk_data is None:
        raise ConfigError(Errors.D411.format(option="risk-data, notes that were not used before,"))
    if risk is None and risk_data is not None:
        raise ConfigError(Errors.D411.format(option="risk, which --risk-data goes with,"))


def _read_fresh(path: Path, gold: Sequence[AnnotatedText], scheme: str) -> list[AnnotatedText]:
    """Read the data of --risk-data. RAISES: InputError (D352) if it shares a note with the development data."""
    fresh, known = read_gold(path, scheme), {document.text for document in gold}
    if shared := sum(document.text in known for document in fresh):
        raise InputError(Errors.D352.format(path=path, documents=shared))
    if not any(document.entities for document in fresh):
        raise InputError(Errors.D349.format(path=path))
    return fresh


def _fit_points(table: Table, precision: float | None) -> dict[str, Record]:
    """Fit the named points, and print a warning for each that does not reach its precision."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        points = fit_points(table, precision)
    for warning in caught:
        text = str(warning.message)  # printed only for our own warnings; others could quote a note
        say(
            f"warning: {text}"
            if issubclass(warning.category, PointWarning)
            else f"warning: {warning.category.__name__}"
        )
    return points


def _bound(sweep: Sweep, risk: float, loss: Loss, per_label: bool) -> Record:
    """Fit an operating point that bounds the missed share of a note, and print the assumptions of the bound."""
    point = control_point(measure(sweep), risk, loss=loss, per_label=per_label)
    typer.echo(
        f"risk: {point['figures']['risk_bound']} on {len(sweep.gold)} documents. The bound holds only if they were "
        "not used before to train, select or calibrate a model, and for notes that are drawn in the same way"
    )
    return point


def _fit_scores(nlp: Language, ner: Any, gold: Sequence[AnnotatedText]) -> None:
    """Calibrate the probabilities of the token classifier, and print the calibration error before and after."""
    references, _ = make_docs(gold, nlp.make_doc)
    stages = take_apart(nlp)
    docs = detect(nlp, (doc.text for doc in references), stages, without=[stages.classifier])
    report = ner.calibrate([Example(doc, reference) for doc, reference in zip(docs, references, strict=True)])
    for kind in ("tokens", "spans"):
        before, after = report[f"{kind} ece_before"], report[f"{kind} ece_after"]
        typer.echo(f"{kind}: expected calibration error {before:.4f} before, {after:.4f} after")


def _print_points(points: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the operating points with their figures."""
    typer.echo(f"{'point':<14}{'threshold':>10}{'char R':>9}{'char P':>9}{'F1':>9}{'clean':>9}")
    for name, point in points.items():
        figures = point["figures"]
        keys = ("character_recall", "character_precision", "strict_f1", "clean")
        values = "".join(f"{'-' if figures[key] is None else format(figures[key], '.4f'):>9}" for key in keys)
        typer.echo(f"{name:<14}{point['default']:>10}{values}")
        for label, threshold in point["labels"].items():
            say(f"  {label}: threshold {threshold}")
