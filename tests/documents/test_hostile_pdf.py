"""PDF files that display other text than their text layer contains: it is read and redacted, or reported."""

import io
import shutil
from pathlib import Path

import pytest
from conftest import slow
from drawn_letters import bent, masked, outlined, ring, tiled, whole_words
from pdf_letters import (
    ENGLISH,
    assert_unreadable,
    changed,
    edits_of,
    layer,
    letter,
    needs_tesseract,
    pictures,
    type3,
    with_text,
)
from pikepdf import Array, Dictionary, Name
from PIL import ImageChops
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import registerFont, stringWidth
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document
from spacy_deid.documents.pdf.glyphs import _Char
from spacy_deid.documents.pdf.pdfium import PageView
from spacy_deid.errors import InputError

LETTER = letter(ENGLISH)
KEEP = ReadSettings(pictures="keep")


def read(data):
    return read_document(data, "letter.pdf", KEEP)


def last_line(data):
    return read(data).text.splitlines()[-1]


def dejavu():
    """A font that has marks without a look."""
    path = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
    if not path.exists():
        pytest.skip("DejaVu Sans is not installed")
    registerFont(TTFont("DejaVu", path))
    return "DejaVu"


def spoken(shown, text):
    """Operators that show one text and let another one be read aloud."""
    return f"/Span <</ActualText ({text})>> BDC {shown} EMC"


@pytest.mark.parametrize("said", ["nothing", "Dr Quintana", "Quintana and many more words than there are", ""])
def test_displayed_text_is_read_instead_of_actual_text(said):
    data = with_text(LETTER, spoken("BT F 12 Tf 72 600 Td (Dr Quintana) Tj ET", said))
    document = read(data)
    assert document.text == f"{ENGLISH}\nDr Quintana"
    assert layer(redact_document(document, edits_of(document.text, ["Quintana"]))).split()[-2:] == ["Dr", "[PATIENT]"]


@needs_tesseract
def test_actual_text_does_not_hide_displayed_letters():
    places = [72 + stringWidth("Quintana"[:i], "Helvetica", 12) for i in range(8)]
    letters = " ".join(f"1 0 0 1 {x} 600 Tm ({c}) Tj" for x, c in zip(places, "Quintana", strict=True))
    document = read(with_text(LETTER, spoken(f"BT F 12 Tf {letters} ET", "Quintana")))
    assert_unreadable(redact_document(document, edits_of(document.text, ["Quintana"])), ["Quintana"], "eng")


@needs_tesseract
@pytest.mark.parametrize(
    "box",
    [slow("0 0 10 10", id="small"), pytest.param("5000 5000 6000 6000", id="far"), slow("0 -200 900 900", id="large")],
)
def test_page_with_wrong_font_sizes_is_read_by_ocr(box):
    document = read(changed(LETTER, type3("Quintana", box)))
    assert document.pages[0].ocr
    assert document.text == f"{ENGLISH}\nQuintana"
    assert_unreadable(redact_document(document, edits_of(document.text, ["Quintana"])), ["Quintana"], "eng")


@needs_tesseract
def test_visible_text_behind_a_scan_is_ignored():
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4)
    for i in range(12):
        page.drawString(72, 770 - 16 * i, "Stale words of another letter that stand behind the picture of this one")
    page.drawInlineImage(pictures(letter(ENGLISH, size=14), 150)[0].convert("L"), 0, 0, *A4)
    page.save()
    document = read_document(out.getvalue(), "scan.pdf")
    assert document.pages[0].ocr
    assert document.text.split() == ENGLISH.split()


@pytest.mark.parametrize("colour", ["1 g", "0.999 g"])
def test_white_text_under_a_pattern_is_ignored(colour):
    pattern = " ".join(f"{x} 590 m {x} 620 l S" for x in range(60, 200, 5))
    data = with_text(LETTER, f"{pattern} BT {colour} F 1 Tf 72 600 Td (x) Tj ET 0 g 60 590 200 30 re f")
    assert read(data).text == ENGLISH


@pytest.mark.parametrize("gap", [3, 6])
def test_spaced_letters_form_words(gap):
    data = with_text(LETTER, f"BT F 12 Tf {gap} Tc 72 600 Td (Braulio Quintana called) Tj ET")
    assert last_line(data).split() == ["Braulio", "Quintana", "called"]


