"""Who may ask: whoever brings the token, in a header, or a cookie that was made from it."""

import hmac
import time
from collections import OrderedDict, deque

from starlette.requests import Request

__all__ = ["COOKIE", "Tokens"]

COOKIE = "spacy_deid_session"
FAILURES = 10  # wrong tokens from one address
MINUTE = 60.0
ADDRESSES = 10_000  # that are remembered


class Tokens:
    """Compares tokens. An address that guesses is not listened to for a minute.

    token (str): the token; "" if everybody may ask.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    @property
    def cookie(self) -> str:
        """What a browser keeps. It does not tell the token."""
        return hmac.digest(self._token.encode(), b"spacy_deid session 1", "sha256").hex()

    def status(self, request: Request) -> int:
        """Whether a request may be answered: 200, 401 without the token, 429 after too many wrong ones."""
        if not self._token:
            return 200
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if bearer:
            return self.compare(request, bearer)
        # a cookie cannot be guessed, and an old one that a page sends again and again is no guess
        cookie = request.cookies.get(COOKIE, "")
        return 200 if hmac.compare_digest(cookie.encode(), self.cookie.encode()) else 401

    def compare(self, request: Request, given: str) -> int:
        """Whether what was given is the token, 200, 401 or 429: in a time that does not tell how much of it is."""
        address = request.client.host if request.client else ""
        if self._guesses(address):
            return 429
        if hmac.compare_digest(given.encode(), self._token.encode()):
            return 200
        self._failures.setdefault(address, deque(maxlen=FAILURES)).append(time.monotonic())
        self._failures.move_to_end(address)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        return 401

    def _guesses(self, address: str) -> bool:
        """Whether too many wrong tokens came from an address in the last minute."""
        failed = self._failures.get(address) or deque()
        return len(failed) == FAILURES and time.monotonic() - failed[0] < MINUTE
