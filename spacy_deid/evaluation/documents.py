"""Annotated notes as plain values: the common type of all readers, writers and metrics.

Labels are canonical inside the package. Labels of another scheme occur only in files and in tables of figures.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..errors import Errors, InputError
from ..labels import to_scheme


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """An identifier in a text. Holds offsets, never text.

    start, end (int): character offsets, end exclusive.
    label (str): canonical label.
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A note and its entities. The repr leaves the text out, so that no log can contain it.

    name (str): name of the document: stem of the file name, or id of the record.
    text (str): the note, exactly as in the file, including byte-order mark and line ends.
    entities (tuple[Entity, ...]): sorted, without duplicates; entities may overlap.
    RAISES: InputError (D300) if an entity is empty or outside the text.
    """

    name: str
    text: str = field(repr=False)
    entities: tuple[Entity, ...] = ()

    def __post_init__(self) -> None:
        for entity in self.entities:
            if not 0 <= entity.start < entity.end <= len(self.text):
                where = {"start": entity.start, "end": entity.end, "length": len(self.text)}
                raise InputError(Errors.D300.format(name=self.name, **where))
        object.__setattr__(self, "entities", tuple(sorted(set(self.entities))))


def relabel(entities: Iterable[Entity], scheme: str) -> list[Entity]:
    """Convert canonical labels to the labels of a scheme.

    entities (Iterable[Entity]): entities with canonical labels.
    scheme (str): name of the scheme, see `labels.SCHEMES`.
    RETURNS (list[Entity]): entities with the same offsets and the labels of the scheme.
    RAISES: ConfigError if the scheme (D002) or a label (D001) is unknown.
    """
    return [Entity(e.start, e.end, to_scheme(e.label, scheme)) for e in entities]


def index_documents(documents: Iterable[AnnotatedText]) -> dict[str, AnnotatedText]:
    """Index documents by name.

    documents (Iterable[AnnotatedText]): documents in any order.
    RETURNS (dict[str, AnnotatedText]): documents by name, in the given order.
    RAISES: InputError (D308) if a name occurs twice.
    """
    index: dict[str, AnnotatedText] = {}
    for document in documents:
        if document.name in index:
            raise InputError(Errors.D308.format(name=document.name))
        index[document.name] = document
    return index


def pair_documents(
    gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText]
) -> list[tuple[AnnotatedText, AnnotatedText]]:
    """Pair gold documents with predicted documents by name.

    A document that is missing on one side is an error. The official scripts skip it, which would inflate recall: a
    note that was never predicted would not count as missed.

    gold, pred (Sequence[AnnotatedText]): documents in any order.
    RETURNS (list[tuple[AnnotatedText, AnnotatedText]]): (gold, predicted) pairs, sorted by name.
    RAISES: InputError if the names (D309) or the texts (D310) differ, or a name occurs twice (D308).
    """
    golds, preds = index_documents(gold), index_documents(pred)
    if golds.keys() != preds.keys():
        only_gold, only_pred = _some(golds.keys() - preds.keys()), _some(preds.keys() - golds.keys())
        raise InputError(Errors.D309.format(gold=only_gold, pred=only_pred))
    for name in golds:
        if golds[name].text != preds[name].text:
            raise InputError(Errors.D310.format(name=name))
    return [(golds[name], preds[name]) for name in sorted(golds)]


def _some(names: Iterable[str], limit: int = 5) -> str:
    """Join the first names in sorted order, and say how many more there are."""
    ordered = sorted(names)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return (", ".join(ordered[:limit]) or "none") + more
