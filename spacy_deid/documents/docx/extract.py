"""Everything that can be got out of a DOCX, for verifying."""

import re
from collections.abc import Iterator

from ..archive import open_archive
from ..document import Found, WriteSettings
from ..embedded import picture_settings
from ..image import FORMAT as IMAGE
from ..markup import parse
from ..office import LEAST_ATTRIBUTE, search_xml
from ..places import PlacedText
from ..vocabulary import is_built_in_style, is_font, is_language, is_measure, is_ooxml_word
from .package import is_own_name, is_own_value, open_package
from .walk import add_text

__all__ = ["extract"]

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
    if is_language(value) or _ID.fullmatch(value) or is_built_in_style(value) or is_own_value(value):
        return True
    return is_uri(value) or all(is_ooxml_word(word) or is_measure(word) for word in _BETWEEN.split(value))


def is_uri(value: str) -> bool:
    """Whether a text is an address in a namespace of the format."""
    words = re.split(r"[/:.-]+", value)
    return bool(_URI.fullmatch(value)) and all(word in _URI_WORDS or is_measure(word) for word in words)


def extract(data: bytes, settings: WriteSettings) -> Iterator[Found]:
    """All text of a file: as it is read, and every text and attribute of every part, whether it is known or not.

    Values and names that every file of the format has are not searched: see `_is_own`.

    data (bytes): the file.
    settings (WriteSettings): whether pictures are read again.
    YIELDS (Found): texts.
    RAISES: InputError if it cannot be read.
    """
    text = PlacedText()
    add_text(open_package(data, "copy", settings.read), text)
    yield Found("text", text.text)
    for member, content in open_archive(data, "copy", settings.read).items():
        if not is_own_name(member):
            yield Found("names of parts", member, LEAST_ATTRIBUTE)
        if member.endswith((".xml", ".rels")):
            yield from search_xml(content, member, _is_own)
            yield from _names(content, member)
        else:
            read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
            yield from IMAGE.extract(content, picture_settings(settings, read))


def _names(content: bytes, member: str) -> Iterator[Found]:
    """Names of elements, attributes and namespaces that the format does not have: a stranger may have chosen them."""
    names: set[str] = set()
    for element in parse(content, "copy").iter():
        names.update((element.tag, *element.attrib), (f"{{{uri}}}" for uri in element.nsmap.values()))
        names.update(prefix for prefix in element.nsmap if prefix)
    for name in {part for tag in names for part in tag.lstrip("{").split("}") if part}:
        if not (is_ooxml_word(name) or is_uri(name)):
            yield Found(f"{member}, names of elements", name, LEAST_ATTRIBUTE)
