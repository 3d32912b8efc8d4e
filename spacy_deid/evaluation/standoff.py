"""Read and write stand-off annotations: brat, and the XML of i2b2-2014 and MEDDOCAN.

brat: NAME.txt holds the note, NAME.ann one annotation per line. Offsets count the characters of the .txt file. Only
text-bound annotations ("T") are read. The fragments of a discontinuous annotation become separate entities, because
the text between them is not part of it; fragments separated only by white space are joined, because that is how brat
stores an annotation that crosses a line end.

i2b2 XML: the note is in TEXT and each entity is an empty element in TAGS, such as
``<DATE id="P0" start="16" end="26" text="…" TYPE="DATE" comment=""/>``. The element names the category, TYPE the
label. An XML parser turns CRLF and CR into LF, so offsets count the text *after* parsing, as in all readers of these
corpora; the writer keeps a CR as the reference ``&#13;``. XML cannot represent NUL or form feed: writing such a note
is an error. A document with a DOCTYPE is rejected, which rules out entity expansion and external entities.

Sources: brat standoff format, https://brat.nlplab.org/standoff.html; Stubbs and Uzuner 2015,
doi:10.1016/j.jbi.2015.07.020; Marimon et al. 2019; XML 1.0, sections 2.2 and 2.11.
"""

import re
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from ..errors import Errors, InputError, describe_system
from ..labels import LABELS, from_scheme
from .documents import (
    AnnotatedText,
    Entity,
    check_quote,
    check_xml,
    file_name,
    read_label,
    read_offset,
    read_text,
    relabel,
    write_text,
)

_NOT_TEXT_BOUND = "REAMN#*"
_TEXT_BOUND = re.compile(r"(T\S+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)(?:\t(.*))?", re.ASCII | re.DOTALL)


def read_brat(path: Path, *, scheme: str = "canonical", check_text: bool = True) -> AnnotatedText:
    """Read a note and its brat annotations from NAME.txt and NAME.ann.

    path (Path): the .ann or the .txt file; the other one must be in the same folder.
    scheme (str): label scheme of the file.
    check_text (bool): whether to check that the quoted text is the text at the offsets.
    RETURNS (AnnotatedText): note named by the stem of the file, with canonical labels.
    RAISES: InputError naming file and line for malformed input (D301–D305).
    """
    text = read_text(path.with_suffix(".txt"))
    path = path.with_suffix(".ann")
    entities: list[Entity] = []
    seen: set[str] = set()
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        line = line.removesuffix("\r")
        if number == 1:
            line = line.removeprefix("\ufeff")
        if not line.strip() or line[0] in _NOT_TEXT_BOUND:
            continue
        match = _TEXT_BOUND.fullmatch(line)
        if match is None:
            raise InputError(Errors.D302.format(path=path, line=number, reason="not an annotation of the brat format"))
        ident, label, offsets, quote = match.groups()
        if ident in seen:
            raise InputError(
                Errors.D302.format(path=path, line=number, reason="the id of the annotation stands twice")
            )
        seen.add(ident)
        name = read_label(label, scheme, path, number)
        numbers = [[read_offset(part, path, number) for part in pair.split()] for pair in offsets.split(";")]
        fragments = [Entity(start, end, name) for start, end in numbers]
        check_quote(text, fragments, quote or "" if check_text else _quote(text, fragments), path, number)
        entities += _join(fragments, text)
    return AnnotatedText(path.stem, text, tuple(entities))


def _quote(text: str, fragments: list[Entity]) -> str:
    """Return the text of an annotation as brat quotes it: line breaks and tabs are replaced by spaces."""
    return " ".join(re.sub(r"[\r\n\t]", " ", text[part.start : part.end]) for part in fragments)


def _join(fragments: list[Entity], text: str) -> list[Entity]:
    """Join the fragments of an annotation that are separated only by white space."""
    joined: list[Entity] = []
    for part in sorted(fragments):
        if joined and not text[joined[-1].end : part.start].strip():
            last = joined.pop()
            part = Entity(last.start, max(last.end, part.end), part.label)
        joined.append(part)
    return joined


def write_brat(document: AnnotatedText, folder: Path, *, scheme: str = "canonical") -> Path:
    """Write a note and its annotations as brat stand-off. The note is written exactly as it was read.

    document (AnnotatedText): document to write.
    folder (Path): folder for NAME.txt and NAME.ann.
    scheme (str): label scheme of the file.
    RETURNS (Path): the .ann file.
    RAISES: InputError if the name is not a valid file name (D311) or UTF-8 cannot encode the text (D301).
    """
    path = folder / file_name(document.name, ".ann")
    lines = [
        f"T{i}\t{e.label} {e.start} {e.end}\t{_quote(document.text, [e])}\n"
        for i, e in enumerate(relabel(document.entities, scheme), start=1)
    ]
    write_text(path.parent / file_name(document.name, ".txt"), document.text)
    write_text(path, "".join(lines))
    return path


# Track 2 of 2014 puts risk factors into the same files; they are not identifiers.
_RISK_FACTORS = frozenset(
    ("DIABETES", "CAD", "HYPERTENSION", "HYPERLIPIDEMIA", "SMOKER", "OBESE", "FAMILY_HIST", "MEDICATION")
)
_CATEGORIES = {
    "NAME": "PATIENT DOCTOR USERNAME",
    "LOCATION": "ROOM DEPARTMENT HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY ZIP LOCATION-OTHER",
    "CONTACT": "PHONE FAX EMAIL URL IPADDR",
    "ID": "SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE BIOID IDNUM",
    "PROFESSION": "PROFESSION",
    "AGE": "AGE",
    "DATE": "DATE",
    "OTHER": "OTHER",
}
_CATEGORY_OF = {label: parent for parent, labels in _CATEGORIES.items() for label in labels.split()}


