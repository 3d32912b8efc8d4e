import pytest
import spacy

from spacy_deid.ml.edges import join_names, trim

PATIENT, CLINICIAN, CITY = 0, 1, 2
PERSONS = {PATIENT, CLINICIAN}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


def test_parts_of_a_name_with_two_roles_become_one_span_of_the_longer_part(nlp):
    doc = nlp.make_doc("Ada Obi Okafor came")
    assert join_names(doc, [(0, 1, CLINICIAN, 0.9), (1, 3, PATIENT, 0.8)], PERSONS) == [(0, 3, PATIENT, 0.8)]


@pytest.mark.parametrize(
    ("text", "labels"),
    [("hermana Ana", (PATIENT, CLINICIAN)), ("Ada Ana", (PATIENT, PATIENT)), ("Ada Reno", (PATIENT, CITY))],
)
def test_kin_words_same_roles_and_places_are_left_apart(nlp, text, labels):
    spans = [(i, i + 1, label, 0.9) for i, label in enumerate(labels)]
    assert join_names(nlp.make_doc(text), spans, PERSONS) == spans


def test_names_with_a_word_between_are_left_apart(nlp):
    spans = [(0, 1, PATIENT, 0.9), (2, 3, CLINICIAN, 0.9)]
    assert join_names(nlp.make_doc("Ada and Obi"), spans, PERSONS) == spans


def test_closing_marks_go_and_opening_ones_stay(nlp):
    doc = nlp.make_doc(", Ada ( 212 ) .")
    assert trim(doc, [(0, 2, PATIENT, 0.9), (2, 5, CITY, 0.9), (5, 6, CITY, 0.9)]) == [
        (1, 2, PATIENT, 0.9),
        (2, 5, CITY, 0.9),
    ]
