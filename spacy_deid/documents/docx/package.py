"""Read the parts of a DOCX by following relationships from its main part, and write them under new names.

A part is a file within the ZIP archive of a DOCX, such as the body, a header or a picture. Relationships are the links
between parts.

Only parts of known types are copied. Parts that nothing refers to and parts of other types are left out: properties,
thumbnails, custom XML, glossaries, macros, embedded objects, lists of people.
"""

import posixpath
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import unquote

from lxml import etree

from ...errors import Errors, InputError
from ..archive import check_elements, open_archive, pack
from ..document import ReadSettings
from ..markup import parse, serialize

# prefixes of the namespaces of the format and of Office
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


def w_tags(names: str) -> set[str]:
    """Return the tags of elements in the main WordprocessingML namespace, given as local names separated by blanks."""
    return {W + name for name in names.split()}


# elements with displayed text
TEXTS = {W + "t", M + "t", A + "t"}
# elements that represent a character
CHARACTERS = {W + "tab": "\t", W + "ptab": "\t", W + "br": "\n", W + "cr": "\n", W + "noBreakHyphen": "-"}
# attributes that are displayed or read aloud
ALT_TEXTS: dict[str, tuple[str, ...]]
ALT_TEXTS = dict.fromkeys((WP + "docPr", PIC + "cNvPr", A + "cNvPr", WPS + "cNvPr"), ("title", "descr"))
ALT_TEXTS[V + "textpath"] = ("string",)
ALT_TEXTS |= dict.fromkeys(w_tags("tblCaption tblDescription lvlText"), (W + "val",))

# removed with their content: deleted text, field codes, form data, macros, elements that contain names
DROPPED = w_tags(
    "del moveFrom delText delInstrText cellDel cellIns cellMerge numberingChange pPrChange rPrChange sectPrChange "
    "tblGridChange tblPrChange tblPrExChange tcPrChange trPrChange moveFromRangeStart moveFromRangeEnd "
    "moveToRangeStart moveToRangeEnd customXmlInsRangeStart customXmlInsRangeEnd customXmlDelRangeStart "
    "customXmlDelRangeEnd customXmlMoveFromRangeStart customXmlMoveFromRangeEnd customXmlMoveToRangeStart "
    "customXmlMoveToRangeEnd bookmarkStart bookmarkEnd permStart permEnd proofErr smartTagPr customXmlPr sdtPr "
    "sdtEndPr altChunk subDoc control object movie fldData ffData docVars divId annotationRef softHyphen"
)
DROPPED |= w_tags("aliases altName") | {OFFICE + "signatureline", MC + "Fallback", W14 + "conflictDel"}
DROPPED |= {A + "hlinkClick", A + "hlinkHover"}
# replaced by their content: inserted text, links, content controls
UNWRAPPED = w_tags("ins moveTo hyperlink sdt sdtContent smartTag customXml") | {W14 + "conflictIns"}


MAIN = "document"
# last segment of the relationship type → content type; None for pictures
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml."
_KINDS = "header footer footnotes endnotes comments styles numbering fontTable settings"
KINDS: dict[str, str | None] = {name: f"{_WORD}{name}+xml" for name in _KINDS.split()}
KINDS |= {"theme": "application/vnd.openxmlformats-officedocument.theme+xml", "image": None}
_MAIN_TYPE = _WORD + "document.main+xml"
# left out without a warning, because nothing displayed is lost
_SILENT = set(
    "customXml webSettings stylesWithEffects glossaryDocument attachedTemplate hyperlink people diagramLayout "
    "diagramQuickStyle diagramColors diagramDrawing keyMapCustomizations toolbars commentsExtended commentsIds "
    "commentsExtensible font printerSettings recipientData".split()
)
# content types by suffix
_DEFAULTS = [("rels", "application/vnd.openxmlformats-package.relationships+xml"), ("xml", "application/xml")]
_DEFAULTS += [(suffix, f"image/{suffix}") for suffix in ("png", "jpeg", "tiff")]
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


@dataclass(slots=True)
class Part:
    """A file within a DOCX, such as the body, a header or a picture.

    kind (str): type of the part, a key of `KINDS` or `MAIN`.
    data (bytes): content of a picture; empty for XML.
    root (Any): root element of an XML part; None for a picture.
    links (dict[str, Part]): parts it refers to, by relationship id.
    name (str): its name in the copy; "" until the package is saved.
    """

    kind: str
    data: bytes = field(repr=False)
    root: Any = field(default=None, repr=False)
    links: dict[str, "Part"] = field(default_factory=dict, repr=False)
    name: str = ""


