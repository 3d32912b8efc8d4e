"""Evaluate a pipeline at many operating points (sets of thresholds) with a single run of its models.

`take_apart` splits a pipeline into detectors, which write span groups, and deciders, which merge the groups into
``doc.ents``. The detectors run once (`detect`); decisions are repeated with other thresholds or without some
components (`decide`, `left_out`). `Sweep` keeps the probabilities of the token classifier in memory, applies an
operating point, merges and counts; if a note gets the same entities as at an earlier point, its counts are reused.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..labels import to_scheme
from ..loading import find_component
from ..spans import reopen_groups
from .counts import alphanumeric_mask, count_exact, coverage_mask
from .documents import AnnotatedText, Entity, relabel
from .metrics import plain, ratio

_LATER = ("deid_surrogate", "deid_review")  # components that do not change decisions


@dataclass(frozen=True, slots=True)
class Stages:
    """The components of a pipeline that detect identifiers, and those that decide on the detections.

    detectors (dict[str, str]): span group key → name of the component that writes it, for all merged groups.
    deciders (list[str]): names of the merge component and of the following ones, up to the release of the text.
    classifier (str): name of the token classifier, "" if there is none.
    """

    detectors: dict[str, str]
    deciders: list[str]
    classifier: str

    @property
    def parts(self) -> list[str]:
        """Names of the components that can be left out: all detectors, and the deciders after the merge component."""
        return [*self.detectors.values(), *self.deciders[1:]]


def take_apart(nlp: Language) -> Stages:
    """Split a pipeline into detectors and deciders, so that each can be run without the other.

    nlp (Language): pipeline with ``deid_merge``.
    RETURNS (Stages): names of its detectors, deciders and token classifier.
    RAISES: ConfigError (D415) if the pipeline has no ``deid_merge``.
    """
    merge = find_component(nlp, "deid_merge")
    factories = {name: nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}
    later = nlp.pipe_names[[part for _, part in nlp.pipeline].index(merge) :]
    keys = {getattr(part, "key", None): name for name, part in nlp.pipeline}
    detectors = {key: keys[key] for key in merge.sources if key in keys}
    deciders = [name for name in later if factories[name].startswith("deid_") and factories[name] not in _LATER]
    classifier = next((name for name in detectors.values() if factories[name] == "deid_ner"), "")
    return Stages(detectors, deciders, classifier)


def detect(nlp: Language, texts: Iterable[str | Doc], stages: Stages, *, without: Collection[str] = ()) -> list[Doc]:
    """Run only the detectors of a pipeline, so that their results can be merged several times with `decide`.

    nlp (Language): the pipeline.
    texts (Iterable[str | Doc]): notes.
    stages (Stages): detectors and deciders of the pipeline, from `take_apart`.
    without (Collection[str]): names of detectors to skip.
    RETURNS (list[Doc]): Docs with the span groups of the detectors, before any decision.
    """
    later = nlp.pipe_names[nlp.pipe_names.index(stages.deciders[0]) :]
    return list(nlp.pipe(texts, disable=[*later, *without]))


def decide(nlp: Language, doc: Doc, stages: Stages, *, without: Collection[str] = ()) -> Doc:
    """Run the deciders on a Doc with detections, to set its entities. Can be repeated on the same Doc.

    nlp (Language): the pipeline.
    doc (Doc): Doc with the span groups of the detectors; its ``ents`` are overwritten.
    stages (Stages): detectors and deciders of the pipeline, from `take_apart`.
    without (Collection[str]): names of deciders to skip.
    RETURNS (Doc): the same Doc with its final entities.
    """
    reopen_groups(doc)
    for name in stages.deciders:
        if name not in without:
            doc = nlp.get_pipe(name)(doc)
    return doc


@contextmanager
def left_out(nlp: Language, docs: Sequence[Doc], stages: Stages, names: Collection[str]) -> Iterator[None]:
    """Context manager that hides the detections of some detectors, as if these had not run.

    nlp (Language): the pipeline; its merge component ignores their span groups inside the context.
    docs (Sequence[Doc]): Docs with detections; the hidden ones are restored afterwards.
    stages (Stages): detectors and deciders of the pipeline, from `take_apart`.
    names (Collection[str]): names of the detectors to hide; other names are ignored.
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


