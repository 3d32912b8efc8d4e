"""deid_llm: asks a local large language model for identifiers, and finds what it says in the note."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import raise_error

from ..errors import ConfigError, DeidError, Errors, InputError, NotDeidentified
from ..labels import LABELS, get_label
from ..llm.backends import Backend, open_backend
from ..llm.canaries import CANARY_LABELS
from ..llm.extraction import Extractor
from ..llm.grounding import Grounding, ground
from ..llm.prompts import load_prompt
from ..llm.questions import PartFailed, Questions
from ..spans import Evidence, check_key, write_evidence

__all__ = ["LLM", "make_llm"]


@Language.factory(
    "deid_llm",
    assigns=["doc.spans"],
    default_config={
        "key": "deid/llm",
        "model": None,
        "model_name": None,
        "allow": [],
        "key_variable": None,
        "ca_file": None,
        "prompt": "zero_shot.v2",
        "language": None,
        "labels": None,
        "grammar": None,
        "response_format": "auto",
        "temperature": 0.0,
        "seed": 0,
        "max_tokens": 2048,
        "chunk": 4000,
        "overlap": 200,
        "fuzzy": 90.0,
        "slots": 4,
        "retries": 2,
        "wait": 0.5,
        "canaries": 2,
        "timeout": 300.0,
        "context": 8192,
        "threads": None,
        "gpu_layers": 0,
    },
)
def make_llm(
    nlp: Language,
    name: str,
    key: str,
    model: str | None,
    model_name: str | None,
    allow: list[str],
    key_variable: str | None,
    ca_file: str | None,
    prompt: str,
    language: str | None,
    labels: list[str] | None,
    grammar: str | None,
    response_format: str,
    temperature: float,
    seed: int,
    max_tokens: int,
    chunk: int,
    overlap: int,
    fuzzy: float | None,
    slots: int,
    retries: int,
    wait: float,
    canaries: int,
    timeout: float,
    context: int,
    threads: int | None,
    gpu_layers: int,
) -> "LLM":
    """Make the component. The model is opened with the first note.

    key (str): span group to write.
    model (Optional[str]): path of a GGUF file, or address of a server on this machine. There is no default: without
        it no note is processed.
    model_name (Optional[str]): name of the model on the server; None if it has but one.
    allow (list[str]): hosts other than this machine that the server may be: names, addresses or networks.
    key_variable (Optional[str]): environment variable that holds the server's key.
    ca_file (Optional[str]): certificates of those who may vouch for a server, in PEM.
    prompt (str): name of a prompt that ships, or path of a file.
    language (Optional[str]): language of the prompt; None for that of the pipeline.
    labels (Optional[list[str]]): labels to ask for; None for those that the prompt describes.
    grammar (Optional[str]): file with a GBNF grammar that holds the answer in place of the schema made of the labels.
    response_format (str): how a server is told the schema; see `llm.backends.open_backend`.
    temperature (float): of the sampling; 0 always takes the likeliest token.
    seed (int): of the sampling.
    max_tokens (int): longest answer. Where one is cut off, it is asked about the halves of the part.
    chunk (int): longest part of a note that is asked about at once, in characters.
    overlap (int): characters that two parts share at most.
    fuzzy (Optional[float]): likeness from 0 to 100 at which words count as what the model said; None for no fuzzy
        matching.
    slots (int): questions that are asked at the same time of a server.
    retries (int): how often it is asked again.
    wait (float): seconds before it is asked again; each time twice as many.
    canaries (int): invented identifiers that are planted in every question. An answer that leaves one out, as when the
        note talked the model out of its task, is asked for again, and then the note fails. 0 turns the check off.
    timeout (float): seconds that a server may take for an answer.
    context (int): tokens of prompt and answer together, in process.
    threads (Optional[int]): threads in process; None for all cores.
    gpu_layers (int): layers on a GPU, in process; -1 for all.
    """
    loaded = load_prompt(prompt, language or str(nlp.lang))
    asked = [get_label(label).name for label in (loaded.labels if labels is None else labels)]
    extractor: dict[str, Any] = {
        "prompt": loaded,
        "labels": asked,
        "retries": retries,
        "wait": wait,
        "canaries": canaries,
    }
    extractor |= {"max_tokens": max_tokens, "seed": seed}
    backend: dict[str, Any] = {"allow": allow, "model": model_name, "key_variable": key_variable, "ca_file": ca_file}
    backend |= {"response_format": response_format, "threads": threads, "gpu_layers": gpu_layers}
    backend |= {"temperature": temperature, "grammar": _read_grammar(grammar), "timeout": timeout, "context": context}
    cutting = {"chunk": chunk, "overlap": overlap}
    return LLM(name, key=key, model=model, extractor=extractor, backend=backend, fuzzy=fuzzy, slots=slots, **cutting)


def _read_grammar(path: str | None) -> str | None:
    """Read a grammar.

    RAISES: InputError (D402) if the file cannot be read.
    """
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(Errors.D402.format(path=path, reason="no grammar in UTF-8")) from None


class LLM:
    """Writes what a language model said, where the note says it, to a span group.

    A note with a part that the model did not answer gets no group, so there is no de-identified text of it.

    counts (Counter): since the component was made: "notes", "failed", and of the others "parts", "tries", "strings",
        "ungrounded" (what the model said that stands nowhere in the note), "unplaced" (bare numbers that stand there,
        but not beside what they could belong to).
    """

    def __init__(
        self,
        name: str,
        *,
        key: str,
        model: str | None,
        extractor: dict[str, Any],
        backend: dict[str, Any],
        fuzzy: float | None = 90.0,
        slots: int = 4,
        chunk: int = 4000,
        overlap: int = 200,
    ) -> None:
        """Set up; see `make_llm`.

        extractor (dict): settings of `llm.extraction.Extractor`.
        backend (dict): settings of `llm.backends.open_backend`.
        RAISES: ConfigError for a bad key (D007) or a setting that is out of its range (D812).
        """
        self.name, self.key, self.fuzzy, self.chunk, self.overlap = name, check_key(key), fuzzy, chunk, overlap
        self._check("slots", slots >= 1, "at least 1")
        self._check("chunk", chunk >= 100, "at least 100")
        self._check("overlap", 0 <= overlap <= chunk // 2, "from 0 to half of 'chunk'")
        self._check("labels", bool(extractor["labels"]), "a list of at least one label")
        self._check("retries", extractor["retries"] >= 0, "at least 0")
        canaries = extractor.get("canaries", 0)
        possible = [label for label in extractor["labels"] if label in CANARY_LABELS]
        self._check(
            "canaries",
            canaries == 0 or (canaries > 0 and bool(possible)),
            f"0, or at least 1 with one of the labels {', '.join(CANARY_LABELS)}",
        )
        self._check("fuzzy", fuzzy is None or 0 < fuzzy <= 100, "above 0 and at most 100, or null")
        self.counts: Counter[str] = Counter()
        self._location, self._extractor_settings, self._backend_settings = model, extractor, backend
        self._slots = slots
        self._extractor: Extractor | None = None
        self._error_handler: Any = raise_error

    def _check(self, setting: str, holds: bool, wanted: str) -> None:
        """RAISES: ConfigError (D812) unless a setting holds."""
        if not holds:
            raise ConfigError(Errors.D812.format(name=self.name, setting=setting, wanted=wanted))

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process opens the model itself."""
        return {**self.__dict__, "_extractor": None}

    def set_error_handler(self, handler: Any) -> None:
        """Take the pipeline's error handler, as spaCy has it."""
        self._error_handler = handler

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that are asked for."""
        return tuple(self._extractor_settings["labels"])

    @property
    def extractor(self) -> Extractor:
        """What asks, with the model, which is opened when it is first needed.

        RAISES: ConfigError if there is none (D730) or it cannot be opened (D731, D733, D737).
        """
        if self._extractor is None:
            if not self._location:
                raise ConfigError(Errors.D730.format(name=self.name))
            self._extractor = self._make(open_backend(self._location, **self._backend_settings))
        return self._extractor

    def use_backend(self, backend: Backend) -> None:
        """Ask a model that is open already, for as long as the component lives.

        backend (Backend): the model.
        """
        self._extractor = self._make(backend)

    def _make(self, backend: Backend) -> Extractor:
        """What asks a model."""
        return Extractor(backend, **self._extractor_settings)

    def __call__(self, doc: Doc) -> Doc:
        """Ask about a note and write the group.

        RAISES: NotDeidentified (D736) if a part has no answer; ConfigError if the model cannot be opened.
        """
        pool = self._pool()
        try:
            return self._finish(doc, self._ask(pool, doc.text))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 32) -> Iterator[Doc]:
        """Ask about notes. Those that follow are asked about while an answer is awaited, so that no slot is idle.

        stream (Iterable[Doc]): the notes.
        batch_size (int): has no part in it.
        YIELDS (Doc): the notes in order, without those that failed if the error handler lets them go.
        """
        pool, waiting = self._pool(), deque[tuple[Doc, Questions]]()
        try:
            for doc in stream:
                waiting.append((doc, self._ask(pool, doc.text)))
                if len(waiting) > 2 * self._slots:
                    yield from self._attempt(*waiting[0])
                    waiting.popleft()
            while waiting:
                yield from self._attempt(*waiting[0])
                waiting.popleft()
        finally:  # a stream may be left early, and a server may be slow
            for _, asked in waiting:
                asked.stop()
            pool.shutdown(wait=False, cancel_futures=True)

    def _pool(self) -> ThreadPoolExecutor:
        """Threads, one for each question that may be open. The model is opened before, by one thread alone."""
        return ThreadPoolExecutor(self.extractor.backend.slots or self._slots, thread_name_prefix=self.name)

    def _ask(self, pool: ThreadPoolExecutor, text: str) -> Questions:
        """Ask about the parts of a text."""
        return Questions(self.extractor, pool, text, chunk=self.chunk, overlap=self.overlap)

    def _attempt(self, doc: Doc, asked: Questions) -> Iterator[Doc]:
        """A note that is answered, or none if the error handler lets it go."""
        try:
            yield self._finish(doc, asked)
        except DeidError as error:
            self._error_handler(self.name, self, [doc], error)

    def _finish(self, doc: Doc, asked: Questions) -> Doc:
        """Wait for the answers about a note and write the group."""
        self.counts["notes"] += 1
        try:
            answers = self._gather(asked)
            version = f"{self.extractor.prompt.id} {self.extractor.backend.name}"
        except DeidError:
            self.counts["failed"] += 1
            raise
        self._write(doc, ground(doc.text, answers, fuzzy=self.fuzzy), version, len(asked))
        return doc

    def _gather(self, asked: Questions) -> dict[str, list[str]]:
        """The strings of all parts.

        RAISES: NotDeidentified (D736) if a part has none.
        """
        try:
            extractions = asked.gather()
        except PartFailed as error:
            places = {"part": error.number, "parts": len(asked), "start": error.place[0], "end": error.place[1]}
            raise NotDeidentified(Errors.D736.format(name=self.name, reason=error, **places)) from None
        self.counts["tries"] += sum(extraction.tries for extraction in extractions)
        return {label: [s for found in extractions for s in found.answers[label]] for label in self.labels}

    def _write(self, doc: Doc, grounded: Grounding, version: str, parts: int) -> None:
        """Write what stands in the note, and count what does not."""
        counts = {"parts": parts, "strings": grounded.strings}
        counts |= {"ungrounded": grounded.ungrounded, "unplaced": grounded.unplaced}
        self.counts.update(counts)
        asked = parts > 0 and any(LABELS[label].conll == "PER" for label in self.labels)
        evidence: Sequence[Evidence] = [
            Evidence(item.start, item.end, item.label, self.name, item.score, item.rule) for item in grounded.found
        ]
        write_evidence(doc, self.key, evidence, version=version, asked_for_persons=asked, **counts)
