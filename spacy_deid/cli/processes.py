"""One job after the other in several processes: in the order that was given, and a job that kills its process fails
alone.
"""

import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

from ..errors import Errors, describe

__all__ = ["Failure", "attempt", "attempt_all", "can_fork"]

T = TypeVar("T")
U = TypeVar("U")
_AHEAD = 2  # jobs that are handed out at once, per process


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that could not be done, and why, without content."""

    reason: str


# what a process does, and how long; it has it from the one that it was forked from
_action: Callable[[Any], Any]
_seconds: float


def can_fork() -> bool:
    """Whether a process can be copied with what it has loaded. Elsewhere than on Linux it is not safe."""
    return sys.platform == "linux"


def attempt_all(
    action: Callable[[U], T], jobs: Sequence[U], n_process: int, seconds: float = 0
) -> Iterator[tuple[U, T | Failure]]:
    """Do something with each job.

    action (Callable[[U], T]): what to do. What it gives goes through a pipe and must be small.
    jobs (Sequence[U]): the jobs.
    n_process (int): processes; with 1 and no limit, or where none can be forked, it is this process.
    seconds (float): how long a job may take until its process is ended, 0 for no limit. It is tried twice.
    YIELDS (tuple[U, T | Failure]): each job with what came of it, in the order that was given.
    """
    if (n_process == 1 and not seconds) or not can_fork():
        yield from ((job, attempt(action, job)) for job in jobs)
        return
    waiting = deque(jobs)
    while waiting:
        taken: deque[tuple[U, Future[T | Failure]]] = deque()
        with _pool(action, n_process, seconds) as pool:
            while waiting or taken:
                _hand_out(pool, waiting, taken, n_process * _AHEAD)
                if not taken or isinstance(taken[0][1].exception(), BrokenProcessPool):
                    break
                yield taken[0][0], taken.popleft()[1].result()
        # one of them ended its process, and with it all; which one, is seen when each has a process of its own
        for job, future in taken:
            yield job, _alone(action, job, seconds) if future.exception() else future.result()


def _hand_out(
    pool: ProcessPoolExecutor, waiting: deque[U], taken: deque[tuple[U, Future[T | Failure]]], most: int
) -> None:
    """Hand out jobs as long as the processes live."""
    with suppress(BrokenProcessPool):
        while waiting and len(taken) < most:
            future = pool.submit(_act, waiting[0])
            taken.append((waiting.popleft(), future))


def _alone(action: Callable[[U], T], job: U, seconds: float) -> T | Failure:
    """Do one job in a process of its own."""
    with _pool(action, 1, seconds) as pool:
        future = pool.submit(_act, job)
        return Failure(Errors.D791) if isinstance(future.exception(), BrokenProcessPool) else future.result()


def _pool(action: Callable[[U], T], n_process: int, seconds: float) -> ProcessPoolExecutor:
    """Processes that have what this one has loaded."""
    return ProcessPoolExecutor(n_process, get_context("fork"), _begin, (action, seconds))


def _begin(action: Callable[[Any], Any], seconds: float) -> None:
    """What a process does first. Nothing is sent to it: it is a copy."""
    global _action, _seconds
    _action, _seconds = action, seconds
    # the system ends the process when its alarm goes off, also in the middle of a library that is not Python's
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _act(job: Any) -> Any:
    """Do a job, in a process that was begun."""
    signal.setitimer(signal.ITIMER_REAL, _seconds)
    try:
        return attempt(_action, job)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def attempt(action: Callable[[U], T], job: U) -> T | Failure:
    """Do a job, or say what went wrong."""
    try:
        return action(job)
    except Exception as error:
        return Failure(describe(error))
