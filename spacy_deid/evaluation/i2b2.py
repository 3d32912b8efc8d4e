"""XML of i2b2-2014 and of MEDDOCAN: the note in TEXT, one empty element per entity in TAGS.

``<DATE id="P0" start="16" end="26" text="…" TYPE="DATE" comment=""/>``: the element names the category, TYPE the
label.

Two traps of XML are met here. A parser turns every CRLF and CR into LF, so offsets count the text *after* parsing, as
every reader of these corpora has it, and the writer keeps a CR as the reference ``&#13;``. And XML has no way at all
to say NUL or form feed: writing a note that holds one is an error. Documents with a DOCTYPE are refused, which shuts
out entity expansion and external entities.

Sources: Stubbs and Uzuner 2015, doi:10.1016/j.jbi.2015.07.020; Marimon et al. 2019; XML 1.0, 2.2 and 2.11.
"""

from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from ..errors import Errors, InputError
from ..labels import LABELS, from_scheme
from .documents import AnnotatedText, Entity, relabel
from .files import check_quote, check_xml, file_name, read_label, read_offset, write_text

__all__ = ["read_i2b2", "write_i2b2"]

# Track 2 of 2014 put risk factors into the same files. They are no identifiers.
_RISK_FACTORS = frozenset(
    ("DIABETES", "CAD", "HYPERTENSION", "HYPERLIPIDEMIA", "SMOKER", "OBESE", "FAMILY_HIST", "MEDICATION")
)
_PARENTS = {
    "NAME": "PATIENT DOCTOR USERNAME",
    "LOCATION": "ROOM DEPARTMENT HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY ZIP LOCATION-OTHER",
    "CONTACT": "PHONE FAX EMAIL URL IPADDR",
    "ID": "SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE BIOID IDNUM",
    "PROFESSION": "PROFESSION",
    "AGE": "AGE",
    "DATE": "DATE",
    "OTHER": "OTHER",
}
_PARENT_OF = {label: parent for parent, labels in _PARENTS.items() for label in labels.split()}


class _Reader:
    """Gathers the note and the tags of one file, with the line of each tag."""

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
        """Parse the whole file."""
        try:
            self.parser.Parse(self.path.read_bytes(), True)
        except OSError as error:
            raise InputError(Errors.D303.format(path=self.path, reason=error.strerror)) from None
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
        """Refuse a document type declaration, and with it every entity."""
        line = self.parser.CurrentLineNumber
        raise InputError(Errors.D302.format(path=self.path, line=line, reason="a DOCTYPE is not allowed"))

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take an element up."""
        if len(self.stack) == 1:
            self.parts.append(tag)
        elif self.stack[1:] == ["TAGS"] and tag not in _RISK_FACTORS:
            self.tags.append((self.parser.CurrentLineNumber, tag, attributes))
        elif self.stack[1:] == ["TEXT"]:
            line = self.parser.CurrentLineNumber
            raise InputError(Errors.D302.format(path=self.path, line=line, reason="an element within TEXT"))
        self.stack.append(tag)

    def end(self, tag: str) -> None:
        """Put an element down."""
        self.stack.pop()

    def data(self, data: str) -> None:
        """Take text up, from CDATA or not."""
        if self.stack[1:] == ["TEXT"]:
            self.text.append(data)


def read_i2b2(path: Path, *, scheme: str = "i2b2", check_text: bool = True) -> AnnotatedText:
    """Read a note and its entities.

    path (Path): the .xml file.
    scheme (str): scheme of the labels in TYPE.
    check_text (bool): whether the quoted text must be the text at the offsets.
    RETURNS (AnnotatedText): named by the file's stem, with canonical labels.
    RAISES: InputError naming file and line for anything that cannot be read (D302–D305).
    """
    reader = _Reader(path)
    reader.parse()
    text = "".join(reader.text)
    entities = [
        _read_tag(tag, attributes, text, scheme, path, line, check_text) for line, tag, attributes in reader.tags
    ]
    return AnnotatedText(path.stem, text, tuple(entities))


def _read_tag(
    tag: str, attributes: dict[str, str], text: str, scheme: str, path: Path, line: int, check_text: bool
) -> Entity:
    """Read one entity."""
    missing = [key for key in ("start", "end") if key not in attributes]
    if missing:
        reason = f"the tag has no {' and no '.join(missing)}"
        raise InputError(Errors.D302.format(path=path, line=line, reason=reason))
    label = read_label(attributes.get("TYPE", tag), scheme, path, line)
    entity = Entity(read_offset(attributes["start"], path, line), read_offset(attributes["end"], path, line), label)
    quote = attributes.get("text") if check_text else None
    check_quote(text, [entity], text[entity.start : entity.end] if quote is None else quote, path, line)
    return entity


def write_i2b2(document: AnnotatedText, folder: Path, *, scheme: str = "i2b2") -> Path:
    """Write a note and its entities.

    document (AnnotatedText): what to write.
    folder (Path): folder to write NAME.xml to.
    scheme (str): scheme to write the labels in; "meddocan" writes the root element of that corpus.
    RETURNS (Path): the file.
    RAISES: InputError if the text holds a character that XML has no place for (D312) or the name cannot be a file's
        (D311).
    """
    path = folder / file_name(document.name, ".xml")
    check_xml(document)
    root = "MEDDOCAN" if scheme == "meddocan" else "deIdi2b2"
    tags = [
        _write_tag(i, entity, document.text, scheme) for i, entity in enumerate(relabel(document.entities, scheme))
    ]
    body = [f"<TEXT>{_cdata(document.text)}</TEXT>", "<TAGS>", *tags, "</TAGS>"]
    write_text(path, "\n".join(["<?xml version='1.0' encoding='UTF-8'?>", f"<{root}>", *body, f"</{root}>", ""]))
    return path


def _cdata(text: str) -> str:
    """Wrap a text so that a parser gives it back whole: "]]>" is cut in two, a CR stands outside as a reference."""
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[") + "]]>"


def _write_tag(i: int, entity: Entity, text: str, scheme: str) -> str:
    """Write one entity."""
    quote = quoteattr(text[entity.start : entity.end])
    where = f'id="P{i}" start="{entity.start}" end="{entity.end}" text={quote}'
    return f'<{_parent(entity.label, scheme)} {where} TYPE="{entity.label}" comment=""/>'


def _parent(label: str, scheme: str) -> str:
    """The element that a label goes into. MEDDOCAN files relatives under OTHER, where i2b2 has them under NAME."""
    if label == "FAMILIARES_SUJETO_ASISTENCIA":
        return "OTHER"
    return _PARENT_OF[LABELS[from_scheme(label, scheme)].i2b2]
