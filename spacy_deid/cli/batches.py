"""Notes through a pipeline in batches: memory stays flat, and a note that fails fails alone.

Each batch runs in a memory zone of its own, after which its Docs and the strings of its notes are gone. What is wanted
of a Doc is copied out as plain values before.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..loading import load
from .processes import Failure, attempt, attempt_all, can_fork

__all__ = ["Failure", "cut", "find_component", "load_pipeline", "point_in_force", "process", "saved_points"]

T = TypeVar("T")
U = TypeVar("U")

# A batch ends at so many characters, so that ten notes of 5 MB are not held at once.
_CHARACTERS = 1_000_000
# With worker processes, which are started anew for each, batches are larger.
_PER_PROCESS = 8
_PARTS = 4  # parts of a batch for each process, so that none waits long for another


def load_pipeline(name: str, operating_point: str | None = None, dictionaries: Path | None = None) -> Language:
    """Load a pipeline that takes notes of any length.

    name (str): as `spacy_deid.load`.
    operating_point (Optional[str]): as `spacy_deid.load`.
    dictionaries (Optional[Path]): as `spacy_deid.load`.
    RETURNS (Language): the pipeline.
    """
    nlp = load(name, operating_point=operating_point, dictionaries=dictionaries)
    nlp.max_length = sys.maxsize
    return nlp


def find_component(nlp: Language, factory: str, name: str) -> Any:
    """Find the component that a factory made, whatever it is called.

    nlp (Language): the pipeline.
    factory (str): name of the factory.
    name (str): name of the pipeline, for the error.
    RETURNS: the component.
    RAISES: ConfigError (D415).
    """
    for part in nlp.pipe_names:
        if nlp.get_pipe_meta(part).factory == factory:
            return nlp.get_pipe(part)
    known = ", ".join(nlp.pipe_names) or "none"
    raise ConfigError(Errors.D415.format(name=name, factory=factory, known=known))


def point_in_force(nlp: Language) -> dict[str, Any]:
    """The operating point of a pipeline, for what heads a trace or a report; empty without a token classifier."""
    ner = _classifier(nlp)
    return {} if ner is None else dict(ner.get_point().receipt())


def saved_points(nlp: Language) -> dict[str, Any]:
    """The named operating points of a pipeline with the figures that they were found by."""
    ner = _classifier(nlp)
    points = {} if ner is None else ner.cfg.get("points", {})
    return {
        name: {**ner.get_point(name).receipt()["thresholds"], "figures": points[name]["figures"]} for name in points
    }


def _classifier(nlp: Language) -> Any:
    """The token classifier of a pipeline, None if there is none."""
    parts = [part for part in nlp.pipe_names if nlp.get_pipe_meta(part).factory == "deid_ner"]
    return nlp.get_pipe(parts[0]) if parts else None


def cut(items: Iterable[U], size: Callable[[U], int], *, batch_size: int, n_process: int) -> Iterator[list[U]]:
    """Cut a stream into batches of a number of notes and about a million characters.

    items (Iterable): the stream; it is read no further than the batch needs.
    size (Callable): characters of an item.
    batch_size, n_process (int): as ``nlp.pipe``.
    YIELDS (list): batches; no empty one.
    """
    batch: list[U] = []
    characters = 0
    factor = 1 if n_process == 1 else n_process * _PER_PROCESS
    for item in items:
        batch.append(item)
        characters += size(item)
        if len(batch) >= batch_size * factor or characters >= _CHARACTERS * n_process:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def process(
    nlp: Language,
    texts: Sequence[str],
    take: Callable[[Doc], T],
    *,
    batch_size: int,
    n_process: int,
    patients: Sequence[Any] = (),
) -> list[T | Failure]:
    """Run one batch of notes.

    nlp (Language): the pipeline.
    texts (Sequence[str]): the notes.
    take (Callable[[Doc], T]): copies out of a Doc what is wanted: plain values, nothing of spaCy's.
    batch_size, n_process (int): as ``nlp.pipe``.
    patients (Sequence): the id of each note's patient, as many as texts; none at all where ids are not known.
    RETURNS (list): for each note what `take` gave, or a `Failure`.
    """
    notes: list[Callable[[], str | Doc]] = [
        partial(_make_note, nlp, text, *patients[i : i + 1]) for i, text in enumerate(texts)
    ]
    if n_process > 1 and len(texts) > 1 and can_fork():
        return _process_apart(nlp, texts, take, batch_size, n_process, patients)
    results: dict[int, T | Failure] = {}
    # A batch of one goes through ``nlp`` alone: no process is worth starting for it, and no failure is met twice.
    with nlp.memory_zone():
        if len(texts) > 1:
            _run(nlp, notes, take, results, batch_size, n_process)
        for i, make in enumerate(notes):
            if i not in results:
                results[i] = attempt(lambda make: take(nlp(make())), make)
    return [results[i] for i in range(len(texts))]


def _process_apart(
    nlp: Language,
    texts: Sequence[str],
    take: Callable[[Doc], T],
    batch_size: int,
    n_process: int,
    patients: Sequence[Any],
) -> list[T | Failure]:
    """Run one batch of notes in processes that are copies of this one.

    ``nlp.pipe`` would wait for ever for a process that is ended from outside, as by a system without memory. Here its
    notes are run once more, each alone, and the one that ends its process fails.
    """

    def release(part: range) -> list[T | Failure]:
        some, their = texts[part.start : part.stop], patients[part.start : part.stop]
        return process(nlp, some, take, batch_size=batch_size, n_process=1, patients=their)

    size = min(batch_size, -(-len(texts) // (n_process * _PARTS)))
    parts = [range(i, min(i + size, len(texts))) for i in range(0, len(texts), size)]
    results: list[T | Failure] = []
    for part, found in attempt_all(release, parts, n_process):
        if not isinstance(found, Failure):
            results += found
            continue
        alone = attempt_all(release, [range(i, i + 1) for i in part], n_process)
        results += [note if isinstance(note, Failure) else note[0] for _, note in alone]
    return results


def _run(
    nlp: Language,
    notes: Sequence[Callable[[], str | Doc]],
    take: Callable[[Doc], T],
    results: dict[int, T | Failure],
    batch_size: int,
    n_process: int,
) -> None:
    """Run notes together, as far as it goes.

    One note that fails ends the stream or, under spaCy's ``ignore_error``, is left out of it; in a worker process its
    whole batch is. So notes carry their number, and those that are missing at the end are run again one by one.
    """
    numbered = ((make(), i) for i, make in enumerate(notes))
    try:
        for doc, i in nlp.pipe(numbered, as_tuples=True, batch_size=batch_size, n_process=n_process):
            results[i] = attempt(take, doc)
    except Exception:
        return


def _make_note(nlp: Language, text: str, *patient: Any) -> str | Doc:
    """What the pipeline takes: a text, or a Doc where there is more to say of it."""
    if not patient:
        return text
    doc = nlp.make_doc(text)
    doc._.ehr = {"patient_id": patient[0]}
    return doc
