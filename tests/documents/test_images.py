"""Scans and pictures: read by OCR, redacted, and read again. Pictures embedded in other files."""

import io

import numpy as np
import pytest
from attacks.reading import ocr, still_readable
from attacks.reading import pages as pages_of
from conftest import slow
from pdf_letters import (
    ENGLISH,
    FINNISH,
    SPANISH,
    assert_unreadable,
    changed,
    edits_of,
    in_any_encoding,
    joined,
    layer,
    letter,
    needs_tesseract,
    pictures,
    scan,
    unpacked,
    with_picture,
    with_text,
)
from pikepdf import Dictionary, Name
from PIL import Image, ImageChops, ImageFilter, ImageStat

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.documents.office import write_picture
from spacy_deid.documents.pages.image_analysis import _erode
from spacy_deid.documents.verification import fold
from spacy_deid.errors import DeidError, InputError

pytestmark = needs_tesseract
SPA = ReadSettings(languages=("spa",))
KEEP = ReadSettings(pictures="keep")
WRITE = WriteSettings(read=SPA)
NAMES = ["Braulio Sanz Ibáñez", "señor Sanz Ibáñez", "Pilar Núñez Cué"]


@pytest.fixture(autouse=True, scope="module")
def spanish():
    """Skip where Tesseract has no Spanish data."""
    try:
        read_document(letter("x"), "x.pdf", ReadSettings(languages=("spa", "eng"), ocr="always"))
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("shape", [(1, 1), (3, 400), (90, 70)])
def test_erosion_is_that_of_pillow(shape):
    for share in (0.9, 0.99, 0.999):
        mask = np.random.default_rng(0).random(shape) < share
        filtered = Image.fromarray(mask.astype(np.uint8)).filter(ImageFilter.MinFilter(15))
        assert (_erode(mask, 15) == (np.asarray(filtered) > 0)).all()


@pytest.mark.parametrize(
    "turned",
    [
        slow({}, id="straight"),
        slow({"rotate": 90}, id="left"),
        slow({"rotate": 180}, id="over"),
        pytest.param({"skew": 1.5}, id="inclined"),
    ],
)
def test_scan_is_read_and_redacted_at_any_rotation(turned):
    data = scan(letter(SPANISH, size=13), **turned)
    document = read_document(data, "scan.pdf", SPA)
    assert document.text.split() == SPANISH.split()
    assert [page.ocr for page in document.pages] == [True]
    copy = redact_document(document, edits_of(document.text, NAMES), WRITE)
    assert "Sanz" not in layer(copy)
    assert not [form for name in ("Sanz", "Núñez") for form in in_any_encoding(name) if form in unpacked(copy)]
    assert_unreadable(copy, ["Sanz", "Ibáñez", "Núñez"], "spa")


def test_only_pages_without_text_are_read_by_ocr():
    document = read_document(joined(letter(SPANISH), scan(letter(ENGLISH, size=14)), letter(FINNISH)), "a.pdf")
    assert [page.ocr for page in document.pages] == [False, True, False]
    texts = [document.text[page.start : page.end].split() for page in document.pages]
    assert texts == [SPANISH.split(), ENGLISH.split(), FINNISH.split()]


def test_invisible_text_layer_of_a_scan_is_ignored():
    def lie(pdf):
        font = pdf.make_indirect(Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica))
        pdf.pages[0].obj.Resources.Font = Dictionary(F9=font)
        pdf.pages[0].contents_add(pdf.make_stream(b"BT 3 Tr /F9 12 Tf 72 700 Td (Nothing to see here) Tj ET"))

    document = read_document(changed(scan(letter(ENGLISH, size=14)), lie), "a.pdf")
    assert document.text.split() == ENGLISH.split()
    assert b"Nothing" not in unpacked(redact_document(document, []))


def test_page_with_an_unmapped_font_is_read_by_ocr():
    def hide_meaning(pdf):
        cmap = b"1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <00> <FF> <E000> endbfrange"
        for font in pdf.pages[0].obj.Resources.Font.values():
            font.ToUnicode = pdf.make_stream(cmap)

    document = read_document(changed(letter(ENGLISH, size=14), hide_meaning), "a.pdf")
    assert document.pages[0].ocr
    assert document.text.split() == ENGLISH.split()


def test_ocr_can_be_forced_on_a_page_with_text():
    document = read_document(letter(ENGLISH, size=14), "a.pdf", ReadSettings(ocr="always"))
    assert document.pages[0].ocr
    assert document.text.split() == ENGLISH.split()


def test_picture_on_a_page_with_text_is_read():
    logo = pictures(letter("Margaret Thornbury, patient", size=20), 100)[0].crop((60, 60, 600, 130))
    document = read_document(with_picture(letter(ENGLISH), logo), "a.pdf")
    assert document.text.startswith(ENGLISH)
    assert document.text.split()[-3:] == ["Margaret", "Thornbury,", "patient"]
    assert document.warnings == ("page 1: has pictures",)
    edits = edits_of(document.text, ["Margaret Thornbury", "Mrs Thornbury"])
    copy = redact_document(document, edits)
    assert_unreadable(copy, ["Thornbury", "Margaret"], "eng")


