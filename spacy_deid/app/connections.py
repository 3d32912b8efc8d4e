"""Connections of the service: a connection that does not send a request in time is closed.

uvicorn waits without limit for the first request of a connection, and for the rest of its headers. A few hundred
connections that send nothing, or one byte per minute, would use up all file descriptors of the service.
"""

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0  # from connecting, or from the first byte, to the end of the headers
MOST_WAITING = 128  # connections without a complete request; one more closes the oldest of them

_waiting: "OrderedDict[BoundedProtocol, asyncio.TimerHandle]" = OrderedDict()


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a deadline for the headers of a request.

    Data that arrive in the meantime do not extend the deadline. `security` limits the time for the body.
    """

    def connection_made(self, transport: Any) -> None:
        """Start the deadline for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Process data, and restart the deadline unless the headers are complete."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Close the connection after `HEADER_SECONDS`, and the oldest waiting connection if there are too many."""
        if self in _waiting or self.transport.is_closing():
            return
        _waiting[self] = self.loop.call_later(HEADER_SECONDS, self._close)
        if len(_waiting) > MOST_WAITING:
            next(iter(_waiting))._close()

    def _stop_waiting(self) -> None:
        """Cancel the deadline."""
        if timer := _waiting.pop(self, None):
            timer.cancel()

    def _close(self) -> None:
        """Close the connection without a response."""
        self._stop_waiting()
        self.transport.abort()
