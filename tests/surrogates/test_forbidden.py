"""Values that must not be surrogates: those of the note, given words, known persons, offensive words."""

import pytest

from spacy_deid.surrogates.forbidden import Forbidden, offensive_words
from spacy_deid.surrogates.mention import Mention

NOTE = [
    Mention("Ana Zumalabe de la Torre", "PATIENT"),
    Mention("Dr. Li", "CLINICIAN"),
    Mention("Villarrubia", "CITY"),
    Mention("600 123 456", "PHONE"),
]


@pytest.mark.parametrize(
    "value", ["villarrubia", "VILLARRÚBIA", "600 123 456", "Pedro Zumalabe", "ZUMALABE", "Ana María Gil", "Torre"]
)
def test_values_and_names_of_the_note_are_forbidden(value):
    assert Forbidden(NOTE, "es")(value)


@pytest.mark.parametrize("value", ["Pedro Gil", "de la Cruz", "600 123 457", "Villar", "Lin", "Mariana"])
def test_other_values_are_allowed(value):
    assert not Forbidden(NOTE, "es")(value)


@pytest.mark.parametrize(
    ("written", "label", "value"),
    [
        ("Virtasen", "PATIENT", "Virtanen"),
        ("Lahdessa", "CITY", "Lahti"),
        ("Mäen Antti", "PERSON", "Mäki"),
        ("Hammaslahdelle", "CITY", "Hammaslahti"),
    ],
)
def test_a_finnish_case_of_a_value_is_that_value(written, label, value):
    assert Forbidden([Mention(written, label)], "fi")(value)
    assert not Forbidden([Mention(written, label)], "fi")("Korhonen")


def test_given_words_and_known_persons_are_forbidden():
    forbidden = Forbidden(NOTE, "en", {"parkinson"}, {"Jane Roe"})
    assert forbidden("James Parkinson")
    assert forbidden("Jane Roe")
    assert not forbidden("Jane Doe")


@pytest.mark.parametrize(("lang", "word"), [("es", "puta"), ("en", "dick"), ("fi", "paska"), ("sv", "dick")])
def test_each_language_has_offensive_words(lang, word):
    assert word in offensive_words(lang)
    assert "" not in offensive_words(lang)


def test_names_of_other_records_are_forbidden():
    forbidden = Forbidden(NOTE, "fi", names=["virtanen, anna"])
    assert forbidden("Virtanen")
    assert forbidden("Anna Korhonen")
    assert not forbidden("Korhonen")


def test_the_repr_shows_nothing_of_the_note():
    assert "Zumalabe" not in repr(Forbidden(NOTE, "es"))
