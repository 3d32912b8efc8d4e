"""Limits how long and how many connections may be open without a request, so that slow clients do not block others.

uvicorn waits without limit for the first request of a connection, and for the rest of its headers. A few hundred
connections that send nothing, or one byte per minute, would use up all file descriptors of the service.
"""

import asyncio
import time
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0  # from connecting, or from the first byte, to the end of the headers
MOST_WAITING = 128  # connections without a complete request; one more closes the oldest of them
# asyncio accepts all connections of a burst before it reads the first request, so young ones are closed later
GRACE = 1.0  # seconds in which a connection is not closed for `MOST_WAITING`
MOST_IN_BURST = 4 * MOST_WAITING  # connections without a complete request, whatever their age


class _Waiting:
    """Connections without a complete request, oldest first.

    Those that have never sent one are limited separately, so that they cannot close those of working clients.
    """

    def __init__(self) -> None:
        self.connections: OrderedDict[BoundedProtocol, tuple[asyncio.TimerHandle, float]] = OrderedDict()

    def add(self, connection: "BoundedProtocol") -> None:
        """Start the deadline of a connection, and close the oldest one if there are too many."""
        timer = connection.loop.call_later(HEADER_SECONDS, connection.close)
        self.connections[connection] = (timer, time.monotonic())
        if len(self.connections) > MOST_WAITING:
            oldest, (_, since) = next(iter(self.connections.items()))
            if time.monotonic() - since > GRACE or len(self.connections) > MOST_IN_BURST:
                oldest.close()

    def remove(self, connection: "BoundedProtocol") -> None:
        """Cancel the deadline of a connection."""
        if found := self.connections.pop(connection, None):
            found[0].cancel()


_new, _known = _Waiting(), _Waiting()


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a deadline for the headers of a request.

    Data that arrive in the meantime do not extend the deadline. `SecurityMiddleware` limits the time for the body.
    """

    answered = False  # whether the connection has had a complete request

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
            self.answered = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline of a closed connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Start the deadline of this connection, unless it has one."""
        waiting = _known if self.answered else _new
        if self not in waiting.connections and not self.transport.is_closing():
            waiting.add(self)

    def _stop_waiting(self) -> None:
        """Cancel the deadline."""
        _new.remove(self)
        _known.remove(self)

    def close(self) -> None:
        """Close the connection without a response."""
        self._stop_waiting()
        self.transport.abort()
