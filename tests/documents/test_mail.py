"""E-mail: headers, bodies and attachments."""

import binascii
import io
import re
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import escape

import docx
import pytest

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit

NAME = "Braulio Núñez"
WANTED = re.compile("Braulio Núñez|braulio")


def letter() -> EmailMessage:
    message = EmailMessage()
    message["From"] = f"{NAME} <braulio@ejemplo.es>"
    message["To"] = "info@ejemplo.es"
    message["Subject"] = f"Cita de {NAME} con un asunto que es tan largo que no cabe en una sola línea del mensaje"
    message["Received"] = "from braulio.ejemplo.es"
    message["X-Mailer"] = NAME
    message.set_content(f"Hola,\nsoy {NAME}.\n")
    return message


def released(message: EmailMessage) -> EmailMessage:
    document = read_document(message.as_bytes(), "a.eml")
    edits = [Edit(found.start(), found.end(), "PATIENT", "[P]") for found in WANTED.finditer(document.text)]
    copy = redact_document(document, edits)
    out = message_from_bytes(copy, policy=policy.default)
    assert not [part for part in out.walk() for value in part.values() if "raulio" in value]
    return out


def test_visible_headers_are_read_and_others_removed():
    copy = released(letter())
    assert copy["Subject"] == "Cita de [P] con un asunto que es tan largo que no cabe en una sola línea del mensaje"
    assert copy["From"] == '"[P] <[P]@ejemplo.es>"'
    assert copy["Received"] is None
    assert copy["X-Mailer"] is None
    assert copy.get_content() == "Hola,\nsoy [P].\n"


def test_html_alternative_is_read():
    message = letter()
    message.add_alternative(f"<p>Hola, soy <b>Braulio</b> Núñez<!-- {NAME} --></p>", subtype="html")
    copy = released(message)
    assert copy.get_content_type() == "text/html"
    assert "<b>[P]</b>" in copy.get_content()


def test_supported_attachments_are_redacted_and_others_removed():
    document = docx.Document()
    document.add_paragraph(f"Paciente {NAME}")
    out = io.BytesIO()
    document.save(out)
    message = letter()
    message.add_attachment(out.getvalue(), maintype="application", subtype="octet-stream", filename=f"{NAME}.docx")
    message.add_attachment(b"\0\1", maintype="application", subtype="x-strange", filename="a.bin")
    message.add_attachment(f"nombre\n{NAME}\n", subtype="csv", filename="a.csv")
    assert read_document(message.as_bytes(), "a.eml").warnings == ("attachments that cannot be read are removed",)
    copy = list(released(message).iter_attachments())
    assert [part.get_filename() for part in copy] == ["attachment-2.docx", "attachment-3.csv"]
    assert docx.Document(io.BytesIO(copy[0].get_content())).paragraphs[0].text == "Paciente [P]"
    assert copy[1].get_payload(decode=True) == b"nombre\n[P]\n"


def uuencoded(data: bytes, name: str) -> str:
    lines = [binascii.b2a_uu(data[i : i + 45]).decode() for i in range(0, len(data), 45)]
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n"


PLAIN_FILE = f"Paciente {NAME}, vive en Toledo. ".encode() * 6


@pytest.mark.parametrize("quote", ["", "> "])
@pytest.mark.parametrize(
    "change", [str, lambda block: block.replace("`", " "), lambda block: block[: block.find("`")]]
)
def test_uuencoded_file_in_a_body_becomes_an_attachment(quote, change):
    block = change(uuencoded(PLAIN_FILE, "informe.txt")).splitlines(keepends=True)
    message = letter()
    message.set_content(f"Hola,\n{''.join(quote + line for line in block)}adiós, {NAME}\n", cte="8bit")
    body, attached = released(message).iter_parts()
    assert body.get_content() == "Hola,\nadiós, [P]\n"
    assert attached.get_filename() == "attachment-2.txt"
    assert attached.get_content() == PLAIN_FILE.decode().replace(NAME, "[P]")


