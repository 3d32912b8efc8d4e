"""What is done with one file of a job: read it, de-identify it, write it again after a review."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Literal

from ..documents.document import Document, ReadSettings, WriteSettings, cover_marks
from ..documents.formats import SUFFIXES, read_document, redact_document
from ..errors import Errors, InputError
from ..lang import get_language
from ..loading import patient_terms
from ..offsets import Edit, apply_edits
from ..redaction import find_kept, run_pipeline
from .pipelines import Pipelines, add_places, ehr_of, stamp, take
from .reviewing import edit_reviewed, stands
from .settings import JobSettings, ServiceSettings
from .store import FileRow, Store

__all__ = ["Workshop", "released_name"]


class Workshop:
    """Works on files, with the pipelines that it has loaded.

    service (ServiceSettings): settings of the service.
    store (Store): where the files are.
    """

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self.pipelines = Pipelines(service)

    def do(self, task: str, file: FileRow, settings: JobSettings) -> tuple[str, dict[str, Any]]:
        """Do a task.

        task (str): "parse", "deidentify" or "write".
        RETURNS (tuple[str, dict]): the state of the file from now on, and what is known of it.
        RAISES: DeidError for what cannot be done.
        """
        if task == "parse":
            return "parsed", self.parse(file, settings)
        return "done", (self.deidentify if task == "deidentify" else self.write)(file, settings)

    def read(self, file: FileRow, settings: JobSettings) -> Document:
        """Read the document that was uploaded, under a number: errors name it, and its name may be a patient's."""
        data = self.store.get(file.id, "original")
        if data is None:
            raise InputError(Errors.D901.format(id=file.id))
        return read_document(data, released_name(file, keep=False), self.reading(settings))

    def reading(self, settings: JobSettings) -> ReadSettings:
        """How the documents of a job are read, and their copies once more."""
        lang = PurePath(settings.pipeline or self.service.pipelines[0]).name[:2]  # of a folder or a package as well
        languages = tuple(settings.ocr_languages) or (get_language(lang).ocr_language,)
        return ReadSettings(
            encoding=settings.encoding or "utf-8",
            languages=languages,
            ocr=settings.ocr,
            pictures=settings.pictures,
            codes=settings.codes,
            columns=settings.columns,
            processes=2 if self.service.workers == 1 else 1,
        )

    def parse(self, file: FileRow, settings: JobSettings) -> dict[str, Any]:
        """Read a document. RETURNS (dict): its pages and what else is known of it."""
        began = time.monotonic()
        document = self.read(file, settings)
        self.store.put(file.id, "text", document.text.encode("utf-8", "surrogatepass"))
        return {**about(document), "parse_seconds": round(time.monotonic() - began, 3)}

    def deidentify(self, file: FileRow, settings: JobSettings) -> dict[str, Any]:
        """Run the pipeline on a document and write it anew."""
        began = time.monotonic()
        nlp = self.pipelines.get(settings)
        document = self.read(file, settings)
        with nlp.memory_zone():
            doc = run_pipeline(document, nlp, ehr_of(settings))
            (spans, edits, _), kept = take(doc), find_kept(doc)
            # gone after a review, in which somebody read the text
            document = replace(document, warnings=(*document.warnings, *doc._.deid_warnings))
        return self._finish(file, document, cover_marks(document, edits, kept), kept, spans, settings, began)

    def write(self, file: FileRow, settings: JobSettings) -> dict[str, Any]:
        """Write a document by what a reviewer decided."""
        began = time.monotonic()
        nlp = self.pipelines.get(settings)
        document = self.read(file, settings)
        if document.text.encode("utf-8", "surrogatepass") != self.store.get(file.id, "text"):
            raise InputError(Errors.D912)
        found = json.loads(self.store.get(file.id, "findings") or b"{}")
        with nlp.memory_zone():
            doc = edit_reviewed(nlp, document.text, found["spans"], ehr_of(settings))
            (actions, edits, _), kept = take(doc), find_kept(doc)
        spans = reviewed(found["spans"], actions)
        kept += [(span["start"], span["end"]) for span in spans if span.get("reviewed") == "released"]
        return self._finish(file, document, cover_marks(document, edits, kept), kept, spans, settings, began)

    def _finish(
        self,
        file: FileRow,
        document: Document,
        edits: Sequence[Edit],
        kept: Sequence[tuple[int, int]],
        spans: list[dict[str, Any]],
        settings: JobSettings,
        began: float,
    ) -> dict[str, Any]:
        """Write the released document and what was found. RETURNS (dict): numbers of it."""
        mark: Literal["plain", "box"] = "plain" if settings.style == "surrogate" else "box"
        nlp = self.pipelines.get(settings)
        known = patient_terms(nlp, settings.patient_id) if settings.patient_id else []
        scans: dict[str, Any] = {"unread": settings.unread, "verify_ocr": settings.verify_ocr}
        how = WriteSettings(mark=mark, read=self.reading(settings), **scans)
        data = redact_document(document, edits, how, known=known, kept=kept)
        add_places(spans, edits, len(document.text))
        self.store.put(file.id, "text", document.text.encode("utf-8", "surrogatepass"))
        self.store.put(file.id, "released", data)
        text = apply_edits(document.text, edits)
        self.store.put(file.id, "released_text", text.encode("utf-8", "surrogatepass"))
        self.store.put(file.id, "findings", json.dumps({**stamp(nlp, settings), "spans": spans}).encode())
        return {
            **about(document),  # it may have been read with other settings before
            "seconds": round(time.monotonic() - began, 3),
            "spans": len(spans),
            "labels": sorted({edit.label for edit in edits if edit.label}),
            "changed": len(edits),
            "open": 0,
        }


def about(document: Document) -> dict[str, Any]:
    """What is known of a document that was read: numbers and warnings, never content."""
    return {
        "kind": document.kind,
        "pages": len(document.pages),
        "ocr": [page.number for page in document.pages if page.ocr],
        "characters": len(document.text),
        "warnings": list(document.warnings),
    }


def reviewed(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The spans after a review: what detectors said stays beside what was decided."""
    actions = {(row["start"], row["end"]): row["action"] for row in after}
    spans = []
    for span in before:
        left = "recover" if span["action"] == "recover" else "keep"
        action = actions.get((span["start"], span["end"]), "replace") if stands(span) else left
        spans.append({**span, "action": action})
    return spans


def released_name(file: FileRow, keep: bool) -> str:
    """The name of a released file: a name may be a patient's, so it is a number unless it is to be kept.

    file (FileRow): the file, with the name that it was uploaded by.
    keep (bool): whether to keep the name.
    RETURNS (str): a name without folders. A suffix that no format has is part of the name.
    """
    suffix = PurePath(file.name).suffix
    return file.name if keep else f"document-{file.position + 1:03d}{suffix if suffix.lower() in SUFFIXES else ''}"
