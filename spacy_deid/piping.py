"""Many notes through a pipeline: released text for each, in order, and a note that fails fails alone.

Notes go through in small groups. Each group runs in a memory zone of its own, after which its Docs and the strings of
its notes are gone; what is wanted of a Doc is copied out as plain values before. With several processes the groups go
to workers; a group whose worker dies is run again note by note.
"""

import os
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar, cast

from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens.underscore import Underscore

from .errors import ConfigError, Errors, NotDeidentified
from .offsets import Edit
from .processes import Failure, Start, Workers, attempt

__all__ = ["NoteResult", "NoteWorkers", "choose_start", "pipe"]

T = TypeVar("T")
Note = tuple[str, Mapping[str, Any] | None]  # the text, and what ``doc._.ehr`` is to be; None leaves it alone

_CHARACTERS = 100_000  # a group ends at so many characters, so that a few long notes are not held at once
_GROUPS = 4  # groups for each process where the number of notes is known, so that none waits long for another
# Components whose models run on libraries with threads of their own, which a fork would lose.
_THREADED = ("spacy_deid.pipeline.surprisal", "spacy_deid.pipeline.llm")


@dataclass(frozen=True, slots=True)
class NoteResult:
    """What became of a note. Its repr shows neither text nor patient.

    number (int): position in the stream, from 0.
    ehr (Mapping): what came with the note, such as its patient's id.
    reason (str): why the note failed, without content; empty if it was released.
    edits (list[Edit]): as ``doc._.deid_edits``; empty if it failed.
    trace (list[dict]): as ``doc._.deid_trace``; empty if it failed.
    warnings (list[str]): as ``doc._.deid_warnings``: why a person should look at the note, without content.
    """

    number: int
    ehr: Mapping[str, Any] = field(repr=False)
    reason: str = ""
    edits: list[Edit] = field(default_factory=list, repr=False)
    trace: list[dict[str, Any]] = field(default_factory=list, repr=False)
    warnings: list[str] = field(default_factory=list)
    released: str | None = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        """Whether the note was released."""
        return self.released is not None

    @property
    def text(self) -> str:
        """The released text. RAISES: NotDeidentified with the reason if the note failed."""
        if self.released is None:
            raise NotDeidentified(self.reason)
        return self.released


def pipe(
    nlp: Language,
    notes: Iterable[str | tuple[str, Mapping[str, Any]]],
    *,
    n_process: int = 1,
    batch_size: int = 64,
    seconds: float = 0,
    start_method: Start | None = None,
) -> Iterator[NoteResult]:
    """De-identify a stream of notes.

    A note that fails does not end the stream, and a worker process that is killed fails only the note that it worked
    on, after a second try. Input is read a few groups ahead, so memory does not grow with the stream.

    nlp (Language): the pipeline.
    notes (Iterable): texts, or pairs of a text and a dict that ``doc._.ehr`` gets, such as ``{"patient_id": "123"}``.
    n_process (int): number of worker processes; 1 for this process alone, -1 for one a CPU. For pipelines on a CPU.
    batch_size (int): most notes that go through the pipeline together.
    seconds (float): time limit of a note, 0 for none. With a limit even one process is a worker.
    start_method (Optional[str]): how workers are started: "fork", "spawn", or None for what `choose_start` gives. With
        "spawn" a script must call this below ``if __name__ == "__main__":``.
    YIELDS (NoteResult): one for each note, in the order of the notes.
    RAISES: ConfigError for a single string or an impossible setting (D776); while iterating, if the workers do not
        start (D772, D773).
    """
    count = (os.cpu_count() or 1) if n_process == -1 else n_process
    checks: list[tuple[str, Any, bool, str]] = [
        ("notes", type(notes).__name__, not isinstance(notes, str | bytes), "an iterable of notes"),
        ("n_process", n_process, count >= 1, "at least 1, or -1"),
        ("batch_size", batch_size, batch_size >= 1, "at least 1"),
        ("seconds", seconds, seconds >= 0, "0 or more"),
        ("start_method", start_method, start_method in (None, "fork", "spawn"), "'fork', 'spawn' or None"),
    ]
    for setting, value, holds, wanted in checks:
        if not holds:
            raise ConfigError(Errors.D776.format(setting=setting, wanted=wanted, value=value))
    workers = NoteWorkers(
        nlp, _take, batch_size=batch_size, n_process=count, seconds=seconds, start_method=start_method
    )
    return _pipe(workers, notes)


