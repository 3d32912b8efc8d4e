"""``spacy-deid audit``: how often de-identified notes still hold identifiers of their own patients."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from ..audit.run import AuditSettings, format_audit, run_audit
from ..audit.search import NoteHits
from ..errors import ConfigError, Errors, InputError
from ..io import check_encoding, whole_file, write_whole
from ..notes import open_source
from ..notes.files import FolderSource
from ..notes.source import Columns, NoteSource
from .console import reporting, say
from .options import Processes

__all__ = ["audit"]


def audit(
    source: Annotated[
        str,
        typer.Argument(
            help="De-identified notes: a .csv, .jsonl or .parquet file or a folder of them, a database as for "
            "'sample', or a folder of .txt files with --index."
        ),
    ],
    dictionaries: Annotated[Path, typer.Option(help="Folder of the hospital's dictionaries.")],
    output: Annotated[Path | None, typer.Option(help="JSON file to write the figures to.")] = None,
    hits: Annotated[Path | None, typer.Option(help="JSONL file for the hits: row, offsets, kind, source.")] = None,
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Write the note's id and the matched words to --hits.")
    ] = False,
    index: Annotated[
        str, typer.Option(help="Table with the patient of each .txt file. Its note id is the file name.")
    ] = "",
    table: Annotated[str, typer.Option(help="Table of a database.")] = "",
    id_field: Annotated[str, typer.Option(help="Column of the note's id, '' for none.")] = "note_id",
    patient_field: Annotated[str, typer.Option(help="Column of the patient's id.")] = "patient_id",
    type_field: Annotated[str, typer.Option(help="Column of the note's type, '' for none.")] = "note_type",
    text_field: Annotated[str, typer.Option(help="Column of the note's text.")] = "text",
    by: Annotated[list[str] | None, typer.Option(help="Another column to group notes by, such as a ward.")] = None,
    draws: Annotated[int, typer.Option(min=0, help="Number of other patients to search each note for.")] = 5,
    fuzzy: Annotated[bool, typer.Option(help="Also search for near matches of identifiers.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates for the 95 % intervals.")] = 1000,
    encoding: Annotated[str, typer.Option(help="Encoding of CSV, JSONL and .txt files.")] = "utf-8",
    n_process: Processes = 1,
) -> None:
    """Search de-identified notes for identifiers of their own patients. The figures name no note and no patient."""
    with reporting(), ExitStack() as stack:
        if with_text and not hits:
            raise ConfigError(Errors.D411.format(option="hits"))
        check_targets([path for path in (output, hits) if path], source, index)
        columns = Columns(id_field, text_field, patient_field, type_field, date="")
        notes = _open(source, index, table, columns, check_encoding(encoding))
        stack.callback(notes.close)
        settings = AuditSettings(draws, fuzzy, seed, bootstrap, n_process, tuple(by or ()))
        take = _writer(stack.enter_context(whole_file(hits)), with_text, stack) if hits else _ignore
        report = run_audit(notes, columns, dictionaries, settings, take).as_dict()
        if isinstance(notes, FolderSource) and (unnamed := notes.count_unnamed()):
            say(f"{unnamed} .txt file(s) without a row in the index were not audited")
            report["skipped"]["not in the index table"] = unnamed
        if output:
            write_whole(output, (json.dumps(report, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
        typer.echo(format_audit(report), nl=False)


def check_targets(targets: list[Path], *sources: str) -> None:
    """Check that no input is overwritten and that no two outputs are the same file.

    targets (list[Path]): files that will be written. sources (str): what is read, as `open_source` takes it.
    RAISES: InputError (D407, D408).
    """
    read = {Path(where).resolve() for where in sources if where and "://" not in where}
    for path in targets:
        if path.resolve() in read or path.resolve().parent in read:
            raise InputError(Errors.D408.format(path=path))
    if len({path.resolve() for path in targets}) < len(targets):
        raise InputError(Errors.D407.format(first="--output", second="--hits", output=targets[0]))


def _open(source: str, index: str, table: str, columns: Columns, encoding: str) -> NoteSource:
    """Open the notes."""
    if not index:
        return open_source(source, table=table, encoding=encoding)
    rows = open_source(index, table=table, encoding=encoding)
    return FolderSource(Path(source), rows, columns.note_id, columns.text, encoding)


def _ignore(found: NoteHits, note_id: str | None, text: str) -> None:
    """Write nothing."""


def _writer(path: Path, with_text: bool, stack: ExitStack) -> Any:
    """Write hits, a line each. With text the file is as confidential as the records."""
    path.chmod(0o600)
    file = stack.enter_context(path.open("w", encoding="utf-8", errors="backslashreplace"))

    def take(found: NoteHits, note_id: str | None, text: str) -> None:
        for hit in found.hits:
            record: dict[str, Any] = {"row": found.row, "start": hit.start, "end": hit.end, "kind": hit.label}
            record |= {"source": hit.rule, "form": hit.form}
            if with_text:
                record |= {"note_id": note_id, "text": text[hit.start : hit.end]}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    return take
