"""Defines the REST routes of jobs, of their files and of reviewers' decisions."""

from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Form, Header, HTTPException, Query, Request, Response, UploadFile
from fastapi.responses import StreamingResponse

from ..errors import Errors, InputError
from .access import user_of
from .api import (
    apply_review,
    attachment,
    findings_of,
    parse_settings,
    read_uploads,
    released_of,
    review_file,
    show_file,
    show_job,
)
from .audit_log import AuditLog
from .problems import declare_problems
from .processing import released_name
from .results import zip_job
from .schemas import (
    Decision,
    DecisionPage,
    FileInfo,
    Findings,
    JobInfo,
    JobPage,
    JobSummary,
    LoggedDecision,
    ReviewAnswer,
)
from .settings import JobSettings, ServiceSettings
from .store import FileRow, Store
from .summaries import summarize_job
from .webhooks import check_address

Limit = Annotated[int, Query(ge=1, le=1000, description="Maximal number of items in this part")]
Cursor = Annotated[str, Query(max_length=100, description="The field `next` of the part before; empty for the first")]
Responses = dict[int | str, dict[str, Any]]
ZIP: Responses = {200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}}
BYTES: Responses = {200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}
PLAIN: Responses = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


def add_job_routes(api: APIRouter, service: ServiceSettings, store: Store) -> None:
    """Add the routes that create, list, start, cancel and delete jobs."""

    @api.get("/jobs", tags=["jobs"], responses=declare_problems(400, 422))
    def list_jobs(request: Request, limit: Limit = 100, cursor: Cursor = "") -> JobPage:
        """The jobs with the counts of their files, the latest first. Users who can only submit see their own."""
        user = user_of(request)
        items, following = store.page_jobs(limit, cursor, owner=user.name if user.limited else None)
        return JobPage(items=[JobSummary(**item) for item in items], next=following)

    @api.post("/jobs", tags=["jobs"], status_code=201, responses=declare_problems(400, 408, 409, 413, 422, 503, 507))
    def add_job(
        request: Request,
        response: Response,
        files: list[UploadFile],
        settings: Annotated[str, Form(description="JobSettings as JSON; empty for the defaults")] = "",
        start: Annotated[bool, Form(description="Whether to start de-identification at once")] = False,
        webhook: Annotated[str, Form(description="Address to notify when the job is finished; empty for none")] = "",
        idempotency_key: Annotated[
            str, Header(max_length=200, description="Random key. A request that is sent again adds no other job")
        ] = "",
    ) -> JobInfo:
        """Add a job with documents. They are parsed at once; `start` also de-identifies them."""
        chosen = parse_settings(settings).check(service)
        uploads = read_uploads(files, service)
        given, owner = None, user_of(request).name
        if idempotency_key:
            digest = digest_request(files, settings, str(start), webhook)
            given = (sha256(f"{owner} {idempotency_key}".encode()).hexdigest(), digest)
            if (known := store.find_request(*given)) is not None:
                request.scope["job"] = known
                response.headers["Idempotent-Replayed"] = "true"
                return describe_job(store, known)
        address = check_address(webhook, service)
        more: dict[str, Any] = {"start": start, "request": given, "webhook": address}
        job = store.add_job(chosen.model_dump(), uploads, owner, **more)
        request.scope["job"] = job
        return describe_job(store, job)

    @api.get("/jobs/{job}", tags=["jobs"], responses=declare_problems(404, 422))
    def get_job(
        job: str, files: Annotated[bool, Query(description="Whether to list the files; false is faster")] = True
    ) -> JobInfo:
        """A job with its files, its progress and the estimated time left."""
        return describe_job(store, job, files=files)

    @api.post("/jobs/{job}/start", tags=["jobs"], responses=declare_problems(400, 404, 408, 413, 422, 503))
    def start_job(job: str, settings: JobSettings) -> JobInfo:
        """De-identify the files of a job with the given settings."""
        row = store.job(job)
        store.queue.start(row.id, settings.check(service).model_dump())
        return describe_job(store, job)

    @api.post("/jobs/{job}/cancel", tags=["jobs"], responses=declare_problems(404, 422))
    def cancel_job(job: str) -> JobInfo:
        """Cancel a job. Finished files are kept."""
        store.queue.cancel(store.job(job).id)
        return describe_job(store, job)

    @api.delete("/jobs/{job}", tags=["jobs"], status_code=204, responses=declare_problems(404, 422))
    def delete_job(job: str) -> None:
        """Delete a job with all its files."""
        store.delete(store.job(job).id)


