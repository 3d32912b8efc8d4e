"""Protects the service: checks the token or session, host and origin of requests, limits their size and duration, and
adds security headers to all responses.

A page of another website in the user's browser must not be able to send requests: neither through a host name that
resolves to this machine (the host is checked) nor through a form (the origin is checked). The checks use the path that
the server has parsed, because a URL rebuilt from headers could differ.
"""

import hmac
import re
import secrets
import time
from collections import OrderedDict, deque

from anyio import fail_after
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Errors, describe
from .logs import LOGGER
from .settings import ServiceSettings, is_loopback

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
FORM = 2_000_000  # maximal bytes of a request without its files
TEXT = 60_000_000  # bytes of the longest text with each character escaped as \uXXXX
TOKEN = 10_000  # maximal bytes of a request that needs no token
TEXTS = ("/v1/deidentify", "/v1/fhir/$de-identify")
UPLOADS = re.compile(r"(/v1)?/jobs|/jobs/[^/]+/report")
SECONDS = 60.0  # maximal seconds between two chunks of a body
COOKIE = "spacy_deid_session"
FAILURES = 10  # maximal number of wrong tokens per address and minute
MINUTE = 60.0
ADDRESSES = 10_000  # number of addresses to remember
SESSIONS = 1_000  # maximal number of sessions
IDLE = 12 * 3600.0  # seconds without a request after which a session ends


class Tokens:
    """Checks the token of requests, in a header or through the session cookie of a browser.

    After too many wrong tokens from an address, further wrong ones are refused for a minute. The right token is always
    accepted, so that clients with the same address, such as that of a proxy, cannot lock out each other. A token has
    at least 16 characters, too many to guess.

    token (str): the token; "" to allow every request.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._sessions: OrderedDict[str, float] = OrderedDict()  # cookie → time of the last request, oldest first

    def sign_in(self) -> str:
        """Start a session. RETURNS (str): the random value of its cookie."""
        cookie = secrets.token_urlsafe(32)
        self._sessions[cookie] = time.monotonic()
        if len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def sign_out(self, request: Request) -> None:
        """End the session of a request; its cookie becomes invalid."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def status(self, request: Request) -> int:
        """Check the token or the session of a request.

        RETURNS (int): HTTP status: 200 if it is valid, 401 without a valid token, 429 after too many wrong tokens.
        """
        if not self._token:
            return 200
        # a proxy with its own authentication may pass on a header with another scheme
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.compare(request, bearer.strip())
        return 200 if self._knows(request.cookies.get(COOKIE, "")) else 401

    def _knows(self, cookie: str) -> bool:
        """Whether a cookie belongs to an active session. Wrong cookies are not counted, as they cannot be guessed."""
        seen = self._sessions.pop(cookie, None)
        if seen is None or time.monotonic() - seen > IDLE:
            return False
        self._sessions[cookie] = time.monotonic()
        return True

    def compare(self, request: Request, given: str) -> int:
        """Compare a token with that of the service, in constant time.

        request (Request): the request, whose client address is used to count wrong tokens.
        given (str): the token to check.
        RETURNS (int): 200 if it is right, 401 if it is wrong, 429 after too many wrong ones from this address.
        """
        if hmac.compare_digest(given.encode(), self._token.encode()):
            return 200
        address = request.client.host if request.client else ""
        if self._guesses(address):
            return 429
        self._failures.setdefault(address, deque(maxlen=FAILURES)).append(time.monotonic())
        self._failures.move_to_end(address)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        return 401

    def _guesses(self, address: str) -> bool:
        """Whether too many wrong tokens came from an address during the last minute."""
        failed = self._failures.get(address) or deque()
        return len(failed) == FAILURES and time.monotonic() - failed[0] < MINUTE


class SecurityMiddleware:
    """The outermost middleware of the application. It refuses requests that fail a check, and adds security headers.

    app (ASGIApp): the application.
    settings (ServiceSettings): settings of the service: hosts and size limits.
    tokens (Tokens): checks the token of requests.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, tokens: Tokens) -> None:
        self.app, self.settings, self.tokens = app, settings, tokens
        self.files = settings.max_job_mb * 1_000_000
        self.held = 0  # bytes of all requests in progress

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or respond with an error if it fails a check."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        body = _Body(self, receive, self.max_body(scope["path"]))
        try:
            await (self.refuse(Request(scope)) or self.app)(scope, body, answer)
        except Exception as error:  # its message may quote a note, so it is not passed on
            LOGGER.error(describe(error))
            if not answer.begun:
                await JSONResponse({"detail": describe(error)}, 500)(scope, body, answer)
        finally:
            self.held -= body.size

    def max_body(self, path: str) -> int:
        """Return the size limit for the body of a request, which takes several times as much memory when it is parsed.

        RETURNS (int): bytes.
        """
        if OPEN.fullmatch(path):
            return TOKEN
        return FORM + (self.files if UPLOADS.fullmatch(path) else TEXT if path in TEXTS else 0)

    def refuse(self, request: Request) -> Response | None:
        """Check the host, origin and token of a request.

        RETURNS (Optional[Response]): the response to a refused request; None if it is accepted.
        """
        return self._refuse_host(request) or self._refuse_origin(request) or self._refuse_token(request)

    def _refuse_host(self, request: Request) -> Response | None:
        """Refuse an unknown host name if the service listens on this machine only (DNS rebinding).

        RETURNS (Optional[Response]): the response with status 421; None if the host name is accepted.
        """
        host = HOST.fullmatch(request.headers.get("host", ""))
        name = host["name"] if host else ""
        local = is_loopback(self.settings.host)
        if host and (not local or is_loopback(name) or name.lower() in map(str.lower, self.settings.names)):
            return None
        return JSONResponse({"detail": "unknown host"}, 421)

    def _refuse_origin(self, request: Request) -> Response | None:
        """Refuse a request that changes something and comes from another website; None for any other."""
        origin = request.headers.get("origin")
        own = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
        if request.method not in SAFE and origin and origin != own:
            return JSONResponse({"detail": "another origin"}, 403)
        return None

    def _refuse_token(self, request: Request) -> Response | None:
        """Refuse a request without a valid token; browsers are redirected to the login page. None for a valid token,
        or for a path that requires none.
        """
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
    """Receives the body of a request. Its size, the sum of all bodies, and the time between two chunks are limited."""

    def __init__(self, guard: SecurityMiddleware, receive: Receive, most: int) -> None:
        self.guard, self.receive, self.most = guard, receive, most
        self.size, self.whole = 0, False

    async def __call__(self) -> Message:
        try:
            # after the body, this waits for the client to disconnect, without a limit
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
    """Sends a response with the security headers, and records whether it has begun."""

    def __init__(self, send: Send) -> None:
        self.send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message.get("headers", ()), *(pair for pair in more if pair[0] not in given)]
        await self.send(message)
