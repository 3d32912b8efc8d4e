"""``spacy-deid annotate``: what was detected, as annotations of the original text, or of one with surrogates."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, DeidError, Errors, InputError
from ..evaluation.docbin import write_docbin
from ..evaluation.documents import AnnotatedText, Entity
from ..evaluation.formats import WRITERS
from ..evaluation.json_formats import write_jsonl
from ..io import Job, check_encoding, decode, find_notes, only_run, plan, read_bytes, whole_file
from ..offsets import move_spans
from ..piping import NoteWorkers
from ..processes import Failure
from ..spans import MERGED, require_groups
from .batches import cut, find_component, load_pipeline, with_facts
from .console import progress, reporting, say, stoppable
from .facts import FileFacts, PatientFrom, PatientIdFrom
from .options import (
    BatchSize,
    Dictionaries,
    Encoding,
    Format,
    OperatingPoint,
    Overwrite,
    Paths,
    Pipeline,
    Processes,
    Resume,
    Scheme,
    WithoutPatient,
)
from .surrogates import Key, check_secrets, give_key

__all__ = ["annotate"]

_SUFFIXES = {"brat": (".txt", ".ann"), "i2b2": (".xml",), "cas": (".json",), "xmi": (".xmi",)}


def annotate(
    paths: Paths,
    pipeline: Pipeline,
    to: Annotated[Format, typer.Option("--to", help="Format to write.")],
    output: Annotated[Path, typer.Option(help="Folder to write to; it keeps the tree of the input folder.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels to write.")] = Scheme.canonical,
    operating_point: OperatingPoint = None,
    dictionaries: Dictionaries = None,
    without_patient: WithoutPatient = None,
    surrogates: Annotated[
        bool, typer.Option("--surrogates", help="Write the text with surrogates, and the annotation of that.")
    ] = False,
    key: Key = None,
    patient_id_from: PatientIdFrom = None,
    encoding: Encoding = "utf-8",
    overwrite: Overwrite = False,
    resume: Resume = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
) -> None:
    """Write what a pipeline detects in .txt notes, with the offsets of the original text.

    The files hold the notes themselves: they are for evaluation and review, not for release. With --surrogates they
    hold what is released in the style "surrogate", and can train another model. "brat", "i2b2", "cas" (UIMA CAS JSON
    0.4.0) and "xmi" write files for each note, "jsonl" and "spacy" one file, documents.*, for all.
    """
    with reporting(), stoppable(lambda: "stopped"), only_run(output):
        codec = check_encoding(encoding)
        check_secrets([key], paths, output)
        if resume and (overwrite or to not in _SUFFIXES):
            raise ConfigError(Errors.D412.format(first="resume", second="overwrite" if overwrite else f"to {to}"))
        jobs, skipped = _plan(paths, output, to, overwrite, resume)
        nlp = load_pipeline(pipeline, operating_point, dictionaries, without_patient)
        if surrogates:
            part = find_component(nlp, "deid_surrogate", pipeline)
            part.set_style("surrogate")
            give_key(part, key)
        take = _take_released if surrogates else _take
        failed: list[tuple[Path, str]] = []
        with progress(len(jobs)) as bar:
            notes = _read(jobs, codec, failed, bar)
            found = _detect(nlp, notes, take, failed, bar, patient_id_from, batch_size, n_process)
            written = _write(found, output, to, scheme, nlp, failed)
        for path, reason in failed:
            say(f"failed: {path}: {reason.removeprefix(f'{path}: ')}")
        typer.echo(f"{written} note(s) annotated in {output}; {skipped} skipped, {len(failed)} failed")
        if failed:
            raise typer.Exit(1)


def _plan(paths: list[Path], output: Path, to: str, overwrite: bool, resume: bool) -> tuple[list[Job], int]:
    """Decide what is read and written; see `io.plan`."""
    notes, others = find_notes(paths, (".txt",), skip=output)
    if not notes:
        raise InputError(Errors.D406.format(count=others, jsonl=""))
    shared = [] if to in _SUFFIXES else [output / f"documents.{to}"]
    suffixes = _SUFFIXES.get(to, ())
    return plan(
        notes,
        lambda relative: [output / relative.with_suffix(suffix) for suffix in suffixes],
        shared=shared,
        overwrite=overwrite,
        resume=resume,
    )


def _read(jobs: Sequence[Job], encoding: str, failed: list[tuple[Path, str]], bar: Any) -> Iterator[tuple[Job, str]]:
    """Read the notes that can be read."""
    for job in jobs:
        try:
            text, _ = decode(read_bytes(job.source), encoding, str(job.source))
        except InputError as error:
            failed.append((job.source, str(error)))
            bar.update(1)
            continue
        yield job, text


def _detect(
    nlp: Language,
    notes: Iterator[tuple[Job, str]],
    take: Callable[[Doc], tuple[str, tuple[Entity, ...]]],
    failed: list[tuple[Path, str]],
    bar: Any,
    patient_from: PatientFrom | None,
    batch_size: int,
    n_process: int,
) -> Iterator[tuple[Job, AnnotatedText]]:
    """Run the pipeline over the notes."""
    with NoteWorkers(nlp, take, batch_size=batch_size, n_process=n_process) as workers:
        for batch in cut(notes, lambda note: len(note[1]), batch_size=batch_size, n_process=n_process):
            facts = [FileFacts(patient_from).of(job) for job, _ in batch]
            results = workers.run(with_facts([text for _, text in batch], facts), len(batch))
            for (job, _), result in zip(batch, results, strict=True):
                bar.update(1)
                if isinstance(result, Failure):
                    failed.append((job.source, result.reason))
                else:
                    yield job, AnnotatedText(job.relative.with_suffix("").as_posix(), *result)


def _take(doc: Doc) -> tuple[str, tuple[Entity, ...]]:
    """Copy text and entities out of a Doc. RAISES: NotDeidentified (D501) if a step did not run."""
    require_groups(doc, [MERGED])
    require_groups(doc, doc.spans[MERGED].attrs.get("sources", [MERGED]))
    return doc.text, tuple(Entity(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents)


def _take_released(doc: Doc) -> tuple[str, tuple[Entity, ...]]:
    """Copy the released text and its entities out of a Doc. RAISES: as ``doc._.deid_text``."""
    moved = move_spans(doc._.deid_edits, [(ent.start_char, ent.end_char) for ent in doc.ents])
    found = zip(moved, doc.ents, strict=True)
    return doc._.deid_text, tuple(Entity(start, end, ent.label_) for (start, end), ent in found if start < end)


def _write(
    found: Iterator[tuple[Job, AnnotatedText]],
    output: Path,
    to: str,
    scheme: str,
    nlp: Language,
    failed: list[tuple[Path, str]],
) -> int:
    """Write the annotations. RETURNS (int): how many notes were written."""
    if to in _SUFFIXES:
        return sum(_write_one(job, document, to, scheme, failed) for job, document in found)
    documents = [document for _, document in found]
    with whole_file(output / f"documents.{to}") as temporary:
        if to == "jsonl":
            write_jsonl(documents, temporary, scheme=scheme)
        else:
            with nlp.memory_zone():
                write_docbin(documents, temporary, nlp.make_doc, scheme=scheme)
    return len(documents)


def _write_one(job: Job, document: AnnotatedText, to: str, scheme: str, failed: list[tuple[Path, str]]) -> bool:
    """Write the annotations of one note."""
    try:
        folder = job.targets[-1].parent
        folder.mkdir(parents=True, exist_ok=True)
        WRITERS[to](AnnotatedText(job.relative.stem, document.text, document.entities), folder, scheme=scheme)
    except DeidError as error:
        failed.append((job.source, str(error)))
        return False
    return True
