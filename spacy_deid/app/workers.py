"""Runs the worker processes for files and texts, and a supervisor thread that keeps those for files running.

Workers are separate processes because a damaged file can crash or hang a process or use up its memory, and because the
service must keep responding. A worker for files takes one task after the other from the queue. If a worker stops, its
task is queued again. Texts are passed to a pool of processes during their request; a text that crashes its process
fails together with the texts that are being processed at the same time.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from asyncio import wrap_future
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..errors import ConfigError, DeidError, Errors, InputError, NotDeidentified, describe
from ..io import hold
from ..processes import follow_parent, forbid_core_dumps
from ..surrogates.keys import ProjectKey
from .logs import LOGGER, configure_logging
from .processing import MAX_LOADED, Deidentifiers, FileProcessor, add_released_offsets, ehr_of
from .queue import Task
from .records import RecordAnswer
from .settings import JobSettings, ServiceSettings
from .storage import EncryptedStorage
from .store import Store

IDLE = 0.2  # seconds between two checks of an empty queue
EXPIRE = 60.0  # seconds between two checks for expired jobs
LONGEST = 60.0  # maximal delay in seconds before a crashing worker is restarted
WAITING = 100  # maximal number of texts that wait for a worker


def sandbox_process(gigabytes: float) -> None:
    """Isolate a process that processes notes: its own process group, limited memory, no output except the log, and it
    ends with the service.

    gigabytes (float): memory limit; 0 for none.
    """
    if hasattr(os, "setsid"):
        os.setsid()
        _limit_memory(gigabytes)
    forbid_core_dumps()
    follow_parent(by_system=True)
    # output of libraries, including native ones, can contain note text
    log = open(os.dup(2), "w", encoding="utf-8")  # noqa: SIM115
    configure_logging(log)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _limit_memory(gigabytes: float) -> None:
    """Limit the memory of this process; 0 for no limit."""
    import resource

    if gigabytes:
        most = int(gigabytes * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder of a service until the process ends. RAISES: ConfigError (D918) if another process holds it."""
    try:
        with hold(folder / "lock"):
            yield
    except BlockingIOError:
        raise ConfigError(Errors.D918.format(path=folder)) from None


def files_key(service: ServiceSettings) -> ProjectKey | None:
    """Read the files key of a service, None if it has none. RAISES: ConfigError (D640 - D642) for an invalid key."""
    return None if service.files_key is None else ProjectKey.from_file(service.files_key)


def open_store(service: ServiceSettings) -> Store:
    """Open the store of a service. RAISES: ConfigError as `files_key`."""
    return Store(service.data, EncryptedStorage(files_key(service)))


def run_worker(service: ServiceSettings, number: int = 0) -> None:
    """Process tasks from the queue until the process is stopped or the service ends, as the worker `number`."""
    sandbox_process(service.worker_gb)
    store = open_store(service)
    processor = FileProcessor(service, store)
    while True:
        task = store.queue.claim(number)
        if task is None:
            time.sleep(IDLE)
        else:
            work(processor, store, task)


def work(processor: FileProcessor, store: Store, task: Task) -> None:
    """Process one task and store its result: the new state of the file, or the reason of the failure."""
    state = "failed"
    about: dict[str, Any] = {}
    try:
        file = store.file(task.file)
        state, about = processor.run(task.task, file, JobSettings(**store.job(task.job).settings))
    except DeidError as error:
        about = {"reason": str(error)}
    except MemoryError:
        about = {"reason": Errors.D920.format(limit=f"{processor.service.worker_gb:g}")}
    except Exception as error:  # only type and place are stored, because the message may quote the file
        about = {"reason": describe(error)}
    if not store.queue.finish(task, state, **about):
        store.remove_orphans()  # the job may have been deleted while its file was written


