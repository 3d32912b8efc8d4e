"""Read and write Word documents (.docx). The text of every part is edited in place, so that formatting is kept.

Tracked changes are accepted. Fields, links and content controls are replaced by the text they display. Everything that
is not displayed is left out of the copy; see `docs/guides/documents.md`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...offsets import Edit
from ..archive import open_archive
from ..document import Document, ExtractedText, Format, PlacedText, ReadSettings, WriteSettings
from ..markup import (
    LEAST_ATTRIBUTE,
    TextNode,
    is_built_in_style,
    is_font,
    is_language,
    is_measure,
    is_ooxml_word,
    parse,
    read_words,
    search_xml,
)
from ..office import OfficeParts, edit_in_place, extract_picture, make_document, write_picture
from .cleaning import READ, clean
from .package import ALT_TEXTS, CHARACTERS, TEXTS, A, Package, W, is_generated_name, is_generated_value, open_package

_LATER = {W + "txbxContent", W + "rt"}  # text boxes, ruby text
_PARAGRAPHS = {W + "p", A + "p"}
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_STOPS = W + "tabs"  # its tabs are tab stops, not characters
_GAPS = {W + "tc": "\t", W + "tr": "\n"}
_LEAST = 3  # fewest letters of a list label that is text and not a bullet


class TextElement(NamedTuple):
    """An XML element that contains a piece of text, which can be read and replaced."""

    element: Any

    def get(self) -> str:
        """Return the text of the element."""
        return self.element.text or ""

    def set(self, text: str) -> None:
        """Replace the text of the element; leading and trailing blanks are preserved."""
        TextNode(self.element, "text").set(text)
        if self.element.tag != A + "t":  # which allows no attributes
            self.element.set(_XML_SPACE, "preserve")


class CharacterElement(NamedTuple):
    """An XML element that stands for a single character, such as a tab. It can be replaced by any text."""

    element: Any
    character: str

    def get(self) -> str:
        """Return the character that the element stands for."""
        return self.character

    def set(self, text: str) -> None:
        """Replace the character with a text; the element becomes a text element."""
        if text != self.character:
            self.element.tag = W + "t"
            self.element.attrib.clear()
            TextElement(self.element).set(text)


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a Word document: headers, body, footers, notes, comments, list labels and pictures."""
    package, text, notes = _open(data, name, settings)
    pictures = {str(i): part.data for i, part in enumerate(package.of("image"))}
    return make_document((data, name, "docx"), settings, text, pictures, notes)


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[Package, PlacedText, list[str]]:
    """Open a document and remove everything that is not displayed.

    RETURNS (tuple[Package, PlacedText, list[str]]): the package, its text without pictures, and warnings.
    """
    package = open_package(data, name, settings)
    notes = clean(package)
    return package, _text_of(package), notes


def _text_of(package: Package) -> PlacedText:
    """Return the text of a cleaned document, part by part, without the text of pictures."""
    text = PlacedText()
    for part in package.of(*READ):
        text.gap("\n\n")
        _add_block(part.root, text)
        text.gap("\n\n")
    return text


def _add_block(element: Any, text: PlacedText) -> None:
    """Append the text of an element, then that of text boxes and descriptions in it, which would split words."""
    later: list[Any] = []
    _add(element, text, later)
    for item in later:
        text.gap("\n")
        if not isinstance(item, TextNode):
            _add_block(item, text)
        elif item.element.tag != W + "lvlText" or sum(map(str.isalpha, item.get())) >= _LEAST:
            text.add(item.get(), item)
        text.gap("\n")


