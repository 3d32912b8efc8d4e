"""Configures the logging of the service, so that it writes the type and place of errors, but never note text.

The messages and warnings of other libraries can quote the data they process. Of a record that is not from the service
or uvicorn, only type and place are written; a traceback is never written.
"""

import logging
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TextIO

from ..errors import describe, printable

LOGGER = logging.getLogger("spacy_deid.app")
_OWN = ("spacy_deid.app", "uvicorn")
_MINUTE = 60.0
_LINES = 20  # records per place in the code and minute
_PLACES = 1000  # number of places to remember


class _SafeFormatter(logging.Formatter):
    """Formats records without note text: messages of the service as they are, other records by their place only."""

    def format(self, record: logging.LogRecord) -> str:
        where = f"{record.module}:{record.lineno}"
        error = record.exc_info[1] if record.exc_info else None
        said = describe(error) if error else record.getMessage() if record.name.startswith(_OWN) else where
        return printable(f"{self.formatTime(record)} {record.levelname} {record.name}: {said}")


class _RateLimit(logging.Filter):
    """Allows `_LINES` records per minute for each place in the code, so that a client cannot fill a disk with log
    lines. The first record after a minute says how many were dropped.

    clock (Callable): returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._places: OrderedDict[tuple[str, str, int], list[float]] = OrderedDict()  # place → [start, records]

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written, which is counted for its place in the code."""
        place = (record.name, record.module, record.lineno)
        now = self._clock()
        start, count = self._places.get(place, (now, 0))
        if now - start >= _MINUTE:
            if count > _LINES:
                record.msg = f"{record.getMessage()} ({count - _LINES:.0f} more like this were left out)"
                record.args = ()
            start, count = now, 0
        self._places[place] = [start, count + 1]
        self._places.move_to_end(place)
        if len(self._places) > _PLACES:
            self._places.popitem(last=False)
        return count < _LINES


def configure_logging(stream: TextIO | None = None) -> None:
    """Send the log, the warnings and the uncaught exceptions of this process to one stream, without note text.

    stream (Optional[TextIO]): the output; None for standard error.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[make_handler(stream)], force=True)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers.clear()
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    sys.excepthook = _show_error


def make_handler(stream: TextIO | None = None) -> logging.Handler:
    """Make the handler that writes records without note text, and not too many from one place.

    stream (Optional[TextIO]): the output; None for standard error.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_SafeFormatter("%(asctime)s"))
    handler.addFilter(_RateLimit())
    return handler


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    """Log the type and place of a warning."""
    LOGGER.warning("%s at %s:%d", category.__name__, filename.rpartition("/")[2], lineno)


def _show_error(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Log the type and place of an uncaught exception."""
    LOGGER.error(describe(error))
