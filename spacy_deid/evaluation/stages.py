"""A pipeline taken apart: its detectors run once, its decision again and again.

What a change of the decision costs or gains (another threshold, a component less) is so measured on the result of the
whole pipeline, without running the models again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..spans import reopen_groups

__all__ = ["Stages", "decide", "detect", "left_out", "take_apart"]


_LATER = ("deid_surrogate", "deid_review")  # change nothing of what is decided


@dataclass(frozen=True, slots=True)
class Stages:
    """The parts of a pipeline.

    detectors (dict[str, str]): span group key → name of the component that writes it, of all that are merged.
    deciders (list[str]): names of the merging component and of those behind it, short of the release.
    classifier (str): name of the token classifier, ""  if there is none.
    """

    detectors: dict[str, str]
    deciders: list[str]
    classifier: str

    @property
    def parts(self) -> list[str]:
        """The components that can be left out: every detector, and what stands behind the merging."""
        return [*self.detectors.values(), *self.deciders[1:]]


def take_apart(nlp: Language) -> Stages:
    """Tell the parts of a pipeline.

    nlp (Language): a pipeline with ``deid_merge``.
    RETURNS (Stages): its parts.
    RAISES: ConfigError (D342) if nothing is merged in it.
    """
    factories = {name: nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}
    merging = [name for name, factory in factories.items() if factory == "deid_merge"]
    if not merging:
        raise ConfigError(Errors.D342.format(name=_name(nlp), factory="deid_merge"))
    behind = nlp.pipe_names[nlp.pipe_names.index(merging[0]) :]
    merge: Any = nlp.get_pipe(merging[0])
    keys = {getattr(part, "key", None): name for name, part in nlp.pipeline}
    detectors = {key: keys[key] for key in merge.sources if key in keys}
    deciders = [name for name in behind if factories[name].startswith("deid_") and factories[name] not in _LATER]
    classifier = next((name for name in detectors.values() if factories[name] == "deid_ner"), "")
    return Stages(detectors, deciders, classifier)


def _name(nlp: Language) -> str:
    """Name of a pipeline, for errors."""
    return f"{nlp.lang}_{nlp.meta['name']}"


def detect(nlp: Language, texts: Iterable[str | Doc], stages: Stages, *, without: Collection[str] = ()) -> list[Doc]:
    """Run the detectors.

    nlp (Language): the pipeline.
    texts (Iterable[str | Doc]): the notes.
    stages (Stages): its parts.
    without (Collection[str]): names of detectors that are not run.
    RETURNS (list[Doc]): with the groups of the detectors and nothing decided.
    """
    behind = nlp.pipe_names[nlp.pipe_names.index(stages.deciders[0]) :]
    return list(nlp.pipe(texts, disable=[*behind, *without]))


def decide(nlp: Language, doc: Doc, stages: Stages, *, without: Collection[str] = ()) -> Doc:
    """Decide on a Doc that the detectors have run on; again, if it was decided on before.

    nlp (Language): the pipeline.
    doc (Doc): its groups are read, its ``ents`` written.
    stages (Stages): the parts of the pipeline.
    without (Collection[str]): names of components behind the merging that are not run.
    RETURNS (Doc): the same.
    """
    reopen_groups(doc)
    for name in stages.deciders:
        if name not in without:
            doc = nlp.get_pipe(name)(doc)
    return doc


@contextmanager
def left_out(nlp: Language, docs: Sequence[Doc], stages: Stages, names: Collection[str]) -> Iterator[None]:
    """Take the detections of some detectors away for a while.

    nlp (Language): the pipeline; its merging knows nothing of them meanwhile.
    docs (Sequence[Doc]): Docs that the detectors have run on.
    stages (Stages): the parts of the pipeline.
    names (Collection[str]): names of detectors.
    """
    merge: Any = nlp.get_pipe(stages.deciders[0])
    keys = [key for key, name in stages.detectors.items() if name in names]
    sources, groups = list(merge.sources), [{key: doc.spans[key] for key in keys} for doc in docs]
    merge.sources = [key for key in sources if key not in keys]
    for doc in docs:
        for key in keys:
            del doc.spans[key]
    try:
        yield
    finally:
        merge.sources = sources
        for doc, kept in zip(docs, groups, strict=True):
            doc.spans.update(kept)  # the groups themselves, so that their evidence stays
