"""Defines the REST interface below /v1 and the functions behind it, some of which the web pages use as well.

A text is de-identified within its request; documents are uploaded as a job, which workers process.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from fastapi import APIRouter, Form, HTTPException, Request, Response, UploadFile
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from .. import __version__
from ..errors import ConfigError, Errors, InputError
from ..labels import LABELS
from .processing import apply_decision, released_name
from .results import check_warnings, zip_job
from .settings import SCANS, JobSettings, ServiceSettings
from .store import FileRow, JobRow, Store
from .workers import Supervisor, TextProcessor


def show_file(file: FileRow) -> dict[str, Any]:
    """Describe a file for clients as plain values: id, name, size, state and facts, without content but the name."""
    state = file.state
    if file.task is not None:
        working = {"parse": "parsing", "deidentify": "running", "write": "writing"}
        state = (
            working[file.task] if file.claimed is not None else "waiting" if file.task != "deidentify" else "queued"
        )
    return {
        "id": file.id,
        "job": file.job,
        "name": file.name,
        "size": file.size,
        "state": state,
        "reason": file.reason,
        **file.about,
    }


def show_job(store: Store, job: JobRow) -> dict[str, Any]:
    """Describe a job for clients as plain values: settings, files, counts, and the estimated seconds left."""
    files = store.files(job.id)
    busy = [file for file in files if file.task is not None]
    shown = [show_file(file) for file in files]
    return {
        "id": job.id,
        "created": job.created,
        "settings": job.settings,
        "cancelled": job.cancelled,
        "files": shown,
        "total": len(files),
        "done": sum(file.state == "done" for file in files if file.task is None),
        "failed": sum(file.state == "failed" for file in files if file.task is None),
        "busy": len(busy),
        "ahead": store.queue.count_ahead(job.created),
        "seconds_left": _seconds_left(files, busy),
    }


def _seconds_left(files: Sequence[FileRow], busy: Sequence[FileRow]) -> float | None:
    """Estimate the seconds left from the time per character of the finished files; None if no file is finished."""
    known = [(file.about["seconds"], file.about["characters"]) for file in files if "seconds" in file.about]
    if not known:
        return None
    total = sum(seconds for seconds, _ in known) / max(1, sum(characters for _, characters in known))
    left: float = sum(total * file.about.get("characters", 0) for file in busy if file.task == "deidentify")
    running = [file.claimed for file in busy if file.claimed is not None]
    spent = sum(time.time() - claimed for claimed in running)
    return round(max(0.0, float(left - spent)) / max(1, len(running)), 1)


ENCODINGS = ("", "cp1252", "iso8859-15", "utf-16")  # offered on the page; the API accepts others as well
FHIR = "application/fhir+json"
"""Content type of resources of FHIR."""
LONGEST_NAME = 200  # bytes; file systems limit the length of names


class TextRequest(JobSettings):
    """A text to de-identify, with settings."""

    text: str = Field(description="The note", max_length=10_000_000)
    trace: bool = Field(default=False, description="Whether to return the evidence of each span")


class Span(BaseModel):
    """A span that was changed or kept. Offsets count characters (Unicode code points)."""

    start: int
    end: int
    label: str
    action: str
    released: list[int] = Field(description="Start and end in the released text")
    evidence: list[dict[str, Any]] = Field(description="Detections that overlap the span, if a trace was requested")


class TextAnswer(BaseModel):
    """A de-identified text."""

    text: str
    spans: list[Span]
    warnings: list[str] = Field(description="Reasons to check the text before it is passed on, without content")
    pipeline: dict[str, Any] = Field(description="Name, version and fingerprint of the pipeline")


class Decision(BaseModel):
    """A reviewer's decision on a span of the original text."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["release", "restore", "relabel", "add"]
    start: int
    end: int
    label: str = ""


