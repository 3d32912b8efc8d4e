"""Parse XML from untrusted files safely, edit XML and HTML trees in place, and list the texts of a copy to search.

Words that office formats and programs define themselves are not searched. Some of them are also names (Roman, Black,
Office, Georgia), so each is accepted only where the format puts it.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from lxml import etree

from ..errors import Errors, InputError
from ..offsets import Edit
from .document import ExtractedText, PlacedText

_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")  # optional and forbidden line breaks
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TextNode(NamedTuple):
    """A text in an XML tree, which can be read and replaced.

    element (Any): the element it belongs to.
    field (str): "text" for the text before the first child, "tail" for the text after the element, or "@" and the name
        of an attribute.
    """

    element: Any
    field: str

    def get(self) -> str:
        """Return the text; "" if there is none."""
        if self.field[0] == "@":
            return str(self.element.get(self.field[1:], ""))
        return str(getattr(self.element, self.field) or "")

    def set(self, text: str) -> None:
        """Replace the text. Characters that are not allowed in XML become U+FFFD."""
        text = _ILLEGAL.sub("\ufffd", text)
        if self.field[0] == "@":
            self.element.set(self.field[1:], text)
        else:
            setattr(self.element, self.field, text)


def parse(data: bytes, name: str) -> Any:
    """Parse XML without resolving entities or accessing the network. Comments and processing instructions are left
    out.

    RAISES: InputError (D715) if the XML is not well-formed, nested too deeply, or declares a document type, as
        entity-expansion attacks do.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise InputError(Errors.D715.format(path=name, reason="damaged: it contains malformed XML")) from None
    if root.getroottree().docinfo.internalDTD is not None:
        reason = "its XML declares a document type, as in entity-expansion attacks"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    return root


def serialize(root: Any) -> bytes:
    """Return a tree as an XML file in UTF-8."""
    data: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return data


def remove(element: Any) -> None:
    """Remove an element and its content. The text after the element is kept."""
    parent = element.getparent()
    if parent is not None:
        append(parent, parent.index(element), element.tail)
        element.tail = None
        parent.remove(element)


def unwrap(element: Any) -> None:
    """Remove an element but keep its text and its children in its place."""
    parent = element.getparent()
    if parent is None:
        return
    index = parent.index(element)
    append(parent, index, element.text)
    children = list(element)
    for offset, child in enumerate(children):
        parent.insert(index + offset, child)
    index += len(children)
    append(parent, index, element.tail)
    element.tail = None
    parent.remove(element)


def append(parent: Any, index: int, text: str | None) -> None:
    """Insert text before the child at `index`, after text that is there. Characters that are not allowed in XML
    become U+FFFD.
    """
    if not text:
        return
    node = TextNode(parent[index - 1], "tail") if index else TextNode(parent, "text")
    node.set(node.get() + text)


def prune(root: Any, removed: Container[str], unwrapped: Container[str]) -> None:
    """Remove elements by tag, in place. The root is kept.

    root (Any): root of the tree.
    removed (Container[str]): tags of elements to remove with their content.
    unwrapped (Container[str]): tags of elements to replace by their content.
    """
    for element in [*root.iterdescendants()]:
        if element.tag in removed:
            remove(element)
        elif element.tag in unwrapped:
            unwrap(element)


def drop_unknown_namespaces(root: Any, known: tuple[str, ...], unwrapped: bool = False) -> None:
    """Remove elements and attributes whose namespace starts with none of the known prefixes, because they are not
    read.

    The content of removed elements is kept if `unwrapped` is set. The root is always kept.
    """
    for element in [*root.iter()]:
        if element is not root and not (etree.QName(element).namespace or "").startswith(known):
            unwrap(element) if unwrapped else remove(element)
            continue
        for key in [*element.attrib]:
            if key[0] == "{" and not key[1:].startswith(known):
                del element.attrib[key]


def strip_invisible(text: str) -> str:
    """Remove characters that are invisible and split words: soft hyphens, joiners, zero-width spaces."""
    return _UNSEEN.sub("", text)


def texts_and_attributes(root: Any) -> Iterator[tuple[str, str]]:
    """Yield every text and attribute of a tree: the local name of the attribute, or "" for text, and the value."""
    for element in root.iter():
        for text in (element.text, element.tail):
            if text and not text.isspace():
                yield "", text
        for key, value in element.attrib.items():
            yield etree.QName(key).localname, value