def test_pictures_can_be_removed():
    logo = pictures(letter("Margaret Thornbury, patient", size=20), 100)[0].crop((60, 60, 600, 130))
    document = read_document(with_picture(letter("Other text"), logo), "a.pdf", ReadSettings(pictures="remove"))
    assert document.text == "Other text"
    assert_unreadable(redact_document(document, []), ["Thornbury", "Margaret"], "eng")


@pytest.mark.parametrize("kind", [slow("PNG"), "JPEG", slow("TIFF")])
def test_image_keeps_its_format_and_loses_its_metadata(kind):
    image = pictures(letter(SPANISH, size=13), 150)[0].crop((100, 100, 1240, 350))
    exif = Image.Exif()
    exif[0x010E] = "Braulio Sanz"
    out = io.BytesIO()
    image.save(out, kind, exif=exif)
    name = {"PNG": "a.png", "JPEG": "a.jpg", "TIFF": "a.tif"}[kind]
    document = read_document(out.getvalue(), name, SPA)
    copy = redact_document(document, edits_of(document.text, NAMES), WRITE)
    assert b"Sanz" not in copy
    with Image.open(io.BytesIO(copy)) as after:
        assert after.format == kind
        assert after.size == image.size
        assert 0x010E not in after.getexif()
    again = read_document(copy, name, SPA)
    assert "sanz" not in fold(again.text)
    assert "torácico" in again.text


def test_all_pages_of_a_tiff_are_read():
    letters = ENGLISH, "Second page. Thornbury again."
    pages = [pictures(letter(text, size=14), 150)[0].crop((100, 80, 1240, 300)) for text in letters]
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:])
    document = read_document(out.getvalue(), "a.tiff")
    assert [page.number for page in document.pages] == [1, 2]
    copy = redact_document(
        document, edits_of(document.text, ["Margaret Thornbury", "Mrs Thornbury", "Thornbury again"])
    )
    with Image.open(io.BytesIO(copy)) as after:
        assert after.n_frames == 2
    assert "thornbury" not in fold(read_document(copy, "a.tiff").text)


def test_unread_content_can_be_removed():
    image = pictures(letter(ENGLISH, size=14), 150)[0].convert("L")
    image.paste(0, (700, 900, 1100, 1300))
    out = io.BytesIO()
    image.save(out, "PNG")
    document = read_document(out.getvalue(), "a.png")
    with Image.open(io.BytesIO(redact_document(document, [], WriteSettings(unread="remove")))) as after:
        assert after.crop((650, 850, 1150, 1350)).getextrema() == (255, 255)
        assert after.crop((100, 100, 700, 300)).getextrema()[0] < 100


def test_name_legible_in_the_page_image_is_found():
    data = scan(letter(ENGLISH, size=14))
    with pytest.raises(DeidError, match="PATIENT") as caught:
        verify(data, "pdf", {"Thornbury": "PATIENT"}, WriteSettings(verify_ocr="all"))
    assert "picture of page 1" in str(caught.value)
    assert "--unread remove" in str(caught.value)


def test_missing_ocr_language_is_an_error():
    with pytest.raises(InputError, match="no data for language xyz"):
        read_document(scan(letter("x")), "scan.pdf", ReadSettings(languages=("xyz",)))


def test_missing_tesseract_is_an_error(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="Tesseract"):
        read_document(scan(letter("x")), "scan.pdf")
    assert read_document(letter(SPANISH), "text.pdf").text == SPANISH


def test_ocr_timeout_is_an_error():
    with pytest.raises(InputError, match="page 1: OCR took longer than 0 s"):
        read_document(scan(letter(SPANISH)), "scan.pdf", ReadSettings(page_seconds=0))


@pytest.mark.parametrize("size", [(30_000, 10), (9_000, 20_000)], ids=["long", "large"])
def test_huge_image_is_refused_before_decompression(size):
    out = io.BytesIO()
    Image.new("1", size).save(out, "PNG")
    with pytest.raises(InputError, match=r"a\.png: larger than"):
        read_document(out.getvalue(), "a.png", ReadSettings())


def test_damaged_image_is_refused():
    out = io.BytesIO()
    Image.effect_noise((300, 300), 50).save(out, "PNG")
    for data in (out.getvalue()[:2000], out.getvalue()[:20]):
        with pytest.raises(InputError, match=r"a\.png"):
            read_document(data, "a.png")


def test_image_without_a_size_is_refused():
    out = io.BytesIO()
    Image.new("L", (30, 30)).save(out, "TIFF")
    data = out.getvalue()
    for kind in (b"\3", b"\4"):  # tag 256, the width, as a short or a long number
        data = data.replace(b"\0\1" + kind + b"\0\1\0\0\0", b"\xff\xfe" + kind + b"\0\1\0\0\0")
    assert data != out.getvalue()
    with pytest.raises(InputError, match=r"a\.tif: the image cannot be read"):
        read_document(data, "a.tif")


