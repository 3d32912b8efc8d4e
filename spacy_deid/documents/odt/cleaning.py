"""Remove from an ODT everything that is not displayed.

A document is cleaned both when it is read and when it is written, so that the text is the same.
"""

import re
from collections.abc import Container, Iterable
from typing import Any

from lxml import etree

from ..markup import drop_unknown_namespaces, remove, strip_invisible, unwrap

_ODF = "{urn:oasis:names:tc:opendocument:xmlns:"
OFFICE, TEXT, TABLE = _ODF + "office:1.0}", _ODF + "text:1.0}", _ODF + "table:1.0}"
DRAW, STYLE, SVG = _ODF + "drawing:1.0}", _ODF + "style:1.0}", _ODF + "svg-compatible:1.0}"
CONFIG = _ODF + "config:1.0}"
XLINK = "{http://www.w3.org/1999/xlink}"
# prefixes of the known namespaces; those of single programs are removed
KNOWN = (_ODF[1:], XLINK[1:], "http://purl.org/dc/elements/1.1/", "http://www.w3.org/XML/1998/namespace")


def tags(namespace: str, names: str) -> set[str]:
    """Return tags in a namespace."""
    return {namespace + name for name in names.split()}


_ITEM, _NAME, _SET = CONFIG + "config-item", CONFIG + "name", CONFIG + "config-item-set"
_CONFIGURATION = "ooo:configuration-settings"  # name of the set in OpenOffice, with its prefix
_OOO = "http://openoffice.org/2004/office"
_LOOKS = set(
    "AddExternalLeading AddFrameOffsets AddParaLineSpacingToTableCells AddParaSpacingToTableCells AddParaTableSpacing "
    "AddParaTableSpacingAtStart AddVerticalFrameOffsets ApplyParagraphMarkFormatToNumbering "
    "ClipAsCharacterAnchoredWriterFlyFrames ClippedPictures CollapseEmptyCellPara ConsiderTextWrapOnObjPos "
    "ContinuousEndnotes DoNotCaptureDrawObjsOnPage DoNotJustifyLinesWithManualBreak DoNotResetParaAttrsForNumFont"
    " DropCapPunctuation FloattableNomargins HeaderSpacingBelowLastPara IgnoreFirstLineIndentInNumbering "
    "IgnoreTabsAndBlanksForLineCalculation InvertBorderSpacing MathBaselineAlignment MsWordCompMinLineHeightByFly "
    "MsWordCompTrailingBlanks PropLineSpacingShrinksFirstLine StylesNoDefault SubtractFlysAnchoredAtFlys "
    "SurroundTextWrapSmall TabAtLeftIndentForParagraphsInList TabOverMargin TabOverSpacing TabOverflow TableRowKeep "
    "TabsRelativeToIndent TreatSingleColumnBreakAsPageBreak UnbreakableNumberings UnxForceZeroExtLeading "
    "UseFormerLineSpacing UseFormerObjectPositioning UseFormerTextWrapping UseOldNumbering "
    "WrapAsCharFlysLikeInOOXML".split()
)


def clean_settings(root: Any) -> Any:
    """Copy the settings that affect the layout. All of them are boolean.

    root (Any): the settings of the original.
    RETURNS (Any): a new tree with the known settings.
    """
    names = {"office": OFFICE[1:-1], "config": CONFIG[1:-1], "ooo": _OOO}
    new = etree.Element(OFFICE + "document-settings", nsmap=names)
    new.set(OFFICE + "version", "1.2")
    group = etree.SubElement(etree.SubElement(new, OFFICE + "settings"), _SET, {_NAME: _CONFIGURATION})
    for item in root.iter(_ITEM):
        if item.get(_NAME) in _LOOKS and item.text in ("true", "false"):
            kept = etree.SubElement(group, _ITEM, {_NAME: item.get(_NAME), CONFIG + "type": "boolean"})
            kept.text = item.text
    return new