@pytest.mark.parametrize(
    "block",
    [
        uuencoded(PLAIN_FILE, "informe.bin"),
        uuencoded(PLAIN_FILE, "informe.txt").replace("M", "M\x20", 2),
        "".join(uuencoded(PLAIN_FILE, "a.txt").splitlines(keepends=True)[1:-2]),
        f"(This file must be converted with BinHex 4.0)\n\n:{'$f*TEQKPH' * 6}\n{'$f*TEQKPH' * 5}:\n",
        "=ybegin line=128 size=9 name=a.txt\nabcdefg\n=yend size=9\n",
        "UGFjaWVudGUgQnJhdWxpbyBO" * 3 + "\n" + f"{'A' * 72}\n" * 3 + "QUJD\n",
        f"-----BEGIN PGP MESSAGE-----\n\n{'A' * 64}\n-----END PGP MESSAGE-----\n",
    ],
    ids=["unknown kind", "damaged", "without a beginning", "BinHex", "yEnc", "base64", "PGP"],
)
def test_unreadable_encoded_file_is_removed_with_a_warning(block):
    message = letter()
    message.set_content(f"Hola,\n{block}adiós\n", cte="8bit")
    assert read_document(message.as_bytes(), "a.eml").warnings == ("attachments that cannot be read are removed",)
    assert released(message).get_content() == "Hola,\nadiós\n"


def test_encoded_file_in_html_becomes_an_attachment():
    page = escape(uuencoded(PLAIN_FILE, "informe.txt"))
    message = letter()
    message.set_content(f"<p>Hola</p><pre>{page}</pre><p>adiós</p>", subtype="html")
    body, attached = released(message).iter_parts()
    assert "begin" not in body.get_content()
    assert attached.get_content() == PLAIN_FILE.decode().replace(NAME, "[P]")


@pytest.mark.parametrize(
    "text",
    [
        "begin 2 tablets a day\n\nthen one a day\nend\n",
        "begin 500 MG\n5 MG AT NIGHT\n",
        "MG 500\nMG 250\nMG 100\n",
        "BEGIN TREATMENT\nEND\n",
    ],
)
def test_prose_is_not_an_encoded_file(text):
    message = letter()
    message.set_content(text)
    assert released(message).get_content() == text


def test_text_file_with_an_encoded_file_has_a_warning():
    (warning,) = read_document(uuencoded(PLAIN_FILE, "a.txt").encode(), "a.txt").warnings
    assert "written as letters" in warning


def test_attached_message_is_redacted():
    outer = EmailMessage()
    outer["Subject"] = "Fwd"
    outer.set_content("Hola")
    outer.add_attachment(letter())
    (inner,) = released(outer).iter_attachments()
    assert inner.get_content().get_content() == "Hola,\nsoy [P].\n"


def test_replacement_cannot_inject_headers():
    document = read_document(letter().as_bytes(), "a.eml")
    at = document.text.index(NAME)
    copy = redact_document(document, [Edit(at, at + len(NAME), "PATIENT", "X\r\nBcc: a@b.c")])
    assert message_from_bytes(copy)["Bcc"] is None


def test_name_in_a_part_header_is_found():
    message = EmailMessage()
    message["Subject"] = "Alta"
    message.add_attachment("Alta", filename=f"{NAME}.txt")
    with pytest.raises(DeidError, match="header Content-Disposition still contains"):
        verify(message.as_bytes(), "eml", {NAME: "PATIENT"}, WriteSettings())


@pytest.mark.parametrize("data", [b"\xff\xff", b"hello", b"\n\nhello"])
def test_file_that_is_not_a_message_is_refused(data):
    with pytest.raises(InputError, match=r"a\.eml"):
        read_document(data, "a.eml")