def make_api(service: ServiceSettings, store: Store, supervisor: Supervisor, texts: TextProcessor) -> APIRouter:
    """Create the router of all REST routes, with the prefix /v1."""
    api = APIRouter(prefix="/v1")

    @api.get("/health", tags=["service"])
    async def health(response: Response) -> dict[str, Any]:
        """The version of the service and its state, with status 503 while a worker is not running."""
        response.status_code = 200 if supervisor.alive else 503
        return {"status": "ok" if supervisor.alive else "starting", "version": __version__}

    @api.get("/choices", tags=["service"])
    def choices() -> dict[str, Any]:
        """The available pipelines, styles, policies, labels and local LLMs."""
        return choices_of(service)

    @api.post("/deidentify", tags=["text"])
    async def deidentify(request: TextRequest) -> TextAnswer:
        """De-identify a text. The request waits for a free worker; 503 if too many requests are waiting."""
        settings = JobSettings(**request.model_dump(exclude={"text", "trace"})).check(service)
        if texts.full:
            raise HTTPException(503, Errors.D923, {"Retry-After": "5"})
        return TextAnswer(**await texts.release(request.text, settings, request.trace))

    add_fhir_route(api, service, texts)
    add_job_routes(api, service, store)
    add_result_routes(api, store)
    return api


def add_fhir_route(api: APIRouter, service: ServiceSettings, texts: TextProcessor) -> None:
    """Add the route that de-identifies resources of FHIR R4."""
    resource = {FHIR: {"schema": {"type": "object", "description": "A resource or a Bundle of FHIR R4"}}}
    problem = {FHIR: {"schema": {"type": "object", "description": "An OperationOutcome, without content"}}}

    @api.post(
        "/fhir/$de-identify",
        tags=["fhir"],
        openapi_extra={"requestBody": {"required": True, "content": resource}},
        responses={200: {"content": resource}, **{code: {"content": problem} for code in (400, 413, 422, 503)}},
        response_class=Response,
    )
    async def deidentify_fhir(
        request: Request,
        pipeline: str = "",
        operating_point: Literal["", "balanced", "high_recall", "max_recall"] = "",
        style: Literal["tag", "numbered", "mask", "remove", "surrogate"] = "tag",
        policy: Literal["strict", "safe_harbor", "limited_data_set"] = "strict",
        patient_system: str = "",
        accept_warnings: bool = False,
        accept_partial: bool = False,
    ) -> Response:
        """De-identify a resource or a Bundle of FHIR R4. The persons in it are searched for in all of its texts.

        Nothing is returned but an OperationOutcome if any resource has a warning, unless `accept_warnings` is set, or
        cannot be released, unless `accept_partial` is set: then a Bundle is returned without it.
        """
        settings = JobSettings(pipeline=pipeline, operating_point=operating_point, style=style, policy=policy)
        settings = settings.check(service)
        if texts.full:
            raise HTTPException(503, Errors.D923, {"Retry-After": "5"})
        answer = await texts.release_fhir(await request.body(), settings, patient_system)
        accepted = {"warning": accept_warnings, "error": accept_partial}
        if not answer.text or not all(accepted[issue["severity"]] for issue in answer.issues):
            return answer_problems(answer.issues, 422)
        return Response(answer.text, media_type=FHIR)


def answer_problems(issues: Sequence[Mapping[str, Any]], code: int) -> Response:
    """Make a response with an OperationOutcome.

    issues (Sequence[Mapping]): its issues, without content.
    code (int): HTTP status.
    """
    return JSONResponse({"resourceType": "OperationOutcome", "issue": list(issues)}, code, media_type=FHIR)


def add_job_routes(api: APIRouter, service: ServiceSettings, store: Store) -> None:
    """Add the routes that create, list, start, cancel and delete jobs."""

    @api.get("/jobs", tags=["jobs"])
    def jobs() -> list[dict[str, Any]]:
        """All jobs with the counts of their files, the latest first."""
        return store.jobs()

    @api.post("/jobs", tags=["jobs"], status_code=201)
    def add_job(
        files: list[UploadFile],
        settings: Annotated[str, Form(description="JobSettings as JSON; empty for the defaults")] = "",
        start: Annotated[bool, Form(description="Whether to start de-identification at once")] = False,
    ) -> dict[str, Any]:
        """Add a job with documents. They are parsed at once; `start` also de-identifies them."""
        chosen = parse_settings(settings).check(service)
        job = store.add_job(chosen.model_dump(), read_uploads(files, service))
        if start:
            store.queue.start(job, chosen.model_dump())
        return show_job(store, store.job(job))

    @api.get("/jobs/{job}", tags=["jobs"])
    def job(job: str) -> dict[str, Any]:
        """A job with its files, its progress and the estimated time left."""
        return show_job(store, store.job(job))

    @api.post("/jobs/{job}/start", tags=["jobs"])
    def start_job(job: str, settings: JobSettings) -> dict[str, Any]:
        """De-identify the files of a job with the given settings."""
        row = store.job(job)
        store.queue.start(row.id, settings.check(service).model_dump())
        return show_job(store, store.job(job))

    @api.post("/jobs/{job}/cancel", tags=["jobs"])
    def cancel_job(job: str) -> dict[str, Any]:
        """Cancel a job. Finished files are kept."""
        store.queue.cancel(store.job(job).id)
        return show_job(store, store.job(job))

    @api.delete("/jobs/{job}", tags=["jobs"], status_code=204)
    def delete_job(job: str) -> None:
        """Delete a job with all its files."""
        store.delete(store.job(job).id)


