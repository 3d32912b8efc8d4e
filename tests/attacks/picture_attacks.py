"""Attacks by pictures: codes that a machine reads, and text that does not stand upright."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pypdfium2
import zxingcpp
from attacks.catalogue import Outcome, attack
from attacks.reading import still_readable
from docx import Document as Word
from docx.shared import Mm
from PIL import Image
from reportlab.graphics.barcode import qr
from reportlab.graphics.shapes import Drawing
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

from spacy_deid.documents import Document, read_document, redact_document
from spacy_deid.errors import DeidError
from spacy_deid.offsets import Edit

NUMBER = "MRN5520941"
NAME = "Evaristo Quintanilla"


def made_code(kind: str, scale: int = 4) -> Image.Image:
    """A code that holds the record number."""
    made = zxingcpp.create_barcode(NUMBER, getattr(zxingcpp.BarcodeFormat, kind)).to_image(scale=scale)
    return Image.fromarray(np.array(made))


def edits_of(document: Document) -> list[Edit]:
    """Edits of every word of the planted name, and of the record number."""
    found = []
    for string in (*NAME.split(), NUMBER):
        at = document.text.find(string)
        while at >= 0:
            found.append(Edit(at, at + len(string), "PATIENT", "[PATIENT]"))
            at = document.text.find(string, at + 1)
    return sorted(found, key=lambda edit: edit.start)


def release(data: bytes, name: str, planted: list[str], **options: object) -> Outcome:
    """Release a copy without the planted strings that were read, and look for all of them."""
    document = read_document(data, name)
    try:
        copy = redact_document(document, edits_of(document))
    except DeidError:
        return Outcome(len(planted), 0, "withheld")
    return Outcome(len(planted), len(still_readable(copy, planted, **options)))


def page(draw: Callable[[canvas.Canvas], None]) -> bytes:
    """A page of a letter with something more drawn on it."""
    out = io.BytesIO()
    letter = canvas.Canvas(out, pagesize=A4)
    for i in range(12):
        letter.drawString(72, 760 - 16 * i, "The patient was seen in clinic; blood pressure was 140/90 mmHg.")
    draw(letter)
    letter.save()
    return out.getvalue()


@attack("PDF: the record number in a QR code drawn by rectangles", slow=True)
def vector_code(folder: Path) -> Outcome:
    """No picture is in the file; the code exists only on the page as it is shown."""

    def draw(letter: canvas.Canvas) -> None:
        figure = Drawing(60, 60)
        figure.add(qr.QrCodeWidget(NUMBER, barWidth=60, barHeight=60))
        figure.drawOn(letter, 400, 300)

    return release(page(draw), "letter.pdf", [NUMBER])


@attack("PNG: the record number in a bar code that is inclined")
def inclined_code(folder: Path) -> Outcome:
    """The bars cross the rows of pixels at an angle."""
    image, out = Image.new("L", (1240, 900), 255), io.BytesIO()
    bars = made_code("Code128").resize((700, 160)).rotate(12, expand=True, fillcolor=255)
    image.paste(bars, (200, 300))
    image.save(out, "PNG")
    return release(out.getvalue(), "label.png", [NUMBER])


@attack("DOCX: the record number in a small Data Matrix")
def small_code(folder: Path) -> Outcome:
    """A picture of a hundred pixels in a Word file."""
    word, picture, out = Word(), io.BytesIO(), io.BytesIO()
    made_code("DataMatrix").save(picture, "PNG")
    word.add_picture(io.BytesIO(picture.getvalue()), width=Mm(8))
    word.save(out)
    document = read_document(out.getvalue(), "letter.docx")
    copy = Word(io.BytesIO(redact_document(document, [])))
    parts = [part.blob for part in copy.part.package.iter_parts() if part.partname.startswith("/word/media")]
    assert parts
    return Outcome(1, max(len(still_readable(part, [NUMBER])) for part in parts))


@attack("PDF: a name in half a page that was scanned sideways, beside text", slow=True)
def sideways_scan(folder: Path) -> Outcome:
    """The page has a text layer, so only its picture says the name."""
    return _scanned(90)


@attack("PDF: a name in a picture that is inclined, beside text", slow=True)
def inclined_scan(folder: Path) -> Outcome:
    """The lines of the picture rise by twelve degrees."""
    return _scanned(-12)


def _scanned(angle: float) -> Outcome:
    """A picture with the name, turned clockwise, on a page of text."""
    source = io.BytesIO()
    report = canvas.Canvas(source, pagesize=(420, 130))
    report.setFont("Helvetica", 17)
    for i, line in enumerate([f"Radiology report: {NAME}", "Chest without pathological findings", f"Copy to {NAME}"]):
        report.drawString(20, 95 - 26 * i, line)
    report.save()
    with pypdfium2.PdfDocument(source.getvalue()) as pdf:
        image = pdf[0].render(scale=2).to_pil().convert("L")
    image = image.rotate(-angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)

    def draw(letter: canvas.Canvas) -> None:
        letter.drawInlineImage(image, 60, 60, image.width / 2.2, image.height / 2.2)

    return release(page(draw), "letter.pdf", NAME.split(), angles=(angle,), modes=(6,), dpi=200)
