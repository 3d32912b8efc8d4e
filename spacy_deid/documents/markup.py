"""XML and HTML trees from untrusted files: safe parsing, removal of elements, and replacement of text in place."""

import re
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

from lxml import etree

from ..errors import Errors, InputError
from ..offsets import Edit
from .placed_text import PlacedText

_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")  # optional and forbidden line breaks
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TextNode(NamedTuple):
    """A text in an XML tree.

    element (Any): the element.
    field (str): "text", "tail", or the name of an attribute prefixed with "@".
    """

    element: Any
    field: str

    def get(self) -> str:
        """Return the text."""
        if self.field[0] == "@":
            return str(self.element.get(self.field[1:], ""))
        return str(getattr(self.element, self.field) or "")

    def set(self, text: str) -> None:
        """Replace the text. Characters that are not allowed in XML become U+FFFD."""
        text = _ILLEGAL.sub("\ufffd", text)
        if self.field[0] == "@":
            self.element.set(self.field[1:], text)
        else:
            setattr(self.element, self.field, text)


def parse(data: bytes, name: str) -> Any:
    """Parse XML without resolving entities or accessing the network.

    data (bytes): the XML document.
    name (str): file name, for error messages.
    RETURNS (Any): the root element, without comments and processing instructions.
    RAISES: InputError (D715) if the XML is not well-formed, nested too deeply, or declares a document type, as
        entity-expansion attacks do.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise InputError(Errors.D715.format(path=name, reason="damaged: it contains malformed XML")) from None
    if root.getroottree().docinfo.internalDTD is not None:
        reason = "its XML declares a document type, as in entity-expansion attacks"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    return root


def serialize(root: Any) -> bytes:
    """Write XML in UTF-8."""
    data: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return data


def remove(element: Any) -> None:
    """Remove an element and its content. The text after the element is kept."""
    parent = element.getparent()
    if parent is not None:
        append(parent, parent.index(element), element.tail)
        element.tail = None
        parent.remove(element)


def unwrap(element: Any) -> None:
    """Replace an element by its content."""
    parent = element.getparent()
    if parent is None:
        return
    index = parent.index(element)
    append(parent, index, element.text)
    children = list(element)
    for offset, child in enumerate(children):
        parent.insert(index + offset, child)
    index += len(children)
    append(parent, index, element.tail)
    element.tail = None
    parent.remove(element)


def append(parent: Any, index: int, text: str | None) -> None:
    """Append text before the child at `index`."""
    if not text:
        return
    if index:
        parent[index - 1].tail = (parent[index - 1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def prune(root: Any, removed: Container[str], unwrapped: Container[str]) -> None:
    """Remove elements by tag.

    root (Any): the tree; the root itself is kept.
    removed (Container[str]): tags of elements to remove together with their content.
    unwrapped (Container[str]): tags of elements to replace by their content.
    """
    for element in [*root.iterdescendants()]:
        if element.tag in removed:
            remove(element)
        elif element.tag in unwrapped:
            unwrap(element)


def drop_unknown_namespaces(root: Any, known: tuple[str, ...], unwrapped: bool = False) -> None:
    """Remove elements and attributes of unknown namespaces, whose text is not searched.

    root (Any): the tree; the root itself is kept.
    known (tuple[str, ...]): prefixes of the known namespaces.
    unwrapped (bool): whether the content of removed elements is kept.
    """
    for element in [*root.iter()]:
        if element is not root and not (etree.QName(element).namespace or "").startswith(known):
            unwrap(element) if unwrapped else remove(element)
            continue
        for key in [*element.attrib]:
            if key[0] == "{" and not key[1:].startswith(known):
                del element.attrib[key]


def strip_invisible(text: str) -> str:
    """Remove characters that are invisible and split words: soft hyphens, joiners, zero-width spaces."""
    return _UNSEEN.sub("", text)


def texts_and_attributes(root: Any) -> Iterator[tuple[str, str]]:
    """Yield every text and attribute of a tree.

    YIELDS (tuple[str, str]): the local name of the attribute, or "" for text, and the value.
    """
    for element in root.iter():
        for text in (element.text, element.tail):
            if text and not text.isspace():
                yield "", text
        for key, value in element.attrib.items():
            yield etree.QName(key).localname, value


def preserve_space(element: Any) -> None:
    """Mark the white space at both ends of an element's text as significant."""
    element.set(_XML_SPACE, "preserve")


def join_paragraphs(text: PlacedText, edits: Sequence[Edit], tags: Container[str], properties: str = "") -> None:
    """Join paragraphs if an edit covers the line break between them, as in an address of two lines.

    Only paragraphs with the same parent and the same formatting are joined. Table cells stay separate.

    text (PlacedText): the text, after its places were edited.
    edits (Sequence[Edit]): edits in the order of the text.
    tags (Container[str]): tags of paragraphs.
    properties (str): tag of the child element with the formatting of a paragraph.
    """
    for before, after in reversed(
        [*text.joined_places(edits)]
    ):  # reversed, so that no place moves before it is visited
        first, last = _paragraph(before, tags), _paragraph(after, tags)
        if first is None or last is None or first is last:
            continue
        for paragraph in _siblings_until(first, last, properties):
            looks = paragraph.find(properties) if properties else None
            if looks is not None:
                paragraph.remove(looks)
            append(first, len(first), paragraph.text)
            first.extend(list(paragraph))
            remove(paragraph)


def _paragraph(place: Any, tags: Container[str]) -> Any:
    """Return the paragraph that contains a place; None if there is none or the place is an attribute."""
    element = getattr(place, "element", None)
    if element is None or (isinstance(place, TextNode) and place.field[0] == "@"):
        return None
    if isinstance(place, TextNode) and place.field == "tail":
        element = element.getparent()
    if element.tag in tags:
        return element
    return next((above for above in element.iterancestors() if above.tag in tags), None)


def _siblings_until(first: Any, last: Any, properties: str) -> list[Any]:
    """Return the paragraphs after `first` up to `last`; an empty list if they are not siblings with equal
    formatting.
    """
    found = []
    for paragraph in first.itersiblings():
        if _formatting(paragraph, properties) != _formatting(first, properties):
            return []
        found.append(paragraph)
        if paragraph is last:
            return found
    return []


def _formatting(paragraph: Any, properties: str) -> tuple[Any, ...]:
    """Return the properties that must be equal for paragraphs to be joined."""
    child = paragraph.find(properties) if properties else None
    return paragraph.tag, dict(paragraph.attrib), b"" if child is None else etree.tostring(child, with_tail=False)
