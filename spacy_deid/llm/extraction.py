"""Asking a language model for the identifiers of a text, part by part, until it has answered or failed for good."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

from .answers import NoAnswer, answer_schema, read_answer
from .backends import Backend, BackendError
from .canaries import plant
from .chunks import split_text
from .prompts import Prompt

__all__ = ["Extraction", "Extractor"]

Strings = dict[str, list[str]]
_SMALLEST = 400  # characters that are not halved any more when an answer is cut off


@dataclass(frozen=True, slots=True)
class Extraction:
    """What the model said of a part.

    answers (dict): label → strings. They are PHI: neither printed nor kept.
    tries (int): how often it was asked.
    """

    answers: Strings
    tries: int

    def __repr__(self) -> str:
        """How much there is, and nothing of it."""
        return f"Extraction({sum(map(len, self.answers.values()))} strings, tries={self.tries})"


@dataclass(frozen=True, slots=True)
class Extractor:
    """Asks about texts.

    backend (Backend): the model.
    prompt (Prompt): what it is told.
    labels (Sequence[str]): labels that it is asked for.
    retries (int): how often it is asked again when it fails.
    wait (float): seconds before it is asked again; each time twice as many.
    max_tokens (int): longest answer.
    seed (int): of the sampling.
    canaries (int): invented identifiers planted in each question; an answer must report all of them. See `canaries`.
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
        """Ask about a part of a note. Where an answer is cut off, it is asked about the halves.

        text (str): the part.
        stopped (Event | None): set when nobody waits for the answer any more; then it is not asked again.
        RETURNS (Extraction): what it said.
        RAISES: BackendError or NoAnswer, without content, if there is no usable answer after all retries.
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
        """Ask about the two halves of a part, which have shorter answers."""
        answers: Strings = {label: [] for label in self.labels}
        for start, end in split_text(text, len(text) // 2 + 1, _SMALLEST // 8):
            if len(text) <= _SMALLEST or stopped.is_set():
                raise error
            half = self.ask(text[start:end], stopped)
            tries += half.tries
            for label, strings in half.answers.items():
                answers[label] += strings
        return Extraction(answers, tries)
