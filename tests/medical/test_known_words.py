"""Known words: one mention does not make a name of them, but it does of a rare surname."""

import pytest

from spacy_deid.medical.known_words import known_words, ordinary_words


@pytest.mark.parametrize(
    ("lang", "word"),
    [
        *(("en", word) for word in ("Plan", "Code", "PARTNER", "Inhale", "Care", "Female", "Parkinson", "Xarelto")),
        *(("es", word) for word in ("Plan", "Código", "Inhalar", "Crohn", "Matrona")),
        *(("fi", word) for word in ("Suunnitelma", "Hengitä", "Babinski")),
    ],
)
def test_words_of_forms_and_medicine_are_known(lang, word):
    assert known_words(lang)(word)


@pytest.mark.parametrize(
    ("lang", "word"),
    [
        *(("en", word) for word in ("Zyxwalda", "Quilliam", "Kanatakta", "Rose", "Price", "Smith", "Hope")),
        *(("es", word) for word in ("Qqrtov", "Rosa", "Cortés", "Piedad")),
        *(("fi", word) for word in ("Zyxwalda", "Virtanen", "Niemi")),
    ],
)
def test_unknown_words_and_frequent_names_are_not_known(lang, word):
    assert not known_words(lang)(word)


def test_a_language_without_lists_knows_function_words_only():
    assert not known_words("xx")("Plan")


@pytest.mark.parametrize("word", ["patella", "nilkassa", "aamuksi", "polvista", "kuume"])
def test_words_of_notes_and_their_inflected_forms_are_ordinary(word):
    assert ordinary_words("fi")(word)


@pytest.mark.parametrize("word", ["virtanem", "korhoneen", "tuula", "aku"])
def test_misspelt_and_other_names_are_not_ordinary(word):
    assert not ordinary_words("fi")(word)
