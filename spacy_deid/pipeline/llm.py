"""deid_llm: sends notes to a local large language model, and locates the identifiers that it returns in the note."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from spacy.tokens import Doc
from spacy.util import raise_error

from ..errors import ConfigError, DeidError, Errors, InputError, NotDeidentified
from ..labels import LABELS, get_label
from ..llm.backends import Backend, open_backend
from ..llm.extraction import CANARY_LABELS, Extractor, PartFailed, Questions
from ..llm.grounding import Grounding, ground
from ..llm.prompts import load_prompt
from ..spans import Evidence, check_key, write_evidence


def _read_grammar(path: str | None) -> str | None:
    """Return the text of a grammar file, which constrains the answers of the model; None without a path.

    RAISES: InputError (D402) if the file cannot be read.
    """
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(Errors.D402.format(path=path, reason="no grammar in UTF-8")) from None


class LLM:
    """Finds identifiers with a large language model, and writes each place where the note has them to a span group.

    If the model gives no usable answer for a part of a note, the group is not written, so the note is not released.

    counts (Counter): totals since the component was created: "notes", "failed", "parts", "tries", "strings",
        "ungrounded" (returned strings that the note does not contain), "unplaced" (returned bare numbers that the
        note contains, but never next to an address or age that they could belong to).
    """

    def __init__(
        self,
        name: str,
        *,
        lang: str,
        key: str,
        model: str | None,
        prompt: str,
        labels: Sequence[str] | None,
        canaries: int,
        fuzzy: float | None,
        server: Mapping[str, Any],
        in_process: Mapping[str, Any],
        sampling: Mapping[str, Any],
        chunks: Mapping[str, Any],
        limits: Mapping[str, Any],
    ) -> None:
        """Initialize the component; see `factories.make_llm`.

        RAISES: ConfigError for an invalid key (D007), prompt (D735) or label (D001), or a value that is out of range
            (D812); InputError (D402) if the grammar cannot be read.
        """
        self.name, self.key, self.fuzzy = name, check_key(key), fuzzy
        self.size, self.overlap, self._slots = chunks["size"], chunks["overlap"], limits["slots"]
        loaded = load_prompt(prompt, lang)
        chosen = [get_label(label).name for label in (loaded.labels if labels is None else labels)]
        planted = any(label in CANARY_LABELS for label in chosen)
        canary_labels = ", ".join(CANARY_LABELS)
        for setting, holds, wanted in (
            ("limits.slots", self._slots >= 1, "at least 1"),
            ("chunks.size", self.size >= 100, "at least 100"),
            ("chunks.overlap", 0 <= self.overlap <= self.size // 2, "from 0 to half of 'chunks.size'"),
            ("labels", bool(chosen), "a list of at least one label"),
            ("limits.retries", limits["retries"] >= 0, "at least 0"),
            (
                "canaries",
                canaries == 0 or (canaries > 0 and planted),
                f"0, or at least 1 with one of the labels {canary_labels}",
            ),
            ("fuzzy", fuzzy is None or 0 < fuzzy <= 100, "above 0 and at most 100, or null"),
        ):
            if not holds:
                raise ConfigError(Errors.D812.format(name=name, setting=setting, wanted=wanted))
        self._extractor_settings: dict[str, Any] = {
            "prompt": loaded,
            "labels": chosen,
            "canaries": canaries,
            "seed": sampling["seed"],
            **{setting: limits[setting] for setting in ("retries", "wait", "max_tokens")},
        }
        self._backend_settings: dict[str, Any] = {
            **{setting: value for setting, value in server.items() if setting != "model_name"},
            **in_process,
            "model": server["model_name"],
            "timeout": limits["timeout"],
            "temperature": sampling["temperature"],
            "grammar": _read_grammar(sampling["grammar"]),
        }
        self._location = model
        self.counts: Counter[str] = Counter()
        self._extractor: Extractor | None = None
        self._error_handler: Any = raise_error

    def __getstate__(self) -> dict[str, Any]:
        """Leave the model out of pickles; the unpickled component opens it again on first use."""
        return {**self.__dict__, "_extractor": None}

    def set_error_handler(self, handler: Any) -> None:
        """Set the function that `pipe` calls when a note fails; see spaCy.

        handler (Callable): gets the name of the component, the component, the failed Docs and the error.
        """
        self._error_handler = handler

    @property
    def labels(self) -> tuple[str, ...]:
        """tuple[str, ...]: Labels of the identifiers that the model is asked to return."""
        return tuple(self._extractor_settings["labels"])

    @property
    def extractor(self) -> Extractor:
        """Extractor: Object that asks the model. The model is opened on first use.

        RAISES: ConfigError if no model is set (D730) or it cannot be opened (D731, D733, D737).
        """
        if self._extractor is None:
            if not self._location:
                raise ConfigError(Errors.D730.format(name=self.name))
            self._extractor = self._make(open_backend(self._location, **self._backend_settings))
        return self._extractor

    def use_backend(self, backend: Backend) -> None:
        """Use a model that is already open instead of the configured one. It is not saved with the pipeline.

        backend (Backend): the model.
        """
        self._extractor = self._make(backend)

    def _make(self, backend: Backend) -> Extractor:
        """Make the extractor that asks a model with the settings of this component."""
        return Extractor(backend, **self._extractor_settings)

    def __call__(self, doc: Doc) -> Doc:
        """Ask the model for the identifiers in a note and write them to the span group.

        doc (Doc): the note.
        RETURNS (Doc): the same Doc.
        RAISES: NotDeidentified (D736) if a part of the note gets no usable answer; ConfigError if the model cannot be
            opened.
        """
        pool = self._pool()
        try:
            return self._finish(doc, self._ask(pool, doc.text))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 32) -> Iterator[Doc]:
        """Ask the model for the identifiers in a stream of notes and write them to the span groups.

        Questions about the next notes are sent while answers are pending, so that the model is never idle.

        stream (Iterable[Doc]): the notes.
        batch_size (int): ignored.
        YIELDS (Doc): the notes in order. A note that failed is left out if the error handler raises no error.
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
        """Open the model, and return a pool with one thread per question that it answers at the same time."""
        return ThreadPoolExecutor(self.extractor.backend.slots or self._slots, thread_name_prefix=self.name)

    def _ask(self, pool: ThreadPoolExecutor, text: str) -> Questions:
        """Split a text into parts and start asking the model about each of them."""
        return Questions(self.extractor, pool, text, size=self.size, overlap=self.overlap)

    def _attempt(self, doc: Doc, asked: Questions) -> Iterator[Doc]:
        """Yield a note when its answers are complete; nothing if it failed and the error handler raises no error."""
        try:
            yield self._finish(doc, asked)
        except DeidError as error:
            self._error_handler(self.name, self, [doc], error)

    def _finish(self, doc: Doc, asked: Questions) -> Doc:
        """Wait for the answers about a note and write the span group."""
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
        """Wait for the answers about all parts, and return the strings that they contain for each label.

        RAISES: NotDeidentified (D736) if a part gets no usable answer.
        """
        try:
            extractions = asked.gather()
        except PartFailed as error:
            places = {"part": error.number, "parts": len(asked), "start": error.place[0], "end": error.place[1]}
            raise NotDeidentified(Errors.D736.format(name=self.name, reason=error, **places)) from None
        self.counts["tries"] += sum(extraction.tries for extraction in extractions)
        return {label: [s for found in extractions for s in found.answers[label]] for label in self.labels}

    def _write(self, doc: Doc, grounded: Grounding, version: str, parts: int) -> None:
        """Write the located identifiers to the span group, and count the strings that were not located."""
        counts = {"parts": parts, "strings": grounded.strings}
        counts |= {"ungrounded": grounded.ungrounded, "unplaced": grounded.unplaced}
        self.counts.update(counts)
        asked = parts > 0 and any(LABELS[label].conll == "PER" for label in self.labels)
        evidence: Sequence[Evidence] = [
            Evidence(item.start, item.end, item.label, self.name, item.score, item.rule) for item in grounded.found
        ]
        write_evidence(doc, self.key, evidence, version=version, asked_for_persons=asked, **counts)
