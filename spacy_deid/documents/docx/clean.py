"""What is not text is cleaned, when a document is read as when it is written: the text counts on it."""

import re
from collections import Counter
from typing import Any

from lxml import etree

from ..markup import remove, without
from .fields import flatten_fields
from .names import ALT_TEXTS, DROPPED, TEXTS, UNWRAPPED, R, W, w
from .package import Package, Part

__all__ = ["clean"]

# settings that the look of a document depends on; others hold names of files and addresses, variables, versions
_SETTINGS = w(
    "zoom mirrorMargins defaultTabStop autoHyphenation hyphenationZone evenAndOddHeaders bookFoldPrinting gutterAtTop "
    "characterSpacingControl footnotePr endnotePr compat themeFontLang clrSchemeMapping decimalSymbol listSeparator "
    "displayBackgroundShape noLineBreaksAfter noLineBreaksBefore"
)
_CARRIERS = {W + "drawing", W + "pict", W + "object"}
# attributes, by their local names, that can tell of somebody or tie the copy to the original
_ATTRIBUTES = {"author", "initials", "date", "dateUtc", "userId", "providerId", "href", "title", "alt", "tooltip"}
_ATTRIBUTES |= {"paraId", "textId", "gfxdata", "anchorId", "editId", "spid", "displacedByCustomXml"}
_LEFT = TEXTS | {W + "instrText"}
_NAMED = {"docPr", "cNvPr"}
_VML_ID = re.compile(r"_x0000_t\d+")
_LAYOUT = re.compile(r"[-\d.\s]*|left|right|center|top|bottom|inside|outside")
_COUNTED = {
    "altChunk": "imported files",
    "control": "controls",
    "object": "embedded objects",
    "subDoc": "subdocuments",
}
_LOST = {"oleObject": "embedded objects", "package": "embedded objects", "aFChunk": "imported files"}
_LOST |= {"vbaProject": "macros", "wordVbaData": "macros", "chart": "charts", "chartEx": "charts"}
_LOST |= {"diagramData": "diagrams", "image": "linked pictures", "control": "controls", "subDocument": "subdocuments"}


def clean(package: Package) -> list[str]:
    """Take out of a document everything that is not shown and could tell of somebody.

    package (Package): the parts; they change.
    RETURNS (list[str]): what is lost that could be missed.
    """
    lost: Counter[str] = Counter()
    for kind, count in package.left_out.items():
        lost[_LOST.get(kind, "")] += count
    for part in package.parts:
        if part.root is not None:
            lost += Counter({what: len([*part.root.iter(W + tag)]) for tag, what in _COUNTED.items()})
            _clean_part(part)
    del lost[""]
    return [f"{what} are removed" for what in sorted(lost) if lost[what]]


def _clean_part(part: Part) -> None:
    """Clean the XML of a part."""
    root = part.root
    if part.kind == "settings":
        for element in [*root]:
            if element.tag not in _SETTINGS:
                root.remove(element)
    flatten_fields(root)
    for mark in [*root.iter(W + "del")]:
        if mark.getparent().tag == W + "trPr":
            remove(mark.getparent().getparent())
    without(root, DROPPED, UNWRAPPED)
    drop_dead_links(part)
    for element in root.iter():
        _clean_attributes(element)
        _clean_text(element)


def drop_dead_links(part: Part) -> None:
    """Take out what needs a part that is not there: a drawing, a link, a reference.

    part (Part): XML; it changes.
    """
    for element in [*part.root.iter()]:
        keys = [key for key in element.attrib if key.startswith(R)]
        dead = [key for key in keys if element.get(key) not in part.links]
        for key in dead:
            del element.attrib[key]
        if dead and len(dead) == len(keys):
            remove(_carrier(element))


def _carrier(element: Any) -> Any:
    """What goes with an element: the drawing around a picture, else the element itself."""
    if etree.QName(element).localname == "svgBlip":  # beside the picture that it is a finer version of
        return element
    return next((above for above in element.iterancestors() if above.tag in _CARRIERS), element)


def _clean_attributes(element: Any) -> None:
    """Take out attributes that are not shown."""
    tag = etree.QName(element)
    for key in [*element.attrib]:
        name = etree.QName(key).localname
        if key in ALT_TEXTS.get(element.tag, ()):
            continue
        if (tag.localname in _NAMED and name == "name") or (tag.localname == "comment" and name == "author"):
            element.set(key, "")  # must be there
            continue
        named = key == "id" and "vml" in (tag.namespace or "") and not _VML_ID.fullmatch(element.get(key))
        if named or name in _ATTRIBUTES or name.startswith("rsid"):
            del element.attrib[key]


def _clean_text(element: Any) -> None:
    """Take out text that stands where none is shown. Places in a drawing and codes of fields that are left stay."""
    element.tail = None
    if element.text and element.tag not in _LEFT and not _LAYOUT.fullmatch(element.text):
        element.text = None
