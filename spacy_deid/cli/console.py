"""Prints messages and progress of the commands to stderr, and converts exceptions to messages without note text.

The message of an exception from another package may quote a note, and a traceback with local variables certainly does.
Of such exceptions only the class and the line are printed.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from ..errors import describe, printable, quiet_warnings


def say(message: str) -> None:
    """Print a line to stderr. Control characters, which file names may contain, are escaped."""
    typer.echo(printable(message), err=True)


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM. It is handled like Ctrl-C."""


@contextmanager
def reporting() -> Iterator[None]:
    """Convert an exception in the context to a line on stderr and exit code 1; 130 for Ctrl-C, 143 for SIGTERM."""
    code = 1
    try:
        with quiet_warnings(say):
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
    # outside of the handler, so that the exception, whose frames may hold a note, is not the context of this one
    raise typer.Exit(code)


@contextmanager
def stoppable(account: Callable[[], str]) -> Iterator[None]:
    """Treat SIGTERM in the context like Ctrl-C, so that open files are closed and incomplete ones removed.

    account (Callable[[], str]): returns a message that says what was done and how to continue.
    RAISES: KeyboardInterrupt or Terminated with that message.
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
def progress(length: int) -> Iterator[Any]:
    """Show a progress bar on stderr if it is a terminal.

    length (int): number of steps.
    YIELDS: the bar, which has a method ``update(steps)``.
    """
    with typer.progressbar(length=length, label="notes", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield bar
