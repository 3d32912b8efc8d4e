"""What ``redact`` does with documents: PDF, pictures, Word, e-mail, tables … in, files of the same kind out."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..documents import SUFFIXES, Document, ReadSettings, WriteSettings, read_document, redact_document
from ..documents.formats import FORMATS
from ..documents.tables import read_columns
from ..errors import ConfigError, Errors
from ..io import Job, read_bytes, write_whole
from ..labels import LABELS
from ..lang import get_language
from ..loading import patient_terms
from ..offsets import Edit
from ..piping import choose_start
from ..processes import Failure, attempt_all
from ..redaction import find_kept, run_pipeline
from .console import say
from .redaction import Redaction, Released, Tally
from .review import Proposed

__all__ = [
    "DOCUMENTS",
    "Codes",
    "CodesOption",
    "Columns",
    "DocumentRedaction",
    "FileMinutes",
    "Files",
    "Ocr",
    "OcrLanguages",
    "OcrOption",
    "Pictures",
    "PicturesOption",
    "Unread",
    "UnreadOption",
    "VerifyOcr",
    "VerifyOcrOption",
    "document_settings",
    "is_document",
    "refuse_documents",
]

# .txt files are notes, read and written in batches
DOCUMENTS = tuple(suffix for suffix, kind in SUFFIXES.items() if kind in FORMATS and kind != "txt")


_PANEL = "Documents"  # of the help


class Ocr(StrEnum):
    """Which pages OCR reads."""

    auto = "auto"
    always = "always"


class Pictures(StrEnum):
    """What becomes of pictures in documents that have text."""

    ocr = "ocr"
    remove = "remove"
    keep = "keep"


class Codes(StrEnum):
    """What becomes of bar codes and matrix codes."""

    remove = "remove"
    keep = "keep"


class Unread(StrEnum):
    """What becomes of what OCR did not read on a scan."""

    keep = "keep"
    remove = "remove"


class VerifyOcr(StrEnum):
    """Which pages of the copy OCR reads again."""

    ocr = "ocr"
    all = "all"
    none = "none"


Files = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Notes: .txt or .jsonl files, documents, or folders of them.")
]
OcrLanguages = Annotated[
    list[str] | None,
    typer.Option(
        "--ocr-language",
        rich_help_panel=_PANEL,
        help="Language of scans and pictures by Tesseract's name; else the pipeline's.",
    ),
]
OcrOption = Annotated[
    Ocr,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Pages that OCR reads: 'auto' those without usable text, 'always' every page, as it looks.",
    ),
]
CodesOption = Annotated[
    Codes,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Bar codes and QR codes: 'remove' paints them over, 'keep' does not look for them.",
    ),
]
UnreadOption = Annotated[
    Unread,
    typer.Option(
        rich_help_panel=_PANEL,
        help="What OCR did not read on a scan, as handwriting, stamps and photographs: keep it or remove it.",
    ),
]
VerifyOcrOption = Annotated[
    VerifyOcr,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Pages of the copy that OCR reads again to verify it: 'ocr' those that OCR read before, 'all', 'none'.",
    ),
]
Columns = Annotated[
    Path | None,
    typer.Option(
        "--columns",
        rich_help_panel=_PANEL,
        help="TOML file of what becomes of each column of tables: text, label:NAME, keep, drop.",
    ),
]
FileMinutes = Annotated[
    float,
    typer.Option(min=0, rich_help_panel=_PANEL, help="Minutes that a document may take; 0 for no limit."),
]
PicturesOption = Annotated[
    Pictures,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Pictures in documents that have text: 'ocr' reads them, 'remove' paints them over, 'keep' leaves them.",
    ),
]


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
    n_process: int = 1,
    *,
    ocr: Ocr = Ocr.auto,
    pictures: Pictures = Pictures.ocr,
    codes: Codes = Codes.remove,
    unread: Unread = Unread.keep,
    verify_ocr: VerifyOcr = VerifyOcr.ocr,
) -> WriteSettings:
    """Settings for reading and writing documents, from the options of the command.

    lang (Optional[str]): language of the pipeline.
    encoding (str): of tables and texts.
    languages (Optional[Sequence[str]]): of OCR.
    columns (Optional[Path]): the policy of columns.
    n_process (int): how many documents are read at once; the pages of each are read one by one then.
    ocr, pictures, codes, unread, verify_ocr: as in `ReadSettings` and `WriteSettings`.
    RETURNS (WriteSettings): the settings; `read` has those of reading.
    RAISES: ConfigError (D721).
    """
    read = ReadSettings(encoding=encoding, languages=tuple(languages or [get_language(lang or "").ocr_language]))
    policy = read_columns(columns, LABELS) if columns else {}
    processes = read.processes if n_process == 1 else 1
    read = replace(
        read, ocr=ocr.value, pictures=pictures.value, codes=codes.value, columns=policy, processes=processes
    )
    return WriteSettings(unread=unread.value, verify_ocr=verify_ocr.value, read=read)


class _Written(NamedTuple):
    """What is kept of a document that was written: counts, what a person should look at, warnings."""

    counts: Tally
    review: Proposed
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentRedaction:
    """Redacts documents, each in one of ``redaction.n_process`` processes, as `Redaction` does notes.

    redaction (Redaction): pipeline, trace, review and tally.
    settings (WriteSettings): how documents are read and written.
    minutes (float): that a document may take, 0 for no limit.
    """

    redaction: Redaction
    settings: WriteSettings = field(default_factory=WriteSettings)
    minutes: float = 0

    def run(self, jobs: Sequence[Job], bar: Any) -> None:
        """Redact documents. Each is written whole or not at all; one that fails is noted and the others go on.

        jobs (Sequence[Job]): what to read and write.
        bar: has a method ``update(steps)``.
        """
        n_process, start = self.redaction.n_process, choose_start(self.redaction.nlp)
        for job, result in attempt_all(self._redact, jobs, n_process, 60 * self.minutes, start):
            if isinstance(result, Failure):
                self.redaction.tally.fail(job.source, result.reason)
            else:
                self.redaction.alike.add(self.redaction.facts.of(job), str(job.relative))
                self._record(job, result)
            bar.update(1)

    def _redact(self, job: Job) -> "_Written":
        """Redact a document, perhaps in a process of its own: nothing is changed here."""
        redaction = self.redaction
        facts = redaction.facts.of(job)
        document = read_document(read_bytes(job.source), str(job.source), self.settings.read)
        note, edits, kept = self._release(facts, document)
        plain = redaction.stamp["style"] == "surrogate"
        known = patient_terms(redaction.nlp, facts["patient_id"]) if "patient_id" in facts else []
        settings = replace(self.settings, mark="plain" if plain else "box")
        data = redact_document(document, edits, settings, known=known, kept=kept)
        warnings = (*document.warnings, *note.warnings)
        if redaction.trace:
            record = {**redaction.stamp, **note.record()} | ({"warnings": list(warnings)} if warnings else {})
            write_whole(job.targets[0], (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8"))
        write_whole(job.targets[-1], data)
        counts = Tally()
        counts.count(note)
        counts.warnings = Counter(warnings)
        counts.warned = int(bool(warnings))
        return _Written(counts, note.review, warnings)

    def _record(self, job: Job, written: "_Written") -> None:
        """Note a document that was written, and what of it a person should look at."""
        for warning in written.warnings:
            say(f"warning: {job.source}: {warning}")
        self.redaction.tally.succeed(written.counts)
        if self.redaction.review:
            self.redaction.review.add(job.relative, [({}, written.review)])

    def _release(
        self, facts: Mapping[str, Any], document: Document
    ) -> tuple[Released, list[Edit], list[tuple[int, int]]]:
        """Run the pipeline on a document: what was released, the edits, and what the policy keeps."""
        nlp = self.redaction.nlp
        with nlp.memory_zone():
            doc = run_pipeline(document, nlp, dict(facts))
            return self.redaction.take(doc), doc._.deid_edits, find_kept(doc)
