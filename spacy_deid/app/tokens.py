"""Who may ask: whoever brings the token in a header, or the cookie of a browser that was signed in with it."""

import hmac
import secrets
import time
from collections import OrderedDict, deque

from starlette.requests import Request

__all__ = ["COOKIE", "Tokens"]

COOKIE = "spacy_deid_session"
FAILURES = 10  # wrong tokens from one address
MINUTE = 60.0
ADDRESSES = 10_000  # that are remembered
SESSIONS = 1_000  # browsers that are signed in
IDLE = 12 * 3600.0  # seconds without a request after which a browser has to sign in again


class Tokens:
    """Compares tokens. After too many wrong ones from an address, further wrong ones are refused for a minute.

    The right token is always accepted, so that nobody behind the same address, as of a proxy, can lock others out. A
    token has at least 16 characters, too many to guess.

    token (str): the token; "" if everybody may ask.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._sessions: OrderedDict[str, float] = OrderedDict()  # cookies, by when they were last seen

    def enter(self) -> str:
        """Sign a browser in. RETURNS (str): its cookie, which is of chance."""
        cookie = secrets.token_urlsafe(32)
        self._sessions[cookie] = time.monotonic()
        if len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def leave(self, request: Request) -> None:
        """Sign a browser out: its cookie is worth nothing any more, whoever has it."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def status(self, request: Request) -> int:
        """Whether a request may be answered: 200, 401 without the token, 429 for one more wrong one after too many."""
        if not self._token:
            return 200
        # a proxy that asks who somebody is may send on what it was told, in a header of another scheme
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.compare(request, bearer.strip())
        return 200 if self._knows(request.cookies.get(COOKIE, "")) else 401

    def _knows(self, cookie: str) -> bool:
        """Whether a cookie is of a browser that is signed in. It cannot be guessed, so that no guess is counted."""
        seen = self._sessions.pop(cookie, None)
        if seen is None or time.monotonic() - seen > IDLE:
            return False
        self._sessions[cookie] = time.monotonic()
        return True

    def compare(self, request: Request, given: str) -> int:
        """Compare what was given with the token, in a time that does not depend on how much of it is right.

        request (Request): the request, for its address.
        given (str): what was given.
        RETURNS (int): 200 for the token; 401 for another one, 429 after too many others from this address.
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
        """Whether too many wrong tokens came from an address in the last minute."""
        failed = self._failures.get(address) or deque()
        return len(failed) == FAILURES and time.monotonic() - failed[0] < MINUTE
