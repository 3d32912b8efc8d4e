"""The whole pipeline at many operating points of its token classifier, for the price of one pass.

The detectors run once and the classifier's probabilities are kept in memory for as long as the sweep lasts. At each
point the classifier decides anew, the decision is merged with what patterns and lists found, and the merged result is
counted. A note on which nothing changed since another point is not counted again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..labels import to_scheme
from .bootstrap import plain, ratio
from .counts import alphanumeric_mask, count_exact, coverage_mask
from .documents import AnnotatedText, Entity, relabel
from .stages import decide, detect, take_apart

__all__ = ["THRESHOLDS", "Counts", "Point", "Sweep", "summarize"]

# {"default": threshold, "labels": {label: threshold}}
Point = Mapping[str, Any]
Array = NDArray[np.int64]

# From sure to sensitive: 0.95 to 0.00001, two significant digits, eight steps a decade below 0.5.
THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.6, *(float(f"{10 ** (-i / 8) / 2:.2g}") for i in range(38)))
_BATCH = 64
_TOTAL = 10
_OF_LABEL = 4


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted at one operating point, for each document.

    total (NDArray): shape (documents, 10): true positives, false positives and false negatives of entity and label,
        the same of letters and digits, whether nothing and whether something was missed, entities, and entities of
        which something was missed.
    labels (NDArray): shape (documents, labels, 4): letters and digits, those missed, entities, and entities of which
        something was missed.
    blame (NDArray): shape (documents, labels, labels of the classifier): the letters and digits missed, by the label
        whose threshold kept them out.
    """

    total: Array
    labels: Array
    blame: Array


class Sweep:
    """A pipeline and a gold corpus, at whatever operating point.

    nlp (Language): a pipeline with ``deid_ner`` and ``deid_merge``.
    gold (Sequence[AnnotatedText]): with canonical labels.
    scheme (str): scheme to compare labels in.
    RAISES: ConfigError (D342) for a pipeline without these components; (D001, D002) for labels and schemes.
    """

    def __init__(self, nlp: Language, gold: Sequence[AnnotatedText], scheme: str = "canonical") -> None:
        self.nlp, self.gold, self.scheme = nlp, gold, scheme
        self.stages = take_apart(nlp)
        if not self.stages.classifier:
            raise ConfigError(Errors.D342.format(name=f"{nlp.lang}_{nlp.meta['name']}", factory="deid_ner"))
        self.labels = sorted({entity.label for document in gold for entity in document.entities})
        classifier = self.stages.classifier
        self.ner = cast(Any, nlp.get_pipe(classifier))
        texts = (document.text for document in gold)
        self.docs = detect(nlp, texts, self.stages, without=[classifier])
        self._read: list[Any] = []
        for first in range(0, len(self.docs), _BATCH):  # the model's scores are larger than what is kept of them
            self._read += self.ner.read(self.docs[first : first + _BATCH])
        self._letters = [alphanumeric_mask(document.text) for document in gold]
        self._owners = [self._own(doc, read) for doc, read in zip(self.docs, self._read, strict=True)]
        self._known: list[dict[Any, tuple[Array, Array, Array]]] = [{} for _ in gold]

    def _own(self, doc: Doc, read: Any) -> Array:
        """For each character the number of the label whose threshold decides on it, -1 for none."""
        owner = np.full(len(doc.text), -1, dtype=np.int64)
        numbers = {label: k for k, label in enumerate(self.ner.labels)}
        for start, end, label in self.ner.likely_labels(doc, read):
            owner[start:end] = numbers[label]
        return owner

    def count(self, point: Point) -> Counts:
        """Count at one operating point.

        point (Mapping): ``{"default": threshold, "labels": {label: threshold}}``.
        RETURNS (Counts): one row a document.
        """
        rows = [self._count(i, point) for i in range(len(self.docs))]
        shapes = (_TOTAL,), (len(self.labels), _OF_LABEL), (len(self.labels), len(self.ner.labels))
        parts = [np.array([row[k] for row in rows], dtype=np.int64) for k in range(len(shapes))]
        return Counts(*(part.reshape(len(rows), *shape) for part, shape in zip(parts, shapes, strict=True)))

    def _count(self, i: int, point: Point) -> tuple[Array, Array, Array]:
        """Count one document, unless the classifier found the same at another point."""
        doc = self.docs[i]
        found = self.ner.choose(doc, self._read[i], point)
        key = tuple(span[:3] for span in found)
        if key not in self._known[i]:
            self.ner.set_annotations([doc], [found])
            ents = decide(self.nlp, doc, self.stages).ents
            self._known[i][key] = self._compare(i, [Entity(e.start_char, e.end_char, e.label_) for e in ents])
        return self._known[i][key]

    def _compare(self, i: int, pred: Sequence[Entity]) -> tuple[Array, Array, Array]:
        """Compare one document with its gold."""
        gold, letters = self.gold[i].entities, self._letters[i]
        strict = count_exact(relabel(gold, self.scheme), relabel(pred, self.scheme))
        due, got = (coverage_mask(side, len(letters)) for side in (gold, pred))
        hits, extra, missed = ((letters & mask).sum() for mask in (due & got, got & ~due, due & ~got))
        labels = np.zeros((len(self.labels), _OF_LABEL), dtype=np.int64)
        blame = np.zeros((len(self.labels), len(self.ner.labels)), dtype=np.int64)
        for entity in gold:
            row, part = self.labels.index(entity.label), slice(entity.start, entity.end)
            labels[row] += _count_entity(entity, letters, got)
            owners = self._owners[i][part][letters[part] & ~got[part]]
            np.add.at(blame[row], owners[owners >= 0], 1)
        entities, partly = labels[:, 2].sum(), labels[:, 3].sum()
        clean = int(hits > 0 and missed == 0), int(missed > 0)
        return np.array([*strict, hits, extra, missed, *clean, entities, partly], dtype=np.int64), labels, blame

    def label_name(self, label: str) -> str:
        """A label as the scheme writes it."""
        return to_scheme(label, self.scheme)


def _count_entity(entity: Entity, letters: NDArray[np.bool_], got: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Letters and digits of an entity, those missed, and whether it counts and is missed."""
    part = slice(entity.start, entity.end)
    due, missed = int(letters[part].sum()), int((letters[part] & ~got[part]).sum())
    return due, missed, int(due > 0), int(missed > 0)


def summarize(counts: Counts) -> dict[str, float | int | None]:
    """The figures of an operating point, over all documents.

    counts (Counts): what was counted there.
    RETURNS (dict): "character_recall", "character_precision", "strict_f1", "clean" (share of the documents with
        entities of which nothing was missed), "missed" (mean over documents of the share of entities of which
        something was missed), and "documents". None where there is nothing to divide by.
    """
    tp, fp, fn, hits, extra, missed, clean, unclean, *_ = counts.total.sum(axis=0)
    above = np.array([hits, hits, 2 * tp, clean])
    below = np.array([hits + missed, hits + extra, 2 * tp + fp + fn, clean + unclean])
    names = ("character_recall", "character_precision", "strict_f1", "clean")
    figures = dict(zip(names, (_round(value) for value in ratio(above, below)), strict=True))
    losses = np.nan_to_num(ratio(counts.total[:, 9], counts.total[:, 8]))
    return {**figures, "missed": _round(losses.mean()) if len(losses) else None, "documents": len(losses)}


def _round(value: float) -> float | None:
    """A figure with five digits."""
    number = plain(value)
    return None if number is None else round(number, 5)
