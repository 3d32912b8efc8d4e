"""Texts that are de-identified while the caller waits, in the process of the service itself."""

import threading
from typing import Any

from .settings import JobSettings, ServiceSettings
from .store import Store
from .workshop import Workshop, add_places, run, take

__all__ = ["Texts"]


class Texts:
    """De-identifies texts, one after the other: a pipeline is no place for two threads.

    service (ServiceSettings): settings of the service.
    store (Store): not used for texts; nothing of them is written.
    """

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self._workshop = Workshop(service, store)
        self._lock = threading.Lock()

    def release(self, text: str, settings: JobSettings, trace: bool) -> dict[str, Any]:
        """De-identify a text.

        text (str): the note.
        settings (JobSettings): how.
        trace (bool): whether to give the evidence of each span.
        RETURNS (dict): "text", "spans" and "pipeline".
        RAISES: DeidError if it cannot be released.
        """
        with self._lock:
            nlp = self._workshop.pipeline(settings)
            with nlp.memory_zone():
                spans, edits, released = take(run(nlp, text, settings))
            stamp = self._workshop.stamp(nlp, settings)
        add_places(spans, edits, len(text))
        for span in spans:
            span["evidence"] = span["evidence"] if trace else []
        return {"text": released, "spans": spans, "pipeline": stamp["pipeline"]}
