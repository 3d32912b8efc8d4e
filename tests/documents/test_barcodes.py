"""Barcodes and matrix codes are found in any format and covered."""

import io
import subprocess
import sys

import numpy as np
import pytest
import zxingcpp
from attacks.reading import bar_codes, pages
from conftest import slow
from docx import Document as Word
from docx.shared import Mm
from pdf_letters import edits_of, letter, needs_tesseract, pictures
from PIL import Image, ImageDraw
from reportlab.graphics.barcode import code39, qr
from reportlab.graphics.shapes import Drawing
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document
from spacy_deid.documents.pages.barcodes import find_codes
from spacy_deid.documents.pages.geometry import Box
from spacy_deid.errors import DeidError

NUMBER = "MRN8830417"
KEEP = ReadSettings(codes="keep")


def code(kind, width, dpi=200, number=NUMBER):
    """A code as a picture. width (float): in mm."""
    made = zxingcpp.create_barcode(number, getattr(zxingcpp.BarcodeFormat, kind)).to_image(scale=8)
    image = Image.fromarray(np.array(made))
    pixels = round(width / 25.4 * dpi)
    height = round(dpi * 0.4) if kind == "Code128" else round(image.height * pixels / image.width)
    return image.resize((pixels, height), Image.Resampling.BOX)


LINE = "Margaret Thornbury, blood pressure 140/90"


def page_with(image, *, angle=0, dpi=200):
    """The image of the upper half of a letter of one line, with another image on it."""
    page = pictures(letter(LINE, size=13), dpi)[0].convert("L")
    page = page.crop((0, 0, page.width, 7 * dpi))
    turned = image.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    page.paste(turned, (dpi * 3, dpi * 4))
    return page


