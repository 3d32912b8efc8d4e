"""``spacy-deid review``: plans which notes people should read, and says how many of the others still leak."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from ..audit.review_plan import Planned, count_strata, find_status, make_strata, plan_review
from ..errors import Errors, InputError, describe
from ..evaluation import AnnotatedText, Entity
from ..evaluation.counts import alphanumeric_mask, coverage_mask
from ..evaluation.documents import read_text, write_text
from ..io import whole_folder, write_whole
from ..loading import load
from ..notes.source import as_id, require_columns
from ..sampling.writing import export
from ..spans import REVIEW
from .console import reporting, say
from .measure import read_gold
from .options import OptionalJson, Scheme, Seed, open_notes
from .sample import IdField, Table, TextField, Tool

review = typer.Typer(name="review", no_args_is_help=True, help="Plan a review of notes and bound what it left.")
_PLAN, _NOTES = "plan.json", "notes"


@review.command()
def plan(
    source: Annotated[str, typer.Argument(help="Notes with identifiers: files or a database as for 'sample'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder to write to.")],
    pipeline: Annotated[str, typer.Option(help="Pipeline that de-identifies the notes: a language or a folder.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Number of notes to review, about.")] = 800,
    operating_point: Annotated[str | None, typer.Option(help="Operating point of the pipeline.")] = None,
    tool: Annotated[list[Tool] | None, typer.Option(help="Also write a project for this annotation tool.")] = None,
    type_field: Annotated[str, typer.Option(help="Column that divides the notes further, '' for none.")] = "",
    table: Table = "",
    id_field: IdField = "note_id",
    text_field: TextField = "text",
    seed: Seed = 0,
    encoding: Annotated[str, typer.Option(help="Encoding of CSV and JSONL files.")] = "utf-8",
) -> None:
    """Choose the notes to review by risk. The output contains notes and is as confidential as the records.

    Writes plan.json (ids, strata and batches), the notes as .txt files for the service, and projects for annotation
    tools, in which the detected identifiers are marked. A note that fails is left out, and the exit code is 1.
    """
    with reporting(), ExitStack() as stack:
        if output.exists():
            raise InputError(Errors.D762.format(path=output))
        nlp = load(pipeline, operating_point=operating_point)
        if "deid_review" not in nlp.pipe_names:
            nlp.add_pipe("deid_review")
        notes = open_notes(source, table=table, encoding=encoding)
        stack.callback(notes.close)
        columns = [name for name in (id_field, text_field, type_field) if name]
        require_columns(notes, columns)
        documents, risks, groups, failed = list[AnnotatedText](), list[float](), list[str](), 0
        for row, values in enumerate(notes.scan(columns), start=1):
            given = dict(zip(columns, values, strict=True))
            text = given[text_field] or ""
            try:
                if not isinstance(text, str):
                    raise InputError("the text is not a string")
                doc = nlp(text)
            except Exception as error:  # such a note is not released either
                failed += 1
                say(Errors.D742.format(source=notes.name, row=row, reason=describe(error)))
                continue
            entities = tuple(Entity(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents)
            documents.append(AnnotatedText(as_id(given.get(id_field)) or str(row), text, entities))
            risks.append(float(doc.spans[REVIEW].attrs.get("leak", 1.0)))
            groups.append(as_id(given.get(type_field)) or "")
        strata = make_strata(risks, groups)
        chosen = plan_review(strata, risks, n, seed)
        sizes = [int((strata == number).sum()) for number in range(int(strata.max(initial=-1)) + 1)]
        write_plan(output, chosen, documents, risks, sizes, [str(one) for one in dict.fromkeys(tool or [])], pipeline)
        batches = max((one.batch for one in chosen), default=0)
        typer.echo(f"{len(chosen)} of {len(documents)} notes in {len(sizes)} strata and {batches} batches: {output}")
        if failed:
            say(f"{failed} note(s) failed and are not in the plan")
            raise typer.Exit(1)


def write_plan(
    output: Path,
    chosen: list[Planned],
    documents: list[AnnotatedText],
    risks: list[float],
    sizes: list[int],
    tools: list[str],
    model: str,
) -> None:
    """Write a plan to a new folder, which only its owner can read. Either the whole plan is written or nothing.

    output (Path): the folder.
    chosen (list[Planned]): the planned notes.
    documents (list[AnnotatedText]): all notes with their detected identifiers.
    risks (list[float]): risk of each note.
    sizes (list[int]): number of notes of each stratum.
    tools (list[str]): annotation tools, keys of `sampling.writing.EXPORTS`.
    model (str): name of the pipeline.
    RAISES: InputError (D402) if the folder cannot be written.
    """
    rows: list[dict[str, Any]] = []
    selected = []
    for number, (note, stratum, batch) in enumerate(chosen, start=1):
        document, name = documents[note], f"{batch:02}-{number:05}"
        selected.append(AnnotatedText(name, document.text, document.entities))
        found = [[entity.start, entity.end] for entity in document.entities]
        row = {"id": name, "note_id": document.name, "stratum": stratum, "batch": batch, "risk": round(risks[note], 6)}
        rows.append({**row, "found": found})
    with whole_folder(output) as temporary:
        write_text(temporary / _PLAN, json.dumps({"sizes": sizes, "notes": rows}, ensure_ascii=False, indent=1) + "\n")
        (temporary / _NOTES).mkdir()
        for one in selected:
            write_text(temporary / _NOTES / f"{one.name}.txt", one.text)
        for tool in tools:
            export(selected, temporary / tool, tool, model=model)


@review.command()
def status(
    folder: Annotated[Path, typer.Argument(help="Folder that 'review plan' wrote.")],
    reviewed: Annotated[Path, typer.Argument(help="Annotations of the reviewers, in any format of 'evaluate'.")],
    target: Annotated[float, typer.Option(min=0, max=1, help="Greatest share of notes that may leak.")] = 0.05,
    scheme: Annotated[Scheme, typer.Option(help="Labels of the annotations.")] = "canonical",
    output: OptionalJson = None,
) -> None:
    """Say how many of the notes that nobody reviewed still leak at most, and whether the review can stop.

    A note leaks if the reviewers marked a letter or digit that was not detected.
    """
    with reporting():
        try:
            data = json.loads(read_text(folder / _PLAN))
            rows, sizes = data["notes"], data["sizes"]
        except (json.JSONDecodeError, KeyError, TypeError):
            raise InputError(Errors.D303.format(path=folder / _PLAN, reason="not a plan of a review")) from None
        found = {row["id"]: row["found"] for row in rows}
        marked = [gold for gold in read_gold(reviewed, scheme) if gold.name in found]
        leaks = {gold.name: is_leaking(gold, found[gold.name]) for gold in marked}
        counts, batches = count_strata(rows, sizes, leaks)
        done = find_status(counts, max(1, batches))
        result = {**done.as_dict(), "batches": batches, "target": target, "stop": done.upper <= target}
        if output:
            write_whole(output, (json.dumps(result, indent=2) + "\n").encode())
        say(f"{len(leaks)} of {len(rows)} planned notes reviewed, {batches} batches complete")
        typer.echo(
            f"{done.leaking} of {done.reviewed} reviewed notes leaked. Of all {done.notes} notes, about "
            f"{done.share:.2%} still leak, at most {done.upper:.2%} (confidence {done.level:.1%})."
        )
        typer.echo("Stop: the bound is within the target." if result["stop"] else "Go on with the next batch.")


def is_leaking(gold: AnnotatedText, found: list[list[int]]) -> bool:
    """Check whether a reviewer marked a letter or digit that was not detected.

    gold (AnnotatedText): the note with the reviewer's marks.
    found (list[list[int]]): start and end offsets of the detected identifiers.
    RETURNS (bool): whether it leaks.
    """
    size = len(gold.text)
    detected = coverage_mask([Entity(start, end, "OTHER") for start, end in found], size)
    return bool((coverage_mask(gold.entities, size) & ~detected & alphanumeric_mask(gold.text)).any())
