"""Defines the routes of the web pages, which are rendered on the server in the language of the request."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response, UploadFile
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from ..errors import DeidError, Errors, InputError, describe
from ..evaluation.per_document import RATES
from ..labels import SCHEMES
from .access import User, user_of
from .agreement_pages import add_agreement
from .api import choices_of, read_uploads, show_file, show_job
from .audit_log import AuditLog
from .page_images import PageDrawer
from .processing import released_name
from .rendering import RESOURCES, STATIC, is_safe, language_of, load_words, render, translate_error
from .results import format_csv, measure_job
from .review_pages import add_review
from .security import COOKIE, REFUSED, Tokens
from .settings import SCANS, JobForm, JobSettings, ServiceSettings
from .store import FileRow, NotFound, Store
from .summaries import next_to_review, summarize_job

ROWS = 50
"""Number of files that the page of a job shows at once. A browser needs twice as long to paint twice as many."""


def make_pages(service: ServiceSettings, store: Store, tokens: Tokens, audit: AuditLog) -> APIRouter:
    """Create the router of all web pages."""
    pages = APIRouter(include_in_schema=False)
    add_login(pages, tokens, audit)
    add_jobs(pages, service, store)
    add_reports(pages, service, store)

    add_review(pages, store, PageDrawer(service))
    add_agreement(pages, store)
    return pages


def add_login(pages: APIRouter, tokens: Tokens, audit: AuditLog) -> None:
    """Add the static files and the pages to log in and out. All but the logout work without a token. Who signs in, and
    wrong tokens, are recorded in the audit log before the response.
    """

    @pages.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in STATIC:
            return Response(status_code=404)
        return Response((RESOURCES / "static" / name).read_bytes(), media_type=STATIC[name])

    @pages.get("/login")
    def ask_token(request: Request) -> Response:
        return render(request, "login")

    @pages.post("/login")
    async def login(request: Request, token: Annotated[str, Form()] = "") -> Response:
        user = tokens.compare(request, token)
        if isinstance(user, User):
            await run_in_threadpool(audit.record, user.name, "sign in")
        elif user == 401:  # further wrong tokens of this minute, with the status 429, would fill the disk
            await run_in_threadpool(audit.record, tokens.name_client(request), REFUSED)
        if not isinstance(user, User):
            problem = load_words(language_of(request))["wrong_token" if user == 401 else "too_many"]
            return render(request, "login", user, problem=problem, translated=True)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, tokens.sign_in(user), httponly=True, samesite="strict", secure=is_safe(request))
        return answer

    @pages.post("/logout")
    async def logout(request: Request) -> Response:
        tokens.sign_out(request)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer


def add_jobs(pages: APIRouter, service: ServiceSettings, store: Store) -> None:
    """Add the pages of all jobs and of one job."""

    @pages.get("/")
    def index(request: Request) -> Response:
        return show_index(request, service, store)

    @pages.post("/jobs")
    def add_job(
        request: Request, files: list[UploadFile], pipeline: Annotated[str, Form(max_length=200)] = ""
    ) -> Response:
        try:
            settings = JobSettings(pipeline=pipeline).check(service)
            job = store.add_job(settings.model_dump(), read_uploads(files, service), owner=user_of(request).name)
            request.scope["job"] = job
        except DeidError as error:
            return show_index(request, service, store, 400, problem=describe(error))
        return RedirectResponse(f"/jobs/{job}", 303)

    @pages.get("/jobs/{job}")
    def job(request: Request, job: str) -> Response:
        return show_job_page(request, service, store, job)

    @pages.post("/jobs/{job}/start")
    def start(request: Request, job: str, form: Annotated[JobForm, Form()]) -> Response:
        try:
            store.queue.start(store.job(job).id, form.settings().check(service).model_dump())
        except NotFound:
            raise
        except DeidError as error:
            return show_job_page(request, service, store, job, 400, problem=describe(error))
        return RedirectResponse(f"/jobs/{job}", 303)

    @pages.get("/jobs/{job}/download")
    def confirm(request: Request, job: str, names: bool = False, with_text: bool = False) -> Response:
        row, given = store.job(job), {"names": names, "with_text": with_text}
        return show_confirmation(request, row.id, store.files(row.id), f"/v1/jobs/{row.id}/download", given)

    @pages.get("/files/{file}/download")
    def confirm_file(request: Request, file: str) -> Response:
        row = store.file(file)
        return show_confirmation(request, row.job, [row], f"/v1/files/{row.id}/download", {})

    @pages.post("/jobs/{job}/cancel")
    def cancel(job: str) -> Response:
        store.queue.cancel(store.job(job).id)
        return RedirectResponse(f"/jobs/{job}", 303)

    @pages.post("/jobs/{job}/delete")
    def delete(job: str) -> Response:
        store.delete(store.job(job).id)
        return RedirectResponse("/", 303)


def add_reports(pages: APIRouter, service: ServiceSettings, store: Store) -> None:
    """Add the page with the evaluation of a job against ground truth, and its table as CSV."""

    @pages.get("/jobs/{job}/report")
    def report(request: Request, job: str) -> Response:
        return show_report(request, store, job)

    @pages.post("/jobs/{job}/report")
    def measure(
        request: Request, job: str, files: list[UploadFile], scheme: Annotated[str, Form()] = "canonical"
    ) -> Response:
        try:
            measure_job(store, store.job(job), read_uploads(files, service), scheme)
        except NotFound:
            raise
        except DeidError as error:
            return show_report(request, store, job, 400, problem=describe(error))
        return RedirectResponse(f"/jobs/{job}/report", 303)

    @pages.get("/jobs/{job}/report.csv")
    def report_csv(job: str) -> Response:
        result = stored_report(store, job)
        if result is None:
            raise InputError(Errors.D916)
        return Response(format_csv(result["rows"]), media_type="text/csv; charset=utf-8")


def show_problem(request: Request, problem: str, status: int) -> Response:
    """Render an error page."""
    text, translated = translate_error(problem, language_of(request))
    return render(request, "problem", status, problem=text, translated=translated, here="/")


def show_index(
    request: Request, service: ServiceSettings, store: Store, status: int = 200, problem: str = ""
) -> Response:
    """Render the page of all jobs."""
    from ..documents.formats import FORMATS, SUFFIXES

    user = user_of(request)
    jobs = store.jobs(owner=user.name if user.limited else None)
    for job in jobs:
        job["time"] = datetime.fromtimestamp(job["created"]).isoformat(" ", "minutes")
    suffixes = [suffix for suffix, kind in SUFFIXES.items() if kind in FORMATS]
    limits = {"files": service.max_files, "file": service.max_mb, "job": service.max_job_mb}
    about = {"choices": choices_of(service), "hours": f"{service.keep_hours:g}", "suffixes": suffixes}
    text, translated = translate_error(problem, language_of(request))
    problems: dict[str, Any] = {"problem": text, "translated": translated}
    return render(request, "index", status, jobs=jobs, here="/", limits=limits, **about, **problems)


def show_job_page(
    request: Request, service: ServiceSettings, store: Store, job: str, status: int = 200, problem: str = ""
) -> Response:
    """Render the page of one job with a part of its files."""
    row = store.job(job)
    summary = summarize_job(store.database, row.id)
    shown = show_job(store, row, summary)
    by_risk = request.query_params.get("order") == "risk"
    pages = max(1, -(-summary.total // ROWS))
    asked = request.query_params.get("page", "")
    page = min(max(int(asked), 1), pages) if re.fullmatch(r"\d{1,6}", asked) else 1
    lang = language_of(request)
    shown["files"] = [
        list_file(file, lang) for file in store.page_files(row.id, ROWS, (page - 1) * ROWS, by_risk=by_risk)
    ]
    problem, translated = translate_error(problem, lang)
    usual = JobSettings().model_dump()
    about = {
        "summary": summary,
        "by_risk": by_risk,
        "page": page,
        "pages": pages,
        "next_file": next_to_review(store.database, row.id),
        "translated": translated,
        "usual_scans": all(shown["settings"].get(name, usual[name]) == usual[name] for name in SCANS),
        "here": f"/jobs/{job}",
    }
    return render(request, "job", status, job=shown, choices=choices_of(service), problem=problem, **about)


def list_file(file: FileRow, lang: str) -> dict[str, Any]:
    """Describe a file for the page of its job. An error is translated and names the file as the user named it.

    lang (str): language of the page.
    """
    shown = show_file(file)
    if file.reason:
        reason = file.reason.replace(released_name(file, keep=False), file.name)
        shown["reason"], translated = translate_error(reason, lang)
        shown["english"] = not translated
    return shown


def show_confirmation(
    request: Request, job: str, files: Sequence[FileRow], path: str, given: Mapping[str, bool]
) -> Response:
    """Render the page that shows the warnings of files and asks for confirmation before the download.

    files (Sequence[FileRow]): the files to download.
    job (str): id of the job.
    path (str): URL of the download.
    given (Mapping[str, bool]): parameters of the download.
    """
    warned = [file for file in map(show_file, files) if file["state"] == "done" and file.get("warnings")]
    chosen = [name for name, value in given.items() if value]
    link = f"{path}?" + "&".join(f"{name}=true" for name in ("accept_warnings", *chosen))
    return render(request, "confirm", job=job, warned=warned, link=link)


def show_report(request: Request, store: Store, job: str, status: int = 200, problem: str = "") -> Response:
    """Render the page with the evaluation of a job against ground truth."""
    row = store.job(job)
    result = stored_report(store, job)
    columns = sorted({name for cells in (result or {}).get("confusion", {}).values() for name in cells})
    about = {
        "result": result,
        "columns": columns,
        "rates": RATES,
        "schemes": list(SCHEMES),
        "links": {file.name: file.id for file in store.files(job)},
        "number": lambda value: "" if value is None else f"{value:.3f}",
    }
    return render(request, "report", status, job={"id": row.id}, problem=problem, **about)


def stored_report(store: Store, job: str) -> dict[str, Any] | None:
    """Return the stored evaluation of a job; None if it was not evaluated."""
    data = store.get(store.job(job).id, "report")
    result: dict[str, Any] | None = None if data is None else json.loads(data)
    return result
