"""Create files of letters: PDF with text, PDF of scans, and TIFF of photographs."""

import io
from collections.abc import Iterator

import pypdfium2
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen import canvas

__all__ = ["make_file", "make_scan", "pictures", "set_pdf"]

FONT, SIZE, MARGIN = "Helvetica", 10, 60


def make_file(text: str, kind: str) -> tuple[str, bytes]:
    """Create a file of a letter."""
    data = set_pdf(text)
    if kind == "pdf":
        return "letter.pdf", data
    if kind == "scan":
        return "letter.pdf", make_scan(data)
    out = io.BytesIO()
    pages = [page.rotate(0.7, fillcolor=255).convert("RGB") for page in pictures(data, 200)]
    pages[0].save(out, "TIFF", compression="jpeg", save_all=True, append_images=pages[1:])
    return "letter.tif", out.getvalue()


def set_pdf(text: str, lines: int = 56) -> bytes:
    """Typeset a text on pages, with long lines broken between words."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4)
    for i, line in enumerate(wrap(text)):
        if i % lines == 0:
            if i:
                page.showPage()
            page.setFont(FONT, SIZE)
        page.drawString(MARGIN, A4[1] - MARGIN - 13 * (i % lines), line)
    page.save()
    return out.getvalue()


def wrap(text: str) -> Iterator[str]:
    """Break lines to fit on a page."""
    for line in text.replace("\t", "    ").splitlines():
        now = ""
        for word in line.split(" "):
            if now and stringWidth(f"{now} {word}", FONT, SIZE) > A4[0] - 2 * MARGIN:
                yield now
                now = word
            else:
                now = f"{now} {word}" if now else word
        yield now


def make_scan(data: bytes, dpi: int = 200) -> bytes:
    """Render the pages of a PDF as slightly rotated images with noise."""
    out = io.BytesIO()
    page = canvas.Canvas(out)
    for image in pictures(data, dpi):
        noise = Image.effect_noise(image.size, 12)
        image = Image.blend(image.rotate(0.4, fillcolor=255), noise, 0.08)
        size = image.width * 72 / dpi, image.height * 72 / dpi
        page.setPageSize(size)
        page.drawInlineImage(image, 0, 0, *size)
        page.showPage()
    page.save()
    return out.getvalue()


def pictures(data: bytes, dpi: int) -> list[Image.Image]:
    """Render the pages of a PDF in grey."""
    with pypdfium2.PdfDocument(data) as pdf:
        return [pdf[i].render(scale=dpi / 72, grayscale=True).to_pil() for i in range(len(pdf))]
