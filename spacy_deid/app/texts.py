"""De-identification of texts during a request, in worker processes. The service keeps responding, and a text that
crashes its process fails together with the texts that are being processed at the same time.
"""

import multiprocessing
from asyncio import wrap_future
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ..errors import ConfigError, DeidError, Errors, InputError, NotDeidentified, describe
from .processing import Deidentifiers, add_released_offsets, ehr_of
from .settings import JobSettings, ServiceSettings
from .worker import sandbox_process

WAITING = 100  # maximal number of waiting texts


class UnexpectedError(DeidError):
    """An unexpected exception in a worker process. The message has its type and place only."""


class TextProcessor:
    """Passes texts to worker processes. Must be used from the service's thread only.

    service (ServiceSettings): settings of the service.
    """

    def __init__(self, service: ServiceSettings) -> None:
        self._service = service
        self._pool: ProcessPoolExecutor | None = None
        self._taken = 0

    @property
    def full(self) -> bool:
        """Whether too many texts are waiting."""
        return self._taken >= WAITING + self._service.workers

    async def release(self, text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
        """De-identify a text.

        text (str): the note.
        settings (JobSettings): the settings.
        trace (bool): whether to return the evidence of each span.
        RETURNS (dict): "text", "spans", "warnings" and "pipeline".
        RAISES: DeidError if the text cannot be released; UnexpectedError (D930) if its process was killed, because of
            this
            text or another one.
        """
        pool = self._pool = self._pool or self._open()
        self._taken += 1
        try:
            return await wrap_future(pool.submit(_release, text, settings, trace))
        except BrokenProcessPool:
            self._pool = None if self._pool is pool else self._pool
            raise UnexpectedError(Errors.D930) from None
        finally:
            self._taken -= 1

    def close(self) -> None:
        """Stop the worker processes without waiting for their tasks."""
        for child in multiprocessing.active_children():
            child.kill()
        if self._pool is not None:
            self._pool.shutdown()

    def _open(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._service.workers, context, _begin, (self._service,))


_deidentifiers: Deidentifiers  # set in a worker process


def _begin(service: ServiceSettings) -> None:
    """Initialize a worker process."""
    global _deidentifiers
    sandbox_process(service.worker_gb)
    _deidentifiers = Deidentifiers(service)


def _release(text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
    """De-identify a text in a worker process. Other exceptions are described here, where their traceback is."""
    try:
        deid = _deidentifiers.get(settings)
        result = deid(text, ehr_of(settings))
    except (ConfigError, InputError, NotDeidentified) as error:
        raise type(error)(str(error)) from None
    except DeidError as error:  # a subclass whose constructor may not allow pickling
        raise DeidError(str(error)) from None
    except Exception as error:
        raise UnexpectedError(describe(error)) from None
    if not result.ok:
        unexpected = result.error in ("memory", "unexpected")
        kind = UnexpectedError if unexpected else NotDeidentified if result.status == "withheld" else InputError
        raise kind(result.reason)
    spans = add_released_offsets(result.trace, result.edits, len(text))
    if not trace:
        spans = [{**span, "evidence": []} for span in spans]
    pipeline = _deidentifiers.describe(deid, settings)["pipeline"]
    return {"text": result.text, "spans": spans, "warnings": result.warnings, "pipeline": pipeline}