def join_paragraphs(text: PlacedText, edits: Sequence[Edit], tags: Container[str], properties: str = "") -> None:
    """Join paragraphs if an edit covers the line break between them, as in an address of two lines.

    Only paragraphs with the same parent and the same formatting are joined. Table cells stay separate.

    text (PlacedText): the text, after its places were edited.
    edits (Sequence[Edit]): edits in the order of the text.
    tags (Container[str]): tags of paragraphs.
    properties (str): tag of the child element with the formatting of a paragraph.
    """

    def formatting(paragraph: Any) -> tuple[Any, ...]:
        child = paragraph.find(properties) if properties else None
        return paragraph.tag, dict(paragraph.attrib), b"" if child is None else etree.tostring(child, with_tail=False)

    # reversed, so that no place moves before it is visited
    for before, after in reversed([*text.joined_places(edits)]):
        first, last = _paragraph(before, tags), _paragraph(after, tags)
        if first is None or last is None or first is last:
            continue
        following: list[Any] = []
        for paragraph in first.itersiblings():
            following.append(paragraph)
            if paragraph is last or formatting(paragraph) != formatting(first):
                break
        if following[-1:] != [last] or formatting(last) != formatting(first):
            continue
        for paragraph in following:
            looks = paragraph.find(properties) if properties else None
            if looks is not None:
                paragraph.remove(looks)
            append(first, len(first), paragraph.text)
            first.extend(list(paragraph))
            remove(paragraph)


def _paragraph(place: Any, tags: Container[str]) -> Any:
    """Return the paragraph element that contains the place of a text; None if there is none or it is an attribute."""
    element = getattr(place, "element", None)
    if element is None or (isinstance(place, TextNode) and place.field[0] == "@"):
        return None
    if isinstance(place, TextNode) and place.field == "tail":
        element = element.getparent()
    if element.tag in tags:
        return element
    return next((above for above in element.iterancestors() if above.tag in tags), None)


LEAST_ATTRIBUTE = 5  # minimum length of strings searched for in attributes
_LEAST_JOINED = 6
_LEAST_NUMBER = 8  # minimum length of digits searched for in numbers: sizes of drawings have seven


def search_xml(content: bytes, member: str, is_own: Callable[[str, str], bool]) -> Iterator[ExtractedText]:
    """Yield every text and attribute of an XML part of a copy for verification, and all of its text as one string.

    content (bytes): the XML part.
    member (str): name of the part.
    is_own (Callable[[str, str], bool]): (local name of an attribute, value) → whether the value belongs to the
        vocabulary of the format. Such values are not searched.
    YIELDS (ExtractedText): texts. Equal values of attributes with the same name are yielded once.
    RAISES: InputError (D715) if the XML cannot be parsed.
    """
    root = parse(content, "copy")
    yield ExtractedText(member, "".join(root.itertext()), _LEAST_JOINED)
    seen = set()
    for attribute, value in texts_and_attributes(root):
        if not attribute:
            yield ExtractedText(member, value)
        elif (attribute, value) not in seen:
            seen.add((attribute, value))
            if not is_own(attribute, value):
                number = not any(char.isalpha() and char not in "ABCDEF" for char in value)
                yield ExtractedText(f"{member}, {attribute}", value, _LEAST_NUMBER if number else LEAST_ATTRIBUTE)


_NUMBERED = re.compile(r"(.*\D)\d{1,3}")  # "Arial1": LibreOffice numbers fonts
_LANGUAGE = re.compile(r"([a-z]{2}|[a-z]{3}(?=-))(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?|x-none|none|")
_MEASURE = re.compile(r"[-+\d.,\s]*(pt|in|cm|mm|pc|px|em|%|f)?|#?[\dA-Fa-f]{1,6}")
_LONGEST_NUMBER = 7