def test_distant_single_letters_do_not_form_a_word():
    assert last_line(with_text(LETTER, "BT F 12 Tf 72 600 Td (A) Tj 30 0 Td (B) Tj 44 0 Td (C) Tj ET")) != "ABC"


def test_text_with_a_negative_font_size_is_read():
    assert last_line(with_text(LETTER, "BT F -12 Tf 300 600 Td (Dr Quintana) Tj ET")) == "Dr Quintana"


def meaning(letter, code):
    """A change that says what a letter means, in UTF-16."""

    def change(pdf):
        cmap = (
            f"1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <{ord(letter):02X}> <{code}> endbfchar"
        )
        for font in pdf.pages[0].obj.Resources.Font.values():
            font.ToUnicode = pdf.make_stream(cmap.encode())

    return change


@pytest.mark.parametrize(
    ("code", "read_as"),
    [("D835DC10", "\U0001d410"), ("D83DDE00", "\U0001f600"), ("0001", "\ufffd"), ("D835", "\ufffd")],
)
def test_undefined_character_is_part_of_its_word(code, read_as):
    document = read(changed(LETTER, meaning("T", code)))
    name = f"{read_as}hornbury"
    assert name in document.text
    copy = redact_document(document, edits_of(document.text, [name]))
    assert "hornbury" not in layer(copy)


def test_custom_ligature_is_read_as_several_letters():
    data = letter("Dr Wmann called. Dr Wmann wrote.")
    document = read(changed(data, meaning("W", "004F00660066")))
    assert document.text == "Dr Offmann called. Dr Offmann wrote."
    copy = redact_document(document, edits_of(document.text, ["Offmann"], replacement="X"))
    assert layer(copy).split() == ["Dr", "X", "called.", "Dr", "X", "wrote."]


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("Sr Iba\u0301n\u0303ez", "Sr Ibáñez"),
        ("Mr Quin\u200bta\u2060na\u200d", "Mr Quintana"),
        ("\ufeffMr \u202eQuintana\u202c", "Mr Quintana"),
        ("Mr O\ufb03el", "Mr Offiel"),
    ],
    ids=["accents", "zero width", "direction", "ligature"],
)
def test_invisible_characters_do_not_split_words(written, read_as):
    data = letter(f"Patient: {written} came", font=dejavu())
    document = read(data)
    assert document.text == f"Patient: {read_as} came"
    copy = redact_document(document, edits_of(document.text, [read_as.split()[1]]))
    assert layer(copy).split()[2:] == ["[PATIENT]", "came"]


@pytest.mark.parametrize(
    ("box", "reason"),
    [
        ({"MediaBox": [0, 0, 1e6, 1e6]}, "it is larger than 14400 points"),
        ({"MediaBox": [0, 0, 1e6, 0.01]}, "it is larger than 14400 points"),
        ({"CropBox": [9000, 9000, 9100, 9100]}, "its visible area is empty"),
    ],
)
def test_page_that_cannot_be_displayed_is_refused(box, reason):
    data = changed(LETTER, lambda pdf: [pdf.pages[0].obj.__setattr__(key, Array(value)) for key, value in box.items()])
    with pytest.raises(InputError, match=f"letter.pdf, page 1: {reason}"):
        read(data)


def test_huge_picture_on_a_page_is_refused_before_decompression():
    def show(pdf):
        picture = pdf.make_stream(b"", Type=Name.XObject, Subtype=Name.Image, ColorSpace=Name.DeviceGray)
        picture.Width, picture.Height, picture.BitsPerComponent = 30_000, 30_000, 8
        pdf.pages[0].obj.Resources.XObject = Dictionary(I0=picture)
        pdf.pages[0].contents_add(pdf.make_stream(b"q Q q 300 0 0 300 72 72 cm /I0 Do Q"))

    with pytest.raises(InputError, match="page 1: it has a picture of more than 100000000 pixels"):
        read(changed(LETTER, show))


def long(number):
    """A number as it can stand in a PDF, which knows no exponents."""
    return f"{float(number):.0f}.0"


@needs_tesseract
@pytest.mark.parametrize(
    "code",
    [
        pytest.param(f"BT F {long('1e36')} Tf 72 600 Td (Quintana) Tj ET", id="size"),
        slow(f"BT F {long('-3e38')} Tf 72 600 Td (Quintana) Tj ET", id="negative"),
        slow(f"BT F {long('1e10')} Tf {long('3e38')} Tz 72 600 Td (Quintana) Tj ET", id="stretch"),
        slow(f"BT F {long('3e38')} Tf 0 1 -1 0 300 300 Tm (Quintana) Tj ET", id="turned"),
    ],
)
def test_page_with_overflowing_font_size_is_read_by_ocr(code):
    document = read(with_text(LETTER, code))
    assert document.pages[0].ocr
    assert document.text == ENGLISH


