"""Creates the FastAPI application with the REST interface and the web pages, and converts errors to responses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser

from .. import __version__
from ..errors import ConfigError, DeidError, Errors, InputError, describe
from .api import answer_problems, make_api
from .pages import make_pages, show_problem
from .security import FORM, SecurityMiddleware, Tokens
from .settings import ServiceSettings, check_settings
from .storage import StorageError
from .store import NotFound
from .workers import Supervisor, TextProcessor, UnexpectedError, open_store


def make_service(settings: ServiceSettings) -> FastAPI:
    """Create the application of the service.

    settings (ServiceSettings): settings of the service.
    RETURNS (FastAPI): the application. Its worker processes start and stop with it.
    RAISES: ConfigError as `check_settings`.
    """
    check_settings(settings)
    store = open_store(settings)
    supervisor, texts = Supervisor(settings, store), TextProcessor(settings)
    tokens = Tokens(settings.token)
    # keep uploads in memory until they are encrypted; a spooled file would be stored unencrypted
    MultiPartParser.spool_max_size = settings.max_job_mb * 1_000_000 + FORM

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        supervisor.start()
        yield
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
    )
    app.include_router(make_api(settings, store, supervisor, texts))
    app.include_router(make_pages(settings, store, tokens))
    app.add_middleware(SecurityMiddleware, settings=settings, tokens=tokens)
    app.exception_handler(DeidError)(_refuse)
    app.exception_handler(RequestValidationError)(_misread)
    app.exception_handler(HTTPException)(_tell)
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    """Respond to a `DeidError` with its message, which has no content; browsers get a page."""
    codes = {NotFound: 404, StorageError: 507, UnexpectedError: 500, ConfigError: 400, InputError: 400}
    code = next((code for kind, code in codes.items() if isinstance(error, kind)), 422)
    if _is_fhir(request):
        return _outcome(describe(error), code)
    if not _is_rest(request):
        return show_problem(request, describe(error), code)
    return JSONResponse({"detail": describe(error)}, code)


async def _misread(request: Request, error: RequestValidationError) -> Response:
    """Respond to an invalid request with the names of the invalid fields, but not with their values, which can be a
    note.
    """
    if not _is_rest(request):
        return show_problem(request, Errors.D927, 422)
    if _is_fhir(request):
        return _outcome(", ".join(f"{row['loc'][-1]}: {row['msg']}" for row in error.errors()), 422)
    detail = [{"loc": row["loc"], "msg": row["msg"], "type": row["type"]} for row in error.errors()]
    return JSONResponse({"detail": detail}, 422)


async def _tell(request: Request, error: HTTPException) -> Response:
    """Respond to an HTTP error, such as a request that is too large; browsers get a page."""
    if _is_fhir(request):
        response = _outcome(error.detail, error.status_code)
        response.headers.update(error.headers or {})
        return response
    if _is_rest(request):
        return await http_exception_handler(request, error)
    return show_problem(request, error.detail, error.status_code)


def _outcome(reason: str, code: int) -> Response:
    """Make a response with an OperationOutcome that has one error."""
    return answer_problems([{"severity": "error", "code": "processing", "diagnostics": reason}], code)


def _is_fhir(request: Request) -> bool:
    """Whether the client expects resources of FHIR."""
    return bool(request.scope["path"].startswith("/v1/fhir/"))


def _is_rest(request: Request) -> bool:
    """Whether the client is a program rather than a browser."""
    return request.scope["path"].startswith("/v1/") or "text/html" not in request.headers.get("accept", "")
