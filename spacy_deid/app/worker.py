"""The process that works on files, and the thread that keeps it running.

It is a process of its own because a damaged file may bring it down, and because the service must go on answering. It
takes one task after the other from the store; what it had taken when it stopped is given back.
"""

import multiprocessing
import threading
import time
from multiprocessing.process import BaseProcess

from ..errors import DeidError, describe
from .settings import JobSettings, ServiceSettings
from .store import Store, Task
from .vessel import Vessel

__all__ = ["Supervisor", "open_store", "run_worker", "work"]

IDLE = 0.2  # seconds between two looks at an empty queue
EXPIRE = 60.0  # seconds between two looks for old jobs


def open_store(service: ServiceSettings) -> Store:
    """Open the store of a service. RAISES: ConfigError for a key that cannot be used (D640 - D642)."""
    from ..surrogates.keys import ProjectKey

    key = None if service.files_key is None else ProjectKey.from_file(service.files_key)
    return Store(service.data, Vessel(key))


def run_worker(service: ServiceSettings) -> None:
    """Work on tasks until the process is stopped.

    service (ServiceSettings): settings of the service.
    """
    from .workshop import Workshop

    store = open_store(service)
    workshop = Workshop(service, store)
    while True:
        task = store.claim()
        if task is None:
            time.sleep(IDLE)
        else:
            work(workshop, store, task)


def work(workshop: "Workshop", store: Store, task: Task) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do one task and note what came of it."""
    try:
        file = store.file(task.file)
        workshop.do(task.task, file, JobSettings(**store.job(task.job).settings))
    except DeidError as error:
        store.finish(task.file, "failed", reason=str(error))
    except Exception as error:  # any library's: named by kind and place, because its message may quote the file
        store.finish(task.file, "failed", reason=describe(error))


class Supervisor:
    """Keeps one worker running, and deletes jobs whose time is over.

    service (ServiceSettings): settings of the service.
    store (Store): its store.
    """

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self._context = multiprocessing.get_context("spawn")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self.process: BaseProcess | None = None

    def start(self) -> None:
        """Start the worker. What an earlier one had taken goes back into the queue."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the worker; what it is doing is done again at the next start."""
        self._stop.set()
        self._thread.join(timeout=10)
        if self.process is not None and self.process.is_alive():
            self.process.terminate()
            self.process.join(timeout=10)

    @property
    def alive(self) -> bool:
        """Whether the worker runs."""
        return self.process is not None and self.process.is_alive()

    def _watch(self) -> None:
        """Start the worker whenever there is none."""
        looked = 0.0
        while not self._stop.is_set():
            if not self.alive:
                self.store.reclaim()
                self.process = self._context.Process(target=run_worker, args=(self.service,), daemon=True)
                self.process.start()
            if time.monotonic() - looked > EXPIRE:
                self.store.expire(self.service.keep_hours * 3600)
                looked = time.monotonic()
            self._stop.wait(IDLE)
