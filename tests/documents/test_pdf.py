"""PDF with a text layer: reading order, redaction, and nothing left of removed text."""

import io
import math

import numpy as np
import pikepdf
import pytest
from attacks.reading import ocr, pages, still_readable
from conftest import slow
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pdf_letters import (
    ENGLISH,
    FINNISH,
    SPANISH,
    changed,
    columns,
    edits_of,
    form,
    free_text,
    hide,
    in_any_encoding,
    joined,
    later_revision,
    layer,
    letter,
    needs_poppler,
    needs_tesseract,
    pdftotext,
    pictures,
    scan,
    unpacked,
    watermark,
    with_text,
)
from PIL import ImageChops, ImageOps, ImageStat
from reportlab.lib.pagesizes import A4

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.documents.verification import fold
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit, apply_edits

LETTER = letter(SPANISH)
NAME = "Braulio Sanz Ibáñez"
KEEP = ReadSettings(pictures="keep")


def read(data, name="letter.pdf"):
    return read_document(data, name, KEEP)


def released(data, strings, **keywords):
    document = read(data)
    edits = edits_of(document.text, strings, **keywords)
    return document, edits, redact_document(document, edits, WriteSettings(read=KEEP))


def assert_gone(data, string):
    content = unpacked(data)
    assert not [form for form in in_any_encoding(string) if form in content]
    assert fold(string) not in fold(layer(data))


@pytest.mark.parametrize("text", [SPANISH, FINNISH, ENGLISH])
def test_lines_are_read(text):
    assert read(letter(text)).text == text


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_rotated_page_is_read(rotate):
    assert read(letter(SPANISH, rotate=rotate)).text == SPANISH


def test_pages_are_joined_in_order():
    document = read(joined(letter(SPANISH), letter(FINNISH)))
    assert document.text == f"{SPANISH}\n{FINNISH}"
    assert [document.text[page.start : page.end].strip() for page in document.pages] == [SPANISH, FINNISH]
    assert [page.number for page in document.pages] == [1, 2]


def test_hyphenated_word_is_joined():
    text = read(
        letter("El paciente Braulio Sanz Ibá-\nñez ingresa por dolor, y el perío-\ndo de ingreso es corto")
    ).text
    assert "Ibáñez" in text
    assert "período" in text


def test_double_name_keeps_its_hyphen():
    lines = ["La paciente ingresa por la tarde con Ana García-", "López y con otra persona de su misma familia y,"]
    assert "García-López" in read(letter("\n".join([*lines, "según dice, de la ciudad de al lado también."]))).text


def test_lines_of_a_paragraph_are_joined():
    words = "El paciente refiere dolor desde hace tres días y niega fiebre y tos. " * 6
    assert read(columns([words], count=1)).text == words.strip()


def test_columns_are_read_one_after_the_other():
    left = "Primera columna con muchas palabras que llenan la línea entera. " * 40
    right = "Segunda parte que sigue en otra columna y no se mezcla jamás. " * 20
    assert read(columns([left, right])).text.split() == (left + right).split()


def test_form_is_read_by_rows():
    out = letter("Nombre:\nApellidos:\nTeléfono:\nCiudad:")
    values = letter("Braulio\nSanz Ibáñez\n600123456\nMadrid", left=200)

    def overlay(pdf):
        with pikepdf.open(io.BytesIO(values)) as other:
            pdf.pages[0].add_overlay(other.pages[0])

    text = read(changed(out, overlay)).text
    assert [line.split() for line in text.splitlines()][:2] == [
        ["Nombre:", "Braulio"],
        ["Apellidos:", "Sanz", "Ibáñez"],
    ]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_name_is_removed_from_a_page_at_any_rotation(rotate):
    _, _, copy = released(letter(SPANISH, rotate=rotate), [NAME, "señor Sanz Ibáñez", "Núñez"])
    assert_gone(copy, "Sanz")
    assert_gone(copy, "Núñez")
    assert {"dolor", "torácico.", "[PATIENT]"} <= set(layer(copy).split())


@needs_poppler
def test_poppler_reads_the_released_text():
    document, edits, copy = released(LETTER, [NAME, "Calle Olmo 17", "28035"])
    assert pdftotext(copy).split() == apply_edits(document.text, edits).split()


def test_a_replacement_with_a_line_break_is_written_on_one_line():
    document = read(LETTER)
    start = document.text.index(NAME)
    edits = [Edit(start, start + len(NAME), "PATIENT", "Camilo\nRuiz")]
    copy = redact_document(document, edits, WriteSettings(read=KEEP))
    assert "Camilo Ruiz" in layer(copy)
    assert_gone(copy, NAME)


