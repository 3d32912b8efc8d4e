"""The processes that work on files, and the thread that keeps them running.

They are processes of their own because a damaged file may bring one down, hang it or eat the memory, and because the
service must go on answering. Each takes one task after the other from the store; what it had taken when it stopped is
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
from .encrypted_storage import EncryptedStorage
from .isolation import stand_alone
from .logs import LOGGER
from .queue import Task
from .settings import JobSettings, ServiceSettings
from .store import Store

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
    return Store(service.data, EncryptedStorage(key))


def run_worker(service: ServiceSettings, number: int = 0) -> None:
    """Work on tasks until the process is stopped, or the service is no more.

    service (ServiceSettings): settings of the service.
    number (int): which of its workers this is.
    """
    stand_alone(service.worker_gb)
    from .workshop import Workshop

    store = open_store(service)
    workshop = Workshop(service, store)
    while True:
        task = store.queue.claim(number)
        if task is None:
            time.sleep(IDLE)
        else:
            work(workshop, store, task)


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
    """Keeps the workers running, stops one if a file holds it too long, and deletes jobs whose time is over.

    service (ServiceSettings): settings of the service.
    store (Store): its store.
    """

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self.workers = [_Worker(service, store, number) for number in range(service.workers)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._looked = -EXPIRE
        self._since: dict[tuple[str, float], float] = {}  # when a claim was first seen

    def start(self) -> None:
        """Start the workers. What earlier ones had taken goes back into the queue."""
        self.store.recover()
        self._thread.start()

    def stop(self) -> None:
        """Stop the workers; what they are doing is done again at the next start."""
        self._stop.set()
        self._thread.join(timeout=10)
        for worker in self.workers:
            worker.kill()

    @property
    def alive(self) -> bool:
        """Whether all workers run."""
        return all(worker.alive for worker in self.workers)

    def _watch(self) -> None:
        """Look after everything until the service stops; a look that fails, as on a full disk, is not the last."""
        while not self._stop.is_set():
            try:
                self._look()
            except Exception as error:
                LOGGER.error(describe(error))
            self._stop.wait(IDLE)

    def _look(self) -> None:
        """Start workers that do not run, stop those that take too long, delete what is old."""
        for worker in self.workers:
            worker.revive()
        self._stop_late()
        if time.monotonic() - self._looked > EXPIRE:
            self._looked = time.monotonic()
            self.store.expire(self.service.keep_hours * 3600)
            self.store.sweep()

    def _stop_late(self) -> None:
        """Stop workers that a file holds too long, by a clock that nobody sets."""
        now = time.monotonic()
        claims = self.store.queue.claims()
        self._since = {claim: self._since.get(claim, now) for claim in claims}
        for claim, since in self._since.items():
            if now - since > self.service.file_minutes * 60:
                self.store.queue.give_up(*claim, Errors.D919.format(minutes=f"{self.service.file_minutes:g}"))
                self.workers[claims[claim]].kill()


class _Worker:
    """One worker, as the supervisor sees it: a process, and another one in its place when it is no more."""

    def __init__(self, service: ServiceSettings, store: Store, number: int) -> None:
        self.service, self.store, self.number = service, store, number
        self.process: BaseProcess | None = None
        self._started, self._pause, self._again = 0.0, IDLE, 0.0

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.is_alive()

    def revive(self) -> None:
        """Start it if it does not run: later and later if it always stops at once."""
        now = time.monotonic()
        if self.alive or now < self._again:
            return
        if self.process is not None and not self._again:
            self._pause = IDLE if now - self._started > LONGEST else min(self._pause * 2, LONGEST)
            LOGGER.error(Errors.D926.format(code=self.process.exitcode, seconds=self._pause))
            self._again = now + self._pause
            return
        self.store.queue.reclaim(self.number)
        self._started, self._again = now, 0.0
        arguments = (self.service, self.number)
        self.process = multiprocessing.get_context("spawn").Process(target=run_worker, args=arguments, daemon=True)
        self.process.start()

    def kill(self) -> None:
        """Stop it and what it has started."""
        if self.process is None or self.process.pid is None:
            return
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join(timeout=10)
