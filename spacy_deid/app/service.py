"""The service: one FastAPI application with the REST interface and the pages."""

import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import ConfigError, DeidError, InputError, describe
from .api import make_api
from .pages import COOKIE, make_pages
from .settings import ServiceSettings, is_loopback
from .store import NotFound
from .worker import Supervisor, open_store

__all__ = ["HEADERS", "make_service"]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
OPEN = ("/v1/health", "/static/", "/login")
SAFE = ("GET", "HEAD", "OPTIONS")


def make_service(settings: ServiceSettings) -> FastAPI:
    """Make the application.

    settings (ServiceSettings): what it is told.
    RETURNS (FastAPI): the application. Its worker starts with it and stops with it.
    """
    store = open_store(settings)
    supervisor = Supervisor(settings, store)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        supervisor.start()
        yield
        supervisor.stop()

    app = FastAPI(
        title="spacy_deid",
        version=__version__,
        description="De-identification of clinical text and documents.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.include_router(make_api(settings, store, supervisor))
    app.include_router(make_pages(settings, store))
    app.middleware("http")(guard(settings))
    app.exception_handler(DeidError)(_refuse)
    app.exception_handler(RequestValidationError)(_misread)
    app.exception_handler(Exception)(_fail)
    return app


def guard(settings: ServiceSettings) -> Callable[..., Awaitable[Response]]:
    """Make the guard of all requests: who may ask, from where, how much.

    A page of another site that a browser has open must not ask for anything: neither by a name that it lets point to
    this machine (the host is looked at), nor by a form (the origin is looked at).
    """

    async def check(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        refusal = refuse_host(request, settings) or refuse_origin(request) or refuse_token(request, settings)
        response = refusal or refuse_size(request, settings) or await call(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return check


def refuse_host(request: Request, settings: ServiceSettings) -> Response | None:
    """Refuse a name of this machine that is not its own, if it serves nobody else (DNS rebinding)."""
    host = request.url.hostname or ""
    if is_loopback(settings.host) and not is_loopback(host):
        return JSONResponse({"detail": "unknown host"}, 421)
    return None


def refuse_origin(request: Request) -> Response | None:
    """Refuse what changes something and comes from another site."""
    origin = request.headers.get("origin")
    if request.method not in SAFE and origin and origin != f"{request.url.scheme}://{request.url.netloc}":
        return JSONResponse({"detail": "another origin"}, 403)
    return None


def refuse_token(request: Request, settings: ServiceSettings) -> Response | None:
    """Refuse who does not bring the token, in a header or a cookie."""
    if not settings.token or request.url.path.startswith(OPEN):
        return None
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    given = bearer or request.cookies.get(COOKIE, "")
    if hmac.compare_digest(given.encode(), settings.token.encode()):
        return None
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        return Response(status_code=303, headers={"location": "/login"})
    return JSONResponse({"detail": "a token is needed"}, 401, {"WWW-Authenticate": "Bearer"})


def refuse_size(request: Request, settings: ServiceSettings) -> Response | None:
    """Refuse what says itself that it is larger than all files of a job together may be."""
    length = request.headers.get("content-length", "0")
    most = settings.max_mb * settings.max_files * 1_000_000
    if not length.isdecimal() or int(length) > most:
        return JSONResponse({"detail": "too large"}, 413)
    return None


async def _refuse(request: Request, error: Exception) -> Response:
    """What was refused, by our own message, which holds no content."""
    code = 404 if isinstance(error, NotFound) else 400 if isinstance(error, ConfigError | InputError) else 422
    return JSONResponse({"detail": describe(error)}, code)


async def _misread(request: Request, error: RequestValidationError) -> Response:
    """What a request lacks or has too much of, by name: what was sent is not sent back, as it may be a note."""
    detail = [{"loc": row["loc"], "msg": row["msg"], "type": row["type"]} for row in error.errors()]
    return JSONResponse({"detail": detail}, 422)


async def _fail(request: Request, error: Exception) -> Response:
    """What went wrong, by kind and place: the message of another library may quote a note."""
    if isinstance(error, HTTPException):
        raise error
    logging.getLogger("spacy_deid.app").error(describe(error))
    return JSONResponse({"detail": describe(error)}, 500)
