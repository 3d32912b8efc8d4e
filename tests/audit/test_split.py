"""Identifiers that are broken up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.audit.search import Tight, tight_terms
from spacy_deid.dictionaries.normalise import normalise
from spacy_deid.dictionaries.terms import LocalEntry

TERM = tight_terms([LocalEntry("villaseca", "PATIENT", "a.b")])


def found(text, terms=TERM):
    return [text[match.start : match.end] for match in Tight(normalise(text)).find(terms)]


@pytest.mark.parametrize(
    "surface",
    [
        "Villa-\nseca",
        "Villa-\r\nseca",
        "V i l l a s e c a",
        "V.I.L.L.A.S.E.C.A",
        "villa\n      seca",
        "Vi\u00adllaseca",
    ],
)
def test_breaks_are_seen_through(surface):
    assert found(f"Acude {surface}, de 40 años") == [surface]


@pytest.mark.parametrize("text", ["", "\n", "villa de seca", "villasecano", "lavillaseca", "villa ------ . seca"])
def test_other_words_are_no_break(text):
    assert found(text) == []


def test_every_place_is_found():
    assert len(found("villa seca villa-seca villaseca")) == 3


def test_letters_beyond_the_first_plane_shift_nothing():
    assert found("🙂🙂 Villa-\nseca 🙂") == ["Villa-\nseca"]


def test_decomposed_accents_belong_to_their_letters():
    terms = tight_terms([LocalEntry("muñózga", "PATIENT", "a.b")])
    assert found("Acude Mun\u0303o\u0301z-\nga.", terms) == ["Mun\u0303o\u0301z-\nga"]


def test_short_terms_and_those_with_a_condition_are_left_out():
    entries = [LocalEntry("ndu", "PATIENT", "a.b"), LocalEntry("villaseca", "PATIENT", "a.b", "name")]
    assert tight_terms(entries) == []


def test_a_term_does_not_show_itself():
    assert "villaseca" not in repr(TERM)
    assert [term.letters for term in TERM] == ["villaseca"]


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_found_are_the_letters_of_the_term(before, after):
    for surface in found(f"{before} Villa-\nseca {after}"):
        assert "".join(char for char in normalise(surface).text if char.isalnum()) == "villaseca"
