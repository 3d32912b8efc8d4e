"""Remove from a DOCX everything that is not displayed.

A document is cleaned both when it is read and when it is written, so that the text is the same.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from lxml import etree

from ..markup import drop_unknown_namespaces, is_built_in_style, is_language, prune, remove, strip_invisible, unwrap
from .package import ALT_TEXTS, CHARACTERS, DROPPED, KNOWN, MC, TEXTS, UNWRAPPED, A, Package, Part, R, W, w_tags


def accept_changes(root: Any) -> None:
    """Accept tracked deletions of table rows and paragraph marks. Must be called while these marks are in the tree.

    Paragraphs whose mark was deleted are joined with the next one, since a word may span both.

    root (Any): root element of a part, modified in place.
    """
    for row in [*root.iter(W + "tr")]:
        if row.find(f"{W}trPr/{W}del") is not None:
            remove(row)
    for table in [*root.iter(W + "tbl")]:
        if next(table.iter(W + "tr"), None) is None:
            remove(table)
    for paragraph in [*root.iter(W + "p")]:
        deleted = any(paragraph.find(f"{W}pPr/{W}rPr/{W}{mark}") is not None for mark in ("del", "moveFrom"))
        following = paragraph.getnext()
        if not deleted or following is None or following.tag != W + "p":
            continue
        # the content moves to the next paragraph, whose formatting applies, as in Word
        content = [child for child in paragraph if child.tag != W + "pPr"]
        for at, child in enumerate(content, int(following.find(W + "pPr") is not None)):
            following.insert(at, child)
        remove(paragraph)


# page numbers, which contain no PHI and must be recomputed when the document is laid out
_KEPT = re.compile(r"\s*(PAGE|NUMPAGES|SECTION|SECTIONPAGES)(\s+\\\*\s*\w+)*\s*")
_CHAR, _INSTR, _SIMPLE = W + "fldChar", W + "instrText", W + "fldSimple"


def flatten_fields(root: Any) -> None:
    """Replace the fields of a part, such as dates and links, with the text they display. Page numbers stay fields."""
    for element in [*root.iter(_SIMPLE)]:
        if not _KEPT.fullmatch(element.get(W + "instr", "")):
            unwrap(element)
    open_fields: list[_Field] = []
    gone: list[Any] = []
    for element in root.iter(_CHAR, _INSTR, *TEXTS, *CHARACTERS):
        kind = element.get(W + "fldCharType") if element.tag == _CHAR else ""
        field = open_fields[-1] if open_fields else None
        if kind == "begin":
            open_fields.append(_Field([element]))
        elif element.tag not in (_CHAR, _INSTR):
            if any(field.in_code for field in open_fields):
                gone.append(element)  # an operand of the field, not displayed
        elif field is None or (element.tag == _INSTR and not field.in_code):
            gone.append(element)
        else:
            field.elements.append(element)
            if element.tag == _INSTR:
                field.code += element.text or ""
            elif kind == "separate":
                field.in_code = False
            else:
                open_fields.pop()
                gone += [] if _KEPT.fullmatch(field.code) else field.elements
    for field in open_fields:  # not closed: damaged
        gone += field.elements
    for element in gone:
        if element.getparent() is not None:
            remove(element)


@dataclass(slots=True)
class _Field:
    """A field whose end has not been reached: its elements, its code, and whether its code is still being read."""

    elements: list[Any]
    code: str = ""
    in_code: bool = True


_REFERENCES = w_tags("pStyle rStyle tblStyle basedOn next link styleLink numStyleLink")


def rename_styles(package: Package) -> None:
    """Replace the names of custom styles with numbers, and remove the names of lists, because names can contain PHI.

    Names of predefined styles, such as "Heading 1", are kept.
    """
    ids: dict[str, str] = {}
    for part in package.of("styles"):
        for style in part.root.iter(W + "style"):
            old = style.get(W + "styleId", "")
            style.set(W + "styleId", ids.setdefault(old, f"s{len(ids) + 1}"))
            name = style.find(W + "name")
            if name is not None and not is_built_in_style(name.get(W + "val", "")):
                name.set(W + "val", f"Style {ids[old][1:]}")
        for exception in [*part.root.iter(W + "lsdException")]:
            if not is_built_in_style(exception.get(W + "name", "")):
                remove(exception)
    for part in package.of("numbering"):
        for name in [*part.root.iter(W + "name")]:
            remove(name)
    for part in package.parts:
        for reference in [*part.root.iter(*_REFERENCES)] if part.root is not None else ():
            if reference.get(W + "val") in ids:
                reference.set(W + "val", ids[reference.get(W + "val")])
            else:
                remove(reference)


# types of parts whose text is displayed, in reading order
READ = ("header", "document", "footer", "footnotes", "endnotes", "comments", "numbering")

# settings that affect the layout; others contain file names, addresses, variables and versions
_SETTINGS = w_tags(
    "zoom mirrorMargins defaultTabStop autoHyphenation hyphenationZone evenAndOddHeaders bookFoldPrinting gutterAtTop "
    "characterSpacingControl footnotePr endnotePr compat themeFontLang clrSchemeMapping decimalSymbol listSeparator "
    "displayBackgroundShape noLineBreaksAfter noLineBreaksBefore"
)
_CARRIERS = {A + "ext", W + "drawing", W + "pict", W + "object"}
# local names of attributes that can identify a person or link the copy to the original
_ATTRIBUTES = {"author", "initials", "date", "dateUtc", "userId", "providerId", "href", "title", "alt", "tooltip"}
_ATTRIBUTES |= {"src", "althref", "equationxml", "ProcessContent", "PreserveElements", "PreserveAttributes"}
_ATTRIBUTES |= {"MustUnderstand", "paraId", "textId", "gfxdata", "anchorId", "editId", "spid", "displacedByCustomXml"}
_LEFT = TEXTS | {W + "instrText"}
_LANGUAGES = w_tags("lang themeFontLang")
_NAMED = {"docPr", "cNvPr"}
_VML_ID = re.compile(r"_x0000_t\d+")
_LAYOUT = re.compile(r"[-\d.\s]*|left|right|center|top|bottom|inside|outside")
_COUNTED = {"altChunk": "imported files", "control": "controls", "object": "embedded objects"}
_COUNTED |= {"subDoc": "subdocuments"}
_LOST = {"oleObject": "embedded objects", "package": "embedded objects", "aFChunk": "imported files"}
_LOST |= {"vbaProject": "macros", "wordVbaData": "macros", "chart": "charts", "chartEx": "charts"}
_LOST |= {"diagramData": "diagrams", "image": "linked pictures", "control": "controls", "subDocument": "subdocuments"}


def clean(package: Package) -> list[str]:
    """Remove from a package everything that is not displayed and could identify a person.

    package (Package): the package, modified in place.
    RETURNS (list[str]): warnings about removed content, such as "macros are removed".
    """
    lost: Counter[str] = Counter()
    for kind, count in package.left_out.items():
        lost[_LOST.get(kind, "parts of other kinds")] += count
    rename_styles(package)
    for part in package.parts:
        if part.root is not None:
            lost += Counter({what: len([*part.root.iter(W + tag)]) for tag, what in _COUNTED.items()})
            lost["hidden texts"] += _clean_part(part)
    return [f"{what} are removed" for what in sorted(lost) if lost[what]]


def _clean_part(part: Part) -> int:
    """Remove from an XML part what is not displayed, and return the number of hidden text runs that were removed."""
    root = part.root
    if part.kind == "settings":
        for element in [*root]:
            if element.tag not in _SETTINGS:
                root.remove(element)
    drop_unknown_namespaces(root, KNOWN)
    flatten_fields(root)
    hidden = []
    for run in root.iter(W + "r"):
        mark = run.find(f"{W}rPr/{W}vanish")
        if mark is not None and mark.get(W + "val", "1") not in ("0", "false", "off"):
            hidden.append(run)
    for run in hidden:  # which would split words
        remove(run)
    accept_changes(root)
    prune(root, DROPPED, UNWRAPPED)
    _write_direction(root)
    _drop_dead_links(part)
    left = _LEFT if part.kind in READ else set()
    for element in root.iter():
        _clean_attributes(element, part.kind)
        element.tail = None
        if element.text and element.tag in left:
            element.text = strip_invisible(element.text)
        elif element.text and not _LAYOUT.fullmatch(element.text):  # layout positions in drawings stay
            element.text = None
    _clean_namespaces(root)
    return len(hidden)


def _write_direction(root: Any) -> None:
    """Replace elements that reverse text with the control characters that `read_as_seen` resolves."""
    for turned in [*root.iter(W + "bdo")]:
        texts = [*turned.iter(W + "t")]
        if texts:
            mark = "\u202e" if turned.get(W + "val") == "rtl" else "\u202d"
            texts[0].text = mark + (texts[0].text or "")
            texts[-1].text = (texts[-1].text or "") + "\u202c"
        unwrap(turned)


def _drop_dead_links(part: Part) -> None:
    """Remove elements that refer only to parts that are not copied: drawings with pictures, links, references."""
    for element in [*part.root.iter()]:
        keys = [key for key in element.attrib if key.startswith(R)]
        dead = [key for key in keys if element.get(key) not in part.links]
        for key in dead:
            del element.attrib[key]
        if dead and len(dead) == len(keys):
            # an extension holds another version of a picture and is removed alone
            remove(next((above for above in element.iterancestors() if above.tag in _CARRIERS), element))


def _clean_attributes(element: Any, kind: str) -> None:
    """Remove or empty the attributes of an element that can identify a person or link the copy to the original."""
    tag = etree.QName(element)
    for key in [*element.attrib]:
        name = etree.QName(key).localname
        if key in ALT_TEXTS.get(element.tag, ()):
            continue
        named = name == "name" and (tag.localname in _NAMED or kind == "theme")
        if named or (tag.localname == "comment" and name == "author"):
            element.set(key, "")  # required attribute
            continue
        if (element.tag in _LANGUAGES or name in ("lang", "altLang")) and not is_language(element.get(key)):
            del element.attrib[key]
            continue
        drawn = key == "id" and "vml" in (tag.namespace or "") and not _VML_ID.fullmatch(element.get(key))
        if drawn or name in _ATTRIBUTES or name.startswith("rsid"):
            del element.attrib[key]


def _clean_namespaces(root: Any) -> None:
    """Remove declarations of unused namespaces, except known ones that markup compatibility attributes refer to."""
    expected = (element.get(key, "") for element in root.iter() for key in (MC + "Ignorable", "Requires"))
    named = " ".join(expected).split()
    declared = {prefix: uri for element in root.iter() for prefix, uri in element.nsmap.items()}
    kept = {prefix for prefix in named if declared.get(prefix, "").startswith(KNOWN)}
    etree.cleanup_namespaces(root, keep_ns_prefixes=[*kept])
    if root.get(MC + "Ignorable"):
        root.set(MC + "Ignorable", " ".join(p for p in root.get(MC + "Ignorable").split() if p in root.nsmap))
