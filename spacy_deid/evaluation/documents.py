"""Annotated notes as plain values: what every reader gives, every writer takes and every metric counts.

Labels are canonical everywhere inside; a scheme's own labels stand in files only, and in the tables of a metric.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..errors import Errors, InputError
from ..labels import to_scheme

__all__ = ["AnnotatedText", "Entity", "index_documents", "pair_documents", "relabel"]


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """One identifier in a text. Holds offsets, never text.

    start, end (int): characters in the text, end exclusive.
    label (str): canonical label.
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A note and its entities. The text is left out of the repr, so that no log can hold it.

    name (str): name of the document: the file's stem, or the record's id.
    text (str): the note, exactly as the file has it: byte-order mark and line ends included.
    entities (tuple[Entity, ...]): in the order of the text, each once; overlap is allowed.
    RAISES: InputError (D300) for an entity that is empty or outside the text.
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
    """Write the labels of a scheme in place of the canonical ones.

    entities (Iterable[Entity]): with canonical labels.
    scheme (str): name of the scheme, see `labels.SCHEMES`.
    RETURNS (list[Entity]): the same offsets.
    RAISES: ConfigError if the scheme (D002) or a label (D001) is unknown.
    """
    return [Entity(e.start, e.end, to_scheme(e.label, scheme)) for e in entities]


def index_documents(documents: Iterable[AnnotatedText]) -> dict[str, AnnotatedText]:
    """Look documents up by name.

    documents (Iterable[AnnotatedText]): in any order.
    RETURNS (dict[str, AnnotatedText]): by name, in the given order.
    RAISES: InputError (D308) if a name stands twice.
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
    """Pair gold and predictions by name.

    A document that only one side has is an error and not a skip: the official scripts leave it out of the count, and a
    note that was never predicted would flatter the recall.

    gold, pred (Sequence[AnnotatedText]): in any order.
    RETURNS (list[tuple[AnnotatedText, AnnotatedText]]): (gold, predicted), by name.
    RAISES: InputError if the names (D309) or the texts (D310) differ or a name stands twice (D308).
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
    """Name a few of many, in order."""
    ordered = sorted(names)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return (", ".join(ordered[:limit]) or "none") + more