@pytest.mark.parametrize("depth", [30, 1000])
def test_deeply_nested_messages_are_refused(depth):
    data = b"Subject: a\nContent-Type: message/rfc822\n\n" * depth + b"Subject: b\n\nAlta"
    with pytest.raises(InputError, match=r"a\.eml: (more than 20 levels|damaged)"):
        read_document(data, "a.eml")


def test_nested_messages_are_all_redacted():
    data = b"Subject: a\nContent-Type: message/rfc822\n\n" * 8 + f"Subject: b\n\nSoy {NAME}".encode()
    document = read_document(data, "a.eml")
    at = document.text.index(NAME)
    copy = redact_document(document, [Edit(at, at + len(NAME), "PATIENT", "[P]")])
    assert read_document(copy, "a.eml").text == document.text.replace(NAME, "[P]")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_unencoded_headers_are_decoded(encoding):
    data = f"From: {NAME} <a@b.c>\r\nSubject: {NAME}\r\n\r\nAlta".encode(encoding)
    assert read_document(data, "a.eml").text == f"From: {NAME} <a@b.c>\nSubject: {NAME}\n\nAlta"


@pytest.mark.parametrize("charset", ["us-ascii", "utf-8", "klingon", "base64", "iso-8859-1"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_body_with_a_wrong_charset_is_decoded(charset, encoding):
    head = f"Subject: Alta\nContent-Type: text/plain; charset={charset}\n\n"
    text = read_document(head.encode() + f"Soy {NAME}.".encode(encoding), "a.eml").text
    assert "Soy Braulio N" in text
    assert "\ufffd" not in text
    if charset != "iso-8859-1":
        assert f"Soy {NAME}." in text


def test_calendar_alternative_does_not_replace_the_text():
    message = letter()
    message.add_alternative("BEGIN:VCALENDAR", subtype="calendar")
    assert released(message).get_content() == "Hola,\nsoy [P].\n"


@pytest.mark.parametrize(
    "header", [b"Subject: " + b"=?utf-8?Q?a?= " * 100_000, b"To: " + b"a@b.c, " * 100_000, b"To: " + b"(" * 100_000]
)
def test_excessive_headers_are_refused_quickly(header):
    with pytest.raises(InputError, match=r"a\.eml: (headers of more than|damaged)"):
        read_document(header + b"\n\nAlta", "a.eml")


def test_many_attachments_are_all_redacted():
    message = letter()
    for number in range(300):
        message.add_attachment(f"{number} {NAME}", filename=f"{number}.txt")
    copy = list(released(message).iter_attachments())
    assert copy[-1].get_content() == "299 [P]\n"
    assert len(copy) == 300


@pytest.mark.parametrize("inside", [False, True])
def test_column_policies_apply_to_attached_tables(inside):
    message = EmailMessage()
    message["Subject"] = "Visits"
    message.set_content("Adjunto.")
    message.add_attachment(f"patient,note,ward\n{NAME},Alta,{NAME}\n".encode(), "text", "csv", filename="a.csv")
    message.add_attachment(b"code\n7\n", "text", "csv", filename="b.csv")
    if inside:
        outer = EmailMessage()
        outer["Subject"] = "Fwd"
        outer.set_content("Ver adjunto.")
        outer.add_attachment(message)
        message = outer
    columns = ReadSettings(columns={"patient": "label:PATIENT", "ward": "keep"})
    document = read_document(message.as_bytes(), "a.eml", columns)
    assert [(document.text[start:end], label) for start, end, label in document.marks] == [(NAME, "PATIENT")]
    assert document.warnings == ("an attached table has none of the columns that the policy of columns names",)
    copy = message_from_bytes(redact_document(document, []), policy=policy.default)
    tables = [part.get_payload(decode=True) for part in copy.walk() if part.get_content_type() == "text/csv"]
    assert tables[0].decode().splitlines() == ["patient,note,ward", f"[PATIENT],Alta,{NAME}"]
