"""Creates the FastAPI application with the REST interface and the web pages, and converts errors to responses."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser

from .. import __version__
from ..errors import DeidError, Errors
from .access import find_rule
from .audit_log import AuditLog
from .job_api import add_job_routes, add_result_routes, add_review_routes
from .monitoring import Monitor
from .pages import make_pages, show_problem
from .problems import PROBLEM, Problem, declare_problems, describe_problem, invalid_fields, make_problem
from .record_api import add_record_routes, answer_outcome
from .security import COOKIE, FORM, PeerMiddleware, SecurityMiddleware, Tokens
from .settings import ServiceSettings, check_settings
from .store import Store
from .text_api import add_service_routes, add_state_routes, add_text_routes
from .users import UserFile
from .webhooks import Webhooks
from .workers import Supervisor, TextProcessor, files_key, open_store


def make_service(settings: ServiceSettings, texts: TextProcessor | None = None) -> FastAPI:
    """Create the application of the service.

    settings (ServiceSettings): settings of the service.
    texts (Optional[TextProcessor]): processes the texts; None for a pool of worker processes.
    RETURNS (FastAPI): the application. Its worker processes start and stop with it.
    RAISES: ConfigError as `check_settings`, or if the file of users is not valid (D938).
    """
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    check_settings(settings)
    if settings.users is not None:
        UserFile(settings.users).load()
    store = open_store(settings)
    supervisor, texts = Supervisor(settings, store), texts or TextProcessor(settings)
    webhooks = Webhooks(settings, store)
    tokens, monitor = Tokens(settings), Monitor()
    audit = AuditLog(store.database, files_key(settings))
    monitor.watch(store, supervisor, texts)
    # keep uploads in memory until they are encrypted; a spooled file would be stored unencrypted
    MultiPartParser.spool_max_size = settings.max_job_mb * 1_000_000 + FORM

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        supervisor.start()
        texts.start()
        webhooks.start()
        yield
        webhooks.stop()
        supervisor.stop()
        texts.close()

    app = FastAPI(
        title="spacy_deid",
        version=__version__,
        description="De-identification of clinical text and documents.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        generate_unique_id_function=lambda route: route.name,  # names of functions in generated clients
    )
    app.include_router(make_api(settings, store, supervisor, texts, monitor, audit))
    app.include_router(make_pages(settings, store, tokens, audit))
    parts: dict[str, Any] = {"tokens": tokens, "store": store, "audit": audit, "monitor": monitor}
    app.add_middleware(SecurityMiddleware, settings=settings, respond=respond, **parts)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=["127.0.0.1", *settings.proxies])
    app.add_middleware(PeerMiddleware)
    app.openapi = lambda: describe_api(app)  # type: ignore[method-assign]
    app.exception_handler(DeidError)(_refuse)
    app.exception_handler(RequestValidationError)(_misread)
    app.exception_handler(HTTPException)(_tell)
    return app


def make_api(
    service: ServiceSettings,
    store: Store,
    supervisor: Supervisor,
    texts: TextProcessor,
    monitor: Monitor,
    audit: AuditLog,
) -> APIRouter:
    """Create the router of all REST routes, most of them with the prefix /v1."""
    root, api = APIRouter(), APIRouter(prefix="/v1")
    add_state_routes(root, supervisor, texts, monitor)
    add_service_routes(api, service, audit)
    add_text_routes(api, service, texts, monitor, audit)
    add_record_routes(api, service, texts, monitor, audit)
    add_job_routes(api, service, store)
    add_result_routes(api, store, audit)
    add_review_routes(api, store)
    root.include_router(api)
    return root


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Make the OpenAPI document, with the security schemes, the roles of each operation and the schema of problems.

    RETURNS (dict): the document.
    """
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = made.setdefault("components", {})
        parts["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "A token of a user"},
            "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "The session of a browser"},
        }
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        parts["schemas"] |= problem.pop("$defs", {}) | {"Problem": problem}
        for name in ("HTTPValidationError", "ValidationError"):  # the handlers below answer with problems instead
            parts["schemas"].pop(name, None)
        # generators of clients know the form of OpenAPI 3.0 for files, but not that of 3.1
        parts["schemas"]["Body_add_job"]["properties"]["files"]["items"] = {"type": "string", "format": "binary"}
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                rule = find_rule(method.upper(), path)[0]
                operation["security"] = [{"token": []}, {"session": []}] if rule.roles else []
                operation["x-roles"] = sorted(rule.roles)
                usual = declare_problems(*((401, 403, 421, 429, 500) if rule.roles else (421, 500)))
                for status, about in usual.items():
                    operation["responses"].setdefault(str(status), about)
        app.openapi_schema = made
    return app.openapi_schema


def field_names(app: FastAPI) -> frozenset[str]:
    """Return the names of all fields and parameters in the OpenAPI document."""
    document = describe_api(app)
    models = (model.get("properties", {}) for model in document["components"]["schemas"].values())
    routes = (route for path in document["paths"].values() for route in path.values())
    given = (given["name"] for route in routes for given in route.get("parameters", ()))
    return frozenset({"body", "query", "path", "header", *given, *(name for model in models for name in model)})


def respond(request: Request, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Make the response of a problem: for programs a problem object, for clients of FHIR an OperationOutcome, for
    browsers a page. The metrics count the code of the problem.
    """
    request.scope["problem"] = problem.code
    path = request.scope["path"]
    if path.startswith("/v1/fhir/"):
        fields = ", ".join(f"{field.loc[-1]}: {field.msg}" for field in problem.errors)
        issue = {"severity": "error", "code": "processing", "diagnostics": fields or problem.detail}
        response = answer_outcome([issue], problem.status)
    elif path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        content = problem.model_dump(exclude=set() if problem.errors else {"errors"})
        response = JSONResponse(content, problem.status, media_type=PROBLEM)
    else:
        response = show_problem(request, problem.detail, problem.status)
    response.headers.update(headers or {})
    return response


async def _refuse(request: Request, error: Exception) -> Response:
    """Respond to a `DeidError` with its message, which has no content."""
    assert isinstance(error, DeidError)
    return respond(request, describe_problem(error))


async def _misread(request: Request, error: RequestValidationError) -> Response:
    """Respond to an invalid request with the names of the invalid fields, but not with their values, which can be a
    note.
    """
    is_page = not request.scope["path"].startswith("/v1/")
    fields = invalid_fields(error.errors(), field_names(request.app))
    return respond(request, make_problem(422, Errors.D927 if is_page else Errors.D943, "invalid_request", fields))


async def _tell(request: Request, error: HTTPException) -> Response:
    """Respond to an HTTP error, such as a request that is too large."""
    return respond(request, make_problem(error.status_code, error.detail), error.headers)
