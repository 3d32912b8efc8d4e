"""What is done with one file of a job: read it, de-identify it, write it again after a review."""

import json
import sys
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from spacy.language import Language
from spacy.tokens import Doc

from .. import __version__
from ..documents.document import Document, ReadSettings, WriteSettings
from ..documents.formats import read_document, redact_document
from ..errors import Errors, InputError
from ..loading import add_detector, load, use_style
from ..offsets import Edit, map_offset
from ..saving import fingerprint
from .reviewing import edit_reviewed
from .settings import JobSettings, LlmSettings, ServiceSettings
from .store import FileRow, Store

__all__ = ["Workshop", "released_name"]

# Tesseract's name of the language that a pipeline is for
OCR = {"es": "spa", "en": "eng", "fi": "fin"}
LOADED = 3  # pipelines that are held at once


class Workshop:
    """Works on files, with the pipelines that it has loaded.

    service (ServiceSettings): settings of the service.
    store (Store): where the files are.
    """

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self._load = lru_cache(LOADED)(self._make)

    def pipeline(self, settings: JobSettings) -> Language:
        """The pipeline of a job, loaded once."""
        llm = settings.llm.model_dump_json() if settings.llm else ""
        nlp = self._load(settings.pipeline, settings.operating_point, llm)
        key = self.service.project_key if settings.style == "surrogate" else None
        use_style(nlp, settings.style, key)
        for name in nlp.pipe_names:
            if nlp.get_pipe_meta(name).factory == "deid_surrogate":
                cast(Any, nlp.get_pipe(name)).set_policy(settings.policy)
        return nlp

    def _make(self, name: str, point: str, llm: str) -> Language:
        nlp = load(name, operating_point=point or None)
        nlp.max_length = sys.maxsize
        if llm:
            use_llm(nlp, LlmSettings.model_validate_json(llm), self.service)
        return nlp

    def do(self, task: str, file: FileRow, settings: JobSettings) -> None:
        """Do a task.

        task (str): "parse", "deidentify" or "write".
        RAISES: DeidError for what cannot be done; the store is left as it was.
        """
        {"parse": self.parse, "deidentify": self.deidentify, "write": self.write}[task](file, settings)

    def read(self, file: FileRow, settings: JobSettings) -> Document:
        """Read the document that was uploaded."""
        data = self.store.get(file.id, "original")
        if data is None:
            raise InputError(Errors.D901.format(id=file.id))
        lang = settings.pipeline or self.service.pipelines[0]
        languages = tuple(settings.ocr_languages) or (OCR.get(lang[:2], "eng"),)
        return read_document(data, file.name, ReadSettings(languages=languages))

    def parse(self, file: FileRow, settings: JobSettings) -> None:
        """Read a document and note its pages."""
        began = time.monotonic()
        document = self.read(file, settings)
        self.store.put(file.id, "text", document.text.encode("utf-8", "surrogatepass"))
        self.store.finish(
            file.id,
            "parsed",
            kind=document.kind,
            pages=len(document.pages),
            ocr=[page.number for page in document.pages if page.ocr],
            characters=len(document.text),
            warnings=list(document.warnings),
            parse_seconds=round(time.monotonic() - began, 3),
        )

    def deidentify(self, file: FileRow, settings: JobSettings) -> None:
        """Run the pipeline on a document and write it anew."""
        began = time.monotonic()
        nlp = self.pipeline(settings)
        document = self.read(file, settings)
        with nlp.memory_zone():
            doc = nlp.make_doc(document.text)
            doc._.ehr = ehr_of(settings)
            doc = nlp(doc)
            spans, edits, text = take(doc)
        self._finish(file, document, edits, text, spans, self.stamp(nlp, settings), began)

    def write(self, file: FileRow, settings: JobSettings) -> None:
        """Write a document by what a reviewer decided."""
        began = time.monotonic()
        nlp = self.pipeline(settings)
        document = self.read(file, settings)
        if document.text.encode("utf-8", "surrogatepass") != self.store.get(file.id, "text"):
            raise InputError(Errors.D912)
        found = json.loads(self.store.get(file.id, "findings") or b"{}")
        with nlp.memory_zone():
            doc = edit_reviewed(nlp, document.text, found["spans"], ehr_of(settings))
            actions, edits, text = take(doc)
        spans = reviewed(found["spans"], actions)
        self._finish(file, document, edits, text, spans, self.stamp(nlp, settings), began)

    def _finish(
        self,
        file: FileRow,
        document: Document,
        edits: Sequence[Edit],
        text: str,
        spans: list[dict[str, Any]],
        stamp: dict[str, Any],
        began: float,
    ) -> None:
        """Write the released document and what was found, and note the file as done."""
        plain = stamp["settings"]["style"] == "surrogate"
        data = redact_document(document, edits, WriteSettings(mark="plain" if plain else "box"))
        for span in spans:
            span["released"] = [map_offset(edits, span[side], len(document.text)) for side in ("start", "end")]
        self.store.put(file.id, "text", document.text.encode("utf-8", "surrogatepass"))
        self.store.put(file.id, "released", data)
        self.store.put(file.id, "released_text", text.encode("utf-8", "surrogatepass"))
        self.store.put(file.id, "findings", json.dumps({**stamp, "spans": spans}).encode())
        seconds = round(time.monotonic() - began, 3)
        labels = sorted({edit.label for edit in edits if edit.label})
        about: dict[str, Any] = {
            "seconds": seconds,
            "spans": len(spans),
            "labels": labels,
            "changed": len(edits),
            "open": 0,
        }
        self.store.finish(file.id, "done", **about)

    def stamp(self, nlp: Language, settings: JobSettings) -> dict[str, Any]:
        """What decided: it heads the findings of a file."""
        name = f"{nlp.lang}_{nlp.meta['name']}"
        pipeline = {"name": name, "version": nlp.meta["version"], "fingerprint": _fingerprint(nlp)}
        given = settings.model_dump(exclude={"patient_id"})
        return {"pipeline": pipeline, "spacy_deid": __version__, "settings": given}