class Supervisor:
    """Keeps the workers running, stops a worker that takes too long for a file, and deletes expired jobs."""

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self.workers = [_Worker(service, store, number) for number in range(service.workers)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._looked = -EXPIRE
        self._since: dict[tuple[str, float], float] = {}  # task → time at which it was first seen

    def start(self) -> None:
        """Start the workers. Tasks of earlier workers are queued again."""
        self.store.recover()
        self._thread.start()

    def stop(self) -> None:
        """Stop the workers. Their current tasks are repeated at the next start."""
        self._stop.set()
        self._thread.join(timeout=10)
        for worker in self.workers:
            worker.kill()

    @property
    def alive(self) -> bool:
        """Whether all workers are running."""
        return all(worker.alive for worker in self.workers)

    def _watch(self) -> None:
        """Restart stopped workers, stop slow ones, and delete expired jobs, until the service stops.

        An error, such as a full disk, does not end the loop.
        """
        while not self._stop.is_set():
            try:
                for worker in self.workers:
                    worker.revive()
                self._stop_late()
                if time.monotonic() - self._looked > EXPIRE:
                    self._looked = time.monotonic()
                    self.store.expire(self.service.keep_hours * 3600)
                    self.store.remove_orphans()
            except Exception as error:
                LOGGER.error(describe(error))
            self._stop.wait(IDLE)

    def _stop_late(self) -> None:
        """Stop workers that exceed the time limit for a file, and mark the file as failed."""
        now = time.monotonic()
        claims = self.store.queue.claims()
        self._since = {claim: self._since.get(claim, now) for claim in claims}
        for claim, since in self._since.items():
            if now - since > self.service.file_minutes * 60:
                self.store.queue.give_up(*claim, Errors.D919.format(minutes=f"{self.service.file_minutes:g}"))
                self.workers[claims[claim]].kill()


class _Worker:
    """Manages one worker for files: starts its process, and replaces it when it stops."""

    def __init__(self, service: ServiceSettings, store: Store, number: int) -> None:
        self.service, self.store, self.number = service, store, number
        self.process: BaseProcess | None = None
        self._started, self._pause, self._again = 0.0, IDLE, 0.0

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process is not None and self.process.is_alive()

    def revive(self) -> None:
        """Start the process if it is not running. If it stops again immediately, the delay before the next start is
        doubled.
        """
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
        """Stop the process and its child processes."""
        if self.process is None or self.process.pid is None:
            return
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join(timeout=10)


class UnexpectedError(DeidError):
    """An unexpected exception occurred in a worker process. The message has only its type and place."""


Answer = TypeVar("Answer")


class TextProcessor:
    """De-identifies texts in a pool of worker processes. It must be used only from the thread of the event loop."""

    def __init__(self, service: ServiceSettings) -> None:
        self._service = service
        self._pool: ProcessPoolExecutor | None = None
        self._loads: list[Future[list[str]]] = []  # one per worker; its result has the pipelines that failed
        self.taken = 0
        """Number of texts that wait or are processed."""

    def start(self) -> None:
        """Start the worker processes, which load the pipelines; nothing if pipelines are loaded on demand."""
        if self._service.preload:
            pool = self._start_pool()
            self._loads = [pool.submit(_failed_pipelines) for _ in range(self._service.workers)]

    @property
    def pipelines(self) -> dict[str, Literal["loaded", "loading", "failed", "on demand"]]:
        """Whether each pipeline is loaded in all workers."""
        names = self._service.pipelines
        if not self._service.preload:
            return dict.fromkeys(names, "on demand")
        if not self._loads or not all(load.done() for load in self._loads):
            return dict.fromkeys(names, "loading")
        if any(load.exception() for load in self._loads):  # a worker process was killed
            return dict.fromkeys(names, "failed")
        failed = {name for load in self._loads for name in load.result()}
        rest = dict.fromkeys(names[MAX_LOADED:], "on demand")
        loaded = {name: "failed" if name in failed else "loaded" for name in names[:MAX_LOADED]}
        return loaded | rest  # type: ignore[return-value]

    @property
    def ready(self) -> bool:
        """Whether texts are processed without loading a pipeline first, as far as pipelines are kept in memory."""
        return not {"loading", "failed"} & set(self.pipelines.values())

    @property
    def full(self) -> bool:
        """Whether no further text is accepted, because too many are waiting."""
        return self.taken >= WAITING + self._service.workers

    async def release(self, text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
        """De-identify a text in a worker process.

        text (str): the text.
        settings (JobSettings): settings for the text.
        trace (bool): whether to return the evidence of each span.
        RETURNS (dict): "text", "spans", "warnings" and "pipeline".
        RAISES: DeidError if the text cannot be released; UnexpectedError (D930) if its process was killed, because of
            this text or another one.
        """
        return await self._run(_release, text, settings, trace)

    async def release_records(
        self, release: Callable[..., RecordAnswer], data: bytes, settings: JobSettings, *more: str
    ) -> RecordAnswer:
        """De-identify records of a standard in a worker process.

        release (Callable): `records.release_fhir`, `release_hl7` or `release_cda`.
        data (bytes): the records.
        settings (JobSettings): settings for their texts.
        more (str): its other arguments.
        RETURNS (RecordAnswer): what was released, and what a client should know about it.
        RAISES: as the function; UnexpectedError as `release`.
        """
        return await self._run(release, data, settings, *more)

    async def _run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Call a function with the deidentifiers of a worker process.

        RAISES: DeidError as the function; UnexpectedError for other exceptions, and (D930) if the process was killed.
        """
        pool = self._pool or self._start_pool()
        self.taken += 1
        try:
            return await wrap_future(pool.submit(_call, function, arguments))
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None
                self.start()
            raise UnexpectedError(Errors.D930) from None
        finally:
            self.taken -= 1

    def _start_pool(self) -> ProcessPoolExecutor:
        """Make the pool of worker processes."""
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self._service.workers, context, _begin, (self._service,))
        return self._pool

    def close(self) -> None:
        """Stop the worker processes without waiting for their tasks."""
        for child in multiprocessing.active_children():
            child.kill()
        if self._pool is not None:
            self._pool.shutdown()


_deidentifiers: Deidentifiers  # set in a worker process
_failed: list[str] = []  # pipelines that this worker process could not load


def _begin(service: ServiceSettings) -> None:
    """Initialize a worker process of the pool for texts, and load its pipelines."""
    global _deidentifiers
    sandbox_process(service.worker_gb)
    _deidentifiers = Deidentifiers(service)
    for name in service.pipelines[:MAX_LOADED] if service.preload else ():
        try:
            _deidentifiers.get(JobSettings(pipeline=name))
        except Exception as error:
            _failed.append(name)
            LOGGER.error("pipeline %s: %s", name, describe(error))


def _failed_pipelines() -> list[str]:
    """Return the pipelines that this worker process could not load. It runs after `_begin`."""
    return _failed


def _call(function: Callable[..., Answer], arguments: tuple[Any, ...]) -> Answer:
    """Call a function with the deidentifiers of this worker process. Exceptions are replaced by picklable ones without
    note text.
    """
    try:
        return function(_deidentifiers, *arguments)
    except (ConfigError, InputError, NotDeidentified, UnexpectedError) as error:
        raise type(error)(str(error)) from None
    except DeidError as error:  # a subclass whose constructor may not allow pickling
        raise DeidError(str(error)) from None
    except Exception as error:
        raise UnexpectedError(describe(error)) from None


def _release(deidentifiers: Deidentifiers, text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
    """De-identify a text, see `TextProcessor.release`."""
    deid = deidentifiers.get(settings)
    result = deid(text, ehr_of(settings))
    if not result.ok:
        unexpected = result.error in ("memory", "unexpected")
        kind = UnexpectedError if unexpected else NotDeidentified if result.status == "withheld" else InputError
        raise kind(result.reason)
    spans = add_released_offsets(result.trace, result.edits, len(text))
    if not trace:
        spans = [{**span, "evidence": []} for span in spans]
    pipeline = deidentifiers.describe(deid, settings)["pipeline"]
    return {"text": result.text, "spans": spans, "warnings": result.warnings, "pipeline": pipeline}
