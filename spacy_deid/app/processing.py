"""Processes the texts and files of the service with `Deidentifier`, and applies the decisions of reviewers.

A file is first read ("parse"), then de-identified, and written again after a review ("write").
"""

import json
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from .. import __version__
from ..deidentifier import Deidentifier
from ..documents.document import Document, ReadSettings, WriteSettings
from ..documents.formats import SUFFIXES, read_document
from ..errors import DeidError, Errors, InputError
from ..labels import LABELS
from ..lang import get_language
from ..loading import find_components
from ..offsets import Edit, map_offsets
from ..results import Result
from ..saving import fingerprint
from ..spans import Evidence
from ..workers import memory_zone
from .page_images import store_layouts
from .settings import EHR_SETTINGS, JobSettings, LlmSettings, ServiceSettings, check_choice
from .store import FileRow, Store

MAX_LOADED = 3  # number of pipelines that are kept in memory
REVIEWER = "deid/reviewer"
DETECTORS = "deid/detectors"
SURE = 0.9
"""Score from which on the detection of a single detector counts as sure."""
REVIEW_PARTS = ("second", "undo_second", "first", "adjudicated")
NOT_REVIEWED = {"reviewed": False, "second_reviewed": False, "seen": 0, "checked": [], "adjudicating": False}


class Deidentifiers:
    """Makes the deidentifiers for jobs and texts from a cache of loaded pipelines.

    It is not thread-safe, because the settings of a cached pipeline are changed for each job.

    service (ServiceSettings): settings of the service.
    """

    def __init__(self, service: ServiceSettings) -> None:
        self.service = service
        self._load = lru_cache(MAX_LOADED)(self._load_pipeline)
        self._fingerprint = lru_cache(MAX_LOADED)(fingerprint)

    def get(self, settings: JobSettings) -> Deidentifier:
        """Make the deidentifier for the settings of a job. It can be used only until the next call.

        settings (JobSettings): settings of the job or text.
        """
        llm = settings.llm.model_dump_json() if settings.llm else ""
        loaded = self._load(settings.pipeline, settings.operating_point, llm)
        key = self.service.project_key if settings.style == "surrogate" else None
        documents = WriteSettings(
            mark="plain" if settings.style == "surrogate" else "box",
            read=self.read_settings(settings),
            unread=settings.unread,
            verify_ocr=settings.verify_ocr,
        )
        return Deidentifier(loaded.nlp, policy=settings.policy, style=settings.style, key=key, documents=documents)

    def read_settings(self, settings: JobSettings) -> ReadSettings:
        """Return the settings for reading the documents of a job, and their copies for verification."""
        lang = PurePath(settings.pipeline or self.service.pipelines[0]).name[:2]  # also for a folder or a package
        return ReadSettings(
            encoding=settings.encoding or "utf-8",
            languages=tuple(settings.ocr_languages) or (get_language(lang).ocr_language,),
            ocr=settings.ocr,
            pictures=settings.pictures,
            codes=settings.codes,
            columns=settings.columns,
            processes=2 if self.service.workers == 1 else 1,
        )

    def describe(self, deid: Deidentifier, settings: JobSettings) -> dict[str, Any]:
        """Describe the pipeline and the settings that made the findings of a file.

        RETURNS (dict): "pipeline" with name, version and fingerprint; "spacy_deid", its version; "settings" without
            those that identify the patient.
        """
        nlp = deid.nlp
        name = f"{nlp.lang}_{nlp.meta['name']}"
        pipeline = {"name": name, "version": nlp.meta["version"], "fingerprint": self._fingerprint(nlp)}
        given = settings.model_dump(exclude=set(EHR_SETTINGS))
        return {"pipeline": pipeline, "spacy_deid": __version__, "settings": given}

    def _load_pipeline(self, name: str, operating_point: str, llm: str) -> Deidentifier:
        """Load a pipeline with the settings that are part of its cache key, and the dictionaries of the service."""
        return Deidentifier(
            name,
            operating_point=operating_point or None,
            dictionaries=self.service.dictionaries,
            llm=llm_config(LlmSettings.model_validate_json(llm), self.service) if llm else None,
        )