def _pipe(workers: "NoteWorkers[_Taken]", notes: Iterable[Any]) -> Iterator[NoteResult]:
    """Number the results, and end the workers when the stream ends or nobody reads on."""
    with workers:
        known: deque[Mapping[str, Any]] = deque()  # what came with the notes that were read and not yielded
        total = len(notes) if isinstance(notes, Sized) else None
        for number, result in enumerate(workers.run(_check_all(notes, known), total)):
            ehr = known.popleft()
            if isinstance(result, Failure):
                yield NoteResult(number, ehr, result.reason)
            else:
                text, edits, trace, warnings = result
                yield NoteResult(number, ehr, "", edits, trace, warnings, text)


_Taken = tuple[str, list[Edit], list[dict[str, Any]], list[str]]


def _take(doc: Doc) -> _Taken:
    """Copy out of a Doc what `NoteResult` has."""
    return doc._.deid_text, doc._.deid_edits, doc._.deid_trace, doc._.deid_warnings


def _check_all(items: Iterable[Any], known: deque[Mapping[str, Any]]) -> Iterator[Note | Failure]:
    """Items as `NoteWorkers` takes notes. What came with each is added to `known`; an item that is no note, as null or
    NaN of a table, becomes a failure in its place.
    """
    for item in items:
        pair = isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[1], Mapping)
        text, ehr = (item[0], dict(item[1])) if pair else (item, None)
        known.append(ehr or {})
        if isinstance(text, str):
            yield text, ehr
        else:
            yield Failure(Errors.D774.format(kind=f"{'a pair with ' if pair else ''}{type(text).__name__}"))


