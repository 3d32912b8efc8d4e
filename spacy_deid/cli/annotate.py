"""``spacy-deid annotate``: write what a pipeline detects as annotations, for evaluation and review."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors, InputError
from ..evaluation.documents import AnnotatedText, Entity
from ..evaluation.formats import WRITERS, write_docbin, write_jsonl
from ..io import Job, check_encoding, decode, find_notes, only_run, plan, read_bytes, whole_file
from ..offsets import move_spans
from ..results import Result
from .console import progress, reporting, say, stoppable
from .ehr_context import FileContext, PatientIdFrom
from .options import (
    BatchSize,
    ConfigFile,
    DetectionOptions,
    Encoding,
    Format,
    Key,
    OutputFolder,
    Overwrite,
    Paths,
    Processes,
    Resume,
    Scheme,
    grouped,
)
from .rows import cut
from .vault import check_secrets

__all__ = ["annotate"]

_SUFFIXES = {"brat": (".txt", ".ann"), "i2b2": (".xml",), "cas": (".json",), "xmi": (".xmi",)}


@grouped
def annotate(
    paths: Paths,
    detection: DetectionOptions,
    format: Annotated[Format, typer.Option(help="Format to write.")],
    output: OutputFolder,
    scheme: Annotated[Scheme, typer.Option(help="Labels to write.")] = Scheme.canonical,
    surrogates: Annotated[
        bool, typer.Option("--surrogates", help="Write the text with surrogates, and annotations of that text.")
    ] = False,
    key: Key = None,
    patient_id_from: PatientIdFrom = None,
    encoding: Encoding = "utf-8",
    overwrite: Overwrite = False,
    resume: Resume = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
    config: ConfigFile = None,
) -> None:
    """Write what a pipeline detects in .txt notes, with the offsets of the original text.

    The files contain the notes: they are for evaluation and review, not for release. With --surrogates they contain
    what is released in the style "surrogate", and can train another model. "brat", "i2b2", "cas" (UIMA CAS JSON 0.4.0)
    and "xmi" write files for each note; "jsonl" and "spacy" write one file, documents.*, for all notes.
    """
    with reporting(), stoppable(lambda: "stopped"), only_run(output):
        codec = check_encoding(encoding)
        check_secrets([key], paths, output)
        if resume and (overwrite or format not in _SUFFIXES):
            second = "overwrite" if overwrite else f"format {format}"
            raise ConfigError(Errors.D412.format(first="resume", second=second))
        jobs, skipped = plan_files(paths, output, format, overwrite=overwrite, resume=resume)
        released: dict[str, Any] = {"style": "surrogate", "key": key} if surrogates else {}
        deid = Deidentifier(detection.pipeline, **detection.settings(), **released)
        run = AnnotationRun(deid, surrogates, codec, FileContext(patient_id_from), batch_size, n_process)
        with progress(len(jobs)) as bar:
            written = run.write(run.annotate(jobs, bar), output, format, scheme)
        for path, reason in run.failed:
            say(f"failed: {path}: {reason.removeprefix(f'{path}: ')}")
        typer.echo(f"{written} note(s) annotated in {output}; {skipped} skipped, {len(run.failed)} failed")
        if run.failed:
            raise typer.Exit(1)


def plan_files(
    paths: list[Path], output: Path, format: str, *, overwrite: bool, resume: bool
) -> tuple[list[Job], int]:
    """Decide which files are read and written; see `io.plan`."""
    notes, others = find_notes(paths, (".txt",), skip=output)
    if not notes:
        raise InputError(Errors.D406.format(count=others, jsonl=""))
    suffixes = _SUFFIXES.get(format, ())
    return plan(
        notes,
        lambda relative: [output / relative.with_suffix(suffix) for suffix in suffixes],
        shared=[] if suffixes else [output / f"documents.{format}"],
        overwrite=overwrite,
        resume=resume,
    )


@dataclass
class AnnotationRun:
    """Annotates files. One that fails is listed in `failed`, and the others go on.

    deid (Deidentifier): detects identifiers, and makes surrogates.
    surrogates (bool): whether the released texts are annotated instead of the original texts.
    encoding (str): encoding of the notes.
    context (FileContext): the EHR context of the files.
    batch_size, n_process (int): as in `Deidentifier.pipe`.
    failed (list[tuple[Path, str]]): file and reason.
    """

    deid: Deidentifier
    surrogates: bool
    encoding: str
    context: FileContext
    batch_size: int = 64
    n_process: int = 1
    failed: list[tuple[Path, str]] = field(default_factory=list)

    def annotate(self, jobs: Sequence[Job], bar: Any) -> Iterator[tuple[Job, AnnotatedText]]:
        """Annotate files. YIELDS: the files that did not fail, with their annotations, in order."""
        run = self.deid.pipe if self.surrogates else self.deid.detect
        with self.deid:
            notes = self._read(jobs, bar)
            for batch in cut(notes, lambda note: len(note[1]), batch_size=self.batch_size, n_process=self.n_process):
                items = [((text, self.context.read(job)), (job, text)) for job, text in batch]
                results = run(items, as_tuples=True, batch_size=self.batch_size, n_process=self.n_process)
                for result, (job, text) in results:
                    bar.update(1)
                    if not result.reason:
                        yield job, self._annotated(job, text, result)
                    else:
                        self.failed.append((job.source, result.reason))

    def write(self, found: Iterator[tuple[Job, AnnotatedText]], output: Path, format: str, scheme: str) -> int:
        """Write the annotations. RETURNS (int): number of notes that were written."""
        if format in _SUFFIXES:
            return sum(self._write_note(job, document, format, scheme) for job, document in found)
        documents = [document for _, document in found]
        with whole_file(output / f"documents.{format}") as temporary:
            if format == "jsonl":
                write_jsonl(documents, temporary, scheme=scheme)
            else:
                with self.deid.nlp.memory_zone():
                    write_docbin(documents, temporary, self.deid.nlp.make_doc, scheme=scheme)
        return len(documents)

    def _read(self, jobs: Sequence[Job], bar: Any) -> Iterator[tuple[Job, str]]:
        """Read the files that can be read."""
        for job in jobs:
            try:
                text, _ = decode(read_bytes(job.source), self.encoding, str(job.source))
            except InputError as error:
                self.failed.append((job.source, str(error)))
                bar.update(1)
                continue
            yield job, text

    def _annotated(self, job: Job, text: str, result: Result) -> AnnotatedText:
        """The annotated original text or, with surrogates, the annotated released text."""
        spans = [(start, end) for start, end, _ in result.entities]
        if self.surrogates:
            text, spans = result.text, move_spans(result.edits, spans)
        labels = [label for _, _, label in result.entities]
        found = [Entity(start, end, label) for (start, end), label in zip(spans, labels, strict=True) if start < end]
        return AnnotatedText(job.relative.with_suffix("").as_posix(), text, tuple(found))

    def _write_note(self, job: Job, document: AnnotatedText, format: str, scheme: str) -> bool:
        """Write the annotations of one note. RETURNS (bool): whether they were written."""
        try:
            folder = job.targets[-1].parent
            folder.mkdir(parents=True, exist_ok=True)
            WRITERS[format](AnnotatedText(job.relative.stem, document.text, document.entities), folder, scheme=scheme)
        except DeidError as error:
            self.failed.append((job.source, str(error)))
            return False
        return True