class _XmlParser:
    """Parses an XML annotation file: collects the text of the note, and each tag with its line number."""

    def __init__(self, path: Path):
        self.path = path
        self.text: list[str] = []
        self.tags: list[tuple[int, str, dict[str, str]]] = []
        self.parts: list[str] = []
        self.stack: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data

    def parse(self) -> None:
        """Parse the whole file. RAISES: InputError (D302, D303) if it is not a well-formed annotation file."""
        try:
            self.parser.Parse(self.path.read_bytes(), True)
        except OSError as error:
            raise InputError(Errors.D303.format(path=self.path, reason=describe_system(error))) from None
        except expat.ExpatError as error:
            reason = f"not XML: {expat.ErrorString(error.code)}"
            raise InputError(Errors.D302.format(path=self.path, line=error.lineno, reason=reason)) from None
        except (ValueError, LookupError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(Errors.D303.format(path=self.path, reason="not XML: unknown encoding")) from None
        if self.parts.count("TEXT") != 1 or self.parts.count("TAGS") != 1:
            raise InputError(Errors.D303.format(path=self.path, reason="needs one TEXT and one TAGS"))

    def refuse(self, *_: object) -> NoReturn:
        """Reject a document type declaration, and with it all entity declarations."""
        line = self.parser.CurrentLineNumber
        raise InputError(Errors.D302.format(path=self.path, line=line, reason="a DOCTYPE is not allowed"))

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle a start tag: collect an entity in TAGS, and reject an element within TEXT."""
        if len(self.stack) == 1:
            self.parts.append(tag)
        elif self.stack[1:] == ["TAGS"] and tag not in _RISK_FACTORS:
            self.tags.append((self.parser.CurrentLineNumber, tag, attributes))
        elif self.stack[1:] == ["TEXT"]:
            line = self.parser.CurrentLineNumber
            raise InputError(Errors.D302.format(path=self.path, line=line, reason="an element within TEXT"))
        self.stack.append(tag)

    def end(self, tag: str) -> None:
        """Handle an end tag by leaving its element."""
        self.stack.pop()

    def data(self, data: str) -> None:
        """Collect the character data of TEXT."""
        if self.stack[1:] == ["TEXT"]:
            self.text.append(data)


def read_i2b2(path: Path, *, scheme: str = "i2b2", check_text: bool = True) -> AnnotatedText:
    """Read a note and its entities from i2b2 or MEDDOCAN XML.

    path (Path): the .xml file.
    scheme (str): scheme of the labels in TYPE.
    check_text (bool): whether to check that the quoted text is the text at the offsets.
    RETURNS (AnnotatedText): note named by the stem of the file, with canonical labels.
    RAISES: InputError naming file and line for malformed input (D302–D305).
    """
    reader = _XmlParser(path)
    reader.parse()
    text = "".join(reader.text)
    entities = []
    for line, tag, attributes in reader.tags:
        missing = [key for key in ("start", "end") if key not in attributes]
        if missing:
            reason = f"the tag has no {' and no '.join(missing)}"
            raise InputError(Errors.D302.format(path=path, line=line, reason=reason))
        label = read_label(attributes.get("TYPE", tag), scheme, path, line)
        start, end = (read_offset(attributes[key], path, line) for key in ("start", "end"))
        quote = attributes.get("text") if check_text else None
        entities.append(Entity(start, end, label))
        check_quote(text, entities[-1:], text[start:end] if quote is None else quote, path, line)
    return AnnotatedText(path.stem, text, tuple(entities))


def write_i2b2(document: AnnotatedText, folder: Path, *, scheme: str = "i2b2") -> Path:
    """Write a note and its entities as i2b2 or MEDDOCAN XML.

    document (AnnotatedText): document to write.
    folder (Path): folder for NAME.xml.
    scheme (str): label scheme of the file; "meddocan" writes the root element of that corpus.
    RETURNS (Path): the file.
    RAISES: InputError if the text has a character that XML cannot represent (D312) or the name is not a valid file
        name (D311).
    """
    path = folder / file_name(document.name, ".xml")
    check_xml(document)
    root = "MEDDOCAN" if scheme == "meddocan" else "deIdi2b2"
    tags = []
    for i, entity in enumerate(relabel(document.entities, scheme)):
        quote = quoteattr(document.text[entity.start : entity.end])
        where = f'id="P{i}" start="{entity.start}" end="{entity.end}" text={quote}'
        tags.append(f'<{_category(entity.label, scheme)} {where} TYPE="{entity.label}" comment=""/>')
    # "]]>" is split in two, and a CR is written as a reference outside of CDATA
    text = document.text.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[")
    body = [f"<TEXT><![CDATA[{text}]]></TEXT>", "<TAGS>", *tags, "</TAGS>"]
    write_text(path, "\n".join(["<?xml version='1.0' encoding='UTF-8'?>", f"<{root}>", *body, f"</{root}>", ""]))
    return path


def _category(label: str, scheme: str) -> str:
    """Return the element name of a label. MEDDOCAN puts relatives under OTHER, i2b2 under NAME."""
    if label == "FAMILIARES_SUJETO_ASISTENCIA":
        return "OTHER"
    return _CATEGORY_OF[LABELS[from_scheme(label, scheme)].i2b2]
