"""Read the texts of a document as a person sees them, and write them back into their elements.

A narrative block is one text: its paragraphs, items and rows are lines, and the cells of a row are separated by tabs.
So a name is found that a line end or an element such as ``<content>`` divides. Source: HL7 CDA, Release 2, 4.3.5.
"""

import re
from collections.abc import Sequence
from typing import Any

from ..documents.document import PlacedText
from ..documents.markup import TextNode, strip_invisible
from ..errors import Errors, NotDeidentified
from ..offsets import Edit, apply_edits
from .structure import name_of

_BLOCKS = frozenset("paragraph list item caption table thead tbody tfoot tr br footnote renderMultiMedia text".split())
_CELLS = frozenset({"th", "td"})
_SPACE = re.compile(r"[ \t\r\n]+")


def read_block(block: Any) -> PlacedText:
    """Return the text of a narrative block. White space around words is collapsed, in the tree as well.

    block: the element of the block, whose whole content is text.
    RETURNS (PlacedText): the text, whose places are the texts of the tree.
    """
    text = PlacedText()
    _add_block(block, text)
    return text


def read_content(element: Any) -> PlacedText:
    """Return the text of an element, without that of its children.

    element: the element.
    RETURNS (PlacedText): the text before the first child and after each of them, as one text.
    """
    text = PlacedText()
    for node in own_texts(element):
        if node.get().strip():
            text.add(node.get(), node)
            text.gap("\n")
    return text


def own_texts(element: Any) -> list[TextNode]:
    """Return the places of the text of an element: before its first child, and after each child."""
    return [TextNode(element, "text"), *(TextNode(child, "tail") for child in element)]


def _add_block(element: Any, text: PlacedText) -> None:
    """Append the text of a block element, on lines of its own."""
    text.gap("\n")
    _add(element, text)
    text.gap("\n")


def _add(element: Any, text: PlacedText) -> None:
    """Append the text of an element and its children in order."""
    _add_node(TextNode(element, "text"), text)
    for child in element:
        name = name_of(child.tag)
        if name in _BLOCKS:
            _add_block(child, text)
        else:
            _add(child, text)
            if name in _CELLS:
                text.gap("\t")
        _add_node(TextNode(child, "tail"), text)


def _add_node(node: TextNode, text: PlacedText) -> None:
    """Append a text of the tree. Text that is only white space separates words, but is left unchanged."""
    found = node.get()
    if not found.strip():
        if found and not text.at_break:
            text.gap(" ")
        return
    shown = _SPACE.sub(" ", strip_invisible(found))
    node.set(shown.lstrip(" ") if text.at_break else shown)
    text.add(node.get(), node)


def write_edits(text: PlacedText, edits: Sequence[Edit], released: str, path: str) -> None:
    """Write the edits of a text into its places, and check that the result is the released text.

    text (PlacedText): the text, as it was read.
    edits (Sequence[Edit]): edits in the order of the text.
    released (str): the released text.
    path (str): the element, for the message.
    RAISES: NotDeidentified (D985) if the places do not have the released text afterwards.
    """
    for piece, local in text.edits_by_piece(edits):
        piece.place.set(apply_edits(piece.place.get(), local))
    written = "".join(piece.place.get() for piece in text.pieces)
    if "".join(written.split()) != "".join(released.split()):  # the white space between places is not in the file
        raise NotDeidentified(Errors.D985.format(path=path, reason="the written text is not the released one"))
