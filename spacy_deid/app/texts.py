"""Texts that are de-identified while the caller waits, in processes of their own: the service goes on answering, and a
text that brings a process down fails, with those that are in work beside it.
"""

import multiprocessing
from asyncio import wrap_future
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ..errors import ConfigError, DeidError, Errors, InputError, NotDeidentified, describe
from ..loading import check_length
from .isolation import stand_alone
from .pipelines import Pipelines, add_places, ehr_of, stamp, take
from .settings import JobSettings, ServiceSettings

__all__ = ["Texts", "Unforeseen"]

WAITING = 100  # texts that wait for their turn, at most


class Unforeseen(DeidError):
    """What should not happen, told by kind and place."""


class Texts:
    """Hands texts to processes, as many at once as the service has workers. Of one thread alone, that of the service.

    service (ServiceSettings): settings of the service.
    """

    def __init__(self, service: ServiceSettings) -> None:
        self._service = service
        self._pool: ProcessPoolExecutor | None = None
        self._taken = 0

    @property
    def full(self) -> bool:
        """Whether no more texts are taken, because too many wait."""
        return self._taken >= WAITING + self._service.workers

    async def release(self, text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
        """De-identify a text.

        text (str): the note.
        settings (JobSettings): how.
        trace (bool): whether to give the evidence of each span.
        RETURNS (dict): "text", "spans", "warnings" and "pipeline".
        RAISES: DeidError if it cannot be released; Unforeseen if its process was ended (D930), by this text or by
            another one that was in work.
        """
        pool = self._pool = self._pool or self._open()
        self._taken += 1
        try:
            return await wrap_future(pool.submit(_release, text, settings, trace))
        except BrokenProcessPool:
            self._pool = None if self._pool is pool else self._pool
            raise Unforeseen(Errors.D930) from None
        finally:
            self._taken -= 1

    def close(self) -> None:
        """End the processes. What they are doing may take minutes, and nobody waits for it any more."""
        for child in multiprocessing.active_children():
            child.kill()
        if self._pool is not None:
            self._pool.shutdown()

    def _open(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._service.workers, context, _begin, (self._service,))


_pipelines: Pipelines  # of a process that works on texts


def _begin(service: ServiceSettings) -> None:
    """What such a process does first."""
    global _pipelines
    stand_alone(service.worker_gb)
    _pipelines = Pipelines(service)


def _release(text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
    """De-identify a text, in such a process. What is raised there is told here, where its traceback is."""
    try:
        return _deidentify(text, settings, trace)
    except (ConfigError, InputError, NotDeidentified) as error:
        raise type(error)(str(error)) from None
    except DeidError as error:  # of a kind whose makings may not go through a pipe
        raise DeidError(str(error)) from None
    except Exception as error:
        raise Unforeseen(describe(error)) from None


def _deidentify(text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
    nlp = _pipelines.get(settings)
    with nlp.memory_zone():
        check_length(nlp, text)
        doc = nlp.make_doc(text)
        doc._.ehr = ehr_of(settings)
        doc = nlp(doc)
        (spans, edits, released), warnings = take(doc), list(doc._.deid_warnings)
    add_places(spans, edits, len(text))
    for span in spans:
        span["evidence"] = span["evidence"] if trace else []
    pipeline = stamp(nlp, settings)["pipeline"]
    return {"text": released, "spans": spans, "warnings": warnings, "pipeline": pipeline}
