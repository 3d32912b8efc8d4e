"""The pages, made on the server."""

import hmac
import json
from datetime import datetime
from importlib.resources import files
from typing import Annotated, Any

import jinja2
from fastapi import APIRouter, Form, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse

from ..errors import DeidError, Errors, InputError, describe
from ..labels import LABELS, SCHEMES
from .api import choices_of, findings_of, read_uploads
from .progress import show_file, show_job
from .reporting import RATES, format_csv, measure_job
from .segments import cut_text
from .settings import JobSettings, LlmSettings, ServiceSettings
from .store import Store
from .words import LANGUAGES, choose_language, load_words

__all__ = ["COOKIE", "make_pages"]

COOKIE = "spacy_deid_token"
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
    """Make a page in the language of the request."""
    asked = request.query_params.get("lang", "")
    remembered = request.cookies.get("lang", "")
    lang = choose_language(asked, remembered, request.headers.get("accept-language", ""))
    names = [(code, load_words(code)["name"]) for code in LANGUAGES]
    page = TEMPLATES.get_template(f"{template}.html.jinja")
    answer = HTMLResponse(page.render(lang=lang, t=load_words(lang), languages=names, **values), status)
    if asked in LANGUAGES:
        answer.set_cookie("lang", asked, samesite="strict", httponly=True)
    return answer


def make_pages(service: ServiceSettings, store: Store) -> APIRouter:
    """Make the routes of the pages.

    service (ServiceSettings): settings of the service.
    store (Store): jobs and files.
    RETURNS (APIRouter): the routes.
    """
    pages = APIRouter(include_in_schema=False)

    @pages.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in STATIC:
            return Response(status_code=404)
        return Response((RESOURCES / "static" / name).read_bytes(), media_type=STATIC[name])

    @pages.get("/login")
    def ask_token(request: Request) -> Response:
        return render(request, "login")

    @pages.post("/login")
    def login(request: Request, token: Annotated[str, Form()] = "") -> Response:
        if not hmac.compare_digest(token.encode(), service.token.encode()):
            return render(request, "login", 401, problem=words_of(request)["wrong_token"])
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return answer

    @pages.get("/")
    def index(request: Request) -> Response:
        return show_index(request, service, store)

    @pages.post("/jobs")
    async def add_job(request: Request, files: list[UploadFile], pipeline: Annotated[str, Form()] = "") -> Response:
        try:
            settings = JobSettings(pipeline=pipeline).check(service)
            job = store.add_job(settings.model_dump(), await read_uploads(files, service))
        except DeidError as error:
            return show_index(request, service, store, 400, problem=describe(error))
        return RedirectResponse(f"/jobs/{job}", 303)

    @pages.get("/jobs/{job}")
    def job(request: Request, job: str) -> Response:
        return show_job_page(request, service, store, job)

    @pages.post("/jobs/{job}/start")
    async def start(request: Request, job: str) -> Response:
        try:
            settings = settings_of(await request.form()).check(service)
        except (DeidError, ValueError) as error:
            return show_job_page(request, service, store, job, 400, problem=describe(error))
        store.start(store.job(job).id, settings.model_dump())
        return RedirectResponse(f"/jobs/{job}", 303)

    @pages.post("/jobs/{job}/cancel")
    def cancel(job: str) -> Response:
        store.cancel(store.job(job).id)
        return RedirectResponse(f"/jobs/{job}", 303)

    @pages.post("/jobs/{job}/delete")
    def delete(job: str) -> Response:
        store.delete(store.job(job).id)
        return RedirectResponse("/", 303)

    @pages.get("/files/{file}")
    def file(request: Request, file: str) -> Response:
        return show_review(request, store, file)

    @pages.post("/files/{file}/apply")
    def apply(file: str) -> Response:
        row = store.file(file)
        findings_of(store, row)
        store.ask(row.id, "write")
        return RedirectResponse(f"/jobs/{row.job}", 303)

    @pages.get("/jobs/{job}/report")
    def report(request: Request, job: str) -> Response:
        return show_report(request, store, job)

    @pages.post("/jobs/{job}/report")
    async def measure(
        request: Request, job: str, files: list[UploadFile], scheme: Annotated[str, Form()] = "canonical"
    ) -> Response:
        try:
            measure_job(store, store.job(job), await read_uploads(files, service), scheme)
        except DeidError as error:
            return show_report(request, store, job, 400, problem=describe(error))
        return RedirectResponse(f"/jobs/{job}/report", 303)

    @pages.get("/jobs/{job}/report.csv")
    def report_csv(job: str) -> Response:
        result = stored_report(store, job)
        if result is None:
            raise InputError(Errors.D916)
        return Response(format_csv(result["rows"]), media_type="text/csv; charset=utf-8")

    return pages


def words_of(request: Request) -> dict[str, Any]:
    """The words of the request's language."""
    header = request.headers.get("accept-language", "")
    return load_words(choose_language("", request.cookies.get("lang", ""), header))


def show_index(
    request: Request, service: ServiceSettings, store: Store, status: int = 200, problem: str = ""
) -> Response:
    """The page of all jobs."""
    from ..documents.formats import SUFFIXES

    jobs = [show_job(store, job) for job in store.jobs()]
    for job in jobs:
        job["time"] = datetime.fromtimestamp(job["created"]).isoformat(" ", "minutes")
    about = {"choices": choices_of(service), "hours": f"{service.keep_hours:g}", "suffixes": ",".join(SUFFIXES)}
    return render(request, "index", status, jobs=jobs, problem=problem, **about)


def show_job_page(
    request: Request, service: ServiceSettings, store: Store, job: str, status: int = 200, problem: str = ""
) -> Response:
    """The page of one job."""
    shown = show_job(store, store.job(job))
    return render(request, "job", status, job=shown, choices=choices_of(service), problem=problem)


def settings_of(form: Any) -> JobSettings:
    """The settings that the form of a job has. RAISES: ValueError if they are none."""
    names = ("pipeline", "operating_point", "style", "policy", "patient_id")
    given: dict[str, Any] = {name: str(form.get(name, "")) for name in names if form.get(name)}
    if form.get("llm"):
        labels = [str(label) for label in form.getlist("llm_labels")]
        given["llm"] = LlmSettings(location=form["llm"], prompt=str(form.get("llm_prompt", "")), labels=labels)
    return JobSettings(**given)


def show_review(request: Request, store: Store, id: str) -> Response:
    """The page where a file is reviewed: before, after, why."""
    file = store.file(id)
    spans = findings_of(store, file)["spans"]
    original, released = (
        (store.get(file.id, part) or b"").decode("utf-8", "surrogatepass") for part in ("text", "released_text")
    )
    written = [span for span in spans if "released" in span]
    return render(
        request,
        "file",
        file=show_file(file),
        labels=list(LABELS),
        spans=spans,
        original=list(cut_text(original, spans, [(span["start"], span["end"]) for span in spans])),
        released=list(cut_text(released, written, [tuple(span["released"]) for span in written])),
    )


def show_report(request: Request, store: Store, job: str, status: int = 200, problem: str = "") -> Response:
    """The page of figures against ground truth."""
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
    """The figures that were measured last, None if there are none."""
    data = store.get(store.job(job).id, "report")
    result: dict[str, Any] | None = None if data is None else json.loads(data)
    return result
