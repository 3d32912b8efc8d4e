"""The REST interface: a text at once, documents as jobs."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Form, HTTPException, Response, UploadFile
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from .. import __version__
from ..errors import ConfigError, Errors, InputError
from ..labels import LABELS
from .archive import check_warnings, zip_job
from .progress import show_file, show_job
from .reviewing import decide
from .settings import SCANS, JobSettings, ServiceSettings
from .store import FileRow, Store
from .texts import Texts
from .worker import Supervisor
from .workshop import released_name

__all__ = ["apply_review", "choices_of", "findings_of", "make_api", "read_uploads"]

ENCODINGS = ("", "cp1252", "iso8859-15", "utf-16")  # that are offered; others are taken as well
LONGEST_NAME = 200  # bytes of a name, which systems of files bound


class TextRequest(JobSettings):
    """A text to de-identify, and how."""

    text: str = Field(description="The note", max_length=10_000_000)
    trace: bool = Field(default=False, description="Whether to say why each span was changed or kept")


class Span(BaseModel):
    """A span that was changed or kept. Offsets count characters (Unicode code points)."""

    start: int
    end: int
    label: str
    action: str
    released: list[int] = Field(description="Start and end in the released text")
    evidence: list[dict[str, Any]] = Field(description="Detections that touch it, if a trace was asked for")


class TextAnswer(BaseModel):
    """A de-identified text."""

    text: str
    spans: list[Span]
    warnings: list[str] = Field(description="Why a person should look at the text before it is passed on; no content")
    pipeline: dict[str, Any] = Field(description="Name, version and fingerprint of what decided")


class Decision(BaseModel):
    """A reviewer's decision on a span of the original text."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["release", "restore", "relabel", "add"]
    start: int
    end: int
    label: str = ""


def make_api(service: ServiceSettings, store: Store, supervisor: Supervisor, texts: Texts) -> APIRouter:
    """Make the routes.

    service (ServiceSettings): settings of the service.
    store (Store): jobs and files.
    supervisor (Supervisor): of the workers.
    texts (Texts): de-identifies texts at once.
    RETURNS (APIRouter): the routes under /v1.
    """
    api = APIRouter(prefix="/v1")
    add_text_routes(api, service, supervisor, texts)
    add_job_routes(api, service, store)
    add_result_routes(api, store)
    return api


def add_text_routes(api: APIRouter, service: ServiceSettings, supervisor: Supervisor, texts: Texts) -> None:
    """Routes of the service itself, and of texts that are done at once."""

    @api.get("/health", tags=["service"])
    async def health(response: Response) -> dict[str, Any]:
        """Whether the service works: its version, and whether its workers run; 503 as long as one does not."""
        response.status_code = 200 if supervisor.alive else 503
        return {"status": "ok" if supervisor.alive else "starting", "version": __version__}

    @api.get("/choices", tags=["service"])
    def choices() -> dict[str, Any]:
        """What may be chosen: pipelines, styles, policies, labels, local LLMs."""
        return choices_of(service)

    @api.post("/deidentify", tags=["text"])
    async def deidentify(request: TextRequest) -> TextAnswer:
        """De-identify a text. It waits until a worker is free; 503 if too many wait."""
        settings = JobSettings(**request.model_dump(exclude={"text", "trace"})).check(service)
        if texts.full:
            raise HTTPException(503, Errors.D923, {"Retry-After": "5"})
        return TextAnswer(**await texts.release(request.text, settings, request.trace))


