"""Paragraphs are joined where the line end between them is replaced, as in an address over two lines."""

from collections.abc import Container, Sequence
from typing import Any

from lxml import etree

from ..offsets import Edit
from .markup import Spot, append, remove
from .places import PlacedText

__all__ = ["join_paragraphs"]


def join_paragraphs(text: PlacedText, edits: Sequence[Edit], tags: Container[str], properties: str = "") -> None:
    """Join paragraphs of one container that look alike; others, and cells of tables, stay apart.

    text (PlacedText): the text, whose places are edited already.
    edits (Sequence[Edit]): in order.
    tags (Container[str]): of paragraphs.
    properties (str): tag of the child that says how a paragraph looks.
    """
    for before, after in reversed([*text.closed_gaps(edits)]):  # so that no place is moved before it is looked at
        first, last = _paragraph(before, tags), _paragraph(after, tags)
        if first is None or last is None or first is last:
            continue
        for paragraph in _until(first, last, properties):
            looks = paragraph.find(properties) if properties else None
            if looks is not None:
                paragraph.remove(looks)
            append(first, len(first), paragraph.text)
            first.extend(list(paragraph))
            remove(paragraph)


def _paragraph(place: Any, tags: Container[str]) -> Any:
    """The paragraph that a place is in, None if there is none or it is an attribute."""
    element = getattr(place, "element", None)
    if element is None or (isinstance(place, Spot) and place.field[0] == "@"):
        return None
    if isinstance(place, Spot) and place.field == "tail":
        element = element.getparent()
    if element.tag in tags:
        return element
    return next((above for above in element.iterancestors() if above.tag in tags), None)


def _until(first: Any, last: Any, properties: str) -> list[Any]:
    """The paragraphs behind the first to the last one; none if they are not neighbours that look alike."""
    found = []
    for paragraph in first.itersiblings():
        if _looks(paragraph, properties) != _looks(first, properties):
            return []
        found.append(paragraph)
        if paragraph is last:
            return found
    return []


def _looks(paragraph: Any, properties: str) -> tuple[Any, ...]:
    """What must be alike."""
    child = paragraph.find(properties) if properties else None
    return paragraph.tag, dict(paragraph.attrib), b"" if child is None else etree.tostring(child, with_tail=False)
