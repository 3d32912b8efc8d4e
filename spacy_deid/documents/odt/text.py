"""Read, edit and verify the text of an ODT."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lxml import etree

from ...errors import Errors, InputError
from ...offsets import Edit
from ..archive import check_elements, open_archive, pack
from ..document import Document, ExtractedText, ReadSettings, WriteSettings
from ..image import FORMAT as IMAGE
from ..markup import TextNode, parse, serialize
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
from ..vocabulary import is_built_in_style, is_font
from .cleaning import (
    DRAW,
    HOLDERS,
    IMAGE_TAG,
    LABELS,
    OFFICE,
    SVG,
    TABLE,
    TEXT,
    XLINK,
    clean,
    clean_settings,
    drop_hidden,
    hidden_styles,
)

PARAGRAPHS = {TEXT + "p", TEXT + "h"}
_LATER = {OFFICE + "annotation", TEXT + "note", TEXT + "ruby-text"}
_DESCRIPTIONS = {SVG + "title", SVG + "desc"}
_GAPS = {TABLE + "table-cell": "\t", TABLE + "table-row": "\n", TEXT + "note-citation": " "}
_LEAST = 3  # fewest letters of a label beside a list number that is text


class WhiteSpaceElement(NamedTuple):
    """The place of white space: an element that represents it."""

    element: Any
    character: str

    def get(self) -> str:
        """Return the white space."""
        return self.character

    def set(self, text: str) -> None:
        """Replace the white space. The element becomes a text element in which repeated blanks are preserved."""
        if text == self.character:
            return
        self.element.tag = TEXT + "span"
        self.element.attrib.clear()
        for part in re.split(r"( +)", text):
            if part.startswith(" "):
                etree.SubElement(self.element, TEXT + "s", {TEXT + "c": str(len(part))})
            elif len(self.element):
                TextNode(self.element[-1], "tail").set(part)
            else:
                TextNode(self.element, "text").set(part)


def add_text(root: Any, text: PlacedText) -> None:
    """Append the text of a part.

    root (Any): a cleaned part.
    text (PlacedText): receives the text. Notes, comments, frames and descriptions follow their paragraph.
    """
    text.gap("\n\n")
    for element in root.iter():
        for key in LABELS:
            if sum(map(str.isalpha, element.get(key, ""))) >= _LEAST:
                text.gap("\n")
                text.add(element.get(key), TextNode(element, "@" + key))
                text.gap("\n\n")
    _add_block(root, text)
    text.gap("\n\n")


def _add_block(element: Any, text: PlacedText) -> None:
    """Add the text of an element, then that of objects anchored in it, which would split words."""
    later: list[Any] = []
    _add(element, text, later)
    for item in later:
        text.gap("\n")
        _add_block(item, text)
        text.gap("\n")


def _add(element: Any, text: PlacedText, later: list[Any]) -> None:
    """Add the text of an element in order. Elements to add later are appended to `later`."""
    holds = element.tag in HOLDERS
    if holds:
        _add_spot(TextNode(element, "text"), text)
    for child in element:
        if child.tag in PARAGRAPHS or child.tag in _DESCRIPTIONS:
            before = len(text.pieces)
            _add_block(child, text)
            text.gap("\n" if len(text.pieces) > before else "\n\n")
        elif child.tag in _LATER or child.tag.startswith(DRAW):
            later.append(child)
        elif _white(child):
            text.add(_white(child), WhiteSpaceElement(child, _white(child)))
        else:
            _add(child, text, later)
            if child.tag in _GAPS:
                text.gap(_GAPS[child.tag])
        if holds:
            _add_spot(TextNode(child, "tail"), text)


def _add_spot(spot: TextNode, text: PlacedText) -> None:
    """Add a text node. A blank at the start of a paragraph or after white space is not displayed, unless that white
    space is an element.
    """
    after_element = text.pieces and isinstance(text.pieces[-1].place, WhiteSpaceElement)
    if spot.get().startswith(" ") and text.at_break and not after_element:
        spot.set(spot.get()[1:])
    text.add(spot.get(), spot)


def _white(element: Any) -> str:
    """Return the white space that an element represents, or ""."""
    if element.tag == TEXT + "s":
        count = element.get(TEXT + "c", "1")
        return " " * min(int(count), 1000) if count.isdecimal() else " "
    return {TEXT + "tab": "\t", TEXT + "line-break": "\n"}.get(element.tag, "")


PARTS = ("styles.xml", "content.xml")  # the styles contain headers and footers
SETTINGS = "settings.xml"
MIME = "application/vnd.oasis.opendocument.text"
_MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"


class _Opened(NamedTuple):
    """A cleaned document.

    roots (dict[str, Any]): XML parts by name.
    pictures (dict[str, bytes]): pictures by their name in the copy.
    notes (list[str]): warnings.
    settings (Any): the cleaned settings part, if there is one.
    """

    roots: dict[str, Any]
    pictures: dict[str, bytes]
    notes: list[str]
    settings: Any = None


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a document.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): limits, and how pictures are treated.
    RETURNS (Document): the document.
    RAISES: InputError if the file is damaged or malicious (D715), or if OCR is needed and not available (D716, D717).
    """
    opened, text = _open(data, name, settings)
    notes = opened.notes
    pictures: dict[str, Document] = {}
    for key, picture in opened.pictures.items():
        notes.append(add_picture(picture, key, name, settings, text, pictures))
    warnings = tuple(note for note in dict.fromkeys(notes) if note)
    return Document(name, "odt", text.text, (), warnings, OfficeParts(data, settings, pictures))


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[_Opened, PlacedText]:
    """Open and clean a document, and read its text without pictures."""
    members = open_archive(data, name, settings)
    if b"encryption-data" in members.get("META-INF/manifest.xml", b""):
        raise InputError(Errors.D715.format(path=name, reason="encrypted"))
    if "content.xml" not in members:
        raise InputError(Errors.D715.format(path=name, reason="damaged: content.xml is missing"))
    check_elements(members.values(), name)
    roots = {part: parse(members[part], name) for part in PARTS if part in members}
    if roots["content.xml"].find(f"{OFFICE}body/{OFFICE}text") is None:
        raise InputError(Errors.D715.format(path=name, reason="not an OpenDocument text document"))
    names: dict[str, str] = {}
    for root in roots.values():
        for image in root.iter(IMAGE_TAG):
            member = image.get(XLINK + "href", "").removeprefix("./")
            if member in members:
                names.setdefault(member, f"Pictures/{len(names) + 1}")
    styles = hidden_styles(roots.values())
    hidden = [drop_hidden(root, styles) for root in roots.values()]
    lost = [clean(root, names) for root in roots.values()]
    notes = ["embedded objects are removed"] * any(lost) + ["hidden texts are removed"] * any(hidden)
    configured = clean_settings(parse(members[SETTINGS], name)) if SETTINGS in members else None
    text = PlacedText()
    for root in roots.values():
        add_text(root, text)
    return _Opened(roots, {new: members[old] for old, new in names.items()}, notes, configured), text


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
    opened, text = _open(parts.data, document.name, parts.settings)
    painted = edit_in_place(document, text, edits, PARAGRAPHS)
    members = {"mimetype": MIME.encode()} | {part: serialize(root) for part, root in opened.roots.items()}
    if opened.settings is not None:
        members[SETTINGS] = serialize(opened.settings)
    for key, picture in opened.pictures.items():
        seen = parts.pictures.get(key)
        members[key] = write_picture(picture, seen, painted.get(key, []), parts.settings, settings)
    members["META-INF/manifest.xml"] = _manifest(members)
    return pack(members, stored="mimetype")


