"""XML that comes from strangers: parsed without entities and network, cleaned, its texts replaced in place."""

import re
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from lxml import etree

from ..errors import Errors, InputError

_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")  # where a word may break or must not
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TextNode(NamedTuple):
    """A text of an XML tree.

    element (Any): the element.
    field (str): "text", "tail", or the name of an attribute with "@" before it.
    """

    element: Any
    field: str

    def get(self) -> str:
        """What stands there."""
        if self.field[0] == "@":
            return str(self.element.get(self.field[1:], ""))
        return str(getattr(self.element, self.field) or "")

    def set(self, text: str) -> None:
        """Write something else. Characters that XML cannot hold become U+FFFD."""
        text = _ILLEGAL.sub("\ufffd", text)
        if self.field[0] == "@":
            self.element.set(self.field[1:], text)
        else:
            setattr(self.element, self.field, text)


def parse(data: bytes, name: str) -> Any:
    """Parse XML.

    data (bytes): the document.
    name (str): name of the file, for errors.
    RETURNS (Any): the root, without comments and processing instructions.
    RAISES: InputError (D715) if it is not well-formed, too deep, or declares a document type, as entity attacks do.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise InputError(Errors.D715.format(path=name, reason="damaged: XML that cannot be read is in it")) from None
    if root.getroottree().docinfo.internalDTD is not None:
        reason = "XML with a document type of its own is in it, as in attacks with entities"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    return root


def serialize(root: Any) -> bytes:
    """Write XML as UTF-8."""
    data: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return data


def remove(element: Any) -> None:
    """Take an element out with all that is in it; the text behind it stays."""
    parent = element.getparent()
    if parent is not None:
        append(parent, parent.index(element), element.tail)
        element.tail = None
        parent.remove(element)


def unwrap(element: Any) -> None:
    """Take an element out and leave what is in it in its place."""
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
    """Append text to what stands before a child."""
    if not text:
        return
    if index:
        parent[index - 1].tail = (parent[index - 1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def prune(root: Any, removed: Container[str], unwrapped: Container[str]) -> None:
    """Take elements out.

    root (Any): the tree; the root itself stays.
    removed (Container[str]): tags of elements that go with all that is in them.
    unwrapped (Container[str]): tags of elements that leave what is in them.
    """
    for element in [*root.iterdescendants()]:
        if element.tag in removed:
            remove(element)
        elif element.tag in unwrapped:
            unwrap(element)


def drop_unknown_namespaces(root: Any, known: tuple[str, ...], unwrapped: bool = False) -> None:
    """Take out elements and attributes of namespaces that are not known; nobody looks for text in them.

    root (Any): the tree; the root itself stays.
    known (tuple[str, ...]): how known namespaces begin.
    unwrapped (bool): whether such elements leave what is in them.
    """
    for element in [*root.iter()]:
        if element is not root and not (etree.QName(element).namespace or "").startswith(known):
            unwrap(element) if unwrapped else remove(element)
            continue
        for key in [*element.attrib]:
            if key[0] == "{" and not key[1:].startswith(known):
                del element.attrib[key]


def strip_invisible(text: str) -> str:
    """A text without signs that are not seen and would break words: soft hyphens, joiners, blanks of no width."""
    return _UNSEEN.sub("", text)


def texts_and_attributes(root: Any) -> Iterator[tuple[str, str]]:
    """All text and all attributes of a tree. YIELDS (tuple[str, str]): the attribute's local name or "", the text."""
    for element in root.iter():
        for text in (element.text, element.tail):
            if text and not text.isspace():
                yield "", text
        for key, value in element.attrib.items():
            yield etree.QName(key).localname, value


def preserve_space(element: Any) -> None:
    """Say that white space at the edges of an element's text counts."""
    element.set(_XML_SPACE, "preserve")