def digest_request(files: list[UploadFile], *form: str) -> str:
    """Compute a digest of the files and the fields of a form. RETURNS (str): 64 hexadecimal digits."""
    digest = sha256()
    for name in (*form, *(file.filename or "" for file in files)):
        digest.update(sha256(name.encode("utf-8", "surrogatepass")).digest())
    for file in files:
        digest.update(sha256(file.file.read()).digest())
        file.file.seek(0)
    return digest.hexdigest()


def describe_job(store: Store, job: str, *, files: bool = True) -> JobInfo:
    """Describe a job. RAISES: NotFound (D900) if it does not exist."""
    row = store.job(job)
    summary = summarize_job(store.database, row.id)  # counted first: a client that sees no busy file sees final states
    return JobInfo(**show_job(store, row, summary, store.files(row.id) if files else ()))


def add_result_routes(api: APIRouter, store: Store, audit: AuditLog) -> None:
    """Add the routes that return files and what was released of them, which is recorded in the audit log before."""

    @api.get(
        "/jobs/{job}/download",
        tags=["jobs"],
        response_class=Response,
        responses={**ZIP, **declare_problems(400, 404, 422)},
    )
    def download_job(
        request: Request, job: str, names: bool = False, with_text: bool = False, accept_warnings: bool = False
    ) -> Response:
        """All released files as a ZIP archive with a table of the findings (offsets and labels; texts only with
        `with_text`, for which the user must also have the role *review*).

        If a file has warnings, `accept_warnings` is required: a person should check the copy first.
        """
        if with_text and "review" not in user_of(request).roles:
            raise HTTPException(403, Errors.D937.format(roles="review"))
        row, user = store.job(job), user_of(request)

        def record(file: FileRow, data: bytes) -> None:
            audit.record(user.name, "release", job=file.job, file=file.id, released=data)

        parts = zip_job(
            store, row, keep_names=names, with_text=with_text, accept_warnings=accept_warnings, record=record
        )
        return StreamingResponse(parts, media_type="application/zip", headers=attachment(f"{row.id}.zip"))

    @api.get("/files/{file}", tags=["files"], responses=declare_problems(404, 422))
    def get_file(file: str) -> FileInfo:
        """A file: its state, pages, counts, and warnings about what a person should check."""
        return FileInfo(**show_file(store.file(file)))

    @api.get(
        "/files/{file}/download",
        tags=["files"],
        response_class=Response,
        responses={**BYTES, **declare_problems(400, 404, 422)},
    )
    def download_file(request: Request, file: str, names: bool = False, accept_warnings: bool = False) -> Response:
        """The released file. If it has warnings, `accept_warnings` is required: a person should check it first."""
        row = store.file(file)
        data = released_of(store, row, accept_warnings)
        audit.record(user_of(request).name, "release", job=row.job, file=row.id, released=data)
        headers = attachment(released_name(row, names))
        return Response(data, media_type="application/octet-stream", headers=headers)


def add_review_routes(api: APIRouter, store: Store) -> None:
    """Add the routes that return findings and texts, and those for reviewers' decisions."""

    @api.get("/jobs/{job}/decisions", tags=["review"], responses=declare_problems(400, 404, 422))
    def list_decisions(job: str, limit: Limit = 1000, cursor: Cursor = "") -> DecisionPage:
        """The log of decisions on the files of a job: times, places, labels."""
        items, following = store.page_decisions(job, limit, cursor)
        return DecisionPage(items=[LoggedDecision(**item) for item in items], next=following)

    @api.get("/files/{file}/findings", tags=["files"], responses=declare_problems(400, 404, 422))
    def get_findings(file: str) -> Findings:
        """The findings of a file: spans of the original text with their traces, without the text."""
        return Findings(**findings_of(store, store.file(file)))

    @api.get(
        "/files/{file}/text",
        tags=["files"],
        response_class=Response,
        responses={**PLAIN, **declare_problems(400, 404, 422)},
    )
    def get_text(file: str, released: bool = False) -> Response:
        """The original or the released text of a file."""
        row = store.file(file)
        data = store.get(row.id, "released_text" if released else "text")
        if data is None:
            raise InputError(Errors.D902.format(state=row.state, wanted="it has no such text yet"))
        return Response(data, media_type="text/plain; charset=utf-8")

    @api.post("/files/{file}/decisions", tags=["review"], responses=declare_problems(400, 404, 408, 413, 422, 503))
    def decide(file: str, decision: Decision) -> ReviewAnswer:
        """Decide on a span. Returns the changed span. The released file changes when the decisions are applied."""
        return ReviewAnswer(**review_file(store, file, decision))

    @api.post("/files/{file}/apply", tags=["review"], responses=declare_problems(400, 404, 422))
    def apply_decisions(file: str) -> FileInfo:
        """Write the released file again with the decisions of the reviewer, and return its state."""
        return FileInfo(**show_file(apply_review(store, file)))
