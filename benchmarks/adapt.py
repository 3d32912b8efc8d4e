"""Measure how much a pipeline learns from few annotated notes: the learning curve of ``spacy-deid adapt``.

    python -m benchmarks.adapt german corpus/grascco_phi_de
    python -m benchmarks.adapt style corpus/authored/en/train --lang en

``german`` adapts the English pipeline to German letters (GraSCCo_PHI, Zenodo 11502329), a language of which it has
neither training notes nor rules. ``style`` adapts a pipeline to authored notes; the pipeline must have been trained
without them. The notes to learn from and those to measure on are drawn at random; the smaller sets are parts of the
larger ones.
"""

import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated

import typer

import spacy_deid
from spacy_deid.adaptation.adapt import Settings, adapt
from spacy_deid.adaptation.notes import Replay, make_replay
from spacy_deid.adaptation.training import Plan
from spacy_deid.evaluation import AnnotatedText, Entity, MetricRow, evaluate
from spacy_deid.evaluation.cas import read_cas
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.synth.authored import read_authored

from .cas import find_files

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

POINTS = ("balanced", "high_recall")
Sizes = Annotated[list[int] | None, typer.Option(help="Numbers of notes to learn from.")]
Measured = Annotated[int, typer.Option(help="Number of notes to measure on.")]
Parts = Annotated[int, typer.Option(help="Parts for cross-fitting.")]
Steps = Annotated[int | None, typer.Option(help="Training steps; those of the command by default.")]
Metrics = Annotated[Path, typer.Option(help="File of the metric rows.")]


@app.command()
def german(
    context: typer.Context,
    data: Annotated[Path, typer.Argument(help="Folder of GraSCCo_PHI.")],
    size: Sizes = None,
    measured: Measured = 20,
    parts: Parts = 4,
    steps: Steps = None,
    metrics: Metrics = Path("metrics/adapt.json"),
) -> None:
    """Adapt the English pipeline to German letters."""
    files = {file.stem: file for suffix in (".xmi", ".json") for file in find_files(data, suffix)}
    letters = [read_cas(file, scheme="grascco") for file in files.values()]
    rows = learn("en", letters, size or [0, 10, 20, 30], measured, parts, steps, "grascco", make_replay("en"))
    _write(rows, metrics, "GraSCCo_PHI, German", command_line("benchmarks.adapt german", context))


@app.command()
def style(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder of authored notes.")],
    lang: Annotated[str, typer.Option(help="Pipeline to adapt.")] = "en",
    size: Sizes = None,
    measured: Measured = 60,
    parts: Parts = 4,
    steps: Steps = None,
    metrics: Metrics = Path("metrics/adapt.json"),
) -> None:
    """Adapt a pipeline to authored notes."""
    notes = [note.annotated() for note in read_authored(folder) if note.lang == lang]
    rows = learn(lang, notes, size or [0, 10, 20, 30], measured, parts, steps, "canonical", make_replay(lang))
    _write(rows, metrics, f"authored {lang}", command_line("benchmarks.adapt style", context))


def learn(
    pipeline: str,
    notes: Sequence[AnnotatedText],
    sizes: Sequence[int],
    measured: int,
    parts: int,
    steps: int | None,
    scheme: str,
    replay: Replay,
    seed: int = 1,
) -> list[tuple[str, float, str]]:
    """Adapt a pipeline to notes of each number, and measure it on others. The smaller sets are parts of the larger.

    RETURNS (list[tuple]): name, value and direction of each figure.
    """
    order = Random(seed).sample(sorted(notes, key=lambda note: note.name), len(notes))
    test, pool = order[:measured], order[measured:]
    rows: list[tuple[str, float, str]] = []
    for size in sizes:
        nlp, start = spacy_deid.load(pipeline), time.process_time()
        refusal = ""
        if size:
            settings = Settings(Plan(steps=steps, seed=seed), parts=parts, bootstrap=0)
            refusal = adapt(nlp, pool[:size], replay, settings).refusal
            rows.append((f"{size} notes: seconds of processor time", time.process_time() - start, "lower"))
            rows.append((f"{size} notes: refused", float(bool(refusal)), "lower"))
        for point in POINTS:
            spacy_deid.loading.use_operating_point(nlp, point)
            found = []
            for doc, note in zip(nlp.pipe([note.text for note in test]), test, strict=True):
                entities = tuple(Entity(e.start_char, e.end_char, e.label_) for e in doc.ents)
                found.append(AnnotatedText(note.name, note.text, entities))
            figures = evaluate(test, found, scheme=scheme, bootstrap=0)["all"]
            named = {
                "character recall": figures["character"]["recall"],
                "character precision": figures["character"]["precision"],
                "strict F1": figures["ner"]["f1"],
                "notes with nothing missed": figures["clean"]["share"],
            }
            rows += [(f"{size} notes, {point}: {name}", value, "higher") for name, value in named.items()]
            shown = ", ".join(f"{name} {value:.4f}" for name, value in named.items())
            typer.echo(f"{size} notes, {point}: {shown}" + (f"; refused: {refusal}" if refusal else ""))
    return rows


def _write(rows: Sequence[tuple[str, float, str]], path: Path, data: str, command: str) -> None:
    """Write the figures as metric rows without targets."""
    today = date.today().isoformat()
    replace_rows(
        path,
        [
            MetricRow(name, round(value, 5), None, better, data, "held out", command, today)
            for name, value, better in rows
        ],  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    app()
