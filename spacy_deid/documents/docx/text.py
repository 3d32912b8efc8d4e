"""TODO."""

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

_LATER = {W + "txbxContent", W + "rt"}  # text boxes, readings above words
_PARAGRAPHS = {W + "p", A + "p"}
_STOPS = W + "tabs"  # in it, a tab is a place and no character
_GAPS = {W + "tc": "\t", W + "tr": "\n"}
_LEAST = 3  # letters that the label of a list must have to be text and not a bullet


class TextElement(NamedTuple):
    """A place of characters: an element that holds text."""

    element: Any

    def get(self) -> str:
        """What stands there."""
        return self.element.text or ""

    def set(self, text: str) -> None:
        """Write something else."""
        TextNode(self.element, "text").set(text)
        if self.element.tag != A + "t":  # which knows no attributes
            preserve_space(self.element)


class CharacterElement(NamedTuple):
    """A place of one character: an element that stands for it."""

    element: Any
    character: str

    def get(self) -> str:
        """The character."""
        return self.character

    def set(self, text: str) -> None:
        """Write something else: the element becomes one that holds text."""
        if text != self.character:
            self.element.tag = W + "t"
            self.element.attrib.clear()
            TextElement(self.element).set(text)


def add_text(package: Package, text: PlacedText) -> None:
    """Read the parts of a document. What is in pictures is not read.

    package (Package): a document that is clean.
    text (PlacedText): gets the text: headers, body, footers, notes, comments, labels of lists.
    """
    for part in package.of(*READ):
        text.gap("\n\n")
        _add_block(part.root, text)
        text.gap("\n\n")


def _add_block(element: Any, text: PlacedText) -> None:
    """Add what an element holds, then the text boxes and descriptions in it: they would break the words around."""
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
    """Add what an element holds; what must come later goes to `later`."""
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
    """The character of a symbol; fonts of symbols have theirs in a private area."""
    try:
        code = int(element.get(W + "char", ""), 16)
    except ValueError:
        return "?"
    code -= 0xF000 * (0xF000 < code < 0xF100)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "?"


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a document.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): limits, and what becomes of pictures.
    RETURNS (Document): its text.
    RAISES: InputError if it is damaged or an attack (D715), or if pictures cannot be read here (D716, D717).
    """
    package, text, notes = _open(data, name, settings)
    pictures: dict[str, Document] = {}
    for i, part in enumerate(package.of("image")):
        notes.append(add_picture(part.data, str(i), name, settings, text, pictures))
    warnings = tuple(note for note in dict.fromkeys(notes) if note)
    return Document(name, "docx", text.text, (), warnings, OfficeParts(data, settings, pictures))


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[Package, PlacedText, list[str]]:
    """Open a document, clean it and read what is no picture."""
    package = open_package(data, name, settings)
    notes = clean(package)
    text = PlacedText()
    add_text(package, text)
    return package, text, notes


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a document with its formatting.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order. A replacement takes the formatting of the first character that it replaces.
    settings (WriteSettings): how pictures are painted over.
    RETURNS (bytes): the file.
    RAISES: DeidError (D003, D004, D719).
    """
    parts: OfficeParts = document.parts
    package, text, _ = _open(parts.data, document.name, parts.settings)
    painted = edit_in_place(document, text, edits, {W + "p"}, W + "pPr")
    for i, part in enumerate(package.of("image")):
        seen = parts.pictures.get(str(i))
        part.data = write_picture(part.data, seen, painted.get(str(i), []), parts.settings, settings)
    return package.save()


# attributes that hold names of fonts, which can be names of persons and places
_FONTS = {"typeface", "ascii", "hAnsi", "cs", "eastAsia", "name"}
# ids that the copy's own parts have, and those that Office gives to shapes
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
    """Whether the value of an attribute is one of the format or of Office itself."""
    if attribute in _FONTS and is_font(value):
        return True
    if is_language(value) or _ID.fullmatch(value) or is_built_in_style(value) or is_generated_value(value):
        return True
    return is_uri(value) or all(is_ooxml_word(word) or is_measure(word) for word in _BETWEEN.split(value))


def is_uri(value: str) -> bool:
    """Whether a text is an address in a namespace of the format."""
    words = re.split(r"[/:.-]+", value)
    return bool(_URI.fullmatch(value)) and all(word in _URI_WORDS or is_measure(word) for word in words)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """All text of a file: as it is read, and every text and attribute of every part, whether it is known or not.

    Values and names that every file of the format has are not searched: see `_is_own`.

    data (bytes): the file.
    settings (WriteSettings): whether pictures are read again.
    YIELDS (Found): texts.
    RAISES: InputError if it cannot be read.
    """
    text = PlacedText()
    add_text(open_package(data, "copy", settings.read), text)
    yield ExtractedText("text", text.text)
    for member, content in open_archive(data, "copy", settings.read).items():
        if not is_generated_name(member):
            yield ExtractedText("names of parts", member, LEAST_ATTRIBUTE)
        if member.endswith((".xml", ".rels")):
            yield from search_xml(content, member, _is_own)
            yield from _names(content, member)
        else:
            read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
            yield from IMAGE.extract(content, picture_write_settings(settings, read))


def _names(content: bytes, member: str) -> Iterator[ExtractedText]:
    """Names of elements, attributes and namespaces that the format does not have: a stranger may have chosen them."""
    names: set[str] = set()
    for element in parse(content, "copy").iter():
        names.update((element.tag, *element.attrib), (f"{{{uri}}}" for uri in element.nsmap.values()))
        names.update(prefix for prefix in element.nsmap if prefix)
    for name in {part for tag in names for part in tag.lstrip("{").split("}") if part}:
        if not (is_ooxml_word(name) or is_uri(name)):
            yield ExtractedText(f"{member}, names of elements", name, LEAST_ATTRIBUTE)
