"""The process that works on files, and the thread that keeps it running.

It is a process of its own because a damaged file may bring it down, hang it or eat the memory, and because the
service must go on answering. It takes one task after the other from the store; what it had taken when it stopped is
given back.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from ..errors import DeidError, Errors, describe
from .logs import LOGGER, keep_content_out
from .queue import Task
from .settings import JobSettings, ServiceSettings
from .store import Store
from .vessel import Vessel

if TYPE_CHECKING:
    from .workshop import Workshop

__all__ = ["Supervisor", "open_store", "run_worker", "work"]

IDLE = 0.2  # seconds between two looks at an empty queue
EXPIRE = 60.0  # seconds between two looks for old jobs
LONGEST = 60.0  # seconds before a worker that stops again and again is started once more


def open_store(service: ServiceSettings) -> Store:
    """Open the store of a service. RAISES: ConfigError for a key that cannot be used (D640 - D642)."""
    from ..surrogates.keys import ProjectKey

    key = None if service.files_key is None else ProjectKey.from_file(service.files_key)
    return Store(service.data, Vessel(key))


def run_worker(service: ServiceSettings) -> None:
    """Work on tasks until the process is stopped, or the service is no more.

    service (ServiceSettings): settings of the service.
    """
    _stand_alone(service)
    from .workshop import Workshop

    store = open_store(service)
    workshop = Workshop(service, store)
    while True:
        task = store.queue.claim()
        if task is None:
            time.sleep(IDLE)
        else:
            work(workshop, store, task)


def _stand_alone(service: ServiceSettings) -> None:
    """Make a process the worker: a group of its own with what it starts, bounded, silent, gone with the service."""
    if hasattr(os, "setsid"):
        os.setsid()
        _limit_memory(service.worker_gb)
    threading.Thread(target=_follow, name="follow", daemon=True).start()
    # what libraries print, also those not written in Python, may be of a note
    log = open(os.dup(2), "w", encoding="utf-8")  # noqa: SIM115
    keep_content_out(log)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _limit_memory(gigabytes: float) -> None:
    """Bound the memory that a process may ask for; 0 for no bound."""
    import resource

    if gigabytes:
        most = int(gigabytes * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _follow() -> None:
    """Stop with the service, however that was stopped: another one may be started in its place at once."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def work(workshop: "Workshop", store: Store, task: Task) -> None:
    """Do one task and note what came of it."""
    state = "failed"
    about: dict[str, Any] = {}
    try:
        file = store.file(task.file)
        state, about = workshop.do(task.task, file, JobSettings(**store.job(task.job).settings))
    except DeidError as error:
        about = {"reason": str(error)}
    except MemoryError:
        about = {"reason": Errors.D920.format(limit=f"{workshop.service.worker_gb:g}")}
    except Exception as error:  # any library's: named by kind and place, because its message may quote the file
        about = {"reason": describe(error)}
    if not store.queue.finish(task, state, **about):
        store.sweep()  # if the job was deleted meanwhile, what was written now belongs to nothing


class Supervisor:
    """Keeps one worker running, stops it if a file holds it too long, and deletes jobs whose time is over.

    service (ServiceSettings): settings of the service.
    store (Store): its store.
    """

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self._context = multiprocessing.get_context("spawn")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._looked, self._started, self._pause = -EXPIRE, 0.0, IDLE
        self.process: BaseProcess | None = None

    def start(self) -> None:
        """Start the worker. What an earlier one had taken goes back into the queue."""
        self.store.recover()
        self._thread.start()

    def stop(self) -> None:
        """Stop the worker; what it is doing is done again at the next start."""
        self._stop.set()
        self._thread.join(timeout=10)
        self._kill()

    @property
    def alive(self) -> bool:
        """Whether the worker runs."""
        return self.process is not None and self.process.is_alive()

    def _watch(self) -> None:
        """Look after everything until the service stops; a look that fails, as on a full disk, is not the last."""
        while not self._stop.is_set():
            try:
                self._look()
            except Exception as error:
                LOGGER.error(describe(error))
            self._stop.wait(IDLE)

    def _look(self) -> None:
        """Start the worker if there is none, stop it if it takes too long, delete what is old."""
        if not self.alive:
            self._start()
        seconds = self.service.file_minutes * 60
        if self.store.queue.overdue(seconds, Errors.D919.format(minutes=f"{self.service.file_minutes:g}")):
            self._kill()
        if time.monotonic() - self._looked > EXPIRE:
            self._looked = time.monotonic()
            self.store.expire(self.service.keep_hours * 3600)
            self.store.sweep()

    def _start(self) -> None:
        """Start a worker: later and later if it always stops at once."""
        if self.process is not None:
            self._pause = IDLE if time.monotonic() - self._started > LONGEST else min(self._pause * 2, LONGEST)
            LOGGER.error(Errors.D926.format(code=self.process.exitcode, seconds=self._pause))
            self._stop.wait(self._pause)
        self.store.queue.reclaim()
        self._started = time.monotonic()
        self.process = self._context.Process(target=run_worker, args=(self.service,), daemon=True)
        self.process.start()

    def _kill(self) -> None:
        """Stop the worker and what it has started."""
        if self.process is None or self.process.pid is None:
            return
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join(timeout=10)
