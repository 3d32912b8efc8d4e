"""Read, edit and verify the text of a DOCX."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...offsets import Edit
from ..archive import open_archive
from ..document import Document, ExtractedText, ReadSettings, WriteSettings
from ..image import FORMAT as IMAGE
from ..markup import TextNode, parse, preserve_space
from ..office import (
    LEAST_ATTRIBUTE,
    OfficeParts,
    add_picture,
    edit_in_place,
    picture_write_settings,
    search_xml,
    write_picture,
)
from ..placed_text import PlacedText
from ..vocabulary import is_built_in_style, is_font, is_language, is_measure, is_ooxml_word
from .cleaning import READ, clean
from .package import ALT_TEXTS, CHARACTERS, TEXTS, A, Package, W, is_generated_name, is_generated_value, open_package

_LATER = {W + "txbxContent", W + "rt"}  # text boxes, ruby text
_PARAGRAPHS = {W + "p", A + "p"}
_STOPS = W + "tabs"  # its tabs are tab stops, not characters
_GAPS = {W + "tc": "\t", W + "tr": "\n"}
_LEAST = 3  # fewest letters of a list label that is text and not a bullet


class TextElement(NamedTuple):
    """The place of a text: an element that contains it."""

    element: Any

    def get(self) -> str:
        """Return the text."""
        return self.element.text or ""

    def set(self, text: str) -> None:
        """Replace the text."""
        TextNode(self.element, "text").set(text)
        if self.element.tag != A + "t":  # which allows no attributes
            preserve_space(self.element)


class CharacterElement(NamedTuple):
    """The place of a single character, such as a tab: an element that represents it."""

    element: Any
    character: str

    def get(self) -> str:
        """Return the character."""
        return self.character

    def set(self, text: str) -> None:
        """Replace the character. The element becomes a text element."""
        if text != self.character:
            self.element.tag = W + "t"
            self.element.attrib.clear()
            TextElement(self.element).set(text)


def add_text(package: Package, text: PlacedText) -> None:
    """Append the text of a document, except for pictures.

    package (Package): a cleaned document.
    text (PlacedText): receives headers, body, footers, notes, comments and list labels.
    """
    for part in package.of(*READ):
        text.gap("\n\n")
        _add_block(part.root, text)
        text.gap("\n\n")


def _add_block(element: Any, text: PlacedText) -> None:
    """Add the text of an element, then that of text boxes and descriptions in it, which would split words."""
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
    """Add the text of an element in order. Elements to add later are appended to `later`."""
    for child in element:
        if child.tag in TEXTS:
            text.add(child.text or "", TextElement(child))
        elif child.tag in CHARACTERS and element.tag != _STOPS:
            text.add(CHARACTERS[child.tag], CharacterElement(child, CHARACTERS[child.tag]))
        elif child.tag == W + "sym":
            text.add(_symbol(child), CharacterElement(child, _symbol(child)))
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
    """Return the character of a symbol element. Symbol fonts use a private range at U+F000."""
    try:
        code = int(element.get(W + "char", ""), 16)
    except ValueError:
        return "?"
    code -= 0xF000 * (0xF000 < code < 0xF100)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "?"


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a document.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): limits, and how pictures are treated.
    RETURNS (Document): the document.
    RAISES: InputError if the file is damaged or malicious (D715), or if OCR is needed and not available (D716, D717).
    """
    package, text, notes = _open(data, name, settings)
    pictures: dict[str, Document] = {}
    for i, part in enumerate(package.of("image")):
        notes.append(add_picture(part.data, str(i), name, settings, text, pictures))
    warnings = tuple(note for note in dict.fromkeys(notes) if note)
    return Document(name, "docx", text.text, (), warnings, OfficeParts(data, settings, pictures))


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[Package, PlacedText, list[str]]:
    """Open and clean a document. Returns the package, its text without pictures, and warnings."""
    package = open_package(data, name, settings)
    notes = clean(package)
    text = PlacedText()
    add_text(package, text)
    return package, text, notes


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write an edited document with its formatting.

    document (Document): a document from `read`.
    edits (Sequence[Edit]): edits in the order of the text. A replacement takes the formatting of the first character
        that it replaces.
    settings (WriteSettings): how pictures are redacted.
    RETURNS (bytes): the content of the file.
    RAISES: DeidError (D003, D004, D719).
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
_URI_WORDS = set(
    "http urn schemas openxmlformats microsoft org com www w3 XML xml namespace office word powerpoint excel drawing "
    "drawingml wordprocessingml officeDocument package relationships main math wordprocessingDrawing picture chart "
    "diagram compatibility markup wordml wordprocessingShape wordprocessingGroup wordprocessingCanvas "
    "wordprocessingInk vml lockedCanvas chartDrawing legacyDrawing schemaLibrary bibliography customXml content types "
    "slicer thememl symex cid cex sdtdatahash sdtformatlock du ink model3d chartex activeX svg".split()
)
_URI = re.compile(r"(http|urn):[\w./:-]+")


def _is_own(attribute: str, value: str) -> bool:
    """Whether an attribute value belongs to the file format or to Office itself."""
    if attribute in _FONTS and is_font(value):
        return True
    if is_language(value) or _ID.fullmatch(value) or is_built_in_style(value) or is_generated_value(value):
        return True
    return is_uri(value) or all(is_ooxml_word(word) or is_measure(word) for word in _BETWEEN.split(value))


def is_uri(value: str) -> bool:
    """Whether a text is a namespace URI of the format."""
    words = re.split(r"[/:.-]+", value)
    return bool(_URI.fullmatch(value)) and all(word in _URI_WORDS or is_measure(word) for word in words)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield all text of a file: the running text, and every text and attribute of every part, including unknown parts.

    Values and names that occur in every file of the format are skipped; see `_is_own`.

    data (bytes): the file.
    settings (WriteSettings): whether pictures are checked by OCR.
    YIELDS (ExtractedText): texts.
    RAISES: InputError if the file cannot be read.
    """
    text = PlacedText()
    add_text(open_package(data, "copy", settings.read), text)
    yield ExtractedText("text", text.text)
    for member, content in open_archive(data, "copy", settings.read).items():
        if not is_generated_name(member):
            yield ExtractedText("names of parts", member, LEAST_ATTRIBUTE)
        if member.endswith((".xml", ".rels")):
            yield from search_xml(content, member, _is_own)
            yield from _unknown_names(content, member)
        else:
            read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
            yield from IMAGE.extract(content, picture_write_settings(settings, read))


def _unknown_names(content: bytes, member: str) -> Iterator[ExtractedText]:
    """Yield names of elements, attributes and namespaces that are not part of the format and may contain PHI."""
    names: set[str] = set()
    for element in parse(content, "copy").iter():
        names.update((element.tag, *element.attrib), (f"{{{uri}}}" for uri in element.nsmap.values()))
        names.update(prefix for prefix in element.nsmap if prefix)
    for name in {part for tag in names for part in tag.lstrip("{").split("}") if part}:
        if not (is_ooxml_word(name) or is_uri(name)):
            yield ExtractedText(f"{member}, names of elements", name, LEAST_ATTRIBUTE)