# names of styles predefined by Word, and others predefined by LibreOffice
_WORD_STYLES = re.compile(
    r"(Normal|Body Text|Body Text Indent|Heading \d|"
    r"Title|Subtitle|Strong|Emphasis|Intense Emphasis|Subtle Emphasis|Quote|"
    r"Intense Quote|Subtle Reference|Intense Reference|Book Title|Caption|Header|Footer|Hyperlink|FollowedHyperlink|"
    r"Macro Text|Body Text( Indent| First Indent)? \d|Body Text First Indent|HTML Preformatted|Plain Text|Date|"
    r"Salutation|Closing|Signature|E-mail Signature|Balloon Text|Comment (Text|Subject)|(Foot|End)note Text|"
    r"Document Map|Message Header|Note Heading)( Char)?|"
    r"(Default Paragraph|Line|Page|(Foot|End)note|Comment|Annotation) (Font|Number|Reference|Text|Subject)|"
    r"Normal (Table|\(Web\)|Indent)|No (List|Spacing)|(TOC|Index) (\d|Heading)|"
    r"TOA Heading|Table of (Figures|Authorities)|"
    r"List( Paragraph| Bullet| Number| Continue)?( \d)?|Block Text|Envelope (Address|Return)|Bibliography|"
    r"Placeholder Text|Macro|HTML (Top of Form|Bottom of Form|Acronym|Address|Cite|Code|Definition|Keyboard|Sample|"
    r"Typewriter|Variable)|Unresolved Mention|Revision|Outline List \d|"
    r"(Light|Medium|Dark|Colorful) (Shading|List|Grid)( \d)?( Accent \d)?|"
    r"(Grid|List) Table \d( (Light|Dark|Colorful))?( - Accent \d| Accent \d)?|(Plain|Grid) Table (\d|Light)|"
    r"Table (Normal|Grid|Theme|Contemporary|Elegant|Professional)|"
    r"Table (Simple|Classic|Colorful|Columns|Grid|List|3D effects|Subtle|Web) \d",
    re.IGNORECASE,
)
_OFFICE_STYLES = re.compile(
    r"Standard|Text body( indent)?|(Contents|Index|User Index|Table|Object index|Illustration Index) (Heading|\d+)|"
    r"Header and Footer|(Header|Footer) (left|right)|(Header|Footer|Heading|Caption|Index|List|Signature|Title) Char|"
    r"Table Contents|Frame( contents)?|Graphics|Formula|OLE|Watermark|Labels|Marginalia|Sender|Addressee|Definition|"
    r"(Numbering|Bullet|Footnote|Endnote) Symbols?|(Footnote|Endnote) (anchor|Characters)|Page Number|Line numbering|"
    r"(Visited )?Internet link|Placeholder|Index Link|Main index entry|Example|Teletype|User Entry|Variable|"
    r"Source Text|Citation|Drop Caps|Emphasis|Strong Emphasis|Rubies|Vertical Numbering Symbols|Quotations|"
    r"Preformatted Text|Horizontal Line|Complimentary Close|(Hanging|First line) indent|Illustration|Drawing|Figure|"
    r"First Page|(Left|Right) Page|Envelope|HTML|Footnote|Endnote|Landscape|[Dd]efault|Text|(Numbering|List) \d|"
    r"(List|Numbering) \d (Start|Cont\.?|End)|ListLabel \d+"
)


def is_built_in_style(name: str) -> bool:
    """Whether a style name, also one encoded as in ODT ("Heading_20_1"), is predefined by an office program."""
    plain = name.replace("_20_", " ")
    return _WORD_STYLES.fullmatch(plain) is not None or _OFFICE_STYLES.fullmatch(plain) is not None


def is_font(value: str) -> bool:
    """Whether each name in a comma-separated list is a font of an operating system or an office program."""
    known = _known_fonts()
    names = [name.strip(" '\"").lower().removeprefix("@") for name in value.split(",")]
    return all(
        not name or name in known or ((m := _NUMBERED.fullmatch(name)) is not None and m[1].strip() in known)
        for name in names
    )


@cache
def _known_fonts() -> frozenset[str]:
    """Return the names of known fonts in lower case."""
    return frozenset(map(str.lower, read_words("fonts.txt")))


def is_language(value: str) -> bool:
    """Whether a text is a language code, such as "es-ES", "zh-Hans-CN" or "x-none"."""
    return _LANGUAGE.fullmatch(value) is not None


def is_measure(value: str) -> bool:
    """Whether a text is a colour, a size or a number of at most seven digits. Longer ones could identify a patient."""
    return _MEASURE.fullmatch(value) is not None and sum(map(str.isdigit, value)) <= _LONGEST_NUMBER


def is_ooxml_word(value: str) -> bool:
    """Whether a text is an element, attribute or enumerated value of Office Open XML."""
    return value in read_words("ooxml_words.txt")


@cache
def read_words(name: str) -> frozenset[str]:
    """Return the words in a file of `resources/documents`, which has one word per line and comments."""
    text = (files("spacy_deid") / "resources" / "documents" / name).read_text("utf8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
