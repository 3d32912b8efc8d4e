"""E-mail: headers, bodies and attachments."""

import io
import re
from email import message_from_bytes, policy
from email.message import EmailMessage

import docx
import pytest

from spacy_deid.documents import WriteSettings, read_document, redact_document, verify
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


def test_headers_that_are_shown_are_text_and_others_are_gone():
    copy = released(letter())
    assert copy["Subject"] == "Cita de [P] con un asunto que es tan largo que no cabe en una sola línea del mensaje"
    assert copy["From"] == '"[P] <[P]@ejemplo.es>"'
    assert copy["Received"] is None
    assert copy["X-Mailer"] is None
    assert copy.get_content() == "Hola,\nsoy [P].\n"


def test_of_alternatives_the_page_is_taken():
    message = letter()
    message.add_alternative(f"<p>Hola, soy <b>Braulio</b> Núñez<!-- {NAME} --></p>", subtype="html")
    copy = released(message)
    assert copy.get_content_type() == "text/html"
    assert "<b>[P]</b>" in copy.get_content()


def test_attachments_are_redacted_by_their_kind_and_others_are_gone():
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


def test_a_message_in_a_message_is_redacted_too():
    outer = EmailMessage()
    outer["Subject"] = "Fwd"
    outer.set_content("Hola")
    outer.add_attachment(letter())
    (inner,) = released(outer).iter_attachments()
    assert inner.get_content().get_content() == "Hola,\nsoy [P].\n"


def test_a_replacement_cannot_add_headers():
    document = read_document(letter().as_bytes(), "a.eml")
    at = document.text.index(NAME)
    copy = redact_document(document, [Edit(at, at + len(NAME), "PATIENT", "X\r\nBcc: a@b.c")])
    assert message_from_bytes(copy)["Bcc"] is None


def test_a_name_in_a_header_of_a_part_is_found():
    message = EmailMessage()
    message["Subject"] = "Alta"
    message.add_attachment("Alta", filename=f"{NAME}.txt")
    with pytest.raises(DeidError, match="header Content-Disposition still holds"):
        verify(message.as_bytes(), "eml", {NAME: "PATIENT"}, WriteSettings())


@pytest.mark.parametrize("data", [b"\xff\xff", b"hello", b"\n\nhello"])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(InputError, match=r"a\.eml"):
        read_document(data, "a.eml")


@pytest.mark.parametrize("depth", [30, 1000])
def test_messages_in_messages_without_end_are_refused(depth):
    data = b"Subject: a\nContent-Type: message/rfc822\n\n" * depth + b"Subject: b\n\nAlta"
    with pytest.raises(InputError, match=r"a\.eml: (more than 20 messages|damaged)"):
        read_document(data, "a.eml")


def test_messages_in_messages_are_all_redacted():
    data = b"Subject: a\nContent-Type: message/rfc822\n\n" * 8 + f"Subject: b\n\nSoy {NAME}".encode()
    document = read_document(data, "a.eml")
    at = document.text.index(NAME)
    copy = redact_document(document, [Edit(at, at + len(NAME), "PATIENT", "[P]")])
    assert read_document(copy, "a.eml").text == document.text.replace(NAME, "[P]")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_headers_that_are_not_encoded_keep_their_letters(encoding):
    data = f"From: {NAME} <a@b.c>\r\nSubject: {NAME}\r\n\r\nAlta".encode(encoding)
    assert read_document(data, "a.eml").text == f"From: {NAME} <a@b.c>\nSubject: {NAME}\n\nAlta"


@pytest.mark.parametrize("charset", ["us-ascii", "utf-8", "klingon", "base64", "iso-8859-1"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_body_that_lies_about_its_encoding_keeps_its_letters(charset, encoding):
    head = f"Subject: Alta\nContent-Type: text/plain; charset={charset}\n\n"
    text = read_document(head.encode() + f"Soy {NAME}.".encode(encoding), "a.eml").text
    assert "Soy Braulio N" in text
    assert "\ufffd" not in text
    if charset != "iso-8859-1":
        assert f"Soy {NAME}." in text


def test_a_calendar_beside_a_text_does_not_take_its_place():
    message = letter()
    message.add_alternative("BEGIN:VCALENDAR", subtype="calendar")
    assert released(message).get_content() == "Hola,\nsoy [P].\n"


@pytest.mark.parametrize(
    "header", [b"Subject: " + b"=?utf-8?Q?a?= " * 100_000, b"To: " + b"a@b.c, " * 100_000, b"To: " + b"(" * 100_000]
)
def test_endless_headers_are_refused_at_once(header):
    with pytest.raises(InputError, match=r"a\.eml: (headers of more than|damaged)"):
        read_document(header + b"\n\nAlta", "a.eml")


def test_a_thousand_attachments_are_all_redacted():
    message = letter()
    for number in range(1000):
        message.add_attachment(f"{number} {NAME}", filename=f"{number}.txt")
    copy = list(released(message).iter_attachments())
    assert copy[-1].get_content() == "999 [P]\n"
    assert len(copy) == 1000
