"""``spacy-deid adapt``: adapts a pipeline to a hospital's annotated notes, and suggests the notes to annotate next."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..adaptation.adapt import Settings, adapt, count_steps
from ..adaptation.notes import check_notes, make_replay
from ..adaptation.report import format_report
from ..adaptation.suggest import suggest
from ..adaptation.training import Plan
from ..errors import ConfigError, DeidError, Errors
from ..evaluation import AnnotatedText
from ..io import check_encoding, decode, find_notes, read_bytes, write_whole
from ..loading import load
from ..notes.source import as_id, as_text, require_columns
from ..saving import save
from .console import progress, reporting, say
from .measure import check_output, read_gold
from .options import Bootstrap, CasLayer, Scheme, Seed, open_notes

_SHARING = (
    "the weights of this pipeline were trained on your notes, and can tell whether a name is in them. Keep the folder "
    "as confidential as the notes, and ask your privacy board before you share it"
)


def adapt_pipeline(
    pipeline: Annotated[str, typer.Argument(help="Shipped pipeline, folder, or installed package.")],
    notes: Annotated[
        Path | None, typer.Argument(help="Annotated notes: a folder or file in any format of 'convert'.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the new pipeline.")] = None,
    scheme: Annotated[Scheme, typer.Option(help="Labels of the annotated notes.")] = "canonical",
    layer: CasLayer = None,
    replay: Annotated[
        Path | None,
        typer.Option(help="Folder of authored notes to train on as well. Default: synthetic notes of the language."),
    ] = None,
    weight: Annotated[
        float, typer.Option(min=0.05, max=0.95, help="Share of your notes in training; the others are replayed.")
    ] = 0.5,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Training steps. Default: a number that grows with the notes.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="JSON file for the report. A .txt file beside it gets the tables.")
    ] = None,
    n_suggest: Annotated[
        int, typer.Option("--suggest", min=0, help="Number of notes in --pool to suggest for annotation.")
    ] = 0,
    pool: Annotated[
        str | None,
        typer.Option(help="Notes that are not annotated: a folder of .txt files, or a table as for 'sample'."),
    ] = None,
    table: Annotated[str, typer.Option(help="Table of a database with the pool.")] = "",
    id_field: Annotated[str, typer.Option(help="Column of the pool with the note's id.")] = "note_id",
    text_field: Annotated[str, typer.Option(help="Column of the pool with the note's text.")] = "text",
    encoding: Annotated[str, typer.Option(help="Encoding of the pool.")] = "utf-8",
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
) -> None:
    """Adapt a pipeline to at least 20 annotated notes, and compare it before and after on notes not trained on.

    The pipeline is written only if it finds at least as much as before. --suggest prints the ids of the notes to
    annotate next; it needs no annotated notes.
    """
    with reporting():
        _check(notes, output, report, n_suggest, pool)
        nlp = load(pipeline)
        known: list[AnnotatedText] = []
        refusal = ""
        if notes is not None and output is not None:
            known = read_gold(notes, scheme, layer)
            corpus = make_replay(str(nlp.lang), replay, seed=seed)
            check_notes(known, corpus)
            settings = Settings(Plan(weight=weight, steps=steps, seed=seed), bootstrap=bootstrap)
            with progress(count_steps(len(known), settings)) as bar:
                result = adapt(nlp, known, corpus, settings, lambda: bar.update(1))
            text, refusal = format_report(result.report), result.refusal
            if report:
                data = json.dumps(result.report, ensure_ascii=False, indent=2) + "\n"
                write_whole(report, data.encode("utf-8"))
                write_whole(report.with_suffix(".txt"), text.encode("utf-8"))
            typer.echo(text, nl=False)
            if not refusal:
                save(nlp, output)
                typer.echo(f"saved to {output} at '{result.report['operating_point']}'")
                say(f"warning: {_SHARING}")
        if pool is not None:
            texts = _read_pool(pool, table, id_field, text_field, encoding)
            typer.echo(f"{'value':>8}{'uncertainty':>13}{'disagreement':>14}  note")
            for one in suggest(nlp, texts, n_suggest, (note.text for note in known)):
                typer.echo(f"{one.value:>8.4f}{one.uncertainty:>13.4f}{one.disagreement:>14.4f}  {one.name}")
        if refusal:
            raise DeidError(refusal)


def _check(notes: Path | None, output: Path | None, report: Path | None, n_suggest: int, pool: str | None) -> None:
    """Check the options before anything is read. RAISES: ConfigError for options that do not go together."""
    if (notes is None) != (output is None):
        missing = "output, the folder of the new pipeline," if output is None else "suggest, or annotated notes,"
        raise ConfigError(Errors.D411.format(option=missing))
    if bool(n_suggest) != (pool is not None):
        raise ConfigError(Errors.D411.format(option="pool" if n_suggest else "suggest"))
    if notes is None and pool is None:
        raise ConfigError(Errors.D411.format(option="suggest, or annotated notes,"))
    if notes is None and report is not None:
        raise ConfigError(Errors.D411.format(option="output, which --report goes with,"))
    if output is not None and os.path.lexists(output):
        raise ConfigError(Errors.D227.format(path=output))
    if report is not None and notes is not None:
        check_output(report, notes)
        check_output(report.with_suffix(".txt"), notes)


def _read_pool(pool: str, table: str, id_field: str, text_field: str, encoding: str) -> Iterator[tuple[str, str]]:
    """Yield the ids and texts of notes that are not annotated. The id of a .txt file is its path in the folder."""
    path = Path(pool)
    if path.is_dir() and any(path.rglob("*.txt")):
        for file, relative in find_notes([path], [".txt"], skip=path / ".none")[0]:
            yield relative.as_posix(), decode(read_bytes(file), check_encoding(encoding), str(file))[0]
        return
    source = open_notes(pool, table=table, encoding=encoding)
    try:
        require_columns(source, [id_field, text_field])
        for note_id, text in source.scan([id_field, text_field]):
            if (name := as_id(note_id)) is not None:
                yield name, as_text(text)
    finally:
        source.close()