# {"default": threshold, "labels": {label: threshold}}
Point = Mapping[str, Any]
Array = NDArray[np.int64]

# in decreasing order: 0.95 to 0.00001, two significant digits, eight steps a decade below 0.5.
THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.6, *(float(f"{10 ** (-i / 8) / 2:.2g}") for i in range(38)))
_BATCH = 64
_TOTAL = 10
_OF_LABEL = 4


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a corpus at one operating point, with one row per document.

    total (NDArray): shape (documents, 10): true positives, false positives and false negatives of entities with label;
        the same of letters and digits; whether the document has identifiers and all are covered; whether something was
        missed; number of entities; number of entities with a missed letter or digit.
    labels (NDArray): shape (documents, labels, 4), by gold label: letters and digits, missed letters and digits,
        entities, and entities with a missed letter or digit.
    blame (NDArray): shape (documents, labels, classifier labels): missed letters and digits, by the classifier label
        whose threshold excluded them.
    """

    total: Array
    labels: Array
    blame: Array


class Sweep:
    """A pipeline and a gold corpus, prepared for evaluation at any operating point.

    nlp (Language): pipeline with ``deid_ner`` and ``deid_merge``.
    gold (Sequence[AnnotatedText]): notes with canonical labels.
    scheme (str): label scheme of the comparison.
    docs (Optional[Sequence[Doc]]): output of `detect` for the notes without the classifier; None to compute it.
    read (Optional[Sequence]): output of `DeidNER.read` for the notes, such as that of other models in cross-fitting;
        None to compute it.
    RAISES: ConfigError if ``deid_merge`` (D415) or ``deid_ner`` (D342) is missing, or for an unknown label (D001) or
        scheme (D002).
    """

    def __init__(
        self,
        nlp: Language,
        gold: Sequence[AnnotatedText],
        scheme: str = "canonical",
        docs: Sequence[Doc] | None = None,
        read: Sequence[Any] | None = None,
    ) -> None:
        self.nlp, self.gold, self.scheme = nlp, gold, scheme
        self.stages = take_apart(nlp)
        if not self.stages.classifier:
            raise ConfigError(Errors.D342.format(name=f"{nlp.lang}_{nlp.meta['name']}", factory="deid_ner"))
        self.labels = sorted({entity.label for document in gold for entity in document.entities})
        classifier = self.stages.classifier
        self.ner = cast(Any, nlp.get_pipe(classifier))
        texts = (document.text for document in gold)
        self.docs = list(docs or detect(nlp, texts, self.stages, without=[classifier]))
        self._read: list[Any] = list(read or ())
        for first in range(
            len(self._read), len(self.docs), _BATCH
        ):  # in batches, because the scores of the model are large
            self._read += self.ner.read(self.docs[first : first + _BATCH])
        self._letters = [alphanumeric_mask(document.text) for document in gold]
        self._owners = [self._own(doc, read) for doc, read in zip(self.docs, self._read, strict=True)]
        self._known: list[dict[Any, tuple[Array, Array, Array]]] = [{} for _ in gold]

    def _own(self, doc: Doc, read: Any) -> Array:
        """Return for each character the index of the classifier label whose threshold decides on it, or -1."""
        owner = np.full(len(doc.text), -1, dtype=np.int64)
        numbers = {label: k for k, label in enumerate(self.ner.labels)}
        for start, end, label in self.ner.likely_labels(doc, read):
            owner[start:end] = numbers[label]
        return owner

    def count(self, point: Point) -> Counts:
        """Apply an operating point to all notes and count true positives, false positives and misses.

        point (Mapping): ``{"default": threshold, "labels": {label: threshold}}``.
        RETURNS (Counts): the counts of each document.
        """
        rows = [self._count(i, point) for i in range(len(self.docs))]
        shapes = (_TOTAL,), (len(self.labels), _OF_LABEL), (len(self.labels), len(self.ner.labels))
        parts = [np.array([row[k] for row in rows], dtype=np.int64) for k in range(len(shapes))]
        return Counts(*(part.reshape(len(rows), *shape) for part, shape in zip(parts, shapes, strict=True)))

    def _count(self, i: int, point: Point) -> tuple[Array, Array, Array]:
        """Return the counts of a document, reusing those of a point at which the classifier found the same."""
        doc = self.docs[i]
        found = self.ner.choose(doc, self._read[i], point)
        key = tuple(span[:3] for span in found)
        if key not in self._known[i]:
            self.ner.set_annotations([doc], [found])
            ents = decide(self.nlp, doc, self.stages).ents
            self._known[i][key] = self._compare(i, [Entity(e.start_char, e.end_char, e.label_) for e in ents])
        return self._known[i][key]

    def _compare(self, i: int, pred: Sequence[Entity]) -> tuple[Array, Array, Array]:
        """Compare predictions with the gold of a document. RETURNS: its rows of `Counts.total`, `labels`, `blame`."""
        gold, letters = self.gold[i].entities, self._letters[i]
        strict = count_exact(relabel(gold, self.scheme), relabel(pred, self.scheme))
        due, got = (coverage_mask(side, len(letters)) for side in (gold, pred))
        hits, extra, missed = ((letters & mask).sum() for mask in (due & got, got & ~due, due & ~got))
        labels = np.zeros((len(self.labels), _OF_LABEL), dtype=np.int64)
        blame = np.zeros((len(self.labels), len(self.ner.labels)), dtype=np.int64)
        for entity in gold:
            row, part = self.labels.index(entity.label), slice(entity.start, entity.end)
            left = letters[part] & ~got[part]
            counted = letters[part].any()
            labels[row] += [int(letters[part].sum()), int(left.sum()), int(counted), int(left.any())]
            owners = self._owners[i][part][left]
            np.add.at(blame[row], owners[owners >= 0], 1)
        entities, partly = labels[:, 2].sum(), labels[:, 3].sum()
        clean = int(hits > 0 and missed == 0), int(missed > 0)
        return np.array([*strict, hits, extra, missed, *clean, entities, partly], dtype=np.int64), labels, blame

    def label_name(self, label: str) -> str:
        """Convert a canonical label to the label scheme of the comparison."""
        return to_scheme(label, self.scheme)


def summarize(counts: Counts) -> dict[str, float | int | None]:
    """Compute recall, precision and other figures of an operating point over all documents.

    counts (Counts): counts at the point, from `Sweep.count`.
    RETURNS (dict): "character_recall", "character_precision", "strict_f1", "clean" (share of documents with
        identifiers in which all are covered), "missed" (mean over documents of the share of entities with a missed
        letter or digit), and "documents". Undefined figures are None.
    """
    tp, fp, fn, hits, extra, missed, clean, unclean, *_ = counts.total.sum(axis=0)
    above = np.array([hits, hits, 2 * tp, clean])
    below = np.array([hits + missed, hits + extra, 2 * tp + fp + fn, clean + unclean])
    names = ("character_recall", "character_precision", "strict_f1", "clean")
    figures = dict(zip(names, (_round(value) for value in ratio(above, below)), strict=True))
    losses = np.nan_to_num(ratio(counts.total[:, 9], counts.total[:, 8]))
    return {**figures, "missed": _round(losses.mean()) if len(losses) else None, "documents": len(losses)}


def _round(value: float) -> float | None:
    """Round a figure to five decimals; None if it is NaN."""
    number = plain(value)
    return None if number is None else round(number, 5)
