"""Names of Office Open XML: namespaces, and what is done with each element of a text document."""

__all__ = [
    "ALT_TEXTS",
    "CHARACTERS",
    "DROPPED",
    "KNOWN",
    "MC",
    "TEXTS",
    "UNWRAPPED",
    "A",
    "M",
    "R",
    "W",
    "w",
]

# how the namespaces of the format and of Office itself begin
KNOWN = (
    "http://schemas.openxmlformats.org/",
    "http://schemas.microsoft.com/office/",
    "urn:schemas-microsoft-com:vml",
    "urn:schemas-microsoft-com:office:",
    "http://www.w3.org/XML/1998/namespace",
)
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
WPS = "{http://schemas.microsoft.com/office/word/2010/wordprocessingShape}"
PIC = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
V = "{urn:schemas-microsoft-com:vml}"
OFFICE = "{urn:schemas-microsoft-com:office:office}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def w(names: str) -> set[str]:
    """Tags of elements in the main namespace."""
    return {W + name for name in names.split()}


# what holds text that is shown
TEXTS = {W + "t", M + "t", A + "t"}
# elements that stand for a character
CHARACTERS = {W + "tab": "\t", W + "ptab": "\t", W + "br": "\n", W + "cr": "\n", W + "noBreakHyphen": "-"}
# attributes that a reader is shown or read aloud
ALT_TEXTS: dict[str, tuple[str, ...]]
ALT_TEXTS = dict.fromkeys((WP + "docPr", PIC + "cNvPr", A + "cNvPr", WPS + "cNvPr"), ("title", "descr"))
ALT_TEXTS[V + "textpath"] = ("string",)
ALT_TEXTS |= dict.fromkeys(w("tblCaption tblDescription lvlText"), (W + "val",))

# goes with all that is in it: deleted text, field codes, data of forms, macros, marks that carry names
DROPPED = w(
    "del moveFrom delText delInstrText cellDel cellIns cellMerge numberingChange pPrChange rPrChange sectPrChange "
    "tblGridChange tblPrChange tblPrExChange tcPrChange trPrChange moveFromRangeStart moveFromRangeEnd "
    "moveToRangeStart moveToRangeEnd customXmlInsRangeStart customXmlInsRangeEnd customXmlDelRangeStart "
    "customXmlDelRangeEnd customXmlMoveFromRangeStart customXmlMoveFromRangeEnd customXmlMoveToRangeStart "
    "customXmlMoveToRangeEnd bookmarkStart bookmarkEnd permStart permEnd proofErr smartTagPr customXmlPr sdtPr "
    "sdtEndPr altChunk subDoc control object movie fldData ffData docVars divId annotationRef softHyphen"
)
DROPPED |= w("aliases altName") | {
    OFFICE + "signatureline",
    MC + "Fallback",
    A + "hlinkClick",
    A + "hlinkHover",
    W14 + "conflictDel",
}
# leaves what is in it: inserted text, links, content controls
UNWRAPPED = w("ins moveTo hyperlink sdt sdtContent smartTag customXml") | {W14 + "conflictIns"}
