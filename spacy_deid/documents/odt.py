"""Read and write OpenDocument texts (.odt). The text of every part is edited in place, so that formatting is kept.

A document is cleaned both when it is read and when it is written, so that the text is the same.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lxml import etree

from ..errors import Errors, InputError
from ..offsets import Edit
from .archive import check_elements, open_archive, pack
from .document import Document, ExtractedText, Format, PlacedText, ReadSettings, WriteSettings
from .markup import (
    LEAST_ATTRIBUTE,
    TextNode,
    drop_unknown_namespaces,
    is_built_in_style,
    is_font,
    parse,
    read_words,
    remove,
    search_xml,
    serialize,
    strip_invisible,
    unwrap,
)
from .office import OfficeParts, edit_in_place, extract_picture, make_document, write_picture

_ODF = "{urn:oasis:names:tc:opendocument:xmlns:"
OFFICE, TEXT, TABLE = _ODF + "office:1.0}", _ODF + "text:1.0}", _ODF + "table:1.0}"
DRAW, STYLE, SVG = _ODF + "drawing:1.0}", _ODF + "style:1.0}", _ODF + "svg-compatible:1.0}"
CONFIG = _ODF + "config:1.0}"
XLINK = "{http://www.w3.org/1999/xlink}"
# prefixes of the known namespaces; those of single programs are removed
KNOWN = (_ODF[1:], XLINK[1:], "http://purl.org/dc/elements/1.1/", "http://www.w3.org/XML/1998/namespace")


def _tags(namespace: str, names: str) -> set[str]:
    """Return the tags of elements in a namespace, given as local names separated by blanks."""
    return {namespace + name for name in names.split()}


_ITEM, _NAME, _SET = CONFIG + "config-item", CONFIG + "name", CONFIG + "config-item-set"
_CONFIGURATION = "ooo:configuration-settings"  # name of the set in OpenOffice, with its prefix
_OOO = "http://openoffice.org/2004/office"


def _clean_settings(root: Any) -> Any:
    """Return a new settings part with only those settings that affect the layout, all of which are boolean."""
    names = {"office": OFFICE[1:-1], "config": CONFIG[1:-1], "ooo": _OOO}
    new = etree.Element(OFFICE + "document-settings", nsmap=names)
    new.set(OFFICE + "version", "1.2")
    group = etree.SubElement(etree.SubElement(new, OFFICE + "settings"), _SET, {_NAME: _CONFIGURATION})
    for item in root.iter(_ITEM):
        if item.get(_NAME) in read_words("odt_settings.txt") and item.text in ("true", "false"):
            kept = etree.SubElement(group, _ITEM, {_NAME: item.get(_NAME), CONFIG + "type": "boolean"})
            kept.text = item.text
    return new


IMAGE_TAG = DRAW + "image"
# elements with displayed text
_HOLDERS = _tags(TEXT, "p h span note-citation page-number page-count ruby-base ruby-text") | _tags(SVG, "title desc")
# displayed attributes: text before and after list numbers
_LABELS = _tags(STYLE, "num-prefix num-suffix")
# kept elements of the text namespace; others, mainly fields, are replaced by their content
_TEXT = _HOLDERS | _tags(
    TEXT,
    "s tab line-break soft-page-break note note-body list list-item list-header numbered-paragraph list-style section "
    "list-level-style-number list-level-style-bullet list-level-style-image outline-style outline-level-style "
    "notes-configuration linenumbering-configuration linenumbering-separator ruby sequence-decls",
)
_DROPPED = _tags(
    TEXT,
    "tracked-changes change change-start change-end bookmark bookmark-start bookmark-end reference-mark "
    "reference-mark-start reference-mark-end variable-decls user-field-decls dde-connection-decls section-source "
    "alphabetical-index-auto-mark-file toc-mark toc-mark-start toc-mark-end user-index-mark user-index-mark-start "
    "user-index-mark-end alphabetical-index-mark alphabetical-index-mark-start alphabetical-index-mark-end script "
    "table-of-content-source illustration-index-source table-index-source object-index-source user-index-source "
    "alphabetical-index-source bibliography-source bibliography-configuration note-continuation-notice-forward "
    "note-continuation-notice-backward",
)
_DROPPED |= _tags(OFFICE, "scripts forms event-listeners meta settings dde-source change-info binary-data")
_DROPPED |= _tags(
    DRAW, "object object-ole plugin applet floating-frame control image-map fill-image param contour-polygon"
)
_DROPPED |= _tags(SVG, "font-face-src definition-src") | _tags(STYLE, "background-image")
_DROPPED |= _tags(
    TABLE, "named-expressions content-validations database-ranges tracked-changes dde-links cell-range-source"
)
_FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
_FOREIGN = {"creator", "date", "creator-initials", "sender-initials"}  # of annotations, in several namespaces
_LOST = _tags(DRAW, "object object-ole plugin applet floating-frame control")
# local names of attributes that can identify a person: values of fields, names, addresses
_ATTRIBUTES = {"value", "string-value", "date-value", "time-value", "boolean-value", "formula", "condition", "title"}
_ATTRIBUTES |= {"description", "author", "creator", "id", "target-frame-name", "ref-name", "user-name", "href", "rsid"}
_ATTRIBUTES |= {"num-list-format", "paragraph-rsid", "protection-key", "label", "connection-name", "resolved"}
_ATTRIBUTES |= {"change-id", "name-and-extension"}
_SPACE = re.compile("[ \t\r\n]+")


def _clean(root: Any, pictures: dict[str, str]) -> bool:
    """Remove from a part everything that is not displayed and could identify a person.

    root (Any): content or styles, modified in place.
    pictures (dict[str, str]): names of picture members → their names in the copy.
    RETURNS (bool): whether embedded objects were removed.
    """
    lost = next(root.iter(*_LOST), None) is not None
    drop_unknown_namespaces(root, KNOWN, unwrapped=True)
    for element in [*root.iterdescendants()]:
        of_text = element.tag.startswith(TEXT)
        name = etree.QName(element).localname
        if element.tag in _DROPPED or element.tag.startswith(_FORM) or (name in _FOREIGN and not of_text):
            remove(element)
        elif (of_text and element.tag not in _TEXT) or element.tag == DRAW + "a":
            unwrap(element)
    names: dict[str, str] = {}
    for element in root.iter():
        if OFFICE + "name" in element.attrib:  # of a comment and of its end
            element.set(OFFICE + "name", names.setdefault(element.get(OFFICE + "name"), f"{len(names) + 1}"))
        _clean_element(element, pictures)
    for image in [*root.iter(IMAGE_TAG)]:
        if not image.get(XLINK + "href"):
            remove(image)
    etree.cleanup_namespaces(root)
    return lost


def _clean_element(element: Any, pictures: dict[str, str]) -> None:
    """Remove attributes and text that are not displayed from an element, collapse its white space, and set the new
    name of its picture.
    """
    picture = pictures.get(element.get(XLINK + "href", "").removeprefix("./")) if element.tag == IMAGE_TAG else None
    parent = element.getparent()
    drawn = parent is not None and parent.tag != OFFICE + "styles"
    for key in [*element.attrib]:
        named = key == TABLE + "name" or (key == DRAW + "name" and drawn)
        if named or etree.QName(key).localname in _ATTRIBUTES:
            del element.attrib[key]
    if picture:
        element.set(XLINK + "href", picture)
    if element.tag == TEXT + "section":
        element.set(TEXT + "name", "section")
    if element.tag not in _HOLDERS:
        element.text = None
    elif element.text:
        element.text = _SPACE.sub(" ", strip_invisible(element.text))
    if parent is None or parent.tag not in _HOLDERS:
        element.tail = None
    elif element.tail:
        element.tail = _SPACE.sub(" ", strip_invisible(element.tail))


_PARAGRAPHS = {TEXT + "p", TEXT + "h"}
_LATER = {OFFICE + "annotation", TEXT + "note", TEXT + "ruby-text"}
_DESCRIPTIONS = {SVG + "title", SVG + "desc"}
_GAPS = {TABLE + "table-cell": "\t", TABLE + "table-row": "\n", TEXT + "note-citation": " "}
_LEAST = 3  # fewest letters of a label beside a list number that is text


class WhiteSpaceElement(NamedTuple):
    """An XML element that stands for white space, such as a tab. It can be replaced by any text."""

    element: Any
    character: str

    def get(self) -> str:
        """Return the white space that the element stands for."""
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


def _add_text(root: Any, text: PlacedText) -> None:
    """Append the text of a cleaned part. Notes, comments, frames and descriptions come after their paragraph."""
    text.gap("\n\n")
    for element in root.iter():
        for key in _LABELS:
            if sum(map(str.isalpha, element.get(key, ""))) >= _LEAST:
                text.gap("\n")
                text.add(element.get(key), TextNode(element, "@" + key))
                text.gap("\n\n")
    _add_block(root, text)
    text.gap("\n\n")


def _add_block(element: Any, text: PlacedText) -> None:
    """Append the text of an element, then that of notes and frames anchored in it, which would split words."""
    later: list[Any] = []
    _add(element, text, later)
    for item in later:
        text.gap("\n")
        _add_block(item, text)
        text.gap("\n")


def _add(element: Any, text: PlacedText, later: list[Any]) -> None:
    """Append the text of an element in order. Notes, comments and frames are added to `later` instead."""
    holds = element.tag in _HOLDERS
    if holds:
        _add_spot(TextNode(element, "text"), text)
    for child in element:
        if child.tag in _PARAGRAPHS or child.tag in _DESCRIPTIONS:
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
    """Append a text node. Its leading blank is removed if it follows white space, unless that is an element."""
    after_element = text.pieces and isinstance(text.pieces[-1].place, WhiteSpaceElement)
    if spot.get().startswith(" ") and text.at_break and not after_element:
        spot.set(spot.get()[1:])
    text.add(spot.get(), spot)


def _white(element: Any) -> str:
    """Return the white space that an element stands for (blanks, tab or line break), or ""."""
    if element.tag == TEXT + "s":
        count = element.get(TEXT + "c", "1")
        return " " * min(int(count), 1000) if count.isdecimal() else " "
    return {TEXT + "tab": "\t", TEXT + "line-break": "\n"}.get(element.tag, "")


_PARTS = ("styles.xml", "content.xml")  # the styles contain headers and footers
_SETTINGS = "settings.xml"
_MIME = "application/vnd.oasis.opendocument.text"
_MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"


class _Opened(NamedTuple):
    """A cleaned document: XML parts by name, pictures by their name in the copy, warnings, and the cleaned settings
    part.
    """

    roots: dict[str, Any]
    pictures: dict[str, bytes]
    notes: list[str]
    settings: Any = None


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read an OpenDocument text: headers, footers, body, notes, comments, frames, list labels and pictures."""
    opened, text = _open(data, name, settings)
    return make_document((data, name, "odt"), settings, text, opened.pictures, opened.notes)


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[_Opened, PlacedText]:
    """Open a document, remove everything that is not displayed, and read its text without pictures.

    RAISES: InputError (D715) if the file is damaged, encrypted or not a text document.
    """
    members = open_archive(data, name, settings)
    if b"encryption-data" in members.get("META-INF/manifest.xml", b""):
        raise InputError(Errors.D715.format(path=name, reason="encrypted"))
    if "content.xml" not in members:
        raise InputError(Errors.D715.format(path=name, reason="damaged: content.xml is missing"))
    check_elements(members.values(), name)
    roots = {part: parse(members[part], name) for part in _PARTS if part in members}
    if roots["content.xml"].find(f"{OFFICE}body/{OFFICE}text") is None:
        raise InputError(Errors.D715.format(path=name, reason="not an OpenDocument text document"))
    names: dict[str, str] = {}
    for root in roots.values():
        for image in root.iter(IMAGE_TAG):
            member = image.get(XLINK + "href", "").removeprefix("./")
            if member in members:
                names.setdefault(member, f"Pictures/{len(names) + 1}")
    marks = [mark for root in roots.values() for mark in root.iter(STYLE + "text-properties")]
    marks = [mark for mark in marks if mark.get(TEXT + "display") == "none" and mark.getparent() is not None]
    styles = {mark.getparent().get(STYLE + "name") for mark in marks}
    spans = [span for root in roots.values() for span in root.iter(TEXT + "span")]
    hidden = [span for span in spans if span.get(TEXT + "style-name") in styles]
    for span in hidden:  # which would split words
        remove(span)
    lost = [_clean(root, names) for root in roots.values()]
    notes = ["embedded objects are removed"] * any(lost) + ["hidden texts are removed"] * bool(hidden)
    configured = _clean_settings(parse(members[_SETTINGS], name)) if _SETTINGS in members else None
    text = PlacedText()
    for root in roots.values():
        _add_text(root, text)
    return _Opened(roots, {new: members[old] for old, new in names.items()}, notes, configured), text


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write an edited OpenDocument text. A replacement takes the formatting of the first character that it replaces.

    RAISES: DeidError (D719) if anything is left of text that was removed from a picture.
    """
    parts: OfficeParts = document.parts
    opened, text = _open(parts.data, document.name, parts.settings)
    painted = edit_in_place(document, text, edits, _PARAGRAPHS)
    members = {"mimetype": _MIME.encode()} | {part: serialize(root) for part, root in opened.roots.items()}
    if opened.settings is not None:
        members[_SETTINGS] = serialize(opened.settings)
    for key, picture in opened.pictures.items():
        seen = parts.pictures.get(key)
        members[key] = write_picture(picture, seen, painted.get(key, []), parts.settings, settings)
    key = f"{{{_MANIFEST}}}"
    manifest = etree.Element(key + "manifest", nsmap={"manifest": _MANIFEST})
    manifest.set(key + "version", "1.2")
    for member in ["/", *members]:
        if member != "mimetype":
            entry = etree.SubElement(manifest, key + "file-entry")
            entry.set(key + "full-path", member)
            kind = _MIME if member == "/" else "text/xml" if member.endswith(".xml") else ""
            entry.set(key + "media-type", kind)
    members["META-INF/manifest.xml"] = serialize(manifest)
    return pack(members, stored="mimetype")


# keywords of the format, such as "roman", "black" and "center", and numbers; a patient may have such a name
_KEYWORD = re.compile(r"[a-z][A-Za-z\d]*|[\dA-F]+")

# names that LibreOffice generates for automatic styles, columns and lists
_AUTOMATIC = re.compile(
    r"([A-Z]{1,2}|Mpm?|dp|WWNum|WW8Num|Table|fr|gr|Sect|ta|co|ro|ce)\d{1,3}(\.[A-Z]?\d{0,3})?(z\d)?"
)


def _is_own(attribute: str, value: str) -> bool:
    """Whether an attribute value is defined by the format or by LibreOffice, so that it is not searched in a copy."""
    if attribute.startswith(("font-name", "font-family")):
        return is_font(value)
    if attribute.endswith("name"):
        return is_built_in_style(value) or is_font(value) or _AUTOMATIC.fullmatch(value) is not None
    return _KEYWORD.fullmatch(value) is not None


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the running text of a copy, and the texts and attributes in all its parts, also unexpected ones."""
    members = open_archive(data, "copy", settings.read)
    text = PlacedText()
    for part in _PARTS:
        if part in members:
            _add_text(parse(members[part], "copy"), text)
    yield ExtractedText("text", text.text)
    for member, content in members.items():
        yield ExtractedText("names of parts", member, LEAST_ATTRIBUTE)
        if member.startswith("Pictures/"):
            yield from extract_picture(content, settings)
        elif member != "mimetype":
            yield from search_xml(content, member, _is_own)


FORMAT = Format(read, write, extract)
