"""Kinds of files, plain text, and the search before release."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.documents.verification import absent_identifiers, fold
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit

NOTE = "Paciente: Braulio Sanz Ibáñez.\r\nNiega alergias.\n"
NAME = Edit(10, 29, "PATIENT", "[PATIENT]")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_plain_text_comes_back_in_its_encoding(encoding):
    document = read_document(NOTE.encode(encoding), "note.txt")
    shift = document.text.index("Paciente")
    edit = Edit(10 + shift, 29 + shift, "PATIENT", "[PATIENT]")
    assert redact_document(document, [edit]).decode(encoding) == "Paciente: [PATIENT].\r\nNiega alergias.\n"


@given(text=st.text(min_size=1, alphabet=st.characters(blacklist_categories=["Cs"])), data=st.data())
def test_without_edits_a_text_is_what_it_was(text, data):
    data = b"a" + text.replace("\0", "").encode()
    assert redact_document(read_document(data, "a.txt"), []) == data


def test_what_is_known_of_a_patient_may_stand_where_the_released_text_has_it():
    released = "Enfermedad de Par-\nkinson. Vive en Lugo con Maya."
    assert absent_identifiers(["parkinson", "lugo", "may", "sanz"], released) == ["may", "sanz"]
    document = read_document(NOTE.encode(), "note.txt")
    redact_document(document, [], known=["sanz ibanez"])
    with pytest.raises(DeidError, match="withheld"):
        redact_document(document, [], identifiers=["sanz ibanez"])


def test_a_repr_shows_neither_text_nor_name():
    shown = repr(read_document(NOTE.encode(), "Braulio.txt"))
    assert "Braulio" not in shown
    assert "txt" in shown


def test_a_name_without_a_known_suffix_is_refused():
    with pytest.raises(InputError, match=r"unsupported file type") as caught:
        read_document(b"hello", "note.doc")
    assert "note.doc" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.pdf", b"hello"), ("a.txt", b"%PDF-1.7 x"), ("a.png", b"%PDF-1.4"), ("a.txt", b"\x89PNG\r\n\x1a\n123")],
)
def test_a_wrong_suffix_is_refused(name, data):
    with pytest.raises(InputError, match=f"{name}: the file name says"):
        read_document(data, name)


def test_an_empty_file_is_refused():
    with pytest.raises(InputError, match=r"a\.txt: the file is empty"):
        read_document(b"", "a.txt")


def test_a_large_file_is_refused():
    with pytest.raises(InputError, match="more than 3 bytes"):
        read_document(b"abcd", "a.txt", ReadSettings(max_bytes=3))


def test_wrong_edits_are_refused():
    document = read_document(NOTE.encode(), "a.txt")
    with pytest.raises(DeidError, match="overlap"):
        redact_document(document, [NAME, Edit(12, 14, "X", "")])


def test_a_name_that_stands_twice_may_stay_where_no_edit_is():
    document = read_document(b"Rosa Sanz tiene una rosa.", "a.txt")
    assert redact_document(document, [Edit(0, 9, "PATIENT", "[P]")]) == b"[P] tiene una rosa."


def test_identifiers_may_stand_nowhere():
    document = read_document(b"Rosa Sanz tiene una rosa.", "a.txt")
    with pytest.raises(DeidError, match="withheld") as caught:
        redact_document(document, [Edit(0, 9, "PATIENT", "[P]")], identifiers=["Rosa"])
    assert "rosa" not in str(caught.value).lower()


def test_a_short_identifier_is_looked_for_as_a_word():
    document = read_document(b"Ana ingresa cada semana.", "a.txt")
    edit = Edit(0, 3, "PATIENT", "[P]")
    assert redact_document(document, [edit], identifiers=["Ana", "Ana Gil"]) == b"[P] ingresa cada semana."
    with pytest.raises(DeidError, match="an identifier"):
        redact_document(document, [], identifiers=["ANA"])


def test_a_long_identifier_is_found_within_a_word():
    document = read_document("Dr.IbáñezLópez y la semana".encode(), "a.txt")
    with pytest.raises(DeidError, match="an identifier"):
        redact_document(document, [], identifiers=["Ibañez"])


@pytest.mark.parametrize("left", ["IBÁÑEZ", "ibanez", "Ibá\nñez", "I b a n e z", "Ibá-\nñez"])
def test_a_removed_string_is_found_however_it_is_written(left):
    with pytest.raises(DeidError, match="PATIENT"):
        verify(f"Señor {left} dice".encode(), "txt", {"Ibáñez": "PATIENT"}, WriteSettings())


def test_folding_takes_ligatures_and_accents_apart():
    assert fold("Oﬃce Ångström-Straße 5") == "officeangstromstrasse5"
