"""Pictures that are turned or inclined, on pages that have text as well."""

import pytest
from attacks.reading import ocr, pages, still_readable
from pdf_letters import ENGLISH, edits_of, letter, needs_tesseract, pictures, with_picture
from PIL import Image

from spacy_deid.documents import read_document, redact_document

pytestmark = needs_tesseract
REPORT = """Laboratory report of Leontine Abernathy
Haemoglobin 13.4 g/dl, leukocytes 7.2
Attending physician Leontine Abernathy
Creatinine was normal at every visit"""
NAMES = ["Leontine Abernathy"]


def report(angle):
    """A scanned report, turned clockwise by some degrees."""
    image = pictures(letter(REPORT, size=16), 110)[0].convert("L").crop((90, 50, 700, 260))
    return image.rotate(-angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


@pytest.mark.parametrize("angle", [90, 180, 270, 7, 200])
def test_a_picture_on_a_page_of_text_is_read_however_it_lies(angle):
    data = with_picture(letter(ENGLISH), report(angle))
    document = read_document(data, "a.pdf")
    assert document.text.startswith(ENGLISH)
    assert "".join(REPORT.split()) in "".join(document.text.split())
    copy = redact_document(document, edits_of(document.text, NAMES))
    assert still_readable(copy, ["Abernathy", "Leontine"], angles=(angle,), dpi=200, modes=(6,)) == []
    shown = ocr(pages(copy, 300)[0].rotate(angle, expand=True, fillcolor="white"), modes=(6,))
    for kept in ("Haemoglobin", "13.4", "leukocytes", "physician", "Creatinine", "visit", "Laboratory"):
        assert kept in shown
    assert "Thornbury was seen" in ocr(pages(copy, 300)[0])