def add_result_routes(api: APIRouter, store: Store) -> None:
    """Add the routes that return findings, texts and released files, and those for reviewers' decisions."""

    @api.get("/jobs/{job}/decisions", tags=["review"])
    def decisions(job: str) -> list[dict[str, Any]]:
        """The log of decisions on the files of a job: times, places, labels."""
        return store.decisions(job)

    @api.get("/jobs/{job}/download", tags=["jobs"])
    def download_job(
        job: str, names: bool = False, with_text: bool = False, accept_warnings: bool = False
    ) -> Response:
        """All released files as a ZIP archive with a table of the findings (offsets and labels; texts only with
        `with_text`).

        If a file has warnings, `accept_warnings` is required: a person should check the copy first.
        """
        row = store.job(job)
        parts = zip_job(store, row, keep_names=names, with_text=with_text, accept_warnings=accept_warnings)
        return StreamingResponse(parts, media_type="application/zip", headers=attachment(f"{row.id}.zip"))

    @api.get("/files/{file}", tags=["files"])
    def file(file: str) -> dict[str, Any]:
        """A file: its state, pages, counts, and warnings about what a person should check."""
        return show_file(store.file(file))

    @api.get("/files/{file}/findings", tags=["files"])
    def findings(file: str) -> dict[str, Any]:
        """The findings of a file: spans of the original text with their traces, without the text."""
        return findings_of(store, store.file(file))

    @api.get("/files/{file}/text", tags=["files"])
    def text(file: str, released: bool = False) -> Response:
        """The original or the released text of a file."""
        row = store.file(file)
        data = store.get(row.id, "released_text" if released else "text")
        if data is None:
            raise InputError(Errors.D902.format(state=row.state, wanted="it has no such text yet"))
        return Response(data, media_type="text/plain; charset=utf-8")

    @api.get("/files/{file}/download", tags=["files"])
    def download(file: str, names: bool = False, accept_warnings: bool = False) -> Response:
        """The released file. If it has warnings, `accept_warnings` is required: a person should check it first."""
        row = store.file(file)
        data = released_of(store, row, accept_warnings)
        headers = attachment(released_name(row, names))
        return Response(data, media_type="application/octet-stream", headers=headers)

    @api.post("/files/{file}/decisions", tags=["review"])
    def review(file: str, decision: Decision) -> dict[str, Any]:
        """Decide on a span. Returns the changed span. The released file changes when the decisions are applied."""
        return review_file(store, file, decision)

    @api.post("/files/{file}/apply", tags=["review"])
    def apply(file: str) -> dict[str, Any]:
        """Write the released file again with the decisions of the reviewer, and return its state."""
        return show_file(apply_review(store, file))


def review_file(store: Store, id: str, decision: Decision) -> dict[str, Any]:
    """Apply a reviewer's decision to the findings of a file, log it, and mark the released file as outdated.

    id (str): id of the file.
    RETURNS (dict): "spans", a list with the changed span, empty if it was removed; "open", the number of decisions
        that are not yet applied to the released file.
    RAISES: as `findings_of` and `processing.apply_decision`.
    """
    # the lock keeps other requests from changing the findings between reading and writing
    with store.queue.lock:
        file = store.file(id)
        found = findings_of(store, file)
        length = len((store.get(file.id, "text") or b"").decode("utf-8", "surrogatepass"))
        where = (decision.start, decision.end, decision.label)
        found["spans"] = apply_decision(found["spans"], decision.action, *where, length)
        store.put(file.id, "findings", json.dumps(found).encode())
        # for other actions the label was not checked and must not be logged
        label = decision.label if decision.action in ("relabel", "add") else ""
        store.log(file, decision.action, decision.start, decision.end, label)
        waiting = int(file.about.get("open", 0)) + 1
        store.update(file.id, open=waiting, reviewed=False)
    place = (decision.start, decision.end)
    # only the changed span, because a file can have a hundred thousand
    return {"open": waiting, "spans": [span for span in found["spans"] if (span["start"], span["end"]) == place]}