def use_llm(nlp: Language, settings: LlmSettings, service: ServiceSettings) -> None:
    """Put a local LLM into a pipeline, which its merging trusts least."""
    config: dict[str, Any] = {"model": settings.location, "allow": list(service.llm_allow)}
    config |= {"model_name": settings.model} if settings.model else {}
    config |= {"prompt": settings.prompt} if settings.prompt else {}
    config |= {"labels": settings.labels} if settings.labels else {}
    add_detector(nlp, "deid_llm", config)


@lru_cache(LOADED)
def _fingerprint(nlp: Language) -> str:
    """The fingerprint of a pipeline, which takes a while."""
    return fingerprint(nlp)


def ehr_of(settings: JobSettings) -> dict[str, Any]:
    """What is known beside the text."""
    return {"patient_id": settings.patient_id} if settings.patient_id else {}


def take(doc: Doc) -> tuple[list[dict[str, Any]], list[Edit], str]:
    """Copy out of a Doc what is kept of it: spans with their traces, edits, the released text."""
    edits: list[Edit] = doc._.deid_edits
    return [dict(row) for row in doc._.deid_trace], edits, doc._.deid_text


def reviewed(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The spans after a review: what detectors said stays beside what was decided."""
    actions = {(row["start"], row["end"]): row["action"] for row in after}
    spans = []
    for span in before:
        action = "keep" if span.get("reviewed") == "released" else actions.get((span["start"], span["end"]), "replace")
        spans.append({**span, "action": action})
    return spans


def released_name(name: str, number: int, keep: bool) -> str:
    """The name of a released file: a name may be a patient's, so it is a number unless it is to be kept.

    name (str): as it was uploaded.
    number (int): position in the job, from 1.
    keep (bool): whether to keep the name.
    RETURNS (str): a name without folders.
    """
    stem, dot, suffix = name.rpartition(".")
    return f"{stem if keep and dot else f'document-{number:03d}'}{dot}{suffix if dot else ''}"
