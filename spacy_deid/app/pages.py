"""Defines the routes of the web pages, which are rendered on the server in the language of the request."""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

import jinja2
from fastapi import APIRouter, Form, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse

from ..errors import DeidError, Errors, InputError, describe
from ..evaluation.per_document import RATES
from ..labels import LABELS, SCHEMES
from ..lang import FALLBACK, get_language, language_codes
from .api import apply_review, choices_of, findings_of, read_uploads, show_file, show_job
from .results import format_csv, measure_job
from .security import COOKIE, Tokens
from .settings import SCANS, JobForm, JobSettings, ServiceSettings
from .store import FileRow, NotFound, Store

LANGUAGES = tuple(language_codes("app.toml"))


@cache
def load_words(lang: str) -> dict[str, Any]:
    """Load the texts of the pages in a language: its ``app.toml``.

    lang (str): one of `LANGUAGES`.
    RETURNS (dict): name → text, or a dict of texts. Texts that the language lacks are in English.
    """
    words, own = get_language(FALLBACK).read_toml("app.toml"), get_language(lang).read_toml("app.toml")
    return {
        key: text | own.get(key, {}) if isinstance(text, dict) else own.get(key, text) for key, text in words.items()
    }


def language_of(request: Request) -> str:
    """Choose the language of a page by the URL, a cookie or the browser, in this order; English otherwise."""
    accepted = request.headers.get("accept-language", "").split(",")
    wanted = [request.query_params.get("lang", ""), request.cookies.get("lang", "")]
    wanted += [part.split(";")[0].strip()[:2].lower() for part in accepted]
    return next((lang for lang in wanted if lang in LANGUAGES), FALLBACK)


PART = 30_000  # approximate characters per part

Spans = Sequence[dict[str, Any]]


def cut_parts(text: str, spans: Spans, size: int = PART) -> list[tuple[int, int]]:
    """Divide a long text into parts, at line ends if possible, and never inside a span.

    text (str): the original text.
    spans (Sequence[dict]): its spans, in order. An additional span inside a part does not change the parts.
    size (int): approximate number of characters per part.
    RETURNS (list[tuple[int, int]]): start and end of each part; at least one.
    """
    parts, start, following = [], 0, iter(spans)
    span = next(following, None)
    line = size // 10  # a part may be longer by this much to end at a line end
    while len(text) - start > size + line:
        end = text.find("\n", start + size, start + size + line) + 1 or start + size
        while span and span["end"] <= end:
            span = next(following, None)
        if span and span["start"] < end:
            end = span["end"]
        parts.append((start, end))
        start = end
    return [*parts, (start, len(text))]


def place_released(spans: Spans, at: int) -> int:
    """Map an offset of the original text that is not inside a span to the released text.

    spans (Sequence[dict]): the spans in order, with their offsets in the released text.
    at (int): offset in the original text.
    RETURNS (int): offset in the released text.
    """
    before = bisect_right(spans, at, key=lambda span: int(span["end"]))
    return at - spans[before - 1]["end"] + spans[before - 1]["released"][1] if before else at


def cut_text(
    text: str, spans: Spans, places: Sequence[tuple[int, int]], part: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Split a part of a text at its spans.

    text (str): the original or the released text.
    spans (Sequence[dict]): all spans, in order.
    places (Sequence[tuple[int, int]]): start and end of each span in this text.
    part (tuple[int, int]): start and end of the part in this text.
    YIELDS (dict): "text" and "span", the index of the span or None; for a span also "start", "end", "label" and
        "kind", which selects how it is displayed.
    """
    last, stop = part
    for i, (span, (start, end)) in enumerate(zip(spans, places, strict=True)):
        if start < part[0] or end > stop or start == end:
            continue
        if start > last:
            yield {"text": text[last:start], "span": None}
        shown = {"start": span["start"], "end": span["end"], "label": span["label"], "kind": _kind(span)}
        yield {"text": text[start:end], "span": i, **shown}
        last = end
    if last < stop:
        yield {"text": text[last:stop], "span": None}


def _kind(span: dict[str, Any]) -> str:
    """Return how to display a span: "released" or "added" by a reviewer, else "kept" or "changed"."""
    kept = "kept" if span["action"] in ("keep", "recover") else "changed"
    return {"released": "released", "added": "added"}.get(str(span.get("reviewed", "")), kept)


RESOURCES = files("spacy_deid") / "resources" / "app"
STATIC = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "review.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
TEMPLATES = jinja2.Environment(
    loader=jinja2.FunctionLoader(lambda name: (RESOURCES / "templates" / name).read_text(encoding="utf-8")),
    autoescape=True,
    trim_blocks=True,
)


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page in the language of the request.

    template (str): name of the template, without suffix.
    status (int): HTTP status of the response.
    values (Any): variables of the template.
    """
    lang = language_of(request)
    page = TEMPLATES.get_template(f"{template}.html.jinja").render(
        lang=lang,
        t=load_words(lang),
        languages=[(code, load_words(code)["name"]) for code in LANGUAGES],
        session=COOKIE in request.cookies,
        **{"here": request.scope["path"], **values},
    )
    answer = HTMLResponse(page, status)
    if (asked := request.query_params.get("lang")) in LANGUAGES:
        answer.set_cookie("lang", asked, samesite="strict", httponly=True, secure=_is_safe(request))
    return answer


def _is_safe(request: Request) -> bool:
    """Whether the request used TLS, to this server or to a proxy."""
    return bool(request.scope["scheme"] == "https")


def make_pages(service: ServiceSettings, store: Store, tokens: Tokens) -> APIRouter:
    """Create the router of all web pages."""
    pages = APIRouter(include_in_schema=False)
    add_login(pages, tokens)
    add_jobs(pages, service, store)
    add_reports(pages, service, store)

    add_files(pages, store)
    return pages


def add_login(pages: APIRouter, tokens: Tokens) -> None:
    """Add the static files and the pages to log in and out. All but the logout work without a token."""

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
        status = tokens.compare(request, token)
        if status != 200:
            problem = load_words(language_of(request))["wrong_token" if status == 401 else "too_many"]
            return render(request, "login", status, problem=problem, translated=True)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, tokens.sign_in(), httponly=True, samesite="strict", secure=_is_safe(request))
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
            job = store.add_job(settings.model_dump(), read_uploads(files, service))
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

    @pages.post("/jobs/{job}/cancel")
    def cancel(job: str) -> Response:
        store.queue.cancel(store.job(job).id)
        return RedirectResponse(f"/jobs/{job}", 303)

    @pages.post("/jobs/{job}/delete")
    def delete(job: str) -> Response:
        store.delete(store.job(job).id)
        return RedirectResponse("/", 303)


