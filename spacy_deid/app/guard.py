"""The guard before all requests: who may ask, from where, how much; and what every answer says to browsers.

A page of another site that a browser has open must not ask for anything: neither by a name that it lets point to this
machine (the host is looked at), nor by a form (the origin is looked at). What a request says of itself is taken as the
server has parsed it: an address put together again from headers could be another one.
"""

import re

from anyio import fail_after
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Errors, describe
from .logs import LOGGER
from .settings import ServiceSettings, is_loopback
from .tokens import Tokens

__all__ = ["HEADERS", "Guard"]

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
OPEN = re.compile(r"/v1/health|/login|/static/[a-z]+\.[a-z]+")
HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
SAFE = ("GET", "HEAD", "OPTIONS")
FORM = 2_000_000  # bytes of a request beside its files
TEXT = 60_000_000  # bytes of the longest text, each character written as \uXXXX
TOKEN = 10_000  # bytes of a request that brings no token
UPLOADS = re.compile(r"(/v1)?/jobs|/jobs/[^/]+/report")
SECONDS = 60.0  # between two pieces of a body


class Guard:
    """The outermost part of the application.

    app (ASGIApp): what answers.
    settings (ServiceSettings): settings of the service.
    tokens (Tokens): compares tokens.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, tokens: Tokens) -> None:
        self.app, self.settings, self.tokens = app, settings, tokens
        self.files = settings.max_job_mb * 1_000_000
        self.held = 0  # bytes of the requests that are being answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        body = _Body(self, receive, self.most(scope["path"]))
        try:
            await (self.refuse(Request(scope)) or self.app)(scope, body, answer)
        except Exception as error:  # whose message may quote a note: it ends here
            LOGGER.error(describe(error))
            if not answer.begun:
                await JSONResponse({"detail": describe(error)}, 500)(scope, body, answer)
        finally:
            self.held -= body.size

    def most(self, path: str) -> int:
        """The most bytes that the body of a request may have: what is parsed as a whole takes many times as much."""
        if OPEN.fullmatch(path):
            return TOKEN
        return FORM + (self.files if UPLOADS.fullmatch(path) else TEXT if path == "/v1/deidentify" else 0)

    def refuse(self, request: Request) -> Response | None:
        """The answer to a request that is refused."""
        return self._refuse_host(request) or self._refuse_origin(request) or self._refuse_token(request)

    def _refuse_host(self, request: Request) -> Response | None:
        """Refuse a name of this machine that is not its own, if it serves nobody else (DNS rebinding)."""
        host = HOST.fullmatch(request.headers.get("host", ""))
        name = host["name"] if host else ""
        local = is_loopback(self.settings.host)
        if host and (not local or is_loopback(name) or name.lower() in map(str.lower, self.settings.names)):
            return None
        return JSONResponse({"detail": "unknown host"}, 421)

    def _refuse_origin(self, request: Request) -> Response | None:
        """Refuse what changes something and comes from another site."""
        origin = request.headers.get("origin")
        own = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
        if request.method not in SAFE and origin and origin != own:
            return JSONResponse({"detail": "another origin"}, 403)
        return None

    def _refuse_token(self, request: Request) -> Response | None:
        """Refuse who does not bring the token."""
        path = request.scope["path"]
        status = 200 if OPEN.fullmatch(path) else self.tokens.status(request)
        if status == 200:
            return None
        if status == 429:
            return JSONResponse({"detail": "too many wrong tokens"}, 429, {"Retry-After": "60"})
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            return Response(status_code=303, headers={"location": "/login"})
        return JSONResponse({"detail": "a token is needed"}, 401, {"WWW-Authenticate": "Bearer"})


class _Body:
    """The body of a request, counted while it comes in: it is held in memory. It must not stop coming."""

    def __init__(self, guard: Guard, receive: Receive, most: int) -> None:
        self.guard, self.receive, self.most = guard, receive, most
        self.size, self.whole = 0, False

    async def __call__(self) -> Message:
        try:
            # after the body it is waited for that nobody listens any more, which may take long
            with fail_after(None if self.whole else SECONDS):
                message = await self.receive()
        except TimeoutError:
            raise HTTPException(408) from None
        more = len(message.get("body", b""))
        self.whole = not message.get("more_body", False)
        self.size += more
        self.guard.held += more
        if self.size > self.most:
            raise HTTPException(413, self._too_large())
        if self.guard.held > 2 * (self.guard.files + FORM):
            raise HTTPException(503, Errors.D923, {"Retry-After": "10"})
        return message

    def _too_large(self) -> str:
        if self.most == self.guard.files + FORM:
            return Errors.D925.format(limit=self.guard.settings.max_job_mb)
        return Errors.D928.format(limit=f"{self.most / 1e6:g}")


class _Answer:
    """What is sent, with the headers of every answer."""

    def __init__(self, send: Send) -> None:
        self.send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message.get("headers", ()), *(pair for pair in more if pair[0] not in given)]
        await self.send(message)
