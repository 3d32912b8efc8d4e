"""A time by which a server must have answered, whatever it sends until then.

The time-outs of an HTTP library begin anew with every byte: a server that sends one now and then would never be left.
"""

import socket
from collections.abc import Mapping
from contextlib import suppress
from threading import Timer
from types import TracebackType
from typing import Any

__all__ = ["Deadline"]

_OPENED = frozenset(("connection.connect_tcp.complete", "connection.start_tls.complete"))


class Deadline:
    """Shuts the connections of a request when its time is over.

    over (bool): whether it is.
    """

    def __init__(self, seconds: float) -> None:
        """Set up. The time begins with the ``with`` block.

        seconds (float): how long the request may take.
        """
        self.over = False
        self._sockets: list[socket.socket] = []
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> "Deadline":
        """Begin."""
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End without any effect on what is still open."""
        self._timer.cancel()

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of a connection that was opened: the extension "trace" of a request of httpx.

        event (str): what the library has done.
        info (Mapping): with the connection as "return_value".
        """
        if event in _OPENED:
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self.over:
                self._end()

    def _end(self) -> None:
        """Shut what is open. Whoever reads from it reads its end."""
        self.over = True
        for opened in list(self._sockets):
            with suppress(OSError):  # it was closed, or TLS has taken it over
                opened.shutdown(socket.SHUT_RDWR)
