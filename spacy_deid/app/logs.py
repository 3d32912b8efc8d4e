"""What the service writes to its log: kinds and places of what went wrong, never what a note says.

Other libraries put what they choked on into their messages and warnings. So of a record that is not the service's own
only its kind and its place are written, and a traceback is never.
"""

import logging
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TextIO

from ..errors import describe, printable

__all__ = ["LOGGER", "keep_content_out"]

LOGGER = logging.getLogger("spacy_deid.app")
_OWN = ("spacy_deid.app", "uvicorn")
_MINUTE = 60.0
_LINES = 20  # of one place in the code, in a minute
_PLACES = 1000  # that are remembered


class _Plain(logging.Formatter):
    """Writes the service's own messages, and of others where they come from."""

    def format(self, record: logging.LogRecord) -> str:
        where = f"{record.module}:{record.lineno}"
        error = record.exc_info[1] if record.exc_info else None
        said = describe(error) if error else record.getMessage() if record.name.startswith(_OWN) else where
        return printable(f"{self.formatTime(record)} {record.levelname} {record.name}: {said}")


class _Bounded(logging.Filter):
    """Lets `_LINES` records a minute of each place in the code pass, so that no client can fill a disk with log lines.

    The first record after a minute says how many were left out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._places: OrderedDict[tuple[str, str, int], list[float]] = OrderedDict()  # place → [start, records]

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
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


def keep_content_out(stream: TextIO | None = None) -> None:
    """Have this process log in that way.

    stream (Optional[TextIO]): where the log goes; None for standard error.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Plain("%(asctime)s"))
    handler.addFilter(_Bounded())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers.clear()
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    sys.excepthook = _show_error


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    """A warning by kind and place."""
    LOGGER.warning("%s at %s:%d", category.__name__, filename.rpartition("/")[2], lineno)


def _show_error(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """What ends the process, by kind and place."""
    LOGGER.error(describe(error))