def choose_start(nlp: Language) -> Start:
    """How to start processes that get a pipeline.

    nlp (Language): the pipeline.
    RETURNS (str): "fork" where a copy of this process can run it: on Linux, in a process with a single Python thread,
        where every component is spaCy's or ours and none runs on torch or another library with threads of its own.
        "spawn" elsewhere.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return "spawn"
    return "fork" if all(_survives_fork(component) for _, component in nlp.pipeline) else "spawn"


def _survives_fork(component: Any) -> bool:
    """Whether a forked copy of a component can run."""
    module = getattr(component, "__module__", "") or ""
    if not module.startswith(("spacy.", "spacy_deid.")) or module in _THREADED:
        return False
    model: Any = getattr(component, "model", None)
    return not hasattr(model, "walk") or not any(node.shims for node in model.walk())


@dataclass(frozen=True)
class _Release(Generic[T]):
    """Runs a group of notes, here or in a worker."""

    nlp: Language
    take: Callable[[Doc], T]
    batch_size: int

    def __call__(self, notes: Sequence[Note | Failure]) -> list[T | Failure]:
        """Run notes together as far as it goes, and those that are missing then one by one."""
        results: dict[int, T | Failure] = {i: note for i, note in enumerate(notes) if isinstance(note, Failure)}
        good = {i: note for i, note in enumerate(notes) if not isinstance(note, Failure)}
        for i, (text, _) in good.items():
            if len(text) > self.nlp.max_length:
                results[i] = Failure(Errors.D775.format(length=len(text), limit=self.nlp.max_length))
        left = {i: note for i, note in good.items() if i not in results}
        with self.nlp.memory_zone():
            if len(left) > 1:
                self._together(left, results)
            for i, note in left.items():
                if i not in results:
                    results[i] = attempt(lambda note: self.take(self.nlp(self._make(note))), note)
        return [results[i] for i in range(len(notes))]

    def _together(self, notes: Mapping[int, Note], results: dict[int, T | Failure]) -> None:
        """Run notes as a stream, each under its number: one that fails ends the stream, or is left out of it under
        spaCy's ``ignore_error``.
        """
        numbered = ((self._make(note), i) for i, note in notes.items())
        try:
            for doc, i in self.nlp.pipe(numbered, as_tuples=True, batch_size=self.batch_size):
                results[i] = attempt(self.take, doc)
        except Exception:
            return

    def _make(self, note: Note) -> str | Doc:
        """What the pipeline takes: a text, or a Doc where there is more to say of it."""
        text, ehr = note
        if ehr is None:
            return text
        doc = self.nlp.make_doc(text)
        doc._.ehr = dict(ehr)
        return doc

    def __getstate__(self) -> dict[str, Any]:
        """For a spawned worker: with the extensions of Docs, which components may need. Those that cannot be pickled
        are left behind, as a lambda; a component that needs one fails there and says so.
        """
        kept = [
            {name: value for name, value in table.items() if _picklable(value)}
            for table in cast(Any, Underscore).get_state()
        ]
        return {**self.__dict__, "extensions": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for table, kept in zip(cast(Any, Underscore).get_state(), state.pop("extensions"), strict=True):
            table.update({name: value for name, value in kept.items() if name not in table})
        self.__dict__.update(state)


def _picklable(value: Any) -> bool:
    """Whether a value can go to a spawned worker."""
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


class NoteWorkers(Generic[T]):
    """Runs notes and takes what is wanted out of their Docs, in this process or in workers that serve until `close`.

    nlp (Language): the pipeline, with all its settings: workers get a copy when they are started.
    take (Callable[[Doc], T]): copies plain values out of a Doc. A function of a module or another picklable callable.
    batch_size, n_process, seconds, start_method: as `pipe`.
    """

    def __init__(
        self,
        nlp: Language,
        take: Callable[[Doc], T],
        *,
        batch_size: int = 64,
        n_process: int = 1,
        seconds: float = 0,
        start_method: Start | None = None,
    ) -> None:
        self._release = _Release(nlp, take, batch_size)
        self._apart = n_process > 1 or seconds > 0
        self._start = start_method
        self._workers: Workers[list[Note | Failure], list[T | Failure]] = Workers(
            self._release, n_process, seconds=seconds, split=_split
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes, if there are any."""
        self._workers.close()

    def run(self, notes: Iterable[Note | Failure], total: int | None = None) -> Iterator[T | Failure]:
        """Run notes.

        notes (Iterable): notes; a failure among them is handed on in its place.
        total (Optional[int]): how many there are, if that is known: few notes are shared among all processes.
        YIELDS: for each note what `take` gave, or a `Failure`, in order.
        """
        groups = self._cut(notes, total)
        if not self._apart:
            for group in groups:
                yield from self._release(group)
            return
        self._workers.start = self._start or choose_start(self._release.nlp)
        for group, results in self._workers.run(groups):
            for result in [results] * len(group) if isinstance(results, Failure) else results:
                yield result
                self._workers.pump()

    def _cut(self, notes: Iterable[Note | Failure], total: int | None) -> Iterator[list[Note | Failure]]:
        """Cut a stream into groups."""
        size = self._release.batch_size
        if self._apart and total is not None:
            size = max(1, min(size, -(-total // (self._workers.n_process * _GROUPS))))
        group: list[Note | Failure] = []
        characters = 0
        for note in notes:
            group.append(note)
            characters += 0 if isinstance(note, Failure) else len(note[0])
            if len(group) >= size or characters >= _CHARACTERS:
                yield group
                group, characters = [], 0
        if group:
            yield group


def _split(group: list[Note | Failure]) -> list[list[Note | Failure]]:
    """A group of each note alone."""
    return [[note] for note in group]
