"""What ``redact`` does with documents: PDF, pictures, Word, e-mail, tables … in, files of the same kind out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from spacy.language import Language

from ..documents import SUFFIXES, Document, ReadSettings, WriteSettings, read_document, redact_document
from ..documents.document import OCR_LANGUAGES
from ..documents.kinds import FORMATS
from ..documents.tables import read_columns
from ..errors import ConfigError, Errors
from ..io import Job, read_bytes, write_whole
from ..labels import LABELS
from ..loading import patient_terms
from ..offsets import Edit
from ..spans import Evidence, write_evidence
from .batches import Failure, find_component
from .console import say
from .processes import attempt_all
from .redaction import Redaction, Released, Tally
from .review import Proposed
from .surrogates import patient_ids

__all__ = [
    "DOCUMENTS",
    "Columns",
    "DocumentRedaction",
    "FileMinutes",
    "Files",
    "OcrLanguages",
    "Pictures",
    "PicturesOption",
    "document_settings",
    "is_document",
    "refuse_documents",
]

# .txt files are notes, read and written in batches
DOCUMENTS = tuple(suffix for suffix, kind in SUFFIXES.items() if kind in FORMATS and kind != "txt")
_GROUP = "deid/columns"
_TABLES = {"csv", "xlsx", "parquet"}
_LONGEST = 100_000  # characters of a table that go through the pipeline at once


class Pictures(StrEnum):
    """What becomes of pictures in documents that have text."""

    ocr = "ocr"
    remove = "remove"
    keep = "keep"


Files = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Notes: .txt or .jsonl files, documents, or folders of them.")
]
OcrLanguages = Annotated[
    list[str] | None,
    typer.Option("--ocr-language", help="Language of scans and pictures by Tesseract's name; else the pipeline's."),
]
Columns = Annotated[
    Path | None,
    typer.Option(
        "--columns", help="TOML file of what becomes of each column of tables: text, label:NAME, keep, drop."
    ),
]
FileMinutes = Annotated[
    float, typer.Option(min=0, help="Minutes that a document may take (on Linux); 0 for no limit.")
]
PicturesOption = Annotated[Pictures, typer.Option(help="What becomes of pictures in documents that have text.")]


def is_document(job: Job) -> bool:
    """Whether a file is neither a note nor JSONL."""
    return job.source.suffix.lower() in DOCUMENTS


def refuse_documents(jobs: Sequence[Job]) -> None:
    """Refuse documents where there is a vault. RAISES: ConfigError (D790)."""
    for job in filter(is_document, jobs):
        raise ConfigError(Errors.D790.format(path=job.source))


def document_settings(
    lang: str | None,
    encoding: str,
    languages: Sequence[str] | None,
    columns: Path | None,
    pictures: str,
    n_process: int = 1,
) -> ReadSettings:
    """How documents are read, as the options say.

    lang (Optional[str]): language of the pipeline.
    encoding (str): of tables and texts.
    languages (Optional[Sequence[str]]): of OCR.
    columns (Optional[Path]): the policy of columns.
    pictures (str): what becomes of pictures.
    n_process (int): how many documents are read at once; the pages of each are read one by one then.
    RETURNS (ReadSettings): the settings.
    RAISES: ConfigError (D721).
    """
    read = ReadSettings(encoding=encoding, languages=tuple(languages or [OCR_LANGUAGES.get(lang or "", "eng")]))
    policy = read_columns(columns, LABELS) if columns else {}
    processes = read.processes if n_process == 1 else 1
    return replace(read, pictures=Pictures(pictures).value, columns=policy, processes=processes)


class _Written(NamedTuple):
    """What is kept of a document that was written: counts, what a person should look at, warnings."""

    counts: Tally
    review: list[Proposed]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentRedaction:
    """Redacts documents, each in one of ``redaction.n_process`` processes, as `Redaction` does notes.

    redaction (Redaction): pipeline, trace, review and tally.
    settings (ReadSettings): how documents are read.
    minutes (float): that a document may take, 0 for no limit.
    """

    redaction: Redaction
    settings: ReadSettings = field(default_factory=ReadSettings)
    minutes: float = 0

    def run(self, jobs: Sequence[Job], bar: Any) -> None:
        """Redact documents. Each is written whole or not at all; one that fails is noted and the others go on.

        jobs (Sequence[Job]): what to read and write.
        bar: has a method ``update(steps)``.
        """
        if jobs:
            trust_columns(self.redaction.nlp)
        for job, result in attempt_all(self._redact, jobs, self.redaction.n_process, 60 * self.minutes):
            if isinstance(result, Failure):
                self.redaction.tally.fail(job.source, result.reason)
            else:
                self._record(job, result)
            bar.update(1)

    def _redact(self, job: Job) -> "_Written":
        """Redact a document, perhaps in a process of its own: nothing is changed here."""
        redaction = self.redaction
        document = read_document(read_bytes(job.source), str(job.source), self.settings)
        notes: list[Released] = []
        edits: list[Edit] = []
        length = 0  # of what is released so far
        for start, end in cut_document(document):
            note, found = self._release(job, document, start, end)
            notes.append(_shift(note, start, length))
            length += len(note.text)
            edits += found
        plain = redaction.stamp["style"] == "surrogate"
        patients = patient_ids([job], redaction.patient_from)
        known = [term for patient in patients for term in patient_terms(redaction.nlp, patient)]
        settings = WriteSettings(mark="plain" if plain else "box", read=self.settings)
        data = redact_document(document, edits, settings, known=known)
        if redaction.trace:
            record = {**redaction.stamp, **notes[0].record(), "spans": [span for note in notes for span in note.trace]}
            write_whole(job.targets[0], (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8"))
        write_whole(job.targets[-1], data)
        counts = Tally()
        for note in notes:
            counts.count(note)
        counts.notes = 1
        return _Written(counts, [note.review for note in notes], document.warnings)

    def _record(self, job: Job, written: "_Written") -> None:
        """Note a document that was written, and what of it a person should look at."""
        for warning in written.warnings:
            say(f"{job.source}: {warning}")
        self.redaction.tally.succeed(written.counts)
        if self.redaction.review:
            self.redaction.review.add(job.relative, [({}, proposed) for proposed in written.review])

    def _release(self, job: Job, document: Document, start: int, end: int) -> tuple[Released, list[Edit]]:
        """Run the pipeline on a stretch of a document. Offsets of what comes out are those of the whole."""
        nlp = self.redaction.nlp
        with nlp.memory_zone():
            doc = nlp.make_doc(document.text[start:end])
            for patient in patient_ids([job], self.redaction.patient_from):
                doc._.ehr = {"patient_id": patient}
            marks = [mark for mark in document.marks if start <= mark[0] < end]
            evidence = [Evidence(first - start, last - start, label, "columns") for first, last, label in marks]
            write_evidence(doc, _GROUP, evidence)
            doc = nlp(doc)
            note = self.redaction.take(doc)
            found = [replace(edit, start=edit.start + start, end=edit.end + start) for edit in doc._.deid_edits]
        return note, found


def trust_columns(nlp: Language) -> None:
    """Let a pipeline take the label of a column for that of its cells, before what any detector says."""
    merge = find_component(nlp, "deid_merge", f"{nlp.lang}_{nlp.meta['name']}")
    merge.sources = [_GROUP, *(key for key in merge.sources if key != _GROUP)]


def cut_document(document: Document) -> Iterator[tuple[int, int]]:
    """Cut the text of a long table between its cells; other documents stay whole.

    document (Document): the document.
    YIELDS (tuple[int, int]): start and end of each stretch; one at least.
    """
    start, text = 0, document.text
    while document.kind in _TABLES and len(text) - start > _LONGEST:
        edge = text.rfind("\n\n", start, start + _LONGEST)
        marked = edge > start and any(first < edge + 2 < last for first, last, _ in document.marks)
        if edge <= start or marked:
            break
        yield start, edge + 2
        start = edge + 2
    yield start, len(text)


def _shift(note: Released, by: int, released: int) -> Released:
    """What was released of a stretch, with the offsets of the whole in its trace and in what is to be looked at."""
    if not by:
        return note
    trace = [_moved(span, by) for span in note.trace]
    rows = [_moved(row, by) | {"released": [at + released for at in row["released"]]} for row in note.review.rows]
    return replace(note, trace=trace, review=Proposed(note.review.words, rows))


def _moved(row: dict[str, Any], by: int) -> dict[str, Any]:
    """A row of a trace with other offsets, and those of its evidence."""
    row = {**row, "start": row["start"] + by, "end": row["end"] + by}
    if "evidence" in row:
        row["evidence"] = [_moved(item, by) for item in row["evidence"]]
    return row
