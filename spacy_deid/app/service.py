"""The service: one FastAPI application with the REST interface and the pages."""

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
from .api import make_api
from .encrypted_storage import NotKept
from .guard import FORM, Guard
from .offer import check_offer
from .pages import make_pages, show_problem
from .settings import ServiceSettings
from .store import NotFound
from .texts import Texts, Unforeseen
from .tokens import Tokens
from .worker import Supervisor, open_store

__all__ = ["make_service"]


def make_service(settings: ServiceSettings) -> FastAPI:
    """Make the application.

    settings (ServiceSettings): what it is told.
    RETURNS (FastAPI): the application. Its worker starts with it and stops with it.
    RAISES: ConfigError if something of what it offers is not there; see `check_offer`.
    """
    check_offer(settings)
    store = open_store(settings)
    supervisor, texts = Supervisor(settings, store), Texts(settings)
    tokens = Tokens(settings.token)
    # what is uploaded stays in memory until it is sealed: a spooled file would lie in the system's folder as it is
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
    app.add_middleware(Guard, settings=settings, tokens=tokens)
    app.exception_handler(DeidError)(_refuse)
    app.exception_handler(RequestValidationError)(_misread)
    app.exception_handler(HTTPException)(_tell)
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    """What was refused, by our own message, which holds no content: as a page to whom asked for one."""
    codes = {NotFound: 404, NotKept: 507, Unforeseen: 500, ConfigError: 400, InputError: 400}
    code = next((code for kind, code in codes.items() if isinstance(error, kind)), 422)
    if not _is_rest(request):
        return show_problem(request, describe(error), code)
    return JSONResponse({"detail": describe(error)}, code)


async def _misread(request: Request, error: RequestValidationError) -> Response:
    """What a request lacks or has too much of, by name: what was sent is not sent back, as it may be a note."""
    if not _is_rest(request):
        return show_problem(request, Errors.D927, 422)
    detail = [{"loc": row["loc"], "msg": row["msg"], "type": row["type"]} for row in error.errors()]
    return JSONResponse({"detail": detail}, 422)


async def _tell(request: Request, error: HTTPException) -> Response:
    """What the server itself refuses, as what is too large: a page as well, or a browser would show JSON."""
    if _is_rest(request):
        return await http_exception_handler(request, error)
    return show_problem(request, error.detail, error.status_code)


def _is_rest(request: Request) -> bool:
    """Whether a program asks."""
    return request.scope["path"].startswith("/v1/") or "text/html" not in request.headers.get("accept", "")
