"""Read and write HTML pages. Visible text is edited in place; scripts, comments, links and pictures are removed."""

import codecs
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from lxml import etree
from lxml.html import HTMLParser, document_fromstring, tostring
from lxml.html.defs import tags
from PIL.ImageColor import colormap

from ..errors import ConfigError, Errors, InputError
from ..io import check_encoding, decode
from ..offsets import Edit, apply_edits
from .archive import check_elements
from .document import Document, ExtractedText, Format, PlacedText, ReadSettings, WriteSettings
from .markup import (
    LEAST_ATTRIBUTE,
    TextNode,
    append,
    is_font,
    is_language,
    is_measure,
    join_paragraphs,
    read_words,
    remove,
    strip_invisible,
    unwrap,
)
from .plain import encoding_of


def clean_style(style: str) -> str:
    """Return the declarations of a style attribute that use only standard CSS words, colours, sizes and known fonts.

    Custom words could contain names. The result is in lower case.
    """
    kept = []
    for declaration in style.lower().split(";"):
        name, _, value = declaration.partition(":")
        words = re.split(r"[\s,]+", value.strip())
        known = all(word in read_words("css_values.txt") or word in colormap or is_measure(word) for word in words)
        known = known or (name.strip() == "font-family" and is_font(value))
        if value and known and set(name.strip().split("-")) <= read_words("css_names.txt"):
            kept.append(f"{name}:{value}")
    return ";".join(kept)