def add_job_routes(api: APIRouter, service: ServiceSettings, store: Store) -> None:
    """Routes of jobs: added, started, looked after, stopped, deleted."""

    @api.get("/jobs", tags=["jobs"])
    def jobs() -> list[dict[str, Any]]:
        """All jobs with the numbers of their files, the latest first."""
        return store.jobs()

    @api.post("/jobs", tags=["jobs"], status_code=201)
    def add_job(
        files: list[UploadFile],
        settings: Annotated[str, Form(description="JobSettings as JSON; empty for the usual ones")] = "",
        start: Annotated[bool, Form(description="Whether to start at once")] = False,
    ) -> dict[str, Any]:
        """Add a job of documents. They are read at once; `start` says whether they are de-identified as well."""
        chosen = parse_settings(settings).check(service)
        job = store.add_job(chosen.model_dump(), read_uploads(files, service))
        if start:
            store.queue.start(job, chosen.model_dump())
        return show_job(store, store.job(job))

    @api.get("/jobs/{job}", tags=["jobs"])
    def job(job: str) -> dict[str, Any]:
        """A job with its files, how far it is, and how long it will take."""
        return show_job(store, store.job(job))

    @api.post("/jobs/{job}/start", tags=["jobs"])
    def start_job(job: str, settings: JobSettings) -> dict[str, Any]:
        """De-identify the files of a job, with these settings."""
        row = store.job(job)
        store.queue.start(row.id, settings.check(service).model_dump())
        return show_job(store, store.job(job))

    @api.post("/jobs/{job}/cancel", tags=["jobs"])
    def cancel_job(job: str) -> dict[str, Any]:
        """Stop a job. What was done stays."""
        store.queue.cancel(store.job(job).id)
        return show_job(store, store.job(job))

    @api.delete("/jobs/{job}", tags=["jobs"], status_code=204)
    def delete_job(job: str) -> None:
        """Delete a job with all its files."""
        store.delete(store.job(job).id)


def add_result_routes(api: APIRouter, store: Store) -> None:
    """Routes of what came of files, and of its review."""

    @api.get("/jobs/{job}/decisions", tags=["review"])
    def decisions(job: str) -> list[dict[str, Any]]:
        """The log of decisions on the files of a job: times, places, labels."""
        return store.decisions(job)

    @api.get("/jobs/{job}/download", tags=["jobs"])
    def download_job(
        job: str, names: bool = False, with_text: bool = False, accept_warnings: bool = False
    ) -> Response:
        """All released files as a ZIP with the table of findings: offsets and labels, texts only with `with_text`.

        If a file has warnings, only with `accept_warnings`: somebody has to look at its copy first.
        """
        row = store.job(job)
        parts = zip_job(store, row, keep_names=names, with_text=with_text, accept_warnings=accept_warnings)
        return StreamingResponse(parts, media_type="application/zip", headers=attachment(f"{row.id}.zip"))

    @api.get("/files/{file}", tags=["files"])
    def file(file: str) -> dict[str, Any]:
        """A file: state, pages, numbers, and the warnings on what a person should look at."""
        return show_file(store.file(file))

    @api.get("/files/{file}/findings", tags=["files"])
    def findings(file: str) -> dict[str, Any]:
        """What was found in a file: spans of the original text with their traces. No text."""
        return findings_of(store, store.file(file))

    @api.get("/files/{file}/text", tags=["files"])
    def text(file: str, released: bool = False) -> Response:
        """The text of a file, the original one or the released one."""
        row = store.file(file)
        data = store.get(row.id, "released_text" if released else "text")
        if data is None:
            raise InputError(Errors.D902.format(state=row.state, wanted="it has no such text yet"))
        return Response(data, media_type="text/plain; charset=utf-8")

    @api.get("/files/{file}/download", tags=["files"])
    def download(file: str, names: bool = False, accept_warnings: bool = False) -> Response:
        """The released file. If it has warnings, only with `accept_warnings`: somebody has to look at it first."""
        row = store.file(file)
        data = released_of(store, row, accept_warnings)
        headers = attachment(released_name(row, names))
        return Response(data, media_type="application/octet-stream", headers=headers)

    @api.post("/files/{file}/decisions", tags=["review"])
    def review(file: str, decision: Decision) -> dict[str, Any]:
        """Decide on a span, and get what it is now. The file for download changes when decisions are applied."""
        return review_file(store, file, decision)

    @api.post("/files/{file}/apply", tags=["review"])
    def apply(file: str) -> dict[str, Any]:
        """Write the released file anew, by the decisions."""
        return show_file(apply_review(store, file))


