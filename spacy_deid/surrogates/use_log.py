"""The log of every use of a sealed file, one JSON object a line beside it: time, user, action, count.

Lines are added, never changed, and hold nothing of what is sealed.
"""

import getpass
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ..errors import ConfigError

__all__ = ["UseLog"]


class UseLog:
    """The log of one file.

    path (Path): the file that is used.
    user (Optional[str]): who uses it; None: who is logged in.
    refusal (Callable): makes the error for a reason.
    """

    def __init__(self, path: Path, user: str | None, refusal: Callable[[str], ConfigError]) -> None:
        self.path = path.with_name(f"{path.name}.log")
        self._user = _user() if user is None else user
        self._refusal = refusal

    def record(self, action: str, count: int) -> None:
        """Add a line.

        action (str): what is done.
        count (int): how many entries it concerns.
        RAISES: ConfigError (D647) if it cannot be written. What is not logged is not done.
        """
        line = {
            "time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "user": self._user,
            "action": action,
            "count": count,
        }
        with self._open() as handle:
            self._append(handle, json.dumps(line) + "\n")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from changing the file meanwhile."""
        with self._open() as handle:
            with suppress(ImportError):  # Windows has no fcntl
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _open(self) -> Iterator[int]:
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        except OSError as error:
            raise self._refusal(f"its log cannot be written: {os.strerror(error.errno or 0)}") from None
        try:
            yield handle
        finally:
            os.close(handle)

    def _append(self, handle: int, line: str) -> None:
        try:
            os.write(handle, line.encode())
            os.fsync(handle)
        except OSError as error:
            raise self._refusal(f"its log cannot be written: {os.strerror(error.errno or 0)}") from None


def _user() -> str:
    """Who is logged in."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
