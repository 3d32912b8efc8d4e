"""Runs jobs in worker processes. Results come in the order of the jobs, and a job that kills its process fails alone.

Each worker process has its own pipe, so the death of one worker does not affect the others. Workers end when the
process that started them ends, for whatever reason.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, Generic, Literal, Self, TypeVar

from .errors import ConfigError, ErrorKind, Errors, classify_error, describe, printable, quiet_warnings

T = TypeVar("T")
U = TypeVar("U")
Start = Literal["fork", "spawn"]

_WINDOW = 4  # jobs per worker that are read ahead
_STARTING = 300.0  # seconds that a worker may take to start
_STARTS = 3  # consecutive workers that may die during their start
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True, slots=True)
class Failure:
    """The result of a job that failed.

    reason (str): why it failed, without note text.
    error (str): kind of the error; see `errors.classify_error`.
    """

    reason: str
    error: ErrorKind = "known"

    @classmethod
    def from_error(cls, error: BaseException) -> Self:
        """Make the result of a job from the exception that it raised. Messages that may quote a note are left out."""
        return cls(describe(error), classify_error(error))


def attempt(action: Callable[[U], T], job: U) -> T | Failure:
    """Run a job in this process. RETURNS (T | Failure): its result, or a `Failure` if it raises an exception."""
    try:
        return action(job)
    except Exception as error:
        return Failure.from_error(error)


def default_start() -> Start:
    """Return the default method to start worker processes.

    RETURNS (str): "fork" on Linux while this process has a single Python thread; "spawn" elsewhere, because a forked
        copy keeps the locks of threads that it does not have.
    """
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def attempt_all(
    action: Callable[[U], T], jobs: Iterable[U], n_process: int, seconds: float = 0, start: Start | None = None
) -> Iterator[tuple[U, T | Failure]]:
    """Run a function on each job of a stream, in this process or in worker processes.

    action (Callable[[U], T]): the function.
    jobs (Iterable[U]): the jobs.
    n_process (int): number of processes. With 1 and no time limit, the jobs run in this process.
    seconds (float): time limit of a job in seconds, 0 for none.
    start (Optional[str]): "fork", "spawn", or None for the result of `default_start`.
    YIELDS (tuple[U, T | Failure]): each job and its result, in order.
    """
    if n_process == 1 and not seconds:
        yield from ((job, attempt(action, job)) for job in jobs)
        return
    with Workers(action, n_process, seconds=seconds, start=start) as workers:
        yield from workers.run(jobs)


@dataclass(eq=False, slots=True)
class _Task:
    """A job whose result was not yielded yet. If the process of a job dies, the job is run once more."""

    job: Any
    last_try: bool = False
    done: bool = False
    result: Any = None


@dataclass(eq=False, slots=True)
class _Worker:
    """The state of a worker process in its parent; `since` is the time at which it was started or got its task."""

    process: BaseProcess
    pipe: Connection
    since: float
    ready: bool = False
    task: _Task | None = None
    parcel: "_Parcel | None" = None  # until it is sent


class _Parcel:
    """Takes an action to a spawned worker: pickled while the process starts, sent as soon as the worker asks for it.

    As an argument of the process, it would be written to a pipe that this process itself keeps open for reading. If
    the worker died early, as in a script without a main guard, the parent would block forever once the pipe is full.
    """

    def __init__(self, action: Any) -> None:
        self.action = action
        self.data: Any = b""

    def __reduce__(self) -> tuple[Any, ...]:
        # not earlier: components include their keys and lists only while a process is being spawned
        self.data = ForkingPickler.dumps(self.action)
        return _Parcel, (None,)


class Workers(Generic[U, T]):
    """Runs jobs in worker processes, which are started with the first job and kept until `close`.

    A worker that dies or exceeds the time limit is replaced. Its job is split if possible, and the parts are run. A
    job that cannot be split fails: at once if it took too long, else when its process dies a second time.

    action (Callable[[U], T]): runs a job. With "spawn" it must be picklable. Jobs and results must always be.
    n_process (int): number of processes.
    seconds (float): time limit of a job in seconds, 0 for none.
    start (Optional[str]): "fork", "spawn", or None for the result of `default_start`.
    split (Optional[Callable[[U], Sequence[U]]]): splits a job into smaller ones; one job if it cannot be split.
    """

    def __init__(
        self,
        action: Callable[[U], T],
        n_process: int,
        *,
        seconds: float = 0,
        start: Start | None = None,
        split: Callable[[U], Sequence[U]] | None = None,
    ) -> None:
        self.action, self.n_process, self.seconds, self.start, self.split = action, n_process, seconds, start, split
        self._workers: list[_Worker] = []
        self._order: deque[_Task] = deque()  # all tasks that were read but not yielded
        self._waiting: deque[_Task] = deque()  # those that no worker has
        self._failed_starts, self._started = 0, False
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, jobs: Iterable[U]) -> Iterator[tuple[U, T | Failure]]:
        """Run jobs. Only as many jobs are read ahead as the processes need.

        jobs (Iterable[U]): the jobs. If the iterable raises an exception, the earlier jobs are finished first.
        YIELDS (tuple[U, T | Failure]): each job, or the parts that it was split into, with its result, in order.
        RAISES: ConfigError if the processes do not start (D772) or the action cannot be pickled (D773).
        """
        source, error, ended = iter(jobs), None, False
        try:
            while True:
                while not ended and len(self._order) < self.n_process * _WINDOW:
                    try:
                        task = _Task(next(source))
                    except StopIteration:
                        ended = True
                    except Exception as raised:
                        ended, error = True, raised
                    else:
                        self._order.append(task)
                        self._waiting.append(task)
                self._advance()
                if self._order and self._order[0].done:
                    task = self._order.popleft()
                    yield task.job, task.result
                elif self._order:
                    self._advance(block=True)
                elif ended:
                    break
            if error is not None:
                raise error
        finally:
            self._order.clear()
            self._waiting.clear()
            for worker in [worker for worker in self._workers if worker.task]:
                self._end(worker)

    def pump(self) -> None:
        """Receive finished results and send jobs to free workers, without waiting.

        A caller that spends time on each result calls this in between, so that no worker is idle.
        """
        if self._order:
            self._advance()

    def close(self) -> None:
        """End the processes. Further jobs start new ones."""
        for worker in list(self._workers):
            self._end(worker)

    def stop(self) -> None:
        """Kill the processes, so that the jobs in progress fail. It can be called while another thread runs jobs."""
        self._stopped = True
        for worker in list(self._workers):
            worker.process.kill()

    def _advance(self, block: bool = False) -> None:
        """Start missing workers, send jobs to free ones, receive messages, and end workers that take too long."""
        wanted = min(self.n_process, sum(not task.done for task in self._order))
        while len(self._workers) < wanted:
            self._workers.append(self._begin())
        for worker in list(self._workers):
            if worker.ready and not worker.task and self._waiting:
                self._give(worker)
        pipes = {worker.pipe: worker for worker in self._workers}
        for pipe in wait(list(pipes), self._patience() if block else 0):
            self._take(pipes[pipe])  # type: ignore[index]
        for worker in list(self._workers):
            if time.monotonic() > self._deadline(worker):
                self._bury(worker, late=worker.ready)

    def _begin(self) -> _Worker:
        """Start a worker process. RAISES: ConfigError (D773, D778) if it cannot be started."""
        method = self.start or default_start()
        context = multiprocessing.get_context(method)
        here, there = context.Pipe()
        # a forked worker inherits the pipes of the others; it closes them, so that they end with this process
        others = [worker.pipe for worker in self._workers] + [here] if method == "fork" else []
        main = threading.current_thread() is threading.main_thread()
        parcel = None if method == "fork" else _Parcel(self.action)
        arguments = (there, parcel or self.action, others, main)
        process: BaseProcess = context.Process(target=_work, args=arguments, daemon=True)  # type: ignore[attr-defined]
        try:
            if getattr(multiprocessing.current_process(), "_inheriting", False):
                raise ConfigError(Errors.D778)
            with warnings.catch_warnings():
                # Python 3.12 warns of threads of any library; `default_start` and `pipe` decide about those
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        except ConfigError:
            here.close()
            raise
        except Exception as error:
            here.close()
            raise ConfigError(Errors.D773.format(reason=describe(error))) from None
        finally:
            there.close()
        return _Worker(process, here, time.monotonic(), parcel=parcel)

    def _give(self, worker: _Worker) -> None:
        """Send the next job to a free worker."""
        worker.task, worker.since = self._waiting.popleft(), time.monotonic()
        try:
            worker.pipe.send(worker.task.job)
        except OSError:
            self._bury(worker)
        except Exception as error:  # it cannot be pickled
            worker.task.result, worker.task.done, worker.task = Failure.from_error(error), True, None

    def _take(self, worker: _Worker) -> None:
        """Receive a message of a worker: a request for the action, the notice that it is ready, or a result."""
        try:
            message = worker.pipe.recv()
            if worker.parcel:
                worker.pipe.send_bytes(worker.parcel.data)
                worker.parcel = None
                return
        except (EOFError, OSError):
            return self._bury(worker)
        except Exception as error:  # it cannot be unpickled
            message = Failure.from_error(error)
        if not worker.ready:
            worker.ready, self._started, self._failed_starts = True, True, 0
        elif worker.task:
            worker.task.result, worker.task.done, worker.task = message, True, None

    def _deadline(self, worker: _Worker) -> float:
        """Return the time at which a worker will have taken too long."""
        if not worker.ready:
            return worker.since + _STARTING
        return worker.since + self.seconds if worker.task and self.seconds else float("inf")

    def _patience(self) -> float | None:
        """Return the seconds until the first deadline of a worker; None if there is none."""
        first = min((self._deadline(worker) for worker in self._workers), default=float("inf"))
        return None if first == float("inf") else max(0.0, first - time.monotonic()) + 0.001

    def _bury(self, worker: _Worker, late: bool = False) -> None:
        """Remove a worker that died or takes too long. Its job is split, repeated or marked as failed."""
        self._end(worker)
        if not worker.ready:
            self._failed_starts += 1
            if not self._started or self._failed_starts > _STARTS:
                raise ConfigError(Errors.D772.format(code=worker.process.exitcode))
        if not (task := worker.task):
            return
        parts = self.split(task.job) if self.split else [task.job]
        if len(parts) > 1:
            place = self._order.index(task)
            del self._order[place]
            for part in reversed(parts):
                smaller = _Task(part, last_try=True)
                self._order.insert(place, smaller)
                self._waiting.appendleft(smaller)
        elif late or task.last_try or self._stopped:
            reason = Errors.D771.format(seconds=f"{self.seconds:g}") if late else Errors.D770
            task.result, task.done = Failure(reason), True
        else:
            task.last_try = True
            self._waiting.appendleft(task)

    def _end(self, worker: _Worker) -> None:
        """Kill a worker process and close its pipe."""
        self._workers.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()


def _work(pipe: Connection, action: Callable[[Any], Any], others: Sequence[Connection], main: bool) -> None:
    """Run jobs in a worker process until the parent closes the pipe."""
    for other in others:
        other.close()
    forbid_core_dumps()
    follow_parent(by_system=main)
    # the parent decides what happens on Ctrl-C; its own handlers came along with a fork
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # the processes are what runs side by side
    with suppress(EOFError, OSError), quiet_warnings(lambda line: print(printable(line), file=sys.stderr, flush=True)):
        if isinstance(action, _Parcel):
            pipe.send(None)
            action = pickle.loads(pipe.recv_bytes())
        pipe.send(None)
        while True:
            job = pipe.recv()
            result = attempt(action, job)
            try:
                pipe.send(result)
            except OSError:
                raise
            except Exception as error:  # it cannot be pickled
                pipe.send(Failure.from_error(error))


def forbid_core_dumps() -> None:
    """Forbid core dumps of this process and of the processes that it starts, because they would contain notes.

    The limit is 1 byte instead of 0: Linux ignores a limit of 0 if a program receives the dumps (core(5)).
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (1 if hard == resource.RLIM_INFINITY else min(1, hard), hard))


def follow_parent(*, by_system: bool = False) -> None:
    """Make this process end when its parent process ends, for whatever reason.

    A thread waits for the end of the parent and kills this process, with its group if it leads one.

    by_system (bool): whether Linux also kills this process, which works even if the thread cannot run. The process
        must have been started by a thread that lives as long as the parent: Linux acts when that thread ends.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if by_system and sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent.pid:  # it ended before the call
            os._exit(1)
    threading.Thread(target=_end_after, args=(parent,), name="follow", daemon=True).start()


def _end_after(parent: Any) -> None:
    """Wait for the end of the parent process, then kill this process, and its group if it leads one."""
    parent.join()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