def _manifest(members: dict[str, bytes]) -> bytes:
    """Write the manifest, which lists the members of the archive."""
    key = f"{{{_MANIFEST}}}"
    root = etree.Element(key + "manifest", nsmap={"manifest": _MANIFEST})
    root.set(key + "version", "1.2")
    for member in ["/", *members]:
        if member == "mimetype":
            continue
        entry = etree.SubElement(root, key + "file-entry")
        kind = MIME if member == "/" else "text/xml" if member.endswith(".xml") else ""
        entry.set(key + "full-path", member)
        entry.set(key + "media-type", kind)
    return serialize(root)


# keywords of the format, such as "roman", "black" and "center", and numbers; a patient may have such a name
_KEYWORD = re.compile(r"[a-z][A-Za-z\d]*|[\dA-F]+")

# names that LibreOffice generates for automatic styles, columns and lists
_AUTOMATIC = re.compile(
    r"([A-Z]{1,2}|Mpm?|dp|WWNum|WW8Num|Table|fr|gr|Sect|ta|co|ro|ce)\d{1,3}(\.[A-Z]?\d{0,3})?(z\d)?"
)


def _is_own(attribute: str, value: str) -> bool:
    """Whether an attribute value belongs to the format. Names of styles, columns and lists must be predefined or
    automatic.
    """
    if attribute.startswith(("font-name", "font-family")):
        return is_font(value)
    if attribute.endswith("name"):
        return is_built_in_style(value) or is_font(value) or _AUTOMATIC.fullmatch(value) is not None
    return _KEYWORD.fullmatch(value) is not None


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield all text of a file: the running text, and every text and attribute of every part, including unknown parts.

    data (bytes): the file.
    settings (WriteSettings): whether pictures are checked by OCR.
    YIELDS (ExtractedText): texts.
    RAISES: InputError if the file cannot be read.
    """
    members = open_archive(data, "copy", settings.read)
    text = PlacedText()
    for part in PARTS:
        if part in members:
            add_text(parse(members[part], "copy"), text)
    yield ExtractedText("text", text.text)
    for member, content in members.items():
        yield ExtractedText("names of parts", member, LEAST_ATTRIBUTE)
        if member.startswith("Pictures/"):
            read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
            yield from IMAGE.extract(content, picture_write_settings(settings, read))
        elif member != "mimetype":
            yield from search_xml(content, member, _is_own)
