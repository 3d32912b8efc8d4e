"""Text drawn as graphics is read by OCR or reported as unread."""

import shutil

import pytest
from conftest import slow
from drawn_letters import bent, masked, outlined, ring, tiled, whole_words
from pdf_letters import ENGLISH, edits_of, layer, letter, needs_tesseract, pictures, with_text

from spacy_deid.documents import WriteSettings, read_document, redact_document

LETTER = letter(ENGLISH)
NAME = "Braulio Quintana"
STAMP = f"Dr {NAME} Lic. 4471903"
MIRRORED = f"q -1 0 0 1 595 0 cm {outlined(NAME)} Q"


def bent_text(char):
    return f"BT F 12 Tf ({char}) Tj ET"


DRAWN = {
    "pattern": lambda: tiled(LETTER, NAME),
    "soft mask": lambda: masked(LETTER, NAME),
    "type 3": lambda: whole_words(LETTER, NAME.split()),
    "outlines": lambda: with_text(LETTER, outlined(NAME)),
    "aslant": lambda: with_text(LETTER, outlined(NAME, angle=30, y=450)),
    "upwards": lambda: with_text(LETTER, outlined(NAME, angle=90, x=400, y=300)),
    "on its head": lambda: with_text(LETTER, outlined(NAME, angle=180, x=400, y=300)),
    "stamp": lambda: with_text(LETTER, " ".join([bent(STAMP), ring(), ring(radius=60)])),
    "stamp of characters": lambda: with_text(LETTER, bent(STAMP, show=bent_text)),
}
QUICK = {"soft mask", "type 3", "aslant", "stamp"}


@needs_tesseract
@pytest.mark.parametrize("kind", [kind if kind in QUICK else slow(kind) for kind in DRAWN])
def test_vector_text_is_read_and_redacted(kind):
    data = DRAWN[kind]()
    document = read_document(data, "letter.pdf")
    text = " ".join(document.text.split())
    assert text.startswith(" ".join(ENGLISH.split()))
    assert NAME in text
    assert document.warnings == ()
    copy = redact_document(document, edits_of(document.text, NAME.split(), replacement=""))
    assert not any(word in layer(copy) for word in NAME.split())
    assert ink(copy) < ink(data)


def ink(data):
    """How many pixels of the page below the letter's text are not white."""
    page = pictures(data, 50)[0].convert("L")
    return sum(page.crop((0, page.height // 8, page.width, page.height)).histogram()[:250])


@needs_tesseract
@pytest.mark.parametrize(
    "before",
    ["0.95 g", "1 0 0 rg 60 580 250 50 re f 0 0.51 0 rg"],
    ids=["faint", "luminance of the background"],
)
def test_outlines_with_low_contrast_are_read(before):
    data = with_text(LETTER, f"{before} {outlined(NAME)} 0 g 60 400 300 40 re f")
    assert read_document(data, "letter.pdf").text.splitlines()[-1] == NAME


@needs_tesseract
def test_illegible_text_gives_a_warning_and_can_be_removed():
    data = with_text(LETTER, MIRRORED)
    document = read_document(data, "letter.pdf")
    assert document.warnings == ("page 1: what looks like text could not be read, top right",)
    kept = redact_document(document, [])
    removed = redact_document(document, [], WriteSettings(unread="remove"))
    assert ink(kept) > 0
    assert ink(removed) == 0


def test_rules_boxes_and_dots_are_not_text(monkeypatch):
    boxes = " ".join(f"{x} {y} 10 10 re S" for x in (300, 340) for y in range(300, 400, 20))
    rules = " ".join(f"60 {y} m 500 {y} l S" for y in range(100, 300, 20))
    rules += " ".join(f" {x} 100 m {x} 280 l S" for x in range(60, 520, 88))
    dashes = "[2 2] 0 d 60 90 m 500 90 l S [6 3] 0 d 60 80 m 500 80 l S"
    data = with_text(LETTER, f"0.5 w {boxes} {rules} 0.9 g 60 280 440 20 re f 0 g {dashes}")
    monkeypatch.setenv("PATH", "")
    assert shutil.which("tesseract") is None
    document = read_document(data, "letter.pdf")
    assert document.text == ENGLISH
    assert document.warnings == ()