@dataclass(slots=True)
class Package:
    """The parts of a DOCX that are copied: the main part first, then the others in the order they are referred to.

    `left_out` holds the number of parts and links that are not copied, by type.
    """

    parts: list[Part] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def of(self, *kinds: str) -> list[Part]:
        """Return the parts of the given types, sorted by the order of these types."""
        return [part for kind in kinds for part in self.parts if part.kind == kind]

    def save(self) -> bytes:
        """Write the package as a ZIP archive. Parts are named by type and number: original names can contain PHI."""
        numbers: Counter[str] = Counter()
        types = etree.Element(f"{{{_TYPES}}}Types", nsmap={None: _TYPES})
        for suffix, kind in _DEFAULTS:
            etree.SubElement(types, f"{{{_TYPES}}}Default", Extension=suffix, ContentType=kind)
        for part in self.parts:
            numbers[part.kind] += 1
            if part.kind == "image":
                is_tiff = part.data.startswith((b"II*\0", b"MM\0*"))
                suffix = "jpeg" if part.data.startswith(b"\xff\xd8") else "tiff" if is_tiff else "png"
                part.name = f"word/media/image{numbers['image']}.{suffix}"
                continue
            part.name = f"word/{part.kind}{'' if part.kind == MAIN else numbers[part.kind]}.xml"
            kind = _MAIN_TYPE if part.kind == MAIN else KINDS[part.kind] or ""
            etree.SubElement(types, f"{{{_TYPES}}}Override", PartName="/" + part.name, ContentType=kind)
        members = {"[Content_Types].xml": serialize(types)}
        members["_rels/.rels"] = _relationships({"rId1": ("officeDocument", "/word/document.xml")})
        for part in self.parts:
            members[part.name] = part.data if part.root is None else serialize(part.root)
            if part.links:
                links = {rid: (target.kind, "/" + target.name) for rid, target in part.links.items()}
                members[f"word/_rels/{posixpath.basename(part.name)}.rels"] = _relationships(links)
        return pack(members)


def open_package(data: bytes, name: str, settings: ReadSettings) -> Package:
    """Read the main part of a package and all parts of known types that are reachable from it.

    RAISES: InputError (D715) if the file cannot be read or has too many elements.
    """
    members = {member.lower(): content for member, content in open_archive(data, name, settings).items()}
    check_elements(members.values(), name)
    starts = [target for kind, target, _ in _links(members, "", name).values() if kind == "officeDocument"]
    if not starts or starts[0].lower() not in members:
        raise InputError(Errors.D715.format(path=name, reason="damaged: the main part is missing"))
    package = Package()
    waiting = [starts[0].lower()]
    done = {waiting[0]: Part(MAIN, b"", parse(members[waiting[0]], name))}
    for member in waiting:
        package.parts.append(part := done[member])
        for rid, (towards, target, outside) in _links(members, member, name).items():
            target = target.lower()
            if towards not in KINDS or outside or target not in members:
                package.left_out[towards] += towards not in _SILENT
                continue
            if target not in done:
                content = members[target]
                is_image = towards == "image"
                done[target] = Part(towards, content) if is_image else Part(towards, b"", parse(content, name))
                waiting.append(target)
            part.links[rid] = done[target]
    if package.parts[0].root.tag != W + "document":
        reason = "not a document in transitional Office Open XML. Save it again as .docx"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    return package


def _links(members: dict[str, bytes], member: str, name: str) -> dict[str, tuple[str, str, bool]]:
    """Return the relationships of a part: id → type, name of the target, and whether the target is external."""
    folder, base = posixpath.split(member)
    content = members.get(posixpath.join(folder, "_rels", base + ".rels").lower())
    found = {}
    for link in parse(content, name) if content else ():
        outside = link.get("TargetMode") == "External"
        target = posixpath.normpath(posixpath.join("/", folder, unquote(link.get("Target", "")))).lstrip("/")
        found[link.get("Id", "")] = (link.get("Type", "").rsplit("/", 1)[-1], target, outside)
    return found


_OWN_NAME = re.compile(
    rf"\[Content_Types\]\.xml|_rels/\.rels|word/(_rels/)?({MAIN}|{'|'.join(KINDS)})\d*\.xml(\.rels)?|"
    r"word/media/image\d+\.(png|jpeg|tiff)"
)


def is_generated_name(member: str) -> bool:
    """Whether the name of a part has the form that `Package.save` generates: a type and a number."""
    return _OWN_NAME.fullmatch(member) is not None


def is_generated_value(value: str) -> bool:
    """Whether a text is one that `Package.save` writes to the content types and relationships of every copy."""
    return value in _own_values() or is_generated_name(value.removeprefix("/"))


@cache
def _own_values() -> frozenset[str]:
    types = {kind for kind in KINDS.values() if kind} | {_MAIN_TYPE}
    types |= {value for _, value in _DEFAULTS} | {suffix for suffix, _ in _DEFAULTS}
    return frozenset(types | {_TYPE + kind for kind in (*KINDS, "officeDocument")})


def _relationships(links: dict[str, tuple[str, str]]) -> bytes:
    """Return the XML file of the relationships of a part, which are given as id → type and name of the target."""
    root = etree.Element(f"{{{_RELS}}}Relationships", nsmap={None: _RELS})
    for rid, (kind, target) in links.items():
        etree.SubElement(root, f"{{{_RELS}}}Relationship", Id=rid, Type=_TYPE + kind, Target=target)
    return serialize(root)
