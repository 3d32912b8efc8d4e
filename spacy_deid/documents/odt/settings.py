"""Settings of a document: only those that its looks depend on are kept, each of which is yes or no."""

from typing import Any

from lxml import etree

from .names import CONFIG, OFFICE

__all__ = ["clean_settings"]

_ITEM, _NAME, _SET = CONFIG + "config-item", CONFIG + "name", CONFIG + "config-item-set"
_CONFIGURATION = "ooo:configuration-settings"  # OpenOffice's name of the set, with the prefix that belongs to it
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
    """Write settings anew.

    root (Any): the settings of the original.
    RETURNS (Any): those that are known.
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
