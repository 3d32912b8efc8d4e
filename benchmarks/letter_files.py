"""Create files of letters, transfer their gold to them, and get the text that LibreOffice shows for files.

PDF with text, PDF of scans, and TIFF of photographs.
"""

import csv
import io
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pypdfium2
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen import canvas

from spacy_deid.documents import Document
from spacy_deid.documents.verification import fold
from spacy_deid.evaluation.documents import AnnotatedText
from spacy_deid.evaluation.text_alignment import align_texts
from spacy_deid.offsets import Edit

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


def carry_gold(letter: AnnotatedText, document: Document) -> tuple[list[Edit], int, int]:
    """Transfer the annotation of a letter to the text extracted from a file.

    letter (AnnotatedText): the letter with its gold.
    document (Document): file made from it.
    RETURNS (tuple): the annotation as edits; number of annotated characters, and of those found in the extracted text.
    """
    moved = align_texts(letter.text, document.text)
    edits: list[Edit] = []
    gold = reached = last = 0
    for entity in sorted(letter.entities, key=lambda entity: entity.start):
        surface = fold(letter.text[entity.start : entity.end])
        gold += len(surface)
        span = moved.move(entity.start, entity.end)
        if span is None:
            continue
        reached += sum((Counter(surface) & Counter(fold(document.text[slice(*span)]))).values())
        if span[1] > last:
            edits.append(Edit(max(span[0], last), span[1], entity.label, f"[{entity.label}]"))
            last = span[1]
    return edits, gold, reached


_TEXT = ["--convert-to", "txt:Text (encoded):UTF8"]
_CELLS = ["--convert-to", "csv:Text - txt - csv (StarCalc):9,34,76"]  # a tab between cells, UTF-8
# kinds that it opens, and how
SHOWN: Mapping[str, list[str]] = {
    "docx": _TEXT,
    "odt": _TEXT,
    "html": _TEXT,
    "rtf": _TEXT,
    "csv": ["--infilter=Text - txt - csv (StarCalc):44,34,76,1,1/2", *_CELLS],  # the first column is text
    "xlsx": _CELLS,
}
_SECONDS = 600


def is_installed() -> bool:
    """Test whether LibreOffice is installed."""
    return shutil.which("soffice") is not None


def show(files: list[bytes], kind: str) -> list[str | None]:
    """Open files in LibreOffice.

    files (list[bytes]): content of the files.
    kind (str): their type, one of `SHOWN`.
    RETURNS (list[str | None]): text of each file, None if it cannot be opened.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        paths = [place / f"{number}.{kind}" for number in range(len(files))]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        profile = f"-env:UserInstallation={(place / 'profile').as_uri()}"
        command = ["soffice", profile, "--headless", *SHOWN[kind], "--outdir", place / "shown", *paths]
        subprocess.run(command, check=False, capture_output=True, timeout=_SECONDS)
        return [_read(place / "shown" / path.stem) for path in paths]


def _read(stem: Path) -> str | None:
    """Read the output file, whatever its suffix."""
    written = [*stem.parent.glob(f"{stem.name}.*")]
    if not written:
        return None
    text = written[0].read_text(encoding="utf-8-sig")
    if written[0].suffix == ".csv":
        return "\n".join("\n".join(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    return text