def apply_review(store: Store, id: str) -> FileRow:
    """Queue a file to be written again with the decisions of its review. RAISES: InputError as `findings_of`."""
    with store.queue.lock:
        findings_of(store, store.file(id))
        store.queue.request(id, "write")
    return store.file(id)


def findings_of(store: Store, file: FileRow) -> dict[str, Any]:
    """Return the stored findings of a file: its spans, and the pipeline and settings that made them.

    RAISES: InputError if the file is not de-identified (D902) or is being processed (D915).
    """
    if file.task is not None:
        raise InputError(Errors.D915)
    data = store.get(file.id, "findings")
    if data is None or file.state != "done":
        raise InputError(Errors.D902.format(state=file.state, wanted="de-identify it first"))
    found: dict[str, Any] = json.loads(data)
    return found


def released_of(store: Store, file: FileRow, accept_warnings: bool) -> bytes:
    """Return the content of a released file.

    accept_warnings (bool): whether the user has accepted the warnings of the file.
    RAISES: InputError if it is not done (D902, D915), or has decisions that are not applied (D913) or warnings that
        are not accepted (D935).
    """
    findings_of(store, file)
    if file.about.get("open"):
        raise InputError(Errors.D913)
    check_warnings([file], accept_warnings)
    data = store.get(file.id, "released")
    if data is None:
        raise InputError(Errors.D902.format(state=file.state, wanted="de-identify it first"))
    return data


def read_uploads(files: list[UploadFile], service: ServiceSettings) -> Iterator[tuple[str, bytes]]:
    """Read uploaded files one after the other, within the limits of the service.

    RETURNS (Iterator[tuple[str, bytes]]): name and content of each file; contents are read one by one.
    RAISES: InputError if there is no file (D906), there are too many (D905), or one is too large (D904).
    """
    given = [file for file in files if file.filename]
    if not given:
        raise InputError(Errors.D906)
    if len(given) > service.max_files:
        raise InputError(Errors.D905.format(limit=service.max_files))
    if max(file.size or 0 for file in given) > service.max_mb * 1_000_000:
        raise InputError(Errors.D904.format(limit=service.max_mb))
    return ((file_name(file.filename or ""), file.file.read()) for file in given)


def file_name(name: str) -> str:
    """Return the last part of a path of any operating system, without unprintable characters. The result is not used
    as a path.

    name (str): the path.
    RETURNS (str): a name of at most 200 bytes.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(c for c in last if c.isprintable())
    while len(plain.encode()) > LONGEST_NAME:
        plain = plain[1:]
    return plain if plain.strip(". ") else "unnamed"


def parse_settings(text: str) -> JobSettings:
    """Parse `JobSettings` from JSON. RAISES: ConfigError (D908), which does not quote the text."""
    try:
        return JobSettings.model_validate_json(text or "{}")
    except ValueError:
        known = ", ".join(JobSettings.model_fields)
        raise ConfigError(Errors.D908.format(setting="settings", value="that", known=known)) from None


def choices_of(service: ServiceSettings) -> dict[str, Any]:
    """Return the values that users can choose for each setting: name of the setting → list of values."""
    fields = JobSettings.model_fields
    given = {name: list(get_args(fields[name].annotation)) for name in ("operating_point", "style", "policy", *SCANS)}
    if service.project_key is None:
        given["style"].remove("surrogate")
    local = {"llm": list(service.llm), "prompts": list(service.prompts), "labels": list(LABELS)}
    return {"pipeline": list(service.pipelines), **given, "encoding": list(ENCODINGS), **local}


def attachment(name: str) -> dict[str, str]:
    """Return the HTTP header that makes a browser save the response as a file with the given name."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
