"""Attacks by office files, e-mail, pages and plain text: hidden places, and text that is not set as words."""

import binascii
import io
import re
import unicodedata
import zipfile
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from attacks.catalogue import Outcome, attack

from spacy_deid.documents import read_document, redact_document
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit

NAME = "Evaristo Quintanilla"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELS = "http://schemas.openxmlformats.org/package/2006/relationships"


def folded(text: str) -> str:
    """Letters and digits, in lower case and without accents."""
    return "".join(char for char in unicodedata.normalize("NFKD", text).casefold() if char.isalnum())


def word_file(body: str, main: str = "", **parts: str) -> bytes:
    """A Word file from the XML of its body; links of the main part; parts by kind."""
    links = "".join(f'<Relationship Id="p{kind}" Type="{OFFICE}/{kind}" Target="{kind}.xml"/>' for kind in parts)
    start = f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/>'
    members = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{RELS}">{start}</Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELS}">{links}{main}</Relationships>',
    } | {f"word/{kind}.xml": part for kind, part in parts.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return out.getvalue()


def paragraph(text: str, look: str = "") -> str:
    """A paragraph of one run."""
    return f"<w:p><w:r>{look}<w:t>{text}</w:t></w:r></w:p>"


def unpacked(copy: bytes) -> str:
    """All that is in a ZIP file, names of its members too, as letters and digits."""
    with zipfile.ZipFile(io.BytesIO(copy)) as archive:
        return folded(
            " ".join([*archive.namelist(), *(archive.read(m).decode("latin-1") for m in archive.namelist())])
        )


def release_word(data: bytes) -> Outcome:
    """Release a copy without the name where the text has it, and look for its words in all that is in the copy."""
    document = read_document(data, "a.docx")
    try:
        copy = unpacked(redact_document(document, edits_of(document.text, NAME)))
    except DeidError:
        return Outcome(2, 0, "withheld")
    return Outcome(2, sum(folded(word) in copy for word in NAME.split()))


def edits_of(text: str, *strings: str) -> list[Edit]:
    """Edits of all places in which a text has one of some strings."""
    found = re.finditer("|".join(map(re.escape, strings)), text)
    return [Edit(one.start(), one.end(), "PATIENT", "[PATIENT]") for one in found]


def attack_word(title: str, body: str = "", parts: Mapping[str, str] | None = None) -> None:
    """Add an attack that plants the name, with an underscore, in the XML of a Word file."""
    planted = NAME.replace(" ", "_")
    parts = {kind: part.replace("NAME", planted).replace("WORD", WORD) for kind, part in (parts or {}).items()}

    def run(folder: Path) -> Outcome:
        return release_word(word_file(paragraph(f"Alta de {NAME}") + body.replace("NAME", planted), **parts))

    attack(title)(run)


attack_word("DOCX: the name as the font of a run", paragraph("x", '<w:rPr><w:rFonts w:ascii="NAME"/></w:rPr>'))
attack_word("DOCX: the name as the language of a run", paragraph("x", '<w:rPr><w:lang w:val="NAME"/></w:rPr>'))
attack_word("DOCX: the name as a bookmark", '<w:p><w:bookmarkStart w:id="0" w:name="NAME"/></w:p>')
attack_word("DOCX: the name as an element", "<w:p><w:NAME/></w:p>")
attack_word("DOCX: the name as a namespace", '<w:p xmlns:q="http://schemas.openxmlformats.org/NAME"><q:p/></w:p>')
attack_word(
    "DOCX: the name as a value that the format does not have", '<w:p><w:pPr><w:jc w:val="NAME"/></w:pPr></w:p>'
)
attack_word(
    "DOCX: the name in the table of fonts",
    parts={"fontTable": '<w:fonts xmlns:w="WORD"><w:font w:name="NAME"/></w:fonts>'},
)
attack_word(
    "DOCX: the name as a style",
    '<w:p><w:pPr><w:pStyle w:val="NAME"/></w:pPr></w:p>',
    {"styles": '<w:styles xmlns:w="WORD"><w:style w:styleId="NAME"><w:name w:val="NAME"/></w:style></w:styles>'},
)
attack_word("DOCX: the name in custom XML", parts={"customXml": "<NAME>NAME</NAME>"})


@attack("DOCX: the name as a part and as the id of its link")
def part_name(folder: Path) -> Outcome:
    """A header whose file is called as the patient."""
    data = word_file(paragraph(f"Alta de {NAME}"))
    planted = NAME.replace(" ", "_")
    link = f'<Relationship Id="{planted}" Type="{OFFICE}/header" Target="{planted}.xml"/>'
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member.endswith("document.xml.rels"):
                content = content.replace(b"</Rel", link.encode() + b"</Rel")
            new.writestr(member, content)
        new.writestr(f"word/{planted}.xml", f'<w:hdr xmlns:w="{WORD}">{paragraph("Alta")}</w:hdr>')
    return release_word(out.getvalue())


def release_mail(body: str) -> Outcome:
    """Release a message with something in its body, and look for the name in all that can be decoded from the copy."""
    message = EmailMessage()
    message["Subject"] = "Alta"
    message.set_content(f"Hola,\n{body}adios\n", cte="8bit")
    document = read_document(message.as_bytes(), "a.eml")
    copy = message_from_bytes(redact_document(document, edits_of(document.text, NAME)), policy=policy.default)
    seen = ""
    for part in copy.walk():
        content = part.get_payload(decode=True) or b""
        seen += folded(content.decode("utf-8", "replace"))
        for line in content.splitlines():
            for decode in (binascii.a2b_uu, binascii.a2b_base64):
                try:
                    seen += folded(decode(line).decode("latin-1"))
                except (binascii.Error, ValueError):
                    continue
    return Outcome(2, sum(folded(word) in seen for word in NAME.split()))


TEXT = f"Paciente {NAME}, vive en Toledo.\n".encode() * 8


def uuencoded(data: bytes) -> str:
    """The lines of a uuencoded file."""
    return "".join(binascii.b2a_uu(data[i : i + 45]).decode() for i in range(0, len(data), 45))


@attack("E-mail: a uuencoded file in the body")
def uuencoded_body(folder: Path) -> Outcome:
    """A text file that any mail program decodes."""
    return release_mail(f"begin 644 informe.txt\n{uuencoded(TEXT)}`\nend\n")


@attack("E-mail: a uuencoded file in the body, quoted, without its first and last line")
def quoted_body(folder: Path) -> Outcome:
    """What an answer to such a message holds."""
    return release_mail("".join(f"> {line}\n" for line in uuencoded(TEXT).splitlines()))


@attack("E-mail: a base64 file in the body")
def base64_body(folder: Path) -> Outcome:
    """What a program that knows no MIME shows of an attachment."""
    lines = [binascii.b2a_base64(TEXT[i : i + 54]).decode() for i in range(0, len(TEXT), 54)]
    return release_mail("".join(lines))


@attack("DOCX: a million and a half paragraphs", slow=True)
def endless(folder: Path) -> Outcome:
    """A file that would keep a worker busy for minutes is refused before it is parsed."""
    data = word_file("<w:p/>" * 1_500_000)
    try:
        read_document(data, "a.docx")
    except InputError as error:
        return Outcome(1, int("elements" not in str(error)), "refused")
    return Outcome(1, 1)


def attack_text(title: str, name: str, content: str) -> None:
    """Add an attack whose text shows the name but does not write it: set wider, turned round, or over two lines."""

    def run(folder: Path) -> Outcome:
        data = word_file(content) if name.endswith("docx") else content.encode()
        document = read_document(data, name)
        copy = redact_document(document, edits_of(document.text, NAME, "20481736Y", "evaristo@hospital.es"))
        with_parts = unpacked(copy) if name.endswith("docx") else folded(copy.decode())
        planted = [folded(part) for part in ("Evaristo", "Quintanilla", "2048", "1736Y")]
        left = [part for part in planted if part in with_parts or part[::-1] in with_parts]
        return Outcome(len([part for part in planted if part in folded(document.text)]), len(left))

    attack(title)(run)


WIDE = " ".join(NAME.split()[0]) + "   " + " ".join(NAME.split()[1])
TURNED = f"\u202e{NAME[::-1]}\u202c"
attack_text("TXT: the name with its letters set apart", "a.txt", f"Paciente {WIDE} ingresa.")
attack_text("TXT: the name turned round by a control of writing direction", "a.txt", f"Paciente {TURNED} ingresa.")
attack_text("TXT: an identity number that a line end breaks", "a.txt", "DNI: 2048\n1736Y\nAlta")
attack_text("TXT: an e-mail address that a line end breaks", "a.txt", "Correo: evar\nisto@hospital.es\nAlta")
attack_text("HTML: the name with its letters set apart", "a.html", f"<p>Paciente <b>{WIDE}</b> ingresa.</p>")
attack_text("HTML: the name turned round by a control of writing direction", "a.html", f"<p>Paciente {TURNED}.</p>")
attack_text("HTML: the name turned round by an element", "a.html", f'<p><bdo dir="rtl">{NAME[::-1]}</bdo></p>')
attack_text(
    "HTML: the name turned round by a style",
    "a.html",
    f'<p><b style="direction:rtl; unicode-bidi: bidi-override">{NAME[::-1]}</b></p>',
)
attack_text("HTML: an identity number that a line end breaks", "a.html", "<p>DNI: 2048<br>1736Y</p>")
attack_text("DOCX: an identity number over two paragraphs", "a.docx", paragraph("DNI: 2048") + paragraph("1736Y"))
attack_text("DOCX: the name with its letters set apart", "a.docx", paragraph(f"Paciente {WIDE}"))
attack_text(
    "DOCX: the name turned round by an element",
    "a.docx",
    f'<w:p><w:bdo w:val="rtl"><w:r><w:t>{NAME[::-1]}</w:t></w:r></w:bdo></w:p>',
)
