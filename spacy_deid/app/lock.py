"""One service for one folder: two of them would take each other's work, and clean up after each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ConfigError, Errors
from ..io import hold

__all__ = ["only_one"]


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; the system lets go of it when the process ends, however it ends.

    folder (Path): it must exist.
    RAISES: ConfigError if another process holds it (D918).
    """
    try:
        with hold(folder / "lock"):
            yield
    except BlockingIOError:
        raise ConfigError(Errors.D918.format(path=folder)) from None