@needs_tesseract
def test_page_with_an_overflowing_picture_position_is_read_by_ocr():
    def show(pdf):
        picture = pdf.make_stream(b"\0", Type=Name.XObject, Subtype=Name.Image, ColorSpace=Name.DeviceGray)
        picture.Width, picture.Height, picture.BitsPerComponent = 1, 1, 8
        pdf.pages[0].obj.Resources.XObject = Dictionary(I0=picture)
        huge = long("1e38")
        code = f"q Q q {huge} 0 0 {huge} 0 0 cm {huge} 0 0 {huge} 0 0 cm /I0 Do Q"
        pdf.pages[0].contents_add(pdf.make_stream(code.encode()))

    document = read_document(changed(LETTER, show), "letter.pdf")
    assert document.pages[0].ocr
    assert document.text == ENGLISH


def same_luminance(text):
    """A letter with a text in green on red, of which nothing is seen in grey."""
    return with_text(LETTER, f"1 0 0 rg 60 590 250 30 re f BT F 14 Tf 0 0.51 0 rg 72 600 Td ({text}) Tj ET")


def test_text_on_a_background_of_equal_luminance_is_read():
    data = same_luminance("Dr Quintana")
    greys = [pictures(one, 100)[0].convert("L") for one in (data, same_luminance(""))]
    assert ImageChops.difference(*greys).getextrema()[1] < 8
    assert last_line(data) == "Dr Quintana"


def test_recursive_form_is_read_once():
    def nest(pdf):
        font = pdf.pages[0].obj.Resources.Font
        name = next(iter(font.keys()))
        form = pdf.make_stream(f"/X0 Do BT {name} 12 Tf 72 600 Td (Quintana) Tj ET".encode())
        form.Type, form.Subtype, form.BBox = Name.XObject, Name.Form, Array([0, 0, 600, 800])
        form.Resources = Dictionary(XObject=Dictionary(X0=pdf.make_indirect(form)), Font=font)
        pdf.pages[0].obj.Resources.XObject = Dictionary(X0=form)
        pdf.pages[0].contents_add(pdf.make_stream(b"q Q /X0 Do"))

    assert last_line(changed(LETTER, nest)) == "Quintana"


DRAWN_NAME = "Braulio Quintana"
STAMP = f"Dr {DRAWN_NAME} Lic. 4471903"
MIRRORED = f"q -1 0 0 1 595 0 cm {outlined(DRAWN_NAME)} Q"


def bent_text(char):
    return f"BT F 12 Tf ({char}) Tj ET"


DRAWN = {
    "pattern": lambda: tiled(LETTER, DRAWN_NAME),
    "soft mask": lambda: masked(LETTER, DRAWN_NAME),
    "type 3": lambda: whole_words(LETTER, DRAWN_NAME.split()),
    "outlines": lambda: with_text(LETTER, outlined(DRAWN_NAME)),
    "aslant": lambda: with_text(LETTER, outlined(DRAWN_NAME, angle=30, y=450)),
    "upwards": lambda: with_text(LETTER, outlined(DRAWN_NAME, angle=90, x=400, y=300)),
    "on its head": lambda: with_text(LETTER, outlined(DRAWN_NAME, angle=180, x=400, y=300)),
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
    assert DRAWN_NAME in text
    assert document.warnings == ()
    copy = redact_document(document, edits_of(document.text, DRAWN_NAME.split(), replacement=""))
    assert not any(word in layer(copy) for word in DRAWN_NAME.split())
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
    data = with_text(LETTER, f"{before} {outlined(DRAWN_NAME)} 0 g 60 400 300 40 re f")
    assert read_document(data, "letter.pdf").text.splitlines()[-1] == DRAWN_NAME


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


@pytest.mark.parametrize(("size", "turn"), [(30, 315), (40, None)])
def test_oblique_character_larger_than_its_font_is_painted_over_by_its_ink(size, turn):
    view = PageView(0, 0, 595, 842, 0)
    char = _Char("A", False, False, 0, (0, 0, size, size), (0, 0), (1, 1), 20, 1, False, False, 12)
    assert char.turn(view) == turn
