import pytest
import spacy

from spacy_deid.ml.postprocess import join_names, settle_roles, split_contacts, trim
from spacy_deid.tokenizer import make_clinical_tokenizer

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


def test_a_part_that_was_found_by_another_mention_completes_a_name_of_the_same_role(nlp):
    doc, echo = nlp.make_doc("Ada Okafor came"), (0, 1, PATIENT, 0.9)
    assert join_names(doc, [echo, (1, 2, PATIENT, 0.8)], PERSONS, {echo}) == [(0, 2, PATIENT, 0.8)]


def test_a_name_has_one_role_in_a_note(nlp):
    doc = nlp.make_doc("Okafor Okafor Okafor Reno")
    spans = [(0, 1, CLINICIAN, 0.9), (1, 2, PATIENT, 0.6), (2, 3, CLINICIAN, 0.5), (3, 4, CITY, 0.9)]
    assert [label for _, _, label, _ in settle_roles(doc, spans, PERSONS)] == [CLINICIAN] * 3 + [CITY]


def test_other_words_of_the_same_family_keep_their_role(nlp):
    doc = nlp.make_doc("Ada Okafor Obi Okafor")
    spans = [(0, 2, CLINICIAN, 0.9), (2, 4, PATIENT, 0.9)]
    assert settle_roles(doc, spans, PERSONS) == spans


@pytest.mark.parametrize("text", ["Okafor Ada Okafor Okafor Dr. Okafor", "Okafor Ada Okafor Okafor Mika Okafor"])
def test_neither_a_title_nor_a_longer_name_is_voted_down(text, nlp):
    doc = nlp.make_doc(text)
    last = (len(doc) - (1 if "Dr" in text else 2), len(doc), CLINICIAN, 0.9)
    spans = [(0, 1, PATIENT, 0.9), (1, 3, PATIENT, 0.9), (3, 4, PATIENT, 0.9), last]
    assert settle_roles(doc, spans, PERSONS) == spans


def test_a_bare_surname_takes_the_role_of_the_full_name(nlp):
    doc = nlp.make_doc("Ada Okafor and Okafor")
    spans = [(0, 2, CLINICIAN, 0.9), (3, 4, PATIENT, 0.7)]
    assert [label for _, _, label, _ in settle_roles(doc, spans, PERSONS)] == [CLINICIAN, CLINICIAN]


def test_initials_vote_for_nobody(nlp):
    doc = nlp.make_doc("A B")
    spans = [(0, 1, CLINICIAN, 0.9), (1, 2, PATIENT, 0.9)]
    assert settle_roles(doc, spans, PERSONS) == spans


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ana@x.es eva@x.es", ["ana@x.es", "eva@x.es"]),
        ("956 013 059 y 956 013 060", ["956 013 059", "956 013 060"]),
        ("ext. 12 y 13", ["ext. 12 y 13"]),
        ("ana@x.es", ["ana@x.es"]),
        ("956 013 059", ["956 013 059"]),
    ],
)
def test_two_contacts_side_by_side_are_two(text, parts):
    nlp = spacy.blank("es")
    nlp.tokenizer = make_clinical_tokenizer()(nlp)
    doc = nlp.make_doc(text)
    found = split_contacts(doc, [(0, len(doc), CITY, 0.9)], {CITY})
    assert [doc[start:end].text for start, end, *_ in found] == parts
    assert split_contacts(doc, [(0, len(doc), CITY, 0.9)], set()) == [(0, len(doc), CITY, 0.9)]


def test_the_word_for_number_is_no_part_of_a_name():
    nlp = spacy.blank("es")
    nlp.tokenizer = make_clinical_tokenizer()(nlp)
    doc = nlp.make_doc("Begoña IzaNºCol: 28")
    assert trim(doc, [(0, 3, CLINICIAN, 0.9)]) == [(0, 2, CLINICIAN, 0.9)]


@pytest.mark.parametrize(
    ("text", "first", "left"),
    [
        ("Hb 13,2 03/05/2019", "2", "03/05/2019"),
        ("Hb\t13,2\t03/05/2019", "2", "03/05/2019"),
        ("el 03.05.2019 12:30", "2019", "2019 12:30"),  # of a date, not of a result
        ("NHC 13,2345 03", "2345", "2345 03"),
        ("tiene 13,2 .", "2", "2 ."),  # nothing else would be left
    ],
)
def test_decimals_of_the_result_before_a_date_are_not_its_own(text, first, left):
    nlp = spacy.blank("es")
    doc = make_clinical_tokenizer()(nlp)(text)
    start = next(token.i for token in doc if token.text == first)
    assert [doc[a:b].text for a, b, *_ in trim(doc, [(start, len(doc), CITY, 0.9)])] == [left]
