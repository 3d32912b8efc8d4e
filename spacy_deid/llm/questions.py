"""The questions about one note: asked in threads, part by part, and given up together."""

from concurrent.futures import Executor, Future
from threading import Event

from ..errors import DeidError
from .answers import NoAnswer
from .chunks import split_text
from .extraction import Extraction, Extractor

__all__ = ["PartFailed", "Questions"]


class PartFailed(DeidError):
    """A part of a note has no answer.

    number (int): which one, from 1.
    place (tuple[int, int]): its characters.
    """

    def __init__(self, reason: Exception, number: int, place: tuple[int, int]) -> None:
        """Set up.

        reason (Exception): what happened, without content.
        number (int): which part.
        place (tuple[int, int]): its characters.
        """
        super().__init__(str(reason))
        self.number, self.place = number, place


class Questions:
    """Asks about every part of a text that has words. Threads see text, never a Doc."""

    def __init__(self, extractor: Extractor, pool: Executor, text: str, *, chunk: int, overlap: int) -> None:
        """Begin to ask.

        extractor (Extractor): what asks.
        pool (Executor): the threads.
        text (str): the note.
        chunk, overlap (int): see `chunks.split_text`.
        """
        self._stopped = Event()
        parts = [(start, end) for start, end in split_text(text, chunk, overlap) if text[start:end].strip()]
        self._asked: list[tuple[tuple[int, int], Future[Extraction]]] = [
            (part, pool.submit(extractor.ask, text[slice(*part)], self._stopped)) for part in parts
        ]

    def __len__(self) -> int:
        """How many parts there are."""
        return len(self._asked)

    def gather(self) -> list[Extraction]:
        """Wait for all answers.

        RETURNS (list[Extraction]): that of each part.
        RAISES: PartFailed for the first part without one; of the others none is asked about again.
        """
        found = []
        try:
            for number, (place, future) in enumerate(self._asked, 1):
                try:
                    found.append(future.result())
                except (DeidError, NoAnswer) as error:
                    raise PartFailed(error, number, place) from None
        finally:
            self.stop()
        return found

    def stop(self) -> None:
        """Ask no further. What a model is answering just now is not waited for."""
        self._stopped.set()
        for _, future in self._asked:
            future.cancel()