def _add(element: Any, text: PlacedText, later: list[Any]) -> None:
    """Append the text of an element in order. Text boxes, ruby text and descriptions are added to `later` instead."""
    for child in element:
        if child.tag in TEXTS:
            text.add(child.text or "", TextElement(child))
        elif child.tag == W + "sym" or (child.tag in CHARACTERS and element.tag != _STOPS):
            character = CHARACTERS.get(child.tag) or _symbol(child)
            text.add(character, CharacterElement(child, character))
        elif child.tag in _PARAGRAPHS:
            before = len(text.pieces)
            _add_block(child, text)
            text.gap("\n" if len(text.pieces) > before else "\n\n")
        elif child.tag in _LATER:
            later.append(child)
        else:
            later += [TextNode(child, "@" + key) for key in ALT_TEXTS.get(child.tag, ()) if child.get(key)]
            _add(child, text, later)
            if child.tag in _GAPS:
                text.gap(_GAPS[child.tag])


def _symbol(element: Any) -> str:
    """Return the character of a symbol element, "?" if it is invalid. Symbol fonts use a private range at U+F000."""
    try:
        code = int(element.get(W + "char", ""), 16)
    except ValueError:
        return "?"
    code -= 0xF000 * (0xF000 < code < 0xF100)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "?"


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write an edited Word document. A replacement takes the formatting of the first character that it replaces.

    RAISES: DeidError (D719) if anything is left of text that was removed from a picture.
    """
    parts: OfficeParts = document.parts
    package, text, _ = _open(parts.data, document.name, parts.settings)
    painted = edit_in_place(document, text, edits, {W + "p"}, W + "pPr")
    for i, part in enumerate(package.of("image")):
        seen = parts.pictures.get(str(i))
        part.data = write_picture(part.data, seen, painted.get(str(i), []), parts.settings, settings)
    return package.save()


# attributes with font names, which can equal names of persons and places
_FONTS = {"typeface", "ascii", "hAnsi", "cs", "eastAsia", "name"}
# ids of parts of the copy, and ids that Office assigns to shapes
_ID = re.compile(
    r"rId\d{1,6}|s\d{1,6}|Style \d{1,6}|#?_x0000_[ti]\d{1,6}|\{[\dA-Fa-f]{8}(-[\dA-Fa-f]{4}){3}-[\dA-Fa-f]{12}\}"
)
_BETWEEN = re.compile(r"[\s;:,()-]+")
_URI = re.compile(r"(http|urn):[\w./:-]+")


def _is_own(attribute: str, value: str) -> bool:
    """Whether an attribute value is defined by the file format or by Office, so that it is not searched in a copy."""
    if attribute in _FONTS and is_font(value):
        return True
    if is_language(value) or _ID.fullmatch(value) or is_built_in_style(value) or is_generated_value(value):
        return True
    return _is_uri(value) or all(is_ooxml_word(word) or is_measure(word) for word in _BETWEEN.split(value))


def _is_uri(value: str) -> bool:
    """Whether a text is a namespace URI that consists of words of the file format."""
    words = re.split(r"[/:.-]+", value)
    return bool(_URI.fullmatch(value)) and all(
        word in read_words("ooxml_uri_words.txt") or is_measure(word) for word in words
    )


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the running text of a copy, and texts, attributes and unknown names in all its parts, even unknown ones.

    Values and names that occur in every file of the format are skipped.
    """
    yield ExtractedText("text", _text_of(open_package(data, "copy", settings.read)).text)
    for member, content in open_archive(data, "copy", settings.read).items():
        if not is_generated_name(member):
            yield ExtractedText("names of parts", member, LEAST_ATTRIBUTE)
        if not member.endswith((".xml", ".rels")):
            yield from extract_picture(content, settings)
            continue
        yield from search_xml(content, member, _is_own)
        names: set[str] = set()  # of elements, attributes and namespaces
        for element in parse(content, "copy").iter():
            names.update((element.tag, *element.attrib), (f"{{{uri}}}" for uri in element.nsmap.values()))
            names.update(prefix for prefix in element.nsmap if prefix)
        for name in {part for tag in names for part in tag.lstrip("{").split("}") if part}:
            if not (is_ooxml_word(name) or _is_uri(name)):
                yield ExtractedText(f"{member}, names of elements", name, LEAST_ATTRIBUTE)


FORMAT = Format(read, write, extract)
