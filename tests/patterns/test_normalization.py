"""Reading a note for the rules: what is smoothed, and the way back to the note's own offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.patterns.normalization import fold, normalize_text


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("600\u00a0111\u202f222", "600 111 222"),
        ("12\u201103\u20132020", "12-03-2020"),
        ("nu\u0301mero", "número"),
        ("１２/０３", "12/03"),
        ("O\u2019Hara", "O'Hara"),
        ("a\r\nb\rc", "a \nb\nc"),
        ("\ufeffNombre", "Nombre"),
        ("12\u200b34\u00ad56", "123456"),
        ("plain", "plain"),
    ],
)
def test_notes_are_smoothed(note: str, text: str) -> None:
    assert normalize_text(note).text == text


def test_offsets_lead_back_over_composed_and_hidden_characters() -> None:
    note = "\ufeffnu\u0301mero 12\u200b34."
    reading = normalize_text(note)
    start = reading.text.index("1234")
    assert note[slice(*reading.to_note(start, start + 4))] == "12\u200b34"
    assert note[slice(*reading.to_note(0, 6))] == "nu\u0301mero"


def test_folding_keeps_letters_of_their_own() -> None:
    assert fold("MÉDICO Dña. Ärhäkkä") == "medico dña. ärhäkkä"


def test_repr_shows_no_text() -> None:
    assert "secreto" not in repr(normalize_text("secreto"))


@given(st.text(max_size=60))
def test_folding_keeps_every_position(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(st.text(alphabet=st.sampled_from("aé\u0301\u0300ñ1 \r\n\ufeff\u00ad\u200b\u2013\u00a0İß"), max_size=40))
def test_spans_of_a_reading_cover_the_note_in_order(note: str) -> None:
    reading = normalize_text(note)
    assert len(reading.text) == len(reading.folded)
    spans = [reading.to_note(i, i + 1) for i in range(len(reading.text))]
    assert all(0 <= start < end <= len(note) for start, end in spans)
    assert all(spans[i][1] == spans[i + 1][0] for i in range(len(spans) - 1))