IMAGE_TAG = DRAW + "image"
# elements with displayed text
HOLDERS = tags(TEXT, "p h span note-citation page-number page-count ruby-base ruby-text") | tags(SVG, "title desc")
# displayed attributes: text before and after list numbers
LABELS = tags(STYLE, "num-prefix num-suffix")
# kept elements of the text namespace; others, mainly fields, are replaced by their content
_TEXT = HOLDERS | tags(
    TEXT,
    "s tab line-break soft-page-break note note-body list list-item list-header numbered-paragraph list-style section "
    "list-level-style-number list-level-style-bullet list-level-style-image outline-style outline-level-style "
    "notes-configuration linenumbering-configuration linenumbering-separator ruby sequence-decls",
)
_DROPPED = tags(
    TEXT,
    "tracked-changes change change-start change-end bookmark bookmark-start bookmark-end reference-mark "
    "reference-mark-start reference-mark-end variable-decls user-field-decls dde-connection-decls section-source "
    "alphabetical-index-auto-mark-file toc-mark toc-mark-start toc-mark-end user-index-mark user-index-mark-start "
    "user-index-mark-end alphabetical-index-mark alphabetical-index-mark-start alphabetical-index-mark-end script "
    "table-of-content-source illustration-index-source table-index-source object-index-source user-index-source "
    "alphabetical-index-source bibliography-source bibliography-configuration note-continuation-notice-forward "
    "note-continuation-notice-backward",
)
_DROPPED |= tags(OFFICE, "scripts forms event-listeners meta settings dde-source change-info binary-data")
_DROPPED |= tags(
    DRAW, "object object-ole plugin applet floating-frame control image-map fill-image param contour-polygon"
)
_DROPPED |= tags(SVG, "font-face-src definition-src") | tags(STYLE, "background-image")
_DROPPED |= tags(
    TABLE, "named-expressions content-validations database-ranges tracked-changes dde-links cell-range-source"
)
_FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
_FOREIGN = {"creator", "date", "creator-initials", "sender-initials"}  # of annotations, in several namespaces
_LOST = tags(DRAW, "object object-ole plugin applet floating-frame control")
# local names of attributes that can identify a person: values of fields, names, addresses
_ATTRIBUTES = {"value", "string-value", "date-value", "time-value", "boolean-value", "formula", "condition", "title"}
_ATTRIBUTES |= {"description", "author", "creator", "id", "target-frame-name", "ref-name", "user-name", "href", "rsid"}
_ATTRIBUTES |= {
    "num-list-format",
    "paragraph-rsid",
    "protection-key",
    "label",
    "connection-name",
    "resolved",
    "change-id",
    "name-and-extension",
}
_SPACE = re.compile("[ \t\r\n]+")


def clean(root: Any, pictures: dict[str, str]) -> bool:
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
        _clean_attributes(element, pictures)
        _clean_text(element)
    for image in [*root.iter(IMAGE_TAG)]:
        if not image.get(XLINK + "href"):
            remove(image)
    etree.cleanup_namespaces(root)
    return lost


def hidden_styles(roots: Iterable[Any]) -> set[str]:
    """Return the names of styles that hide text."""
    shown = STYLE + "text-properties"
    marks = [mark for root in roots for mark in root.iter(shown) if mark.get(TEXT + "display") == "none"]
    return {mark.getparent().get(STYLE + "name") for mark in marks if mark.getparent() is not None}


def drop_hidden(root: Any, styles: Container[str]) -> bool:
    """Remove hidden text, which would split words. RETURNS (bool): whether there was any."""
    hidden = [span for span in root.iter(TEXT + "span") if span.get(TEXT + "style-name") in styles]
    for span in hidden:
        remove(span)
    return bool(hidden)


def _clean_attributes(element: Any, pictures: dict[str, str]) -> None:
    """Remove attributes that are not displayed. Links to pictures are kept and renamed."""
    picture = pictures.get(element.get(XLINK + "href", "").removeprefix("./")) if element.tag == IMAGE_TAG else None
    drawn = element.getparent() is not None and element.getparent().tag != OFFICE + "styles"
    for key in [*element.attrib]:
        name = etree.QName(key)
        named = key == TABLE + "name" or (key == DRAW + "name" and drawn)
        if named or name.localname in _ATTRIBUTES:
            del element.attrib[key]
    if picture:
        element.set(XLINK + "href", picture)
    if element.tag == TEXT + "section":
        element.set(TEXT + "name", "section")


def _clean_text(element: Any) -> None:
    """Remove text where none is displayed, and collapse white space."""
    if element.tag not in HOLDERS:
        element.text = None
    elif element.text:
        element.text = _SPACE.sub(" ", strip_invisible(element.text))
    parent = element.getparent()
    if parent is None or parent.tag not in HOLDERS:
        element.tail = None
    elif element.tail:
        element.tail = _SPACE.sub(" ", strip_invisible(element.tail))
