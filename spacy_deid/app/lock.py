"""One service for one folder: two of them would take each other's work, and clean up after each other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ConfigError, Errors

__all__ = ["only_one"]


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; the system lets go of it when the process ends, however it ends.

    folder (Path): it must exist.
    RAISES: ConfigError if another process holds it (D918).
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system: nobody is kept out
        yield
        return
    place = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(Errors.D918.format(path=folder)) from None
        yield
    finally:
        os.close(place)
