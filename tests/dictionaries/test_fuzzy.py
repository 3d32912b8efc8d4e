"""Misspelt names are found; short words and numbers must match exactly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.dictionaries.patients import fuzzy_find
from spacy_deid.dictionaries.terms import LocalEntry

NAMES = [
    LocalEntry("villaseca", "PATIENT", "p.surname"),
    LocalEntry("zarzaquemada", "PATIENT", "p.surname"),
    LocalEntry("ndu", "PATIENT", "p.given"),
    LocalEntry("moreno", "PATIENT", "p.surname", "name"),
    LocalEntry("05348211k", "NATIONAL_ID", "p.dni"),
]


def found(text, **options):
    return [(text[m.start : m.end], m.label, m.rule) for m in fuzzy_find(text, NAMES, **options)]


@pytest.mark.parametrize(
    "written", ["Vilaseca", "Villasecca", "Villaesca", "VILLASEKA", "villáseka", "Zarzaquenada", "Zarzaqumeda"]
)
def test_a_misspelt_name_is_found(written):
    ((text, label, rule),) = found(f"Acude {written}, tos")
    assert (text, label, rule) == (written, "PATIENT", "p.surname~")


@pytest.mark.parametrize(
    "written", ["Villaseca", "Ndv", "Mdu", "morena", "05348212K", "Vilaceka", "Willaseka", "villa"]
)
def test_exact_short_distant_ambiguous_and_numeric_words_are_not_fuzzy_matches(written):
    assert found(f"Acude {written}, tos") == []


def test_a_word_of_the_language_is_not_a_misspelt_name():
    assert found("la vilaseca", known=lambda word: word == "vilaseca") == []


@settings(deadline=None)
@given(st.text(max_size=60))
def test_offsets_are_those_of_the_text(text):
    text = f"{text} Villlaseca {text}"
    assert "Villlaseca" in [text[m.start : m.end] for m in fuzzy_find(text, NAMES)]
