"""Which names of places need a capital."""

import pytest

from spacy_deid.background.counts import Ambiguity
from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.ehr.mapping import Column
from spacy_deid.ehr.place_words import is_ordinary_place
from spacy_deid.lang import get_language, language_codes

CITY = Column("city", "city", "CITY", "patient", "addresses.city")


def is_ordinary(value, lang, form="", column=CITY):
    return is_ordinary_place(column, value, normal_form(form or value), lang, Ambiguity.of(lang))


@pytest.mark.parametrize(
    ("lang", "value"),
    [
        *(("en", value) for value in ("Northern", "Reading", "Mobile", "Health")),
        *(("es", value) for value in ("Norte", "SUR", "Salud", "Grado", "Región")),
        *(("fi", value) for value in ("Pohjoinen", "Keskusta", "Itä", "Kallo")),
        *(("sv", value) for value in ("Norra", "Centrum")),
    ],
)
def test_ordinary_words(lang, value):
    assert is_ordinary(value, lang)


@pytest.mark.parametrize(
    ("lang", "value"),
    [
        *(("en", value) for value in ("Springfield", "Boston", "Northern Cape", "York")),
        *(("es", value) for value in ("Madrid", "Sevilla", "Soria", "Villa del Norte")),
        *(("fi", value) for value in ("Helsinki", "Lahti", "Turku", "Pohjois-Savo")),
    ],
)
def test_towns_and_names_of_several_words_match_anywhere(lang, value):
    assert not is_ordinary(value, lang)


def test_inflected_forms_are_those_of_the_word():
    assert is_ordinary("Pohjoinen", "fi", "pohjoisesta")


def test_other_kinds_of_values_have_no_such_condition():
    surname = Column("surname", "surname", "PATIENT", "patient", "patients.surname")
    assert not is_ordinary("Norte", "es", column=surname)


@pytest.mark.parametrize("lang", language_codes("place_words.txt"))
def test_each_list_has_words_in_lower_case(lang):
    words = " ".join(get_language(lang).read_lines("place_words.txt")).split()
    assert len(words) > 20
    assert words == [word.lower() for word in words]
