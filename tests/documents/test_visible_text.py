"""Texts are normalized to what a person sees, and edits are mapped back to the original."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_files import package

from spacy_deid.documents import ReadSettings, read_document, redact_document
from spacy_deid.documents.visible_text import read_as_seen
from spacy_deid.errors import DeidError
from spacy_deid.offsets import Edit, apply_edits

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Paciente: B r a u l i o   S a n z ingresa", "Paciente: Braulio Sanz ingresa"),
        ("B r a u l i o S a n z", "Braulio Sanz"),
        ("B  R  A  U  L  I  O    S  A  N  Z", "BRAULIO SANZ"),
        ("M\u00a0a\u00a0r\u00a0í\u00a0a, 40", "María, 40"),
        ("M a r í a   d e   l a   P a z", "María de la Paz"),
        ("DNI 2 0 4 8 1 7 3 6 Y", "DNI 20481736Y"),
        ("\u202eznaS oiluarB\u202c, alta", "Braulio Sanz, alta"),
        ("\u202eznaS \u202dBraulio\u202c\nAlta", "Braulio Sanz\nAlta"),
        ("Brau\u200dlio S\u00adanz\u200f", "Braulio Sanz"),
        ("NHC: 20481\n736\nGlucosa 95", "NHC: 20481736\nGlucosa 95"),
        ("DNI: 2048\r\n1736Y\r\n", "DNI: 20481736Y\r\n"),
        ("Tel. 612 345\n678, llamar", "Tel. 612 345 678, llamar"),
        ("IBAN ES91 2100 0418 4502\n0005 1332", "IBAN ES91 2100 0418 4502 0005 1332"),
        ("Correo: bra\nulio@hospital.es", "Correo: braulio@hospital.es"),
        ("braulio@\nhospital.es", "braulio@hospital.es"),
        ("braulio@hosp\nital.es", "braulio@hospital.es"),
        ("braulio@hospital.\nes, alta", "braulio@hospital.es, alta"),
    ],
)
def test_hidden_reversed_and_broken_text_is_normalized(written, read):
    reading = read_as_seen(written)
    assert reading.text == read
    assert [written[place] for place in reading.where if not written[place].isspace()] == re.findall(r"\S", read)


@pytest.mark.parametrize(
    "text",
    [
        "Opciones: A B C D E",
        "x x o x x",
        "Fuerza 5 4 5 5 5 4 4 5 5",
        "Dientes 1 2 3 4 5 6 7 8",
        "Apgar 9 9 7",
        "Hb 12 g L y R A",
        "Na K Cl\n140 4 101\n138 5 99",
        "Plaquetas 612 345\n678 230",
        "Glucosa 95\n102\n110",
        "NHC: 20481\n12-05-2019",
        "NHC: 20481\n45 años",
        "NHC: 20481\n736\n110\n95",
        "NHC\t20481\n736\t95",
        "Tel. 612345678\n3456\nAlta",
        "Tel. 612 345\n1. Diagnóstico",
        "Correo braulio@hospital.es.\nEs dado de alta",
        "braulio@hospital.es\nhospital.es",
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    ],
)
def test_tables_lists_and_complete_numbers_are_unchanged(text):
    assert read_as_seen(text) is None


def test_text_from_right_to_left_keeps_its_order_within_an_override():
    assert read_as_seen("\u202e\u05e9\u05dc\u05d5\u05dd\u202c").text == "\u05e9\u05dc\u05d5\u05dd"


WIDE = "B r a u l i o   S a n z"
FILES = [
    ("a.txt", f"Soy {WIDE}, alta"),
    ("a.txt", "Soy \u202eznaS oiluarB\u202c, alta"),
    ("a.html", "<p>Soy <b>B r a u</b> l i o S a n z, alta</p>"),
    ("a.html", "<p>Soy \u202eznaS <b>oiluarB</b>\u202c, alta</p>"),
    ("a.html", '<p>Soy <bdo dir="rtl">znaS <b>oiluarB</b></bdo>, alta</p>'),
    ("a.html", '<p dir="rtl">Soy <b style="unicode-bidi: bidi-override">znaS oiluarB</b>, alta</p>'),
    ("a.html", '<p>Soy <b style="direction:rtl;unicode-bidi:isolate-override">znaS oiluarB</b>, alta</p>'),
    ("a.docx", f"<w:p><w:r><w:t>Soy {WIDE[:8]}</w:t></w:r><w:r><w:t>{WIDE[8:]}, alta</w:t></w:r></w:p>"),
    (
        "a.docx",
        '<w:p><w:r><w:t xml:space="preserve">Soy </w:t></w:r><w:bdo w:val="rtl"><w:r><w:t>znaS </w:t></w:r>'
        "<w:r><w:t>oiluarB</w:t></w:r></w:bdo><w:r><w:t>, alta</w:t></w:r></w:p>",
    ),
    ("a.eml", f"Subject: Alta\n\nSoy {WIDE}, alta"),
    ("a.csv", f'nota\n"Soy {WIDE}, alta"\n'),
]


@pytest.mark.parametrize(("name", "content"), FILES)
def test_edit_of_visible_text_removes_the_original_from_the_file(name, content):
    document = read_document(package(content) if name == "a.docx" else content.encode(), name)
    at = document.text.index("Braulio Sanz")
    edits = [Edit(at, at + len("Braulio Sanz"), "PATIENT", "[P]")]
    copy = redact_document(document, edits)
    assert read_document(copy, name).text == apply_edits(document.text, edits)
    assert "Soy [P], alta" in read_document(copy, name).text
    with pytest.raises(DeidError, match="withheld"):
        redact_document(document, [], identifiers=["Braulio Sanz"])


def test_text_outside_of_edits_keeps_its_original_form():
    text = f"Soy {WIDE}\r\nDNI: 2048\r\n1736Y\r\n\u202eatla\u202c"
    assert redact_document(read_document(text.encode(), "a.txt"), []) == text.encode()


def test_marks_of_a_table_cover_spaced_letters():
    data = f"nombre,nota\n{WIDE},Alta\n".encode()
    document = read_document(data, "a.csv", ReadSettings(columns={"nombre": "label:PATIENT"}))
    assert [document.text[start:end] for start, end, _ in document.marks] == ["Braulio Sanz"]
    assert redact_document(document, []) == b"nombre,nota\n[PATIENT],Alta\n"


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_edits_of_any_visible_text_remove_all_covered_letters(data):
    marks = st.sampled_from(["\u202e", "\u202d", "\u202c", "\u2066", "\u2069", "\u200d", " ", "  ", "\n"])
    parts = data.draw(st.lists(marks, min_size=1, max_size=25))
    text = "".join(f"{chr(0x100 + i)}{mark}" for i, mark in enumerate(parts))  # each letter stands once
    reading = read_as_seen(text)
    if reading is None:
        return
    cuts = sorted(data.draw(st.sets(st.integers(0, len(reading.text)), max_size=6)))
    edits = [Edit(a, b, "", "X") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    copy = apply_edits(text, reading.raw_edits(edits))
    for edit in edits:
        assert not any(char in copy for char in reading.text[edit.start : edit.end] if char.isalpha())
