"""``spacy-deid sample`` and ``audit``: draw notes for a gold standard, and search released notes for identifiers."""

import json
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..audit.run import AuditSettings, format_audit, run_audit
from ..audit.search import NoteHits
from ..deidentifier import Deidentifier
from ..dictionaries.store import LocalStore
from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, Entity
from ..io import check_encoding, whole_file, write_whole
from ..notes.files import FolderSource
from ..notes.source import Columns, NoteSource
from ..sampling.draw import make_sample
from ..sampling.sample import Settings, make_finder
from ..sampling.writing import check_place, write_sample
from .console import reporting, say
from .options import Dictionaries, OptionalJson, Overwrite, Processes, Seed, open_notes

Table = Annotated[str, typer.Option(help="Table of a database.")]
IdField = Annotated[str, typer.Option(help="Column of the note's id, '' for none.")]
TypeField = Annotated[str, typer.Option(help="Column of the note's type, '' for none.")]
TextField = Annotated[str, typer.Option(help="Column of the note's text.")]


class Tool(StrEnum):  # typer has no lists of Literal
    """Annotation tools for which `sample` can write a project."""

    inception = "inception"
    brat = "brat"
    label_studio = "label-studio"


def sample(
    source: Annotated[
        str,
        typer.Argument(
            help="Notes: a .csv, .jsonl or .parquet file or a folder of them, a .duckdb, .db or .sqlite file, a "
            "database URL, or env:NAME for the environment variable with one of these."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Minimum number of notes to draw.")] = 10_000,
    least: Annotated[
        int, typer.Option("--k", min=0, help="Minimum number of notes per group. A smaller group is drawn completely.")
    ] = 10,
    period: Annotated[str, typer.Option(help="year, half, quarter, month or a number of years.")] = "year",
    weighting: Annotated[
        Literal["words", "log-words"],
        typer.Option(help="Weight of a group: documents × mean number of words, or its logarithm."),
    ] = "words",
    seed: Annotated[int, typer.Option(help="The same seed draws the same notes.")] = 0,
    dictionaries: Dictionaries = None,
    table: Table = "",
    id_field: IdField = "note_id",
    patient_field: Annotated[str, typer.Option(help="Column of the patient's id, '' for none.")] = "patient_id",
    type_field: TypeField = "note_type",
    date_field: Annotated[str, typer.Option(help="Column of the note's date, '' for none.")] = "date",
    text_field: TextField = "text",
    words_field: Annotated[str, typer.Option(help="Column of the number of words, which saves a pass.")] = "",
    date_format: Annotated[str, typer.Option(help="Format of dates that are strings, such as %d.%m.%Y.")] = "",
    pool: Annotated[int, typer.Option(min=1, help="Number of candidates for each note that is drawn.")] = 4,
    tool: Annotated[list[Tool] | None, typer.Option(help="Also write a project for this annotation tool.")] = None,
    prelabel: Annotated[str, typer.Option(help="Pipeline that pre-annotates the notes.")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of CSV and JSONL files.")] = "utf-8",
    overwrite: Overwrite = False,
) -> None:
    """Draw notes for a gold standard. The output contains notes and is as confidential as the records.

    With --dictionaries, notes with identifiers of their own patient are preferred.
    """
    with reporting(), ExitStack() as stack:
        check_place(output, overwrite)
        if "://" not in source and Path(source).resolve().is_relative_to(output.resolve()):
            raise InputError(Errors.D408.format(path=source))
        columns = Columns(id_field, text_field, patient_field, type_field, date_field, words_field)
        settings = Settings(n, least, period, weighting, seed, date_format, pool)
        find = make_finder(LocalStore.open(dictionaries)) if dictionaries else None
        notes = open_notes(source, table=table, encoding=encoding)
        stack.callback(notes.close)
        drawn = make_sample(notes, columns, settings, find)
        documents: list[AnnotatedText] = []
        if prelabel:
            results = list(Deidentifier(prelabel).detect(note.text for note in drawn.notes))
            for note, result in zip(drawn.notes, results, strict=True):
                entities = tuple(Entity(*entity) for entity in result.entities)
                documents.append(AnnotatedText(note.name, note.text, entities))
            if failed := sum(bool(result.reason) for result in results):
                say(f"{failed} note(s) could not be annotated")
        tools = [str(name) for name in dict.fromkeys(tool or [])]
        write_sample(drawn, output, tools=tools, documents=documents, model=prelabel, overwrite=overwrite)
        frame = drawn.frame()
        for reason, count in frame["skipped"].items():
            say(f"{count} row(s) skipped: {reason}")
        found = frame["with_identifiers"]
        looked = "" if found is None else f", {found} with identifiers of their own patient"
        typer.echo(
            f"{frame['drawn']} of {frame['documents']} notes in {len(drawn.groups)} groups drawn, of "
            f"{frame['patients']} patients{looked}; written to {output}"
        )


def audit(
    source: Annotated[
        str,
        typer.Argument(
            help="De-identified notes: a .csv, .jsonl or .parquet file or a folder of them, a database as for "
            "'sample', or a folder of .txt files with --index."
        ),
    ],
    dictionaries: Annotated[Path, typer.Option(help="Folder of the hospital's dictionaries.")],
    output: OptionalJson = None,
    hits: Annotated[Path | None, typer.Option(help="JSONL file for the hits: row, offsets, kind, source.")] = None,
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Write the note's id and the matched words to --hits.")
    ] = False,
    index: Annotated[
        str, typer.Option(help="Table with the patient of each .txt file. Its note id is the file name.")
    ] = "",
    table: Table = "",
    id_field: IdField = "note_id",
    patient_field: Annotated[str, typer.Option(help="Column of the patient's id.")] = "patient_id",
    type_field: TypeField = "note_type",
    text_field: TextField = "text",
    by: Annotated[list[str] | None, typer.Option(help="Another column to group notes by, such as a ward.")] = None,
    draws: Annotated[int, typer.Option(min=0, help="Number of other patients to search each note for.")] = 5,
    fuzzy: Annotated[bool, typer.Option(help="Also search for near matches of identifiers.")] = True,
    seed: Seed = 0,
    encoding: Annotated[str, typer.Option(help="Encoding of CSV, JSONL and .txt files.")] = "utf-8",
    n_process: Processes = 1,
) -> None:
    """Search de-identified notes for identifiers of their own patients. The figures name no note and no patient."""
    with reporting(), ExitStack() as stack:
        if with_text and not hits:
            raise ConfigError(Errors.D411.format(option="hits"))
        check_targets([path for path in (output, hits) if path], source, index)
        columns = Columns(id_field, text_field, patient_field, type_field, date="")
        codec = check_encoding(encoding)
        notes: NoteSource = open_notes(index or source, table=table, encoding=encoding)
        if index:
            notes = FolderSource(Path(source), notes, columns.note_id, columns.text, codec)
        stack.callback(notes.close)
        settings = AuditSettings(draws, fuzzy, seed, n_process, tuple(by or ()))
        file = None
        if hits:
            part = stack.enter_context(whole_file(hits))
            part.chmod(0o600)  # with text it is as confidential as the records
            file = stack.enter_context(part.open("w", encoding="utf-8", errors="backslashreplace"))

        def take(found: NoteHits, note_id: str | None, text: str) -> None:
            if file is None:
                return
            for hit in found.hits:
                record: dict[str, Any] = {"row": found.row, "start": hit.start, "end": hit.end, "kind": hit.label}
                record |= {"source": hit.rule, "form": hit.form}
                if with_text:
                    record |= {"note_id": note_id, "text": text[hit.start : hit.end]}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")

        report = run_audit(notes, columns, dictionaries, settings, take).as_dict()
        if isinstance(notes, FolderSource) and (unnamed := notes.count_unnamed()):
            say(f"{unnamed} .txt file(s) without a row in the index were not audited")
            report["skipped"]["not in the index table"] = unnamed
        if output:
            write_whole(output, (json.dumps(report, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
        typer.echo(format_audit(report), nl=False)


def check_targets(targets: list[Path], *sources: str) -> None:
    """Check that no input is overwritten and that no two outputs are the same file.

    targets (list[Path]): files that will be written.
    sources (str): files, folders or URLs that are read, as for `open_notes`; empty strings are ignored.
    RAISES: InputError if a target is an input or is in an input folder (D408), or two targets are the same (D407).
    """
    read = {Path(where).resolve() for where in sources if where and "://" not in where}
    for path in targets:
        if path.resolve() in read or path.resolve().parent in read:
            raise InputError(Errors.D408.format(path=path))
    if len({path.resolve() for path in targets}) < len(targets):
        raise InputError(Errors.D407.format(first="--output", second="--hits", output=targets[0]))
