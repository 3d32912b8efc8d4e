"""Protects the service: finds the user of a request by a token, a session or a trusted proxy, checks its host and
origin, limits its size and duration, and adds security headers to all responses.

A page of another website in the user's browser must not be able to send requests: neither through a host name that
resolves to this machine (the host is checked) nor through a form (the origin is checked). The checks use the path that
the server has parsed, because a URL rebuilt from headers could differ.
"""

import hmac
import ipaddress
import re
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from anyio import fail_after, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Errors, describe
from .access import EVERYBODY, PUBLIC, REST, Rule, User, find_rule, user_of
from .audit_log import AuditLog
from .logs import LOGGER
from .monitoring import Monitor
from .problems import Problem, make_problem
from .settings import ServiceSettings, is_loopback
from .store import Store, shown_id
from .users import UserFile

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
HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
SAFE = ("GET", "HEAD", "OPTIONS")
FORM = 2_000_000  # maximal bytes of a request without its files
TEXT = 60_000_000  # bytes of the longest text with each character escaped as \uXXXX
TOKEN = 10_000  # maximal bytes of a request that needs no token
TEXTS = re.compile(r"/v1/deidentify(/batch)?|/v1/(fhir|hl7|cda)/\$de-identify")
UPLOADS = re.compile(r"(/v1)?/jobs|/jobs/[^/]+/report")
SECONDS = 60.0  # maximal seconds between two chunks of a body
COOKIE = "spacy_deid_session"
FAILURES = 10  # maximal number of wrong tokens per address and minute
MINUTE = 60.0
ADDRESSES = 10_000  # number of addresses to remember
SERVICE = "(service)"  # name of the user of SPACY_DEID_TOKEN; no name in the file of users has brackets
REFUSED = "refused sign-in"  # name in the audit log
SESSIONS = 1_000  # maximal number of sessions
IDLE = 12 * 3600.0  # seconds without a request after which a session ends


class Tokens:
    """Finds the user of a request: by a token in a header, by the session of a browser, or by the header of a proxy.

    After too many wrong tokens from an address, further wrong ones are refused for a minute. A right token is always
    accepted, so that clients with the same address, such as that of a proxy, cannot lock out each other. A token has
    at least 16 characters, too many to guess.

    settings (ServiceSettings): settings of the service. Without a token, users or a proxy every request is allowed.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._token = settings.token
        self._users = None if settings.users is None else UserFile(settings.users)
        self._proxies = [ipaddress.ip_network(address) for address in settings.proxies]
        self._header = settings.user_header
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()  # cookie → user, time; oldest first

    @property
    def required(self) -> bool:
        """Whether requests need a user."""
        return bool(self._token) or self._users is not None

    def sign_in(self, user: User) -> str:
        """Start a session of a user. RETURNS (str): the random value of its cookie."""
        cookie = secrets.token_urlsafe(32)
        self._sessions[cookie] = (user.name, time.monotonic())
        if len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def sign_out(self, request: Request) -> None:
        """End the session of a request; its cookie becomes invalid."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def identify(self, request: Request) -> User | int:
        """Find the user of a request.

        RETURNS (Union[User, int]): the user, or an HTTP status: 401 without a valid token, 403 if the proxy names a
            user that is not in the file of users, 429 after too many wrong tokens.
        """
        if not self.required:
            return User("local", EVERYBODY)
        # a proxy with its own authentication may pass on a header with another scheme
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.compare(request, bearer.strip())
        if self._users is not None and self._from_proxy(request):
            named = request.headers.getlist(self._header)
            return (self._users.find_name(named[0]) if len(named) == 1 else None) or 403
        return self._find_session(request.cookies.get(COOKIE, "")) or 401

    def _from_proxy(self, request: Request) -> bool:
        """Whether a request comes from a trusted proxy and names a user. The address is that of the connection."""
        peer = request.scope.get("peer")
        if not self._proxies or not peer or self._header not in request.headers:
            return False
        try:
            address = ipaddress.ip_address(peer[0])
        except ValueError:
            return False
        return any(address in network for network in self._proxies)

    def _find_session(self, cookie: str) -> User | None:
        """Return the user of a session; None if it has ended or the user was removed. Wrong cookies are not counted,
        as they cannot be guessed.
        """
        name, seen = self._sessions.pop(cookie, ("", 0.0))
        if not name or time.monotonic() - seen > IDLE:
            return None
        user = self._service_user if name == SERVICE else self._users.find_name(name) if self._users else None
        if user is not None:
            self._sessions[cookie] = (name, time.monotonic())
        return user

    @property
    def _service_user(self) -> User | None:
        """The user of the token of the service itself, who may do everything; None if it has no token."""
        return User(SERVICE, EVERYBODY) if self._token else None

    def compare(self, request: Request, given: str) -> User | int:
        """Find the user of a token, in constant time for that of the service.

        request (Request): the request, whose client address is used to count wrong tokens.
        given (str): the token to check.
        RETURNS (Union[User, int]): the user; 401 if the token is wrong, 429 after too many wrong ones from this
            address.
        """
        if self._token and hmac.compare_digest(given.encode(), self._token.encode()):
            return User(SERVICE, EVERYBODY)
        if self._users is not None and (user := self._users.find_token(given)):
            return user
        address = request.client.host if request.client else ""
        if self._guesses(address):
            return 429
        self._failures.setdefault(address, deque(maxlen=FAILURES)).append(time.monotonic())
        self._failures.move_to_end(address)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        return 401

    @staticmethod
    def name_client(request: Request) -> str:
        """Return what stands for the user of a refused token in the audit log: the address of the client in brackets,
        which no user has in a name.
        """
        try:  # a proxy passes on what the client claims to be its address
            return f"({ipaddress.ip_address(request.client.host if request.client else '')})"
        except ValueError:
            return "(unknown)"

    def _guesses(self, address: str) -> bool:
        """Whether too many wrong tokens came from an address during the last minute."""
        failed = self._failures.get(address) or deque()
        return len(failed) == FAILURES and time.monotonic() - failed[0] < MINUTE