def llm_config(settings: LlmSettings, service: ServiceSettings) -> dict[str, Any]:
    """Convert the LLM settings of a job to settings of ``deid_llm``. Empty ones keep their defaults.

    settings (LlmSettings): LLM settings of the job.
    service (ServiceSettings): settings of the service: available prompts and allowed hosts.
    RETURNS (dict): arguments of `loading.use_llm`.
    """
    prompt = service.prompts.get(settings.prompt, "")
    server = {"allow": list(service.llm_allow), "model_name": settings.model or None}
    given = {name: value for name, value in {"prompt": prompt, "labels": settings.labels}.items() if value}
    return {"model": settings.location, "server": server, **given}


class FileProcessor:
    """Carries out the tasks of files: parses, de-identifies and writes documents, and stores the results."""

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self.deidentifiers = Deidentifiers(service)

    def run(self, task: str, file: FileRow, settings: JobSettings) -> tuple[str, dict[str, Any]]:
        """Carry out a task for a file.

        task (str): "parse", "deidentify" or "write".
        file (FileRow): the file.
        settings (JobSettings): settings of its job.
        RETURNS (tuple[str, dict]): the new state of the file, and facts about it.
        RAISES: DeidError if the task fails.
        """
        if task == "parse":
            return "parsed", self.parse(file, settings)
        return "done", (self.deidentify if task == "deidentify" else self.write)(file, settings)

    def parse(self, file: FileRow, settings: JobSettings) -> dict[str, Any]:
        """Read a document and store its text.

        RETURNS (dict): facts about the document, as from `describe_document`, and "parse_seconds".
        """
        began = time.monotonic()
        document = self._read(file, settings)
        self.store.put(file.id, "text", document.text.encode("utf-8", "surrogatepass"))
        return {**describe_document(document), "parse_seconds": round(time.monotonic() - began, 3)}

    def deidentify(self, file: FileRow, settings: JobSettings) -> dict[str, Any]:
        """De-identify a document, and store its copy and the findings.

        RAISES: DeidError if the document cannot be released.
        """
        began = time.monotonic()
        deid = self.deidentifiers.get(settings)
        document = self._read(file, settings)
        result = self._released(deid(document, ehr_of(settings)))
        # warnings about detections are dropped by a review, in which a person reads the text
        about = {**describe_document(document), "warnings": list(result.warnings)}
        about |= self._store_result(file, document, result, result.trace, about, deid, settings, began)
        nearly = find_nearly(deid, document.text, result.trace)
        self.store.put(file.id, "nearly", json.dumps(nearly).encode())
        self.store.put(file.id, "detected", self.store.get(file.id, "findings") or b"")
        for part in REVIEW_PARTS:
            self.store.put(file.id, part, b"")
        return about | rate_risk(about, result.trace, len(nearly)) | NOT_REVIEWED

    def write(self, file: FileRow, settings: JobSettings) -> dict[str, Any]:
        """Write the copy of a document again, with the decisions of a reviewer instead of the detectors.

        RAISES: InputError (D912) if the text of the document has changed; DeidError if it cannot be released.
        """
        began = time.monotonic()
        deid = self.deidentifiers.get(settings)
        document = self._read(file, settings)
        if document.text.encode("utf-8", "surrogatepass") != self.store.get(file.id, "text"):
            raise InputError(Errors.D912)
        spans = json.loads(self.store.get(file.id, "findings") or b"{}")["spans"]
        kept = [(span["start"], span["end"]) for span in spans if span.get("reviewed") == "released"]
        result = self._released(deid.release(document, reviewed_evidence(spans), ehr_of(settings), kept=kept))
        spans = update_actions(spans, result.trace)
        about = describe_document(document)
        return self._store_result(file, document, result, spans, about, deid, settings, began)

    def _read(self, file: FileRow, settings: JobSettings) -> Document:
        """Read the uploaded document under a numbered name: errors show the name, which can identify a patient."""
        data = self.store.get(file.id, "original")
        if data is None:
            raise InputError(Errors.D901.format(id=file.id))
        return read_document(data, released_name(file, keep=False), self.deidentifiers.read_settings(settings))

    def _released(self, result: Result) -> Result:
        """Return a result that has a copy. RAISES: DeidError with the reason if it has none."""
        if result.error == "memory":
            raise MemoryError
        if not result.ok:
            raise DeidError(result.reason)
        return result

    def _store_result(
        self,
        file: FileRow,
        document: Document,
        result: Result,
        spans: Sequence[Mapping[str, Any]],
        about: dict[str, Any],
        deid: Deidentifier,
        settings: JobSettings,
        began: float,
    ) -> dict[str, Any]:
        """Store the copy, the texts and the findings of a file. RETURNS (dict): facts about the file."""
        self.store.put(file.id, "text", document.text.encode("utf-8", "surrogatepass"))
        self.store.put(file.id, "released", result.copy)
        self.store.put(file.id, "released_text", result.text.encode("utf-8", "surrogatepass"))
        placed = add_released_offsets(spans, result.edits, len(document.text))
        findings = {**self.deidentifiers.describe(deid, settings), "spans": placed}
        self.store.put(file.id, "findings", json.dumps(findings).encode())
        self.store.put(file.id, "applied", json.dumps(decision_rows(placed)).encode())
        self.store.put(file.id, "undo", b"[]")
        store_layouts(self.store, file.id, document)
        return {
            **about,
            "seconds": round(time.monotonic() - began, 3),
            "spans": len(placed),
            "labels": sorted({edit.label for edit in result.edits if edit.label}),
            "changed": len(result.edits),
            "open": 0,
        }


