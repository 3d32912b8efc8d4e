"""Connections of the service: one that does not send a request in time is closed.

uvicorn waits without a limit for the first request of a connection, and for the rest of a request line or header. A
few hundred connections that send nothing, or one byte a minute, would take all file descriptors of the service.
"""

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HEADER_SECONDS", "MOST_WAITING", "BoundedProtocol"]

HEADER_SECONDS = 10.0  # from the first byte, or from connecting, to the end of the headers
MOST_WAITING = 128  # connections without a whole request; if one more comes, the oldest of them is closed

_waiting: "OrderedDict[BoundedProtocol, asyncio.TimerHandle]" = OrderedDict()


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a deadline for the headers of a request.

    The deadline is not extended by what is sent in the meantime. The time of a body is bounded by the service itself.
    """

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take data, and wait for the rest of the headers if they are not complete."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Close the connection after `HEADER_SECONDS`, unless a request comes, and the oldest if too many wait."""
        if self in _waiting or self.transport.is_closing():
            return
        _waiting[self] = self.loop.call_later(HEADER_SECONDS, self._close)
        if len(_waiting) > MOST_WAITING:
            next(iter(_waiting))._close()

    def _stop_waiting(self) -> None:
        """Take the deadline away."""
        if timer := _waiting.pop(self, None):
            timer.cancel()

    def _close(self) -> None:
        """Close the connection without an answer."""
        self._stop_waiting()
        self.transport.abort()