@pytest.mark.parametrize("kind", ["uint16", slow("int32"), slow("float32")])
def test_image_with_more_than_8_bits_is_scaled_to_its_range(kind):
    values = np.asarray(pictures(letter(ENGLISH, size=14), 150)[0].convert("L").crop((0, 0, 1240, 300)))
    scaled = values / 255 if kind == "float32" else values.astype("int64") * 16
    out = io.BytesIO()
    Image.fromarray(scaled.astype(kind)).save(out, "TIFF")
    document = read_document(out.getvalue(), "a.tif")
    assert document.text.split() == ENGLISH.split()
    copy = redact_document(document, edits_of(document.text, ["Margaret Thornbury", "Mrs Thornbury"]))
    assert "thornbury" not in fold(read_document(copy, "a.tif").text)


def test_name_in_image_metadata_is_found():
    exif = Image.Exif()
    exif[0x010E] = "Braulio Sanz"
    out = io.BytesIO()
    Image.new("L", (300, 300), 255).save(out, "JPEG", exif=exif)
    with pytest.raises(DeidError, match="metadata"):
        verify(out.getvalue(), "image", {"Braulio Sanz": "PATIENT"}, WriteSettings(verify_ocr="none"))


@pytest.mark.parametrize("kind", ["png", slow("jpeg"), slow("scan"), slow("picture on a page")])
def test_text_on_a_background_of_equal_luminance_is_read(kind):
    code = "1 0 0 rg 60 590 250 30 re f BT F 14 Tf 0 0.51 0 rg 72 600 Td (Dr Quintana) Tj ET"
    page = pictures(with_text(letter(ENGLISH), code), 150)[0].crop((100, 400, 1000, 600))
    out = io.BytesIO()
    if kind == "picture on a page":
        data, name = with_picture(letter(ENGLISH), page.resize((600, 133))), "a.pdf"
    else:
        page.save(out, "PDF" if kind == "scan" else kind, resolution=150)
        data, name = out.getvalue(), "a.pdf" if kind == "scan" else f"a.{kind}"
    assert "Dr Quintana" in read_document(data, name).text


REPORT = """Laboratory report of Leontine Abernathy
Haemoglobin 13.4 g/dl, leukocytes 7.2
Attending physician Leontine Abernathy
Creatinine was normal at every visit"""
DOCTOR = ["Leontine Abernathy"]


def report(angle):
    """A scanned report, turned clockwise by some degrees."""
    image = pictures(letter(REPORT, size=16), 110)[0].convert("L").crop((90, 50, 700, 260))
    return image.rotate(-angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


@pytest.mark.parametrize("angle", [slow(90), slow(180), slow(270), slow(7), 200])
def test_picture_on_a_page_is_read_at_any_rotation(angle):
    data = with_picture(letter(ENGLISH), report(angle))
    document = read_document(data, "a.pdf")
    assert document.text.startswith(ENGLISH)
    assert "".join(REPORT.split()) in "".join(document.text.split())
    copy = redact_document(document, edits_of(document.text, DOCTOR))
    assert still_readable(copy, ["Abernathy", "Leontine"], picture=False) == []
    shown = ocr(pages_of(copy, 200)[0].rotate(angle, expand=True, fillcolor="white"), dpi=200, modes=(6,))
    assert not any(name in fold(shown) for name in ("abernathy", "leontine"))
    for kept in ("Haemoglobin", "13.4", "leukocytes", "physician", "Creatinine", "visit", "Laboratory"):
        assert kept in shown
    assert "Thornbury was seen" in layer(copy)


def embedded(kind, **more):
    """A picture with a name in its metadata."""
    exif = Image.Exif()
    exif[0x010E] = "Quintana"
    image = Image.linear_gradient("L").resize((200, 100))
    out = io.BytesIO()
    image.save(out, kind, exif=exif, **more)
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "more"), [("JPEG", {"comment": b"Quintana"}), ("PNG", {}), ("TIFF", {})], ids=["JPEG", "PNG", "TIFF"]
)
def test_kept_picture_loses_its_metadata(kind, more):
    data = embedded(kind, **more)
    assert b"Quintana" in data
    copy = write_picture(data, None, [], KEEP, WriteSettings(read=KEEP))
    assert b"Quintana" not in copy
    with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(copy)) as after:
        assert after.format == kind
        assert ImageStat.Stat(ImageChops.difference(before, after)).mean[0] < 1


def test_damaged_kept_picture_becomes_blank():
    copy = write_picture(
        embedded("PNG")[:120],
        None,
        [],
        ReadSettings(pictures="keep"),
        WriteSettings(read=KEEP),
    )
    with Image.open(io.BytesIO(copy)) as after:
        assert after.getextrema() == (255, 255)