def decision_rows(spans: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Return what decides on the copy of a file: start, end, label and decision of each span."""
    return [[span["start"], span["end"], span["label"], span.get("reviewed", "")] for span in spans]


def find_nearly(deid: Deidentifier, text: str, spans: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Find what the classifier of a pipeline would find with lower thresholds: those of its point "max_recall", or a
    fifth of its default threshold.

    deid (Deidentifier): the deidentifier that found the spans.
    text (str): the text of the document.
    spans (Sequence[Mapping]): the spans that were found.
    RETURNS (list[dict]): "start", "end", "label" and "score" of each further span, in order; none if the pipeline has
        no classifier.
    """
    nearly: list[dict[str, Any]] = []
    for classifier in find_components(deid.nlp, "deid_ner"):
        point = classifier.get_point()
        if point.name != "max_recall" and "max_recall" in classifier.cfg.get("points", {}):
            lower = classifier.get_point("max_recall")
        else:
            lower = type(point)(point.default / 5, {}, "custom")
        with memory_zone(deid.nlp):
            doc = deid.nlp.make_doc(text)
            found = classifier.choose(doc, classifier.read([doc])[0], lower)
            for first, last, label, score, _ in found:
                start, end = doc[first].idx, doc[last - 1].idx + len(doc[last - 1])
                place = {"start": start, "end": end, "label": classifier.labels[label], "score": round(score, 4)}
                nearly.append(place)
    taken = sorted((int(span["start"]), int(span["end"])) for span in spans)
    free: list[dict[str, Any]] = []
    for place in sorted(nearly, key=lambda place: int(place["start"])):
        i = bisect_right(taken, (place["start"], -1))
        before = [end for _, end in taken[i - 1 : i]] + [other["end"] for other in free[-1:]]
        after = [start for start, _ in taken[i : i + 1]]
        if max(before, default=0) <= place["start"] and place["end"] <= min(after, default=len(text)):
            free.append(place)
    return free


def is_unsure(span: Mapping[str, Any]) -> bool:
    """Whether only one detector found a span, with a score below `SURE`, and no reviewer has seen it."""
    evidence = span.get("evidence", ())
    if span.get("seen") or "reviewed" in span or any(item.get("validated") for item in evidence):
        return False
    sources = {item["source"] for item in evidence}
    return len(sources) < 2 and max((item.get("score", 1.0) for item in evidence), default=1.0) < SURE


def rate_risk(about: Mapping[str, Any], spans: Sequence[Mapping[str, Any]], nearly: int) -> dict[str, int]:
    """Estimate which files a reviewer should look at first.

    about (Mapping): facts about the file: "warnings", and "ocr", the pages read by OCR.
    spans (Sequence[Mapping]): its spans.
    nearly (int): number of spans that were nearly found.
    RETURNS (dict[str, int]): "unsure" and "nearly", numbers of spans; "risk", their sum in which a span that was
        nearly found counts twice, a page read by OCR three times, and a warning five times.
    """
    unsure = sum(map(is_unsure, spans))
    pages, warnings = len(about.get("ocr", ())), len(about.get("warnings", ()))
    return {"unsure": unsure, "nearly": nearly, "risk": unsure + 2 * nearly + 3 * pages + 5 * warnings}


def ehr_of(settings: JobSettings) -> dict[str, Any]:
    """Return the EHR context in the settings of a job, with the keys of ``doc._.ehr``. Empty settings are left out."""
    return {key: value for name, key in EHR_SETTINGS.items() if (value := getattr(settings, name))}


def add_released_offsets(
    spans: Sequence[Mapping[str, Any]], edits: Sequence[Edit], length: int
) -> list[dict[str, Any]]:
    """Add the offsets of spans in the released text.

    spans (Sequence[Mapping]): spans of the original text with "start" and "end".
    edits (Sequence[Edit]): the edits of the text.
    length (int): length of the original text in characters.
    RETURNS (list[dict]): the spans with "released", start and end in the released text.
    """
    starts, ends = (map_offsets(edits, [span[side] for span in spans], length) for side in ("start", "end"))
    return [{**span, "released": [start, end]} for span, start, end in zip(spans, starts, ends, strict=True)]


def apply_decision(
    spans: Sequence[dict[str, Any]], action: str, start: int, end: int, label: str, length: int
) -> list[dict[str, Any]]:
    """Apply a reviewer's decision to the spans of a text.

    spans (Sequence[dict]): the spans of a text in order, without overlap, each with "start", "end", "label", "action"
        and, after a decision, "reviewed".
    action (str): "release" (keep the text of a span), "restore" (undo the decisions on a span), "relabel" or "add".
    start, end (int): characters of the span, end exclusive.
    label (str): canonical label, for "relabel" and "add".
    length (int): length of the text in characters.
    RETURNS (list[dict]): the new spans; the given ones are not changed.
    RAISES: InputError if the span does not exist (D910), or a new one is outside the text or overlaps another (D911);
        ConfigError (D908) for an unknown label.
    """
    if action == "add":
        new = {
            "start": start,
            "end": end,
            "label": check_choice("label", label, LABELS),
            "action": "replace",
            "reviewed": "added",
        }
        free = all(span["end"] <= start or end <= span["start"] for span in spans)
        if not (0 <= start < end <= length and free):
            raise InputError(Errors.D911.format(start=start, end=end, length=length))
        return sorted([*spans, {**new, "evidence": []}], key=lambda span: int(span["start"]))
    found = [i for i, span in enumerate(spans) if (span["start"], span["end"]) == (start, end)]
    if not found:
        raise InputError(Errors.D910.format(start=start, end=end))
    changed = [dict(span) for span in spans]
    new_span = change_span(spans[found[0]], action, label)
    changed[found[0] : found[0] + 1] = [] if new_span is None else [new_span]
    return changed


def change_span(span: Mapping[str, Any], action: str, label: str) -> dict[str, Any] | None:
    """Apply a reviewer's decision to a span.

    span (Mapping): the span; it is not changed.
    action (str): "release", "restore" or "relabel".
    label (str): canonical label, for "relabel".
    RETURNS (Optional[dict]): the changed span; None if the reviewer had added it and takes it back.
    RAISES: ConfigError (D908) for an unknown label.
    """
    if action in ("release", "restore") and span.get("reviewed") == "added":
        return None
    changed = dict(span)
    if action == "release":
        changed["reviewed"] = "released"
    elif action == "restore":
        changed.pop("reviewed", None)
        changed["label"] = changed.pop("was", span["label"])
    else:
        changed.setdefault("was", span["label"])
        changed["label"] = check_choice("label", label, LABELS)
        changed.setdefault("reviewed", "relabelled")
    return changed


def reviewed_evidence(spans: Sequence[dict[str, Any]]) -> dict[str, list[Evidence]]:
    """Convert reviewed spans to evidence for `Deidentifier.release`.

    Spans without a decision also keep the evidence of their detectors: if a detector gave another label that the
    policy replaces, the span is not released although the policy keeps its own label.

    spans (Sequence[dict]): see `apply_decision`. Spans that were released, or kept as medical, are left out.
    RETURNS (dict[str, list[Evidence]]): the evidence of the reviewer, which has priority, and that of the
        detectors.
    """
    decided = [span for span in spans if is_identifier(span)]
    reviewer = [
        # Score 0 without a decision, so that the missing decision does not count as support for keeping a name.
        Evidence(
            *(span["start"], span["end"], span["label"], REVIEWER),
            score=float("reviewed" in span),
            rule=str(span.get("reviewed", "agreed")),
            validated=True,
        )
        for span in decided
    ]
    detected = [item for span in decided if "reviewed" not in span for item in _detectors_evidence(span)]
    return {REVIEWER: reviewer, DETECTORS: detected}


def is_identifier(span: dict[str, Any]) -> bool:
    """Whether a span is an identifier after the review, that is, neither released nor kept as a medical term."""
    return span.get("reviewed") != "released" and (span["action"] != "recover" or "reviewed" in span)


def _detectors_evidence(span: dict[str, Any]) -> list[Evidence]:
    """Return the detectors' evidence for a span, cut to its bounds, because other decisions apply outside them."""
    return [
        Evidence(
            *(max(item["start"], span["start"]), min(item["end"], span["end"]), item["label"], item["source"]),
            score=item.get("score", 1.0),
            validated=item.get("validated", False),
        )
        for item in span["evidence"]
        if item["start"] < span["end"] and span["start"] < item["end"]
    ]


def describe_document(document: Document) -> dict[str, Any]:
    """Return the kind, pages, length and warnings of a document as plain values, without content."""
    return {
        "kind": document.kind,
        "pages": len(document.pages),
        "ocr": [page.number for page in document.pages if page.ocr],
        "characters": len(document.text),
        "warnings": list(document.warnings),
    }


def update_actions(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Update the actions of spans after a review. Their evidence is not changed.

    before (Sequence[dict]): the reviewed spans.
    after (Sequence[dict]): the trace of the new release.
    RETURNS (list[dict]): the spans with new actions.
    """
    actions = {(row["start"], row["end"]): row["action"] for row in after}
    spans = []
    for span in before:
        left = "recover" if span["action"] == "recover" else "keep"
        action = actions.get((span["start"], span["end"]), "replace") if is_identifier(span) else left
        spans.append({**span, "action": action})
    return spans


def released_name(file: FileRow, keep: bool) -> str:
    """Return the name for a released file. By default it is numbered, because its own name can identify a patient.

    keep (bool): whether to keep its own name.
    RETURNS (str): name without folders. A numbered name has the suffix of the file if its format is known.
    """
    suffix = PurePath(file.name).suffix
    return file.name if keep else f"document-{file.position + 1:03d}{suffix if suffix.lower() in SUFFIXES else ''}"
