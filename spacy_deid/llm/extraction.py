"""Extraction: a note is split into parts, and a language model is asked for the identifiers of each part."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from threading import Event

from ..errors import DeidError
from .backends import Backend, BackendError
from .canaries import plant
from .prompts import NoAnswer, Prompt, answer_schema, read_answer

Part = tuple[int, int]

_SENTENCE = re.compile(r"[.!?…][\"'»”)\]]*\s+|\n\s*")
_SPACE = re.compile(r"\s+")


def split_text(text: str, size: int = 4000, overlap: int = 200) -> list[Part]:
    """Split a text at the ends of sentences, else at spaces, else anywhere.

    Each part starts with the first word in the last `overlap` characters of the previous part, so that an identifier
    at the boundary is complete in one of them: a split after "Dr." or "Sta." is not the end of a sentence. The default
    size is that of the LLM-Anonymizer (Wiest et al. 2024).

    text (str): the note.
    size (int): maximum length of a part, in characters.
    overlap (int): maximum number of characters that two parts share; at most half of `size` is used.
    RETURNS (list[tuple]): start and end of each part, in order; together they cover the text. Empty for an empty text.
    """
    overlap = min(overlap, size // 2)
    return list(_parts(text, size, overlap))


def _parts(text: str, size: int, overlap: int) -> Iterator[Part]:
    """Yield the parts in order."""
    start = 0
    while len(text) - start > size:
        end = _last(text, start + size // 2, start + size) or start + size
        yield start, end
        shared = max(end - overlap, start + 1)
        start = _first_word(text, shared, end) if overlap else end
    if start < len(text):
        yield start, len(text)


def _last(text: str, start: int, end: int) -> int | None:
    """Return the last start of a sentence, or else of a word, between `start` and `end`."""
    for border in (_SENTENCE, _SPACE):
        ends = [match.end() for match in border.finditer(text, start, end)]
        if ends:
            return ends[-1]
    return None


def _first_word(text: str, start: int, end: int) -> int:
    """Return the first start of a word between `start` and `end`; `start` if there is none."""
    match = _SPACE.search(text, start, end)
    return match.end() if match and match.end() < end else start


Strings = dict[str, list[str]]
_SMALLEST = 400  # characters that are not halved any more when an answer is cut off


@dataclass(frozen=True, slots=True)
class Extraction:
    """What the model returned for a part.

    answers (dict): label → strings. They are PHI, and must be neither printed nor stored.
    tries (int): number of questions.
    """

    answers: Strings
    tries: int

    def __repr__(self) -> str:
        """Describe the number of strings without their content."""
        return f"Extraction({sum(map(len, self.answers.values()))} strings, tries={self.tries})"


@dataclass(frozen=True, slots=True)
class Extractor:
    """Asks a language model for the identifiers of texts.

    backend (Backend): the model.
    prompt (Prompt): the prompt.
    labels (Sequence[str]): labels to ask for.
    retries (int): number of repetitions after a failure.
    wait (float): seconds before the first repetition, doubled each time.
    max_tokens (int): maximum length of an answer.
    seed (int): random seed of the sampling.
    canaries (int): number of canaries in each question; see `llm.canaries`.
    """

    backend: Backend
    prompt: Prompt
    labels: Sequence[str]
    retries: int = 2
    wait: float = 0.5
    max_tokens: int = 2048
    seed: int = 0
    canaries: int = 2

    def ask(self, text: str, stopped: Event | None = None) -> Extraction:
        """Ask for the identifiers of a part of a note. If an answer is cut off, ask for each half of the part.

        text (str): the part.
        stopped (Event | None): when it is set, the question is not repeated.
        RETURNS (Extraction): the answer.
        RAISES: BackendError or NoAnswer, without content, if there is no usable answer after all repetitions.
        """
        stopped, schema = stopped or Event(), answer_schema(self.labels)
        for tries in range(1, self.retries + 2):
            # planted anew each time: a model at temperature 0 would answer the same question in the same way
            planted = plant(text, self.labels, self.canaries, self.prompt.canaries, f"{self.seed} {tries}")
            messages = self.prompt.messages(planted.text, self.labels)
            try:
                said = self.backend.complete(messages, schema, max_tokens=self.max_tokens, seed=self.seed)
                return Extraction(planted.check(read_answer(said, self.labels)), tries)
            except BackendError as error:
                if error.too_long:  # it would be again
                    return self._halves(text, tries, error, stopped)
                last: Exception = error
            except NoAnswer as error:
                last = error
            if tries > self.retries or stopped.wait(self.wait * 2 ** (tries - 1)):
                break
        raise last

    def _halves(self, text: str, tries: int, error: BackendError, stopped: Event) -> Extraction:
        """Ask for the two halves of a part, which have shorter answers."""
        answers: Strings = {label: [] for label in self.labels}
        for start, end in split_text(text, len(text) // 2 + 1, _SMALLEST // 8):
            if len(text) <= _SMALLEST or stopped.is_set():
                raise error
            half = self.ask(text[start:end], stopped)
            tries += half.tries
            for label, strings in half.answers.items():
                answers[label] += strings
        return Extraction(answers, tries)


class PartFailed(DeidError):
    """There is no answer for a part of a note.

    number (int): number of the part, from 1.
    place (tuple[int, int]): its character offsets.
    """

    def __init__(self, reason: Exception, number: int, place: tuple[int, int]) -> None:
        """Initialize the error.

        reason (Exception): the cause, without content.
        number (int): number of the part, from 1.
        place (tuple[int, int]): its character offsets.
        """
        super().__init__(str(reason))
        self.number, self.place = number, place


class Questions:
    """The questions about all parts of a note that contain words. They run in threads, which only receive text, not a
    Doc.
    """

    def __init__(self, extractor: Extractor, pool: Executor, text: str, *, size: int, overlap: int) -> None:
        """Start the questions.

        extractor (Extractor): asks the model.
        pool (Executor): the threads.
        text (str): the note.
        size, overlap (int): see `split_text`.
        """
        self._stopped = Event()
        parts = [(start, end) for start, end in split_text(text, size, overlap) if text[start:end].strip()]
        self._asked: list[tuple[tuple[int, int], Future[Extraction]]] = [
            (part, pool.submit(extractor.ask, text[slice(*part)], self._stopped)) for part in parts
        ]

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self._asked)

    def gather(self) -> list[Extraction]:
        """Wait for all answers.

        RETURNS (list[Extraction]): one per part.
        RAISES: PartFailed for the first part without an answer; pending questions are cancelled.
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
        """Cancel pending questions. Running ones are not waited for."""
        self._stopped.set()
        for _, future in self._asked:
            future.cancel()