def saved(image, kind="PNG"):
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def drawn(*codes):
    """A PDF with codes drawn by its operators, beside text."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4)
    page.drawString(72, 770, "Patient: Margaret Thornbury. Blood pressure 140/90 mmHg.")
    for draw in codes:
        draw(page)
    page.save()
    return out.getvalue()


def draw_qr(page):
    figure = Drawing(70, 70)
    figure.add(qr.QrCodeWidget(NUMBER, barWidth=70, barHeight=70))
    figure.drawOn(page, 400, 600)


def draw_bars(page):
    code39.Standard39(NUMBER, barWidth=1.1, barHeight=30, checksum=0).drawOn(page, 72, 500)


def draw_bars_inclined(page):
    page.saveState()
    page.translate(200, 300)
    page.rotate(7)
    code39.Standard39(NUMBER, barWidth=1.1, barHeight=50, checksum=0).drawOn(page, 0, 0)
    page.restoreState()


def codes_in(data):
    """What other programs decode on the pages of a file."""
    return [text for page in pages(data) for text in bar_codes(page)]


@pytest.mark.parametrize("draw", [slow(draw_qr), slow(draw_bars), draw_bars_inclined])
def test_code_drawn_by_a_pdf_is_covered(draw):
    data = drawn(draw)
    assert NUMBER in codes_in(data)
    document = read_document(data, "a.pdf")
    assert document.warnings == ("page 1: bar codes are removed",)
    copy = redact_document(document, [])
    assert codes_in(copy) == []
    assert "140/90" in read_document(copy, "a.pdf").text
    shown = pages(copy, 72)[0]
    assert shown.crop((60, 55, 400, 85)).convert("L").getextrema()[0] < 100
    assert shown.crop((60, 120, 590, 840)).convert("L").getextrema()[0] > 240


def test_several_codes_on_a_page_are_covered():
    document = read_document(drawn(draw_qr, draw_bars, draw_bars_inclined), "a.pdf")
    assert codes_in(redact_document(document, [])) == []


@needs_tesseract
@pytest.mark.parametrize(
    ("kind", "width", "angle"),
    [
        slow("QRCode", 9, 0),
        ("QRCode", 15, 33),
        slow("QRCode", 60, 4),
        ("DataMatrix", 7, 12),
        slow("PDF417", 40, 5),
        slow("Aztec", 10, 45),
        slow("Code128", 45, 0),
        ("Code128", 45, 14),
        slow("Code128", 45, 45),
        slow("Code128", 45, 90),
    ],
)
def test_code_in_an_image_is_covered_and_text_kept(kind, width, angle):
    data = saved(page_with(code(kind, width), angle=angle))
    document = read_document(data, "a.png")
    assert document.text == LINE
    copy = redact_document(document, edits_of(document.text, ["Margaret Thornbury"]))
    with Image.open(io.BytesIO(copy)) as after:
        assert after.crop((590, 790, 1600, 1390)).getextrema()[0] > 200
    assert codes_in(copy) == []


@needs_tesseract
@pytest.mark.parametrize("damage", ["stain", "coarse"])
def test_damaged_code_is_covered(damage):
    image = code("QRCode", 25)
    if damage == "stain":
        ImageDraw.Draw(image).ellipse((80, 80, 115, 115), fill=0)
    else:
        image = image.resize((32, 32), Image.Resampling.BOX).resize((96, 96), Image.Resampling.BICUBIC)
    copy = redact_document(read_document(saved(page_with(image)), "a.png"), [])
    with Image.open(io.BytesIO(copy)) as after:
        assert after.crop((590, 790, 1600, 1390)).getextrema()[0] > 200


@needs_tesseract
def test_codes_can_be_kept_and_a_remaining_code_withholds_the_copy():
    data = saved(page_with(code("QRCode", 20)))
    document = read_document(data, "a.png", KEEP)
    assert NUMBER in codes_in(redact_document(document, [], WriteSettings(read=KEEP)))
    with pytest.raises(DeidError, match=r"page 1 still shows a bar code\. .*--codes keep") as caught:
        redact_document(document, [], WriteSettings())
    assert NUMBER not in str(caught.value)
    drawing = read_document(drawn(draw_qr), "a.pdf", KEEP)
    with pytest.raises(DeidError, match="page 1 still shows a bar code"):
        redact_document(drawing, [], WriteSettings())


@needs_tesseract
@pytest.mark.parametrize("treatment", ["ocr", "keep"])
def test_small_code_in_a_docx_is_covered(treatment):
    word, out = Word(), io.BytesIO()
    word.add_paragraph("Blood pressure 140/90 mmHg.")
    word.add_picture(io.BytesIO(saved(code("QRCode", 12, dpi=100))), width=Mm(15))
    word.save(out)
    settings = ReadSettings(pictures=treatment)
    document = read_document(out.getvalue(), "a.docx", settings)
    copy = redact_document(document, [], WriteSettings(read=settings))
    (part,) = [p for p in Word(io.BytesIO(copy)).part.package.iter_parts() if p.partname.startswith("/word/media")]
    with Image.open(io.BytesIO(part.blob)) as image:
        assert image.convert("L").getextrema()[0] > 200


def test_text_is_not_mistaken_for_a_code():
    lines = ["ILLUMINATION 1l1Il|1 |||| IIII 8888 ####", "WWWW MMMM ████ ▌▌▌▌"] * 12
    document = read_document(letter("\n".join(lines), size=9, font="Courier-Bold"), "a.pdf")
    assert document.warnings == ()
    assert document.text.count("ILLUMINATION") == 12


def test_pdf_is_refused_without_a_barcode_decoder():
    code = "import sys; sys.modules['zxingcpp'] = None\nfrom spacy_deid.documents import read_document\n"
    code += "read_document(sys.stdin.buffer.read(), 'a.pdf')"
    done = subprocess.run([sys.executable, "-c", code], input=letter("x"), capture_output=True, check=False)
    assert (
        b"a.pdf: reading this file requires the package 'zxingcpp': pip install 'spacy-deid[documents]'" in done.stderr
    )


def test_large_box_of_words_does_not_hide_a_code():
    page = Image.new("L", (800, 1100), 255)
    page.paste(code("QRCode", 4).convert("L"), (300, 300))
    assert find_codes(page, page.copy)
    around = Box(100, 100, 790, 900)  # so large that a code in it has little of its ink
    assert find_codes(page, page.copy, words=[around])