def test_the_text_layer_is_the_released_text():
    document, edits, copy = released(LETTER, [NAME, "Madrid"])
    lines = [line.strip() for line in layer(copy).splitlines()]
    assert lines == apply_edits(document.text, edits).splitlines()


def test_hidden_content_is_neither_read_nor_copied():
    data = changed(LETTER, hide("Quintana"))
    assert [f for f in in_any_encoding("Quintana") if f in unpacked(data)]
    document = read(data)
    assert document.text == SPANISH
    copy = redact_document(document, edits_of(document.text, [NAME]))
    assert_gone(copy, "Quintana")
    assert b"JavaScript" not in unpacked(copy)
    with pikepdf.open(io.BytesIO(copy)) as pdf:
        assert set(pdf.Root.keys()) <= {"/Type", "/Pages"}
        assert "/Info" not in pdf.trailer
        assert set(pdf.pages[0].obj.keys()) <= {"/Type", "/Parent", "/MediaBox", "/Rotate", "/Resources", "/Contents"}


def test_earlier_revision_is_removed():
    data = later_revision(changed(letter(ENGLISH), lambda pdf: None), "Thornbury was", "Applegate was")
    document = read(data)
    assert "Applegate was" in document.text
    copy = redact_document(document, edits_of(document.text, ["Margaret Thornbury", "Applegate"]))
    assert_gone(copy, "Thornbury")


def test_form_field_is_read_and_redacted():
    document, _, copy = released(form(NAME), [NAME])
    assert document.text.split() == ["Paciente:", "Braulio", "Sanz", "Ibáñez"]
    assert_gone(copy, NAME)
    with pikepdf.open(io.BytesIO(copy)) as pdf:
        assert "/AcroForm" not in pdf.Root


def test_visible_annotation_is_read_and_redacted():
    document, _, copy = released(changed(LETTER, free_text("Llamar a Quintana")), ["Quintana"])
    assert document.text.endswith("Llamar a Quintana")
    assert_gone(copy, "Quintana")


def test_watermark_is_separate_from_the_lines_it_crosses():
    document, _, copy = released(changed(LETTER, watermark("Impreso por Quintana")), ["Quintana"])
    assert document.text == f"{SPANISH}\nImpreso por Quintana"
    assert_gone(copy, "Quintana")


def test_text_outside_the_page_is_neither_read_nor_copied():
    def crop(pdf):
        pdf.pages[0].obj.CropBox = [0, 700, 595, 762]

    document, _, copy = released(changed(LETTER, crop), ["Calle Olmo 17"])
    assert document.text == SPANISH.partition("\n")[2]
    assert_gone(copy, "Braulio")


def test_word_across_pages_is_joined():
    document = read(joined(letter("Ingresa el señor Ibá-"), letter("ñez por dolor")))
    assert document.text == "Ingresa el señor Ibáñez por dolor"
    copy = redact_document(document, edits_of(document.text, ["Ibáñez"]))
    assert layer(copy).split() == "Ingresa el señor [PATIENT] por dolor".split()


def test_width_of_a_removed_name_cannot_be_measured():
    short, long = letter("Paciente Ana Gil niega alergias"), letter("Paciente Bartolomé Echeverría niega alergias")
    copies = [released(short, ["Ana Gil"])[2], released(long, ["Bartolomé Echeverría"])[2]]
    first, second = (ImageOps.invert(pictures(copy, 200)[0].convert("L")).getbbox() for copy in copies)
    assert first == pytest.approx(second, abs=1)


def test_gaps_of_a_justified_line_do_not_reveal_the_width():
    short = letter("Paciente Ana Gil niega alergias", gap=9)
    long = letter("Paciente Bartolomé Echeverría niega alergias", gap=1)
    copies = [released(short, ["Ana Gil"])[2], released(long, ["Bartolomé Echeverría"])[2]]
    first, second = (ImageOps.invert(pictures(copy, 200)[0].convert("L")).getbbox() for copy in copies)
    assert first == pytest.approx(second, abs=2)


