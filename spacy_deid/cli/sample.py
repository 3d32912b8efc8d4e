"""``spacy-deid sample``: notes for a gold standard, stratified by type and period, exported for annotation."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..dictionaries.store import LocalStore
from ..errors import Errors, InputError
from ..evaluation import AnnotatedText, Entity
from ..io import check_encoding
from ..notes import open_source
from ..notes.source import Columns
from ..processes import Failure
from ..sampling.draw import make_sample
from ..sampling.sample import Sample, Settings, make_finder
from ..sampling.writing import check_place, write_sample
from .batches import cut, load_pipeline, process
from .console import reporting, say
from .options import Overwrite

__all__ = ["Tool", "Weighting", "sample"]


class Tool(StrEnum):
    """Annotation tools."""

    inception = "inception"
    brat = "brat"
    label_studio = "label-studio"


class Weighting(StrEnum):
    """What a group's share of the sample is proportional to."""

    words = "words"
    log_words = "log-words"


def sample(
    source: Annotated[
        str,
        typer.Argument(
            help="Notes: a .csv, .jsonl or .parquet file or a folder of them, a .duckdb, .db or .sqlite file, a "
            "database URL, or env:NAME, the variable that holds one of these."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write to.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Notes to draw, at least.")] = 10_000,
    least: Annotated[int, typer.Option("--k", min=0, help="Notes of each group, at least; all if it has fewer.")] = 10,
    period: Annotated[str, typer.Option(help="year, half, quarter, month or a number of years.")] = "year",
    weighting: Annotated[
        Weighting, typer.Option(help="Weight of a group: documents × mean words, or its logarithm.")
    ] = Weighting.words,
    seed: Annotated[int, typer.Option(help="The same seed draws the same notes.")] = 0,
    store: Annotated[
        Path | None, typer.Option(help="Local dictionaries: notes with identifiers of their own patient come first.")
    ] = None,
    table: Annotated[str, typer.Option(help="Table of a database.")] = "",
    note_id: Annotated[str, typer.Option(help="Column of the note's id; '' for none.")] = "note_id",
    patient_id: Annotated[str, typer.Option(help="Column of the patient's id; '' for none.")] = "patient_id",
    note_type: Annotated[str, typer.Option(help="Column of the note's type; '' for none.")] = "note_type",
    date: Annotated[str, typer.Option(help="Column of the note's date; '' for none.")] = "date",
    text: Annotated[str, typer.Option(help="Column of the note's text.")] = "text",
    words: Annotated[str, typer.Option(help="Column of the number of words; spares one reading of the texts.")] = "",
    date_format: Annotated[str, typer.Option(help="Format of dates that are strings, such as %d.%m.%Y.")] = "",
    pool: Annotated[int, typer.Option(min=1, help="Notes to choose from, for each that is drawn.")] = 4,
    tool: Annotated[list[Tool] | None, typer.Option(help="Write a project for this annotation tool too.")] = None,
    prelabel: Annotated[str, typer.Option(help="Pipeline whose detections the annotators start from.")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of CSV and JSONL files.")] = "utf-8",
    overwrite: Overwrite = False,
) -> None:
    """Draw notes for a gold standard. What it writes holds notes: it is as confidential as the records."""
    with reporting():
        check_place(out, overwrite)
        if "://" not in source and Path(source).resolve().is_relative_to(out.resolve()):
            raise InputError(Errors.D408.format(path=source))
        columns = Columns(note_id, text, patient_id, note_type, date, words)
        settings = Settings(n, least, period, str(weighting), seed, date_format, pool)
        find = make_finder(LocalStore.open(store)) if store else None
        notes = open_source(source, table=table, encoding=check_encoding(encoding))
        try:
            drawn = make_sample(notes, columns, settings, find)
        finally:
            notes.close()
        documents = _prelabel(drawn, prelabel) if prelabel else []
        tools = [str(name) for name in dict.fromkeys(tool or [])]
        write_sample(drawn, out, tools=tools, documents=documents, model=prelabel, overwrite=overwrite)
        _report(drawn, out)


def _prelabel(drawn: Sample, pipeline: str) -> list[AnnotatedText]:
    """The notes with what a pipeline finds in them; one that fails goes without."""
    nlp = load_pipeline(pipeline)
    documents: list[AnnotatedText] = []
    failed = 0
    for batch in cut(drawn.notes, lambda note: len(note.text), batch_size=64, n_process=1):
        found = process(
            nlp,
            [note.text for note in batch],
            lambda doc: tuple(Entity(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents),
            batch_size=64,
            n_process=1,
        )
        failed += sum(isinstance(entities, Failure) for entities in found)
        documents += [
            AnnotatedText(note.name, note.text, () if isinstance(entities, Failure) else entities)
            for note, entities in zip(batch, found, strict=True)
        ]
    if failed:
        say(f"{failed} note(s) could not be labelled and go without")
    return documents


def _report(drawn: Sample, out: Path) -> None:
    """Say what was drawn."""
    frame = drawn.frame()
    for reason, count in frame["skipped"].items():
        say(f"{count} row(s) skipped: {reason}")
    found = frame["with_identifiers"]
    looked = "" if found is None else f", {found} with identifiers of their own patient"
    typer.echo(
        f"{frame['drawn']} of {frame['documents']} notes in {len(drawn.groups)} groups drawn, of {frame['patients']} "
        f"patients{looked}; written to {out}"
    )