class PeerMiddleware:
    """Keeps the address of the connection as "peer", before that of the client is read from headers of a proxy."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        scope["peer"] = scope.get("client")
        await self.app(scope, receive, send)


Respond = Callable[[Request, Problem, Mapping[str, str] | None], Response]
"""Makes the response to a refused request, in the format that its client expects."""


class SecurityMiddleware:
    """Refuses requests that fail a check, adds security headers, and records actions in the audit log. It is outside
    of all parts of the application that read requests.

    app (ASGIApp): the application.
    settings (ServiceSettings): settings of the service: hosts and size limits.
    tokens (Tokens): finds the users of requests.
    store (Store): finds the owners of jobs and files.
    audit (AuditLog): log of the actions that `access.RULES` names.
    monitor (Monitor): counts requests.
    respond (Callable): see `Respond`.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServiceSettings,
        tokens: Tokens,
        store: Store,
        audit: AuditLog,
        monitor: Monitor,
        respond: Respond,
    ) -> None:
        self.app, self.settings, self.tokens, self.store = app, settings, tokens, store
        self.audit, self.monitor, self.respond = audit, monitor, respond
        self.files = settings.max_job_mb * 1_000_000
        self.held = 0  # bytes of all requests in progress

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or respond with an error if it fails a check."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request, began = Request(scope), time.monotonic()
        rule, ids = find_rule(scope["method"], scope["path"])
        answer = _Answer(send, lambda: self._record(request, rule, ids))
        body = _Body(self, receive, self.max_body(scope["path"], rule))
        try:
            await (await self.refuse(request, rule, ids) or self.app)(scope, body, answer)
        except Exception as error:  # its message may quote a note, so it is not passed on
            LOGGER.error(describe(error))
            if not answer.status:
                answer.record = None
                await self.respond(request, make_problem(500, describe(error)), None)(scope, body, answer)
        finally:
            self.held -= body.size
            self.monitor.count_request(scope, rule.path, answer.status, time.monotonic() - began)

    async def _record(self, request: Request, rule: Rule, ids: Mapping[str, str]) -> None:
        """Record the action of a request that succeeded in the audit log, before its response is sent."""
        if rule.action and "user" in request.scope:
            job = request.scope.get("job") or ids.get("job", "")
            record = partial(self.audit.record, job=job, file=ids.get("file", ""))
            await to_thread.run_sync(record, user_of(request).name, rule.action)

    def max_body(self, path: str, rule: Rule) -> int:
        """Return the size limit for the body of a request, which takes several times as much memory when it is parsed.

        RETURNS (int): bytes.
        """
        if rule.roles == PUBLIC:
            return TOKEN
        return FORM + (self.files if UPLOADS.fullmatch(path) else TEXT if TEXTS.fullmatch(path) else 0)

    async def refuse(self, request: Request, rule: Rule, ids: Mapping[str, str]) -> Response | None:
        """Check the host and origin of a request, find its user, and check the roles of this user.

        RETURNS (Optional[Response]): the response to a refused request; None if it is accepted.
        """
        refused = self._refuse_host(request) or self._refuse_origin(request)
        if refused or rule.roles == PUBLIC:
            return refused
        return await self._refuse_stranger(request) or await self._refuse_role(request, rule, ids)

    def _refuse_host(self, request: Request) -> Response | None:
        """Refuse an unknown host name if the service listens on this machine only (DNS rebinding).

        RETURNS (Optional[Response]): the response with status 421; None if the host name is accepted.
        """
        host = HOST.fullmatch(request.headers.get("host", ""))
        name = host["name"] if host else ""
        local = is_loopback(self.settings.host)
        if host and (not local or is_loopback(name) or name.lower() in map(str.lower, self.settings.names)):
            return None
        return self.respond(request, make_problem(421, "unknown host"), None)

    def _refuse_origin(self, request: Request) -> Response | None:
        """Refuse a request that changes something and comes from another website; None for any other."""
        origin = request.headers.get("origin")
        own = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
        if request.method not in SAFE and origin and origin != own:
            return self.respond(request, make_problem(403, "another origin", "origin"), None)
        return None

    async def _refuse_stranger(self, request: Request) -> Response | None:
        """Refuse a request without a user; browsers are redirected to the login page. None for a request with a user,
        who is then in its scope. A wrong token is recorded in the audit log.
        """
        user = self.tokens.identify(request)
        if isinstance(user, User):
            request.scope["user"] = user
            return None
        if user == 401 and "authorization" in request.headers:
            await to_thread.run_sync(self.audit.record, self.tokens.name_client(request), REFUSED)
        if user == 429:
            return self.respond(request, make_problem(429, "too many wrong tokens"), {"Retry-After": "60"})
        if user == 403:
            return self.respond(request, make_problem(403, Errors.D942), None)
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            return Response(status_code=303, headers={"location": "/login"})
        return self.respond(request, make_problem(401, Errors.D936), {"WWW-Authenticate": "Bearer"})

    async def _refuse_role(self, request: Request, rule: Rule, ids: Mapping[str, str]) -> Response | None:
        """Refuse a user without a role of the rule, and a user who can only submit if the job is of another user."""
        held = user_of(request).roles & rule.roles
        if not held:
            known = rule is not REST
            detail = Errors.D937.format(roles=", ".join(sorted(rule.roles))) if known else "Not Found"
            return self.respond(request, make_problem(403 if known else 404, detail), None)
        if held == {"submit"} and ids:
            owner = await to_thread.run_sync(self.store.owner, ids.get("job", ""), ids.get("file", ""))
            if owner != user_of(request).name:
                message = Errors.D901 if "file" in ids else Errors.D900
                detail = message.format(id=shown_id(next(iter(ids.values()))))
                return self.respond(request, make_problem(404, detail), None)
        return None


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
    """Sends a response with the security headers, and records its status; 0 before it has begun.

    record (Optional[Callable]): called before a response without an error is sent.
    """

    def __init__(self, send: Send, record: Callable[[], Awaitable[None]]) -> None:
        self.send, self.status = send, 0
        self.record: Callable[[], Awaitable[None]] | None = record

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if self.record is not None and message["status"] < 400:
                await self.record()
            self.status = int(message["status"])
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message.get("headers", ()), *(pair for pair in more if pair[0] not in given)]
        await self.send(message)
