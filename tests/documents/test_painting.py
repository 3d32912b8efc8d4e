"""Text beside removed text is kept at any angle, and replacements stay within the margins."""

import math

import numpy as np
import pytest
from attacks.reading import fold, ocr, pages, still_readable
from conftest import slow
from pdf_letters import ENGLISH, edits_of, letter, needs_tesseract, scan, with_text

from spacy_deid.documents import read_document, redact_document

LABEL = "[NAME OF THE PATIENT]"
LINES = """Seen in clinic by Margaret Thornbury, who lives alone and walks unaided
Blood pressure was 140/90 mmHg at rest, pulse regular, no oedema, the chest is clear
Daughter called: Margaret Thornbury fell twice at home last month, no injury
Continue ramipril 5 mg daily and review by the practice nurse within two weeks."""


def aslant(text, angle, x=150, y=330, size=16):
    """Operators that show a text at an angle, anticlockwise."""
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return f"BT F {size} Tf {cos:.4f} {sin:.4f} {-sin:.4f} {cos:.4f} {x} {y} Tm ({text}) Tj ET"


@needs_tesseract
@pytest.mark.parametrize("angle", [slow(20), 45, slow(-70)])
def test_words_beside_a_removed_one_stay_in_oblique_text(angle):
    code = aslant("Ward Margaret Thornbury Cardiology", angle, y=500 if angle < 0 else 330)
    data = with_text(letter(ENGLISH), code)
    document = read_document(data, "a.pdf")
    assert document.text == f"{ENGLISH}\nWard Margaret Thornbury Cardiology"
    start = document.text.index("Ward")
    edits = [edit for edit in edits_of(document.text, ["Margaret Thornbury"]) if edit.start > start]
    copy = redact_document(document, edits)
    page = pages(copy, 200)[0]
    read = ocr(page.rotate(-angle, expand=True, fillcolor="white"), dpi=200, modes=(11,))
    assert "Ward" in read
    assert "Cardiology" in read
    assert "margaret" not in fold(read)
    assert ENGLISH.split() == ocr(page.crop((0, 0, page.width, 267)), dpi=200, modes=(3,)).split()


def test_replacement_does_not_extend_a_line_beyond_the_margin():
    document = read_document(letter(LINES, left=110, size=11), "a.pdf")
    copy = redact_document(document, edits_of(document.text, ["Margaret Thornbury"], replacement=LABEL))
    before = np.asarray(pages(letter(LINES, left=110, size=11), 100)[0].convert("L"))
    after = np.asarray(pages(copy, 100)[0].convert("L"))
    last = np.nonzero((before < 200).any(0))[0].max()
    assert np.nonzero((after < 200).any(0))[0].max() <= last + 2


@needs_tesseract
def test_lines_beside_a_removed_one_stay_on_a_skewed_scan():
    data = scan(letter(LINES, size=13), skew=8)
    document = read_document(data, "a.pdf")
    assert document.text.split() == LINES.split()
    copy = redact_document(document, edits_of(document.text, ["Margaret Thornbury"]))
    read = ocr(pages(copy, 300)[0].rotate(-8, fillcolor="white"), modes=(6,))
    for line in LINES.splitlines():
        assert fold(line.replace("Margaret Thornbury", "PATIENT"))[-30:] in fold(read)
    assert "thornbury" not in fold(read)
    assert still_readable(copy, ["Thornbury"], picture=False) == []
