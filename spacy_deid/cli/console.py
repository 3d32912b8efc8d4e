"""What the commands say: to stderr, by names and numbers, never by content.

An exception that is not ours may quote a note in its message, and a traceback with local variables certainly does. So
of those only the kind and the place are shown.
"""

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ..errors import describe, printable

__all__ = ["Terminated", "describe", "progress", "quiet_warnings", "reporting", "say", "stoppable"]


def say(message: str) -> None:
    """Print a line to stderr. Names of files can hold characters that change a terminal; these are escaped."""
    typer.echo(printable(message), err=True)


class Terminated(KeyboardInterrupt):
    """The system asks the process to end, as Ctrl-C does."""


@contextmanager
def reporting() -> Iterator[None]:
    """Turn whatever a command raises into a line on stderr and exit code 1; Ctrl-C gives 130, SIGTERM 143."""
    code = 1
    try:
        with quiet_warnings():
            yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt as stop:
        code = 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)
        say(str(stop) or "stopped")
    except Exception as error:
        say(f"error: {describe(error)}")
    else:
        return
    # Outside the handler, so that the exception and the note in its frames do not travel on as a context.
    raise typer.Exit(code)


@contextmanager
def stoppable(account: Callable[[], str]) -> Iterator[None]:
    """Stop on SIGTERM as on Ctrl-C: what is open is closed, what is half-written is removed.

    account (Callable[[], str]): says what was done until then, and how to go on.
    RAISES: KeyboardInterrupt or Terminated with that account.
    """

    def stop(*_: object) -> None:
        raise Terminated

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        yield
    except KeyboardInterrupt as error:
        raise type(error)(account()) from None
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def quiet_warnings() -> Iterator[None]:
    """Show of a warning its kind and place alone: spaCy's W030 quotes the text, and other libraries do the like."""

    def show(message: Any, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
        say(f"warning: {category.__name__} at {Path(filename).name}:{lineno}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextmanager
def progress(length: int) -> Iterator[Any]:
    """A progress bar on stderr, hidden where that is no terminal.

    length (int): how many steps there are.
    YIELDS: an object with a method ``update(steps)``.
    """
    with typer.progressbar(length=length, label="notes", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield bar
