"""What the service writes to its log: kinds and places of what went wrong, never what a note says.

Other libraries put what they choked on into their messages and warnings. So of a record that is not the service's own
only its kind and its place are written, and a traceback is never.
"""

import logging
import sys
import warnings
from typing import Any, TextIO

from ..errors import describe

__all__ = ["LOGGER", "keep_content_out"]

LOGGER = logging.getLogger("spacy_deid.app")
_OWN = ("spacy_deid.app", "uvicorn")


class _Plain(logging.Formatter):
    """Writes the service's own messages, and of others where they come from."""

    def format(self, record: logging.LogRecord) -> str:
        where = f"{record.module}:{record.lineno}"
        error = record.exc_info[1] if record.exc_info else None
        said = describe(error) if error else record.getMessage() if record.name.startswith(_OWN) else where
        return f"{self.formatTime(record)} {record.levelname} {record.name}: {said}"


def keep_content_out(stream: TextIO | None = None) -> None:
    """Have this process log in that way.

    stream (Optional[TextIO]): where the log goes; None for standard error.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Plain("%(asctime)s"))
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
