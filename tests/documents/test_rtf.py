"""RTF: the text is read and written to a new file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from striprtf.striprtf import rtf_to_text

from spacy_deid.documents import read_document, redact_document
from spacy_deid.errors import InputError
from spacy_deid.offsets import Edit, apply_edits

NAME = "Braulio Ibáñez"
FILE = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Braulio Sans;}}{\info{\author Braulio}{\title Ib\'e1\'f1ez}}"
    r"{\header Historia de Braulio Ib\'e1\'f1ez\par}"
    r"{\*\generator Braulio;}\f0 Paciente {\b Brau}{\i lio} Ib\u225?\u241?ez ingresa\'2e\par"
    r"\trowd\cellx1000 Nombre\cell Braulio\cell\row"
    r"{\field{\*\fldinst HYPERLINK "
    r'"mailto:braulio@x.es"}{\fldrslt correo}}{\footnote Nota de Braulio}{\pict\pngblip 8950}}'
)


def test_headers_notes_and_cells_are_read_and_hidden_content_removed():
    document = read_document(FILE.encode("cp1252"), "a.rtf")
    assert document.text.startswith(f"Historia de {NAME}\n")
    assert f"Paciente {NAME} ingresa.\n" in document.text
    assert "Nombre\tBraulio" in document.text
    assert "correo" in document.text
    assert "Nota de Braulio" in document.text
    assert "@" not in document.text
    assert document.warnings == ("formatting, pictures, text boxes and comments are removed",)


def test_copy_contains_only_the_released_text():
    document = read_document(FILE.encode("cp1252"), "a.rtf")
    edits, at = [], -1
    while (at := document.text.find("Braulio", at + 1)) >= 0:
        end = at + len(NAME if document.text.startswith(NAME, at) else "Braulio")
        edits.append(Edit(at, end, "PATIENT", "[P]"))
    copy = redact_document(document, edits)
    assert b"raulio" not in copy
    assert rtf_to_text(copy.decode("ascii")).strip() == apply_edits(document.text, edits)


@settings(max_examples=80, deadline=None)
@given(st.text("abñé€𝒳漢\\{}\t\n '-;", min_size=1, max_size=60))
def test_any_text_round_trips(text):
    document = read_document(FILE.encode("cp1252"), "a.rtf")
    copy = redact_document(document, [Edit(0, len(document.text), "", f"x{text}x")])
    assert read_document(copy, "a.rtf").text == f"x{text}x"


def test_footnote_does_not_split_or_join_words():
    file = r"{\rtf1 Brau{\footnote \pard Nota {\i de \}Ana}}lio Sa\-nz{\super\chftn{\footnote Dos}} ingresa}"
    document = read_document(file.encode(), "a.rtf")
    assert document.text == "Braulio Sanz ingresa\nNota de }Ana\nDos"


def test_truncated_file_is_read_as_far_as_possible():
    assert read_document(FILE.encode("cp1252")[:260], "a.rtf").text.startswith("Historia")


def test_suffix_must_match_content():
    with pytest.raises(InputError, match=r"a\.rtf: the file name says rtf, but the content is txt"):
        read_document(b"hello", "a.rtf")