def review_file(store: Store, id: str, decision: Decision) -> dict[str, Any]:
    """Carry out a decision, write it down, and note that the released file is behind.

    RETURNS (dict): "spans", the span as it is now, none if it is no more; "open", how many decisions are not applied.
    """
    # what is looked at stays so until it is written: nobody decides, applies or starts meanwhile
    with store.queue.lock:
        file = store.file(id)
        found = findings_of(store, file)
        length = len((store.get(file.id, "text") or b"").decode("utf-8", "surrogatepass"))
        where = (decision.start, decision.end, decision.label)
        found["spans"] = decide(found["spans"], decision.action, *where, length)
        store.put(file.id, "findings", json.dumps(found).encode())
        named = decision.action in ("relabel", "add")  # else the label was not looked at, and may be anything
        store.log(file, decision.action, decision.start, decision.end, decision.label if named else "")
        waiting = int(file.about.get("open", 0)) + 1
        store.note(file.id, open=waiting)
    place = (decision.start, decision.end)
    # not all of them: there can be a hundred thousand
    return {"open": waiting, "spans": [span for span in found["spans"] if (span["start"], span["end"]) == place]}


def apply_review(store: Store, id: str) -> FileRow:
    """Have a file written anew. RETURNS (FileRow): the file, now in work."""
    with store.queue.lock:
        findings_of(store, store.file(id))
        store.queue.ask(id, "write")
    return store.file(id)


def findings_of(store: Store, file: FileRow) -> dict[str, Any]:
    """The findings of a file that was de-identified and is not being worked on. RAISES: InputError (D902, D915)."""
    if file.task is not None:
        raise InputError(Errors.D915)
    data = store.get(file.id, "findings")
    if data is None or file.state != "done":
        raise InputError(Errors.D902.format(state=file.state, wanted="de-identify it first"))
    found: dict[str, Any] = json.loads(data)
    return found


def released_of(store: Store, file: FileRow, accept_warnings: bool) -> bytes:
    """The released file.

    RAISES: InputError if it is not done (D902, D915), is behind its review (D913), or has warnings that are not
        accepted (D935).
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
    """Read what was uploaded, within the limits, one file after the other. RAISES: InputError (D904 - D906, D925)."""
    given = [file for file in files if file.filename]
    if not given:
        raise InputError(Errors.D906)
    if len(given) > service.max_files:
        raise InputError(Errors.D905.format(limit=service.max_files))
    if max(file.size or 0 for file in given) > service.max_mb * 1_000_000:
        raise InputError(Errors.D904.format(limit=service.max_mb))
    return ((file_name(file.filename or ""), file.file.read()) for file in given)


def file_name(name: str) -> str:
    """The last part of a path, whatever system it is from; nothing of it is ever a path here."""
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(c for c in last if c.isprintable())
    while len(plain.encode()) > LONGEST_NAME:
        plain = plain[1:]
    return plain if plain.strip(". ") else "unnamed"


def parse_settings(text: str) -> JobSettings:
    """Read settings. RAISES: ConfigError (D908) without quoting what was sent."""
    try:
        return JobSettings.model_validate_json(text or "{}")
    except ValueError:
        known = ", ".join(JobSettings.model_fields)
        raise ConfigError(Errors.D908.format(setting="settings", value="that", known=known)) from None


def choices_of(service: ServiceSettings) -> dict[str, Any]:
    """What may be chosen."""
    fields = JobSettings.model_fields
    given = {name: list(get_args(fields[name].annotation)) for name in ("operating_point", "style", "policy", *SCANS)}
    if service.project_key is None:
        given["style"].remove("surrogate")
    local = {"llm": list(service.llm), "prompts": list(service.prompts), "labels": list(LABELS)}
    return {"pipeline": list(service.pipelines), **given, "encoding": list(ENCODINGS), **local}


def attachment(name: str) -> dict[str, str]:
    """The header that has a browser save a file, for any name."""
    from urllib.parse import quote

    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
