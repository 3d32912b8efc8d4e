"""Pipelines as the commands use them, and streams of notes cut into batches, so that memory stays flat."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..loading import load
from ..piping import NoteWorkers
from ..processes import Failure

__all__ = ["cut", "find_component", "load_pipeline", "point_in_force", "process", "saved_points", "with_facts"]

T = TypeVar("T")
U = TypeVar("U")

# A batch ends at so many characters, so that ten notes of 5 MB are not held at once.
_CHARACTERS = 1_000_000
# With worker processes batches are larger: at the end of each batch some of them wait for the others.
_PER_PROCESS = 8


def load_pipeline(
    name: str,
    operating_point: str | None = None,
    dictionaries: Path | None = None,
    without_patient: str | None = None,
) -> Language:
    """Load a pipeline.

    name (str): as `spacy_deid.load`.
    operating_point (Optional[str]): as `spacy_deid.load`.
    dictionaries (Optional[Path]): as `spacy_deid.load`.
    without_patient (Optional[str]): setting of ``deid_ruler``; None for that of the pipeline.
    RETURNS (Language): the pipeline.
    RAISES: ConfigError as `spacy_deid.load`, or for `without_patient` without dictionaries (D411).
    """
    if without_patient and dictionaries is None:
        raise ConfigError(Errors.D411.format(option="dictionaries"))
    config = {"components.deid_ruler.without_patient": str(without_patient)} if without_patient else {}
    return load(name, operating_point=operating_point, dictionaries=dictionaries, config=config)


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
    facts: Sequence[Mapping[str, Any]] = (),
) -> list[T | Failure]:
    """Run one batch of notes.

    nlp (Language): the pipeline.
    texts (Sequence[str]): the notes.
    take (Callable[[Doc], T]): copies plain values out of a Doc.
    batch_size, n_process (int): as `piping.pipe`.
    facts (Sequence[Mapping[str, Any]]): what is known of each note, for ``doc._.ehr``: as many as texts, or none.
    RETURNS (list): for each note what `take` gave, or a `Failure`.
    """
    with NoteWorkers(nlp, take, batch_size=batch_size, n_process=n_process) as workers:
        return list(workers.run(with_facts(texts, facts), len(texts)))


def with_facts(texts: Sequence[str], facts: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any] | None]]:
    """Texts with what is known of each, as `NoteWorkers` takes notes.

    texts (Sequence[str]): the notes.
    facts (Sequence[Mapping[str, Any]]): as `process`.
    RETURNS (list): pairs of a text and what its ``doc._.ehr`` gets, None where nothing is known of any note.
    """
    if not any(facts):
        return [(text, None) for text in texts]
    return list(zip(texts, facts, strict=True))