_DROPPED = set(
    "script style link meta base iframe object embed applet svg math canvas audio video source track param frame "
    "frameset area map xml basefont bgsound".split()
)
_PICTURES = set("img picture svg canvas object embed video audio iframe applet".split())
# elements that start on a new line
_BLOCKS = set(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 head header hr legend li main nav ol optgroup option p pre section select summary "
    "table tbody textarea tfoot thead title tr ul".split()
)
# unknown tags may be e-mail addresses in angle brackets; browsers disagree on whether these hold text
_RAW = set("noscript noembed noframes plaintext xmp listing template".split())
_PARAGRAPHS = {"p", "li"}
_CELLS = {"td", "th"}
_AS_IS = {"pre", "textarea"}
_SHOWN = ("alt", "title", "placeholder", "value", "label", "summary", "abbr", "aria-label", "aria-description")
_KEPT = set(
    "colspan rowspan span align valign width height border cellpadding cellspacing dir lang type checked selected "
    "disabled multiple rows cols size start reversed bgcolor color style".split()
)
_SIMPLE = re.compile(r"[\w\s#%.,:;-]*")
_HIDDEN = {"hidden", "password", "file", "image"}
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_HEAD = 4096  # bytes searched for an encoding declaration
_DEEPEST = 400  # levels of nested elements
_KEYWORD = re.compile(r"(?<![\w@.-])[a-z][a-z\d-]*(?![\w@.-])")  # of HTML and CSS; also names, as Black


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read the visible text of a page and of attributes such as image descriptions.

    RAISES: InputError if the file is not in its encoding (D400) or cannot be parsed (D715).
    """
    root = _parse(data, name, settings)
    lost = any(element.tag in _PICTURES for element in root.iter())
    text = _clean_text(root)
    warnings = ("pictures and embedded objects are removed",) if lost else ()
    return Document(name, "html", text.text, (), warnings, (data, settings))


def _parse(data: bytes, name: str, settings: ReadSettings) -> Any:
    """Parse a page, tolerating syntax errors, without network access.

    RAISES: InputError (D715) if it has no content, too many elements, or elements that are nested too deeply.
    """
    page = decode(data, _encoding(data, name, settings), name)[0].removeprefix("\ufeff")
    check_elements([b"<" + page.encode("utf-8", "replace")], name)  # a page may start with text
    parser = HTMLParser(encoding="utf-8", no_network=True, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = document_fromstring(page.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        raise InputError(Errors.D715.format(path=name, reason="it has no visible content")) from None
    is_deep = any(mistake.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for mistake in parser.error_log)
    depth = 0
    for event, _ in etree.iterwalk(root, ("start", "end")):
        depth += 1 if event == "start" else -1
        is_deep = is_deep or depth > _DEEPEST  # the parser truncates such pages
    if is_deep:
        raise InputError(Errors.D715.format(path=name, reason=f"more than {_DEEPEST} levels of nested elements"))
    return root


def _encoding(data: bytes, name: str, settings: ReadSettings) -> str:
    """Return the encoding of a page: from its byte-order mark, else its declaration, else the settings."""
    encoding = encoding_of(data, settings)
    if data.startswith(codecs.BOM_UTF8) or encoding in ("utf-16", "utf-32"):
        return encoding if encoding in ("utf-16", "utf-32") else "utf-8"
    said = _CHARSET.search(data[:_HEAD])
    if not said:
        return encoding
    try:
        encoding = check_encoding(said[1].decode())
    except ConfigError:
        raise InputError(Errors.D715.format(path=name, reason="it declares an unknown encoding")) from None
    return "cp1252" if encoding in ("iso8859-1", "ascii") else encoding  # as browsers do


def _clean_text(root: Any) -> PlacedText:
    """Remove all that is not displayed from the tree of a page, in place, and return the text that is left."""
    for element in root.iter():
        _write_direction(element)
    for element in [*root.iterdescendants()]:
        kind = element.get("type", "").lower() if element.tag == "input" else ""
        if element.tag in _DROPPED or kind in _HIDDEN:
            remove(element)
        elif element.tag not in tags or element.tag in _RAW:
            unwrap(element)
    for element in root.iter():
        attributes = element.items()
        element.attrib.clear()  # all, since lxml cannot delete an attribute by a name that is not valid in XML
        for key, value in attributes:
            simple = _SIMPLE.fullmatch(value) and "url" not in value.lower()
            if key in _SHOWN or (key in _KEPT and simple and (key != "lang" or is_language(value))):
                TextNode(element, "@" + key).set(clean_style(value) if key == "style" else value)
    text = PlacedText()
    _add_block(root, text, as_is=False)
    return text


def _write_direction(element: Any) -> None:
    """Replace `<bdo>` and styles that override the text direction with control characters for `read_as_seen`."""
    if element.tag != "bdo" and "-override" not in element.get("style", "").lower():
        return
    said = "ltr"
    for one in [element, *element.iterancestors()]:
        style = re.search(r"(?<![\w-])direction\s*:\s*(rtl|ltr)", one.get("style", "").lower())
        direction = style[1] if style else one.get("dir", "").strip().lower()
        if direction in ("rtl", "ltr"):
            said = direction
            break
    start = TextNode(element, "text")
    start.set(("\u202e" if said == "rtl" else "\u202d") + start.get())
    append(element, len(element), "\u202c")
    if element.tag == "bdo":
        element.tag = "span"
    for key in ("dir", "style"):
        element.attrib.pop(key, None)


def _add_block(element: Any, text: PlacedText, as_is: bool) -> None:
    """Append the text of a block element, then the attributes displayed in it, which would split words."""
    text.gap("\n")
    later: list[TextNode] = []
    _add(element, text, as_is or element.tag in _AS_IS, later)
    for spot in later:
        text.gap("\n")
        text.add(spot.get(), spot)
    text.gap("\n")


def _add(element: Any, text: PlacedText, as_is: bool, later: list[TextNode]) -> None:
    """Append the text of an element and its children in order. Displayed attributes are added to `later` instead."""
    later += [TextNode(element, "@" + key) for key in _SHOWN if element.get(key, "").strip()]
    _add_spot(TextNode(element, "text"), text, as_is)
    for child in element:
        if child.tag in _BLOCKS:
            _add_block(child, text, as_is)
        else:
            _add(child, text, as_is, later)
            if child.tag in _CELLS:
                text.gap("\t")
        _add_spot(TextNode(child, "tail"), text, as_is)


def _add_spot(spot: TextNode, text: PlacedText, as_is: bool) -> None:
    """Append a text node to the text. White space is collapsed as in a browser, in the tree as well."""
    if not spot.get():
        return
    spot.set(strip_invisible(spot.get()))
    if not as_is:
        shown = re.sub(r"[ \t\r\n\f]+", " ", spot.get())
        spot.set(shown.lstrip(" ") if text.at_break else shown)
    text.add(spot.get(), spot)


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write the edited page as HTML in UTF-8."""
    data, reading = document.parts
    root = _parse(data, document.name, reading)
    text = _clean_text(root)
    for piece, local in text.edits_by_piece(edits):
        piece.place.set(apply_edits(piece.place.get(), local))
    join_paragraphs(text, edits, _PARAGRAPHS)
    head = root.find("head")
    if head is None:
        head = etree.Element("head")
        root.insert(0, head)
    head.insert(0, etree.Element("meta", charset="utf-8"))
    page: bytes = tostring(root, encoding="utf-8", doctype="<!DOCTYPE html>", include_meta_content_type=True)
    return page


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the visible text, every attribute and every comment of a copy."""
    root = _parse(data, "copy", settings.read)
    for key, value in chain.from_iterable(element.items() for element in root.iter()):
        if key not in _SHOWN:  # the name of an attribute may be anything, so it is not part of a message
            place = f"attribute {key}" if key in _KEPT else "an attribute"
            yield ExtractedText(place, _KEYWORD.sub("", value), LEAST_ATTRIBUTE)
    yield ExtractedText("comments", " ".join(re.findall(r"<!--(.*?)-->", data.decode("utf-8", "replace"), re.DOTALL)))
    yield ExtractedText("text", _clean_text(root).text)


FORMAT = Format(read, write, extract)