@pytest.mark.parametrize("mark", ["box", "black", "plain"])
def test_replacement_is_drawn_in_place(mark):
    document = read(LETTER)
    copy = redact_document(document, edits_of(document.text, [NAME]), WriteSettings(mark=mark))
    before, after = pictures(LETTER, 72)[0].convert("L"), pictures(copy, 72)[0].convert("L")
    place = (125, 60, 225, 75)
    assert before.crop(place).tobytes() != after.crop(place).tobytes()
    rest = (0, 90, 595, 842)
    difference = ImageChops.difference(before.crop(rest), after.crop(rest))
    assert ImageStat.Stat(difference).mean[0] < 1


def test_page_size_is_kept():
    for rotate in (0, 90):
        _, _, copy = released(letter(SPANISH, rotate=rotate), [NAME])
        with pikepdf.open(io.BytesIO(copy)) as pdf:
            assert pdf.pages[0].obj.Rotate == rotate
            box = [float(value) for value in pdf.pages[0].mediabox]
        assert box == pytest.approx([0, 0, *A4], abs=0.01)


def test_name_in_metadata_of_the_copy_is_found():
    document, edits, copy = released(LETTER, [NAME])
    for place in ("/Author", "/Keywords"):
        leaky = changed(copy, lambda pdf, place=place: pdf.docinfo.__setitem__(place, pikepdf.String(NAME)))
        with pytest.raises(DeidError, match="PATIENT") as caught:
            verify(leaky, "pdf", {NAME: "PATIENT"}, WriteSettings(), apply_edits(document.text, edits))
        assert "Sanz" not in str(caught.value)


READ_LETTER = read_document(LETTER, "letter.pdf", ReadSettings(pictures="keep", codes="keep"))


@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_edits_anywhere_remove_exactly_their_characters(data):
    document = READ_LETTER
    start = data.draw(st.integers(0, len(document.text) - 2))
    end = data.draw(st.integers(start + 1, min(start + 60, len(document.text))))
    edits = [Edit(start, end, "PATIENT", "[X]")]
    copy = redact_document(document, edits, WriteSettings(dpi=100, read=READ_LETTER.settings))
    changed = document.text[start:end].strip()
    assert fold(layer(copy)) == fold(apply_edits(document.text, edits) if changed else document.text)


@pytest.mark.parametrize("rotate", [0, 90])
def test_every_character_has_a_box_on_its_page(rotate):
    document = read(letter(SPANISH, rotate=rotate))
    page = document.parts[1][0]
    covered = set()
    for segment in page.segments:
        for i, text in enumerate(segment.texts):
            assert document.text[segment.start[i] : segment.end[i]] == text
            assert 0 <= segment.left[i] < segment.right[i] <= max(page.width, page.height)
            covered |= set(range(segment.start[i], segment.end[i]))
    assert {i for i, char in enumerate(document.text) if not char.isspace()} == covered


def encrypted(password):
    with pikepdf.open(io.BytesIO(LETTER)) as pdf:
        out = io.BytesIO()
        pdf.save(out, encryption=pikepdf.Encryption(user=password, owner="x"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (encrypted("secret"), "encrypted"),
        (LETTER[:300], "truncated or malformed"),
        (b"%PDF-1.7\nnothing here", "truncated or malformed"),
    ],
    ids=["encrypted", "truncated", "malformed"],
)
def test_unreadable_file_is_refused(data, reason):
    with pytest.raises(InputError, match=reason) as caught:
        read(data, "bad.pdf")
    assert "bad.pdf" in str(caught.value)


def test_xfa_form_is_refused():
    def make_xfa(pdf):
        template = pdf.make_stream(b"<xdp:xdp xmlns:xdp='http://ns.adobe.com/xdp/'></xdp:xdp>")
        pdf.Root.AcroForm = pikepdf.Dictionary(Fields=[], XFA=pikepdf.Array([pikepdf.String("template"), template]))
        pdf.Root.NeedsRendering = True

    with pytest.raises(InputError, match="XFA"):
        read(changed(LETTER, make_xfa))


def test_empty_password_opens_a_file():
    assert read(encrypted("")).text == SPANISH


def test_file_without_pages_is_refused():
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.save(out)
    with pytest.raises(InputError, match=r"no page|malformed"):
        read(out.getvalue())


def test_too_many_pages_are_refused():
    with pytest.raises(InputError, match="3 pages, more than the allowed 2"):
        read_document(joined(LETTER, LETTER, LETTER), "a.pdf", ReadSettings(max_pages=2))


def test_empty_page_gives_empty_text():
    document = read(letter(""))
    assert document.text == ""
    assert redact_document(document, []).startswith(b"%PDF")


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
@pytest.mark.slow  # scans that are inclined, and lines beside oblique text, have quick tests
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