def add_files(pages: APIRouter, store: Store) -> None:
    """Add the pages of a file: its review, the evidence of a span, and the confirmation of a download."""

    @pages.get("/files/{file}")
    def review(request: Request, file: str, part: int = 1) -> Response:
        """Show one part of a file: original text, released text, and links to the evidence."""
        row = store.file(file)
        spans = findings_of(store, row)["spans"]
        original, released = (
            (store.get(row.id, name) or b"").decode("utf-8", "surrogatepass") for name in ("text", "released_text")
        )
        written = [span for span in spans if "released" in span]
        parts = cut_parts(original, spans)
        number = min(max(part, 1), len(parts))
        place = parts[number - 1]
        copied = place_released(written, place[0]), place_released(written, place[1])
        return render(
            request,
            "file",
            file=show_file(row),
            labels=list(LABELS),
            count=len(spans),
            part=number,
            parts=len(parts),
            offset=place[0],
            original=list(cut_text(original, spans, [(span["start"], span["end"]) for span in spans], place)),
            released=list(cut_text(released, written, [tuple(span["released"]) for span in written], copied)),
        )

    @pages.get("/files/{file}/spans/{number}")
    def why(request: Request, file: str, number: int) -> Response:
        spans = findings_of(store, store.file(file))["spans"]
        if not 0 <= number < len(spans):
            raise InputError(Errors.D910.format(start=number, end=number))
        return render(request, "why", span=spans[number])

    @pages.get("/files/{file}/download")
    def confirm(request: Request, file: str) -> Response:
        row = store.file(file)
        return show_confirmation(request, row.job, [row], f"/v1/files/{row.id}/download", {})

    @pages.post("/files/{file}/apply")
    def apply(file: str) -> Response:
        return RedirectResponse(f"/jobs/{apply_review(store, file).job}", 303)


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
    return render(request, "problem", status, problem=problem, here="/")


def show_index(
    request: Request, service: ServiceSettings, store: Store, status: int = 200, problem: str = ""
) -> Response:
    """Render the page of all jobs."""
    from ..documents.formats import FORMATS, SUFFIXES

    jobs = store.jobs()
    for job in jobs:
        job["time"] = datetime.fromtimestamp(job["created"]).isoformat(" ", "minutes")
    suffixes = [suffix for suffix, kind in SUFFIXES.items() if kind in FORMATS]
    limits = {"files": service.max_files, "file": service.max_mb, "job": service.max_job_mb}
    about = {"choices": choices_of(service), "hours": f"{service.keep_hours:g}", "suffixes": suffixes}
    return render(request, "index", status, jobs=jobs, problem=problem, here="/", limits=limits, **about)


def show_job_page(
    request: Request, service: ServiceSettings, store: Store, job: str, status: int = 200, problem: str = ""
) -> Response:
    """Render the page of one job."""
    shown = show_job(store, store.job(job))
    ready = [file for file in shown["files"] if file["state"] == "done"]
    usual = JobSettings().model_dump()
    about = {
        "ready": bool(ready),
        "behind": any(file.get("open") for file in ready),
        "warned": any(file.get("warnings") for file in ready),
        "usual_scans": all(shown["settings"].get(name, usual[name]) == usual[name] for name in SCANS),
        "here": f"/jobs/{job}",
    }
    return render(request, "job", status, job=shown, choices=choices_of(service), problem=problem, **about)


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
