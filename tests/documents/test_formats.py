"""Detection of formats, plain text, verification of copies, and declared identifiers."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from striprtf.striprtf import rtf_to_text

from spacy_deid.documents import Document, ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.documents.document import cover_marks
from spacy_deid.documents.verification import absent_identifiers, fold
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit, apply_edits

NOTE = "Paciente: Braulio Sanz Ibáñez.\r\nNiega alergias.\n"
NAME = Edit(10, 29, "PATIENT", "[PATIENT]")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_plain_text_keeps_its_encoding(encoding):
    document = read_document(NOTE.encode(encoding), "note.txt")
    shift = document.text.index("Paciente")
    edit = Edit(10 + shift, 29 + shift, "PATIENT", "[PATIENT]")
    assert redact_document(document, [edit]).decode(encoding) == "Paciente: [PATIENT].\r\nNiega alergias.\n"


@given(text=st.text(min_size=1, alphabet=st.characters(blacklist_categories=["Cs"])), data=st.data())
def test_text_without_edits_is_unchanged(text, data):
    data = b"a" + text.replace("\0", "").encode()
    assert redact_document(read_document(data, "a.txt"), []) == data


def test_known_identifiers_may_occur_where_the_released_text_has_them():
    released = "Enfermedad de Par-\nkinson. Vive en Lugo con Maya."
    assert absent_identifiers(["parkinson", "lugo", "may", "sanz"], released) == ["may", "sanz"]
    document = read_document(NOTE.encode(), "note.txt")
    redact_document(document, [], known=["sanz ibanez"])
    with pytest.raises(DeidError, match="withheld"):
        redact_document(document, [], identifiers=["sanz ibanez"])


def test_repr_shows_neither_text_nor_file_name():
    shown = repr(read_document(NOTE.encode(), "Braulio.txt"))
    assert "Braulio" not in shown
    assert "txt" in shown


def test_unsupported_suffix_is_refused():
    with pytest.raises(InputError, match=r"unsupported file type") as caught:
        read_document(b"hello", "note.doc")
    assert "note.doc" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.pdf", b"hello"), ("a.txt", b"%PDF-1.7 x"), ("a.png", b"%PDF-1.4"), ("a.txt", b"\x89PNG\r\n\x1a\n123")],
)
def test_suffix_must_match_content(name, data):
    with pytest.raises(InputError, match=f"{name}: the file name says"):
        read_document(data, name)


def test_empty_file_is_refused():
    with pytest.raises(InputError, match=r"a\.txt: the file is empty"):
        read_document(b"", "a.txt")


def test_file_over_max_bytes_is_refused():
    with pytest.raises(InputError, match="more than 3 bytes"):
        read_document(b"abcd", "a.txt", ReadSettings(max_bytes=3))


def test_overlapping_edits_are_refused():
    document = read_document(NOTE.encode(), "a.txt")
    with pytest.raises(DeidError, match="overlap"):
        redact_document(document, [NAME, Edit(12, 14, "X", "")])


def test_removed_word_may_remain_where_no_edit_covers_it():
    document = read_document(b"Rosa Sanz tiene una rosa.", "a.txt")
    assert redact_document(document, [Edit(0, 9, "PATIENT", "[P]")]) == b"[P] tiene una rosa."


def test_identifier_anywhere_in_the_copy_withholds_it():
    document = read_document(b"Rosa Sanz tiene una rosa.", "a.txt")
    with pytest.raises(DeidError, match="withheld") as caught:
        redact_document(document, [Edit(0, 9, "PATIENT", "[P]")], identifiers=["Rosa"])
    assert "rosa" not in str(caught.value).lower()


def test_short_identifier_matches_whole_words_only():
    document = read_document(b"Ana ingresa cada semana.", "a.txt")
    edit = Edit(0, 3, "PATIENT", "[P]")
    assert redact_document(document, [edit], identifiers=["Ana", "Ana Gil"]) == b"[P] ingresa cada semana."
    with pytest.raises(DeidError, match="an identifier"):
        redact_document(document, [], identifiers=["ANA"])


def test_long_identifier_matches_within_a_word():
    document = read_document("Dr.IbáñezLópez y la semana".encode(), "a.txt")
    with pytest.raises(DeidError, match="an identifier"):
        redact_document(document, [], identifiers=["Ibañez"])


@pytest.mark.parametrize("left", ["IBÁÑEZ", "ibanez", "Ibá\nñez", "I b a n e z", "Ibá-\nñez"])
def test_removed_string_is_found_in_any_spelling(left):
    with pytest.raises(DeidError, match="PATIENT"):
        verify(f"Señor {left} dice".encode(), "txt", {"Ibáñez": "PATIENT"}, WriteSettings())


def test_fold_resolves_ligatures_and_accents():
    assert fold("Oﬃce Ångström-Straße 5") == "officeangstromstrasse5"


DECLARED = "Zubeldia, Aurelio"
POLICY = ReadSettings(columns={"patient": "label:PATIENT"})


def table() -> Document:
    return read_document(f'patient,note\n"{DECLARED}",Alta\n'.encode(), "visits.csv", POLICY)


def cell(copy: bytes) -> str:
    return list(csv.reader(io.StringIO(copy.decode())))[1][0]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], "[PATIENT]"),
        ([(0, 8, "[P]")], "[P][PATIENT]"),
        ([(0, 8, "[P]"), (10, 17, "[P]")], "[P], [P]"),  # the comma and the blank name nobody
        ([(0, 17, "Rosa Ibarra")], "Rosa Ibarra"),
        ([(0, 17, DECLARED)], "[PATIENT]"),  # an edit that changes nothing covers nothing
        ([(4, 4, "-")], "[PATIENT]"),
    ],
)
def test_uncovered_parts_of_a_mark_are_replaced(edits, expected):
    document = table()
    at = document.text.index(DECLARED)
    given = [Edit(at + start, at + end, "PATIENT", text) for start, end, text in edits]
    copy = redact_document(document, given)
    assert cell(copy) == expected
    assert b"Alta" in copy


def test_mark_stays_where_a_policy_keeps_it():
    document = table()
    at = document.text.index(DECLARED)
    assert cell(redact_document(document, [], kept=[(at, at + len(DECLARED))])) == DECLARED
    assert cell(redact_document(document, [], kept=[(at + 10, at + len(DECLARED))])) == "[PATIENT]Aurelio"


def test_overlapping_edits_are_refused_with_marks_too():
    with pytest.raises(DeidError, match="overlap"):
        redact_document(table(), [Edit(0, 5, "X", ""), Edit(4, 6, "X", "")])


def test_copy_is_verified_with_the_read_settings_of_the_document():
    """Without it a kept column is searched, and withheld because it holds what another column lost."""
    read = ReadSettings(columns={"patient": "label:PATIENT", "ward": "keep"})
    document = read_document(b"patient,ward\nRosa,Rosa\n", "visits.csv", read)
    assert redact_document(document, []) == b"patient,ward\n[PATIENT],Rosa\n"


TEXT = "abcdefghij" * 3


def pairs(edges: list[int]) -> list[tuple[int, int]]:
    edges = sorted(edges)
    return list(zip(edges[::2], edges[1::2], strict=False))


STRETCHES = st.lists(st.integers(0, len(TEXT)), max_size=10).map(pairs)


@settings(max_examples=100, deadline=None)
@given(declared=STRETCHES, edited=STRETCHES, kept=STRETCHES)
def test_every_character_of_a_mark_is_covered(declared, edited, kept):
    marks = tuple((*stretch, "PATIENT") for stretch in declared if stretch[0] < stretch[1])
    united = cover_marks(Document("a", "txt", TEXT, marks=marks), [Edit(*pair, "CITY", "#") for pair in edited], kept)
    apply_edits(TEXT, united)
    gone = {at for edit in united for at in range(edit.start, edit.end)}
    decided = {at for start, end in kept for at in range(start, end)}
    assert {at for start, end, _ in marks for at in range(start, end)} <= gone | decided
    assert {at for start, end in edited for at in range(start, end)} <= gone


RTF_NAME = "Braulio Ibáñez"
RTF = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Braulio Sans;}}{\info{\author Braulio}{\title Ib\'e1\'f1ez}}"
    r"{\header Historia de Braulio Ib\'e1\'f1ez\par}"
    r"{\*\generator Braulio;}\f0 Paciente {\b Brau}{\i lio} Ib\u225?\u241?ez ingresa\'2e\par"
    r"\trowd\cellx1000 Nombre\cell Braulio\cell\row"
    r"{\field{\*\fldinst HYPERLINK "
    r'"mailto:braulio@x.es"}{\fldrslt correo}}{\footnote Nota de Braulio}{\pict\pngblip 8950}}'
)


def test_headers_notes_and_cells_are_read_and_hidden_content_removed():
    document = read_document(RTF.encode("cp1252"), "a.rtf")
    assert document.text.startswith(f"Historia de {RTF_NAME}\n")
    assert f"Paciente {RTF_NAME} ingresa.\n" in document.text
    assert "Nombre\tBraulio" in document.text
    assert "correo" in document.text
    assert "Nota de Braulio" in document.text
    assert "@" not in document.text
    assert document.warnings == ("formatting, pictures, text boxes and comments are removed",)


def test_copy_contains_only_the_released_text():
    document = read_document(RTF.encode("cp1252"), "a.rtf")
    edits, at = [], -1
    while (at := document.text.find("Braulio", at + 1)) >= 0:
        end = at + len(RTF_NAME if document.text.startswith(RTF_NAME, at) else "Braulio")
        edits.append(Edit(at, end, "PATIENT", "[P]"))
    copy = redact_document(document, edits)
    assert b"raulio" not in copy
    assert rtf_to_text(copy.decode("ascii")).strip() == apply_edits(document.text, edits)


@settings(max_examples=80, deadline=None)
@given(st.text("abñé€𝒳漢\\{}\t\n '-;", min_size=1, max_size=60))
def test_any_text_round_trips(text):
    document = read_document(RTF.encode("cp1252"), "a.rtf")
    copy = redact_document(document, [Edit(0, len(document.text), "", f"x{text}x")])
    assert read_document(copy, "a.rtf").text == f"x{text}x"


def test_footnote_does_not_split_or_join_words():
    file = r"{\rtf1 Brau{\footnote \pard Nota {\i de \}Ana}}lio Sa\-nz{\super\chftn{\footnote Dos}} ingresa}"
    document = read_document(file.encode(), "a.rtf")
    assert document.text == "Braulio Sanz ingresa\nNota de }Ana\nDos"


def test_truncated_file_is_read_as_far_as_possible():
    assert read_document(RTF.encode("cp1252")[:260], "a.rtf").text.startswith("Historia")


def test_control_word_without_its_number_is_refused_with_a_code():
    with pytest.raises(InputError, match="the RTF cannot be parsed"):
        read_document(rb"{\rtf1\ansi Ana \uc\'e1 Sanz}", "a.rtf")


def test_rtf_must_start_with_its_signature():
    with pytest.raises(InputError, match=r"a\.rtf: the file name says rtf, but the content is txt"):
        read_document(b"hello", "a.rtf")
