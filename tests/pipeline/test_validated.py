"""Validated detections in the shipped pipeline: numbers with a check digit, and hits of a hospital's dictionaries."""

import pytest

import spacy_deid
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.spans import Evidence, read_evidence, write_evidence
from spacy_deid.surrogates.keys import ProjectKey

ADDRESS = "Camino Zarzaquemada 12 Viuda de Ortolá"


@pytest.fixture(scope="module")
def nlp(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dictionaries") / "local"
    with StoreWriter(folder) as writer:
        writer.add_institution(
            [
                LocalEntry("Zarzuelo", "CLINICIAN", "staff.surname"),
                LocalEntry("Inés Zarzuelo", "CLINICIAN", "staff.name"),
            ]
        )
        own = [(ADDRESS, "STREET", "address"), ("Zumalabe", "PATIENT", "surname"), ("Paz", "PATIENT", "surname")]
        writer.add_patient("1", [LocalEntry(term, label, f"patients.{column}") for term, label, column in own])
        writer.commit({})
    return spacy_deid.load("es", dictionaries=folder)


def note(nlp, text, **guesses):
    """A Doc of the patient, decided on after the classifier's group was replaced by guesses: label → words."""
    doc = nlp.make_doc(text)
    doc._.ehr = {"patient_id": "1"}
    if not guesses:
        return nlp(doc)
    for name in ("deid_patterns", "deid_ruler"):
        nlp.get_pipe(name)(doc)
    found = [(text.index(words), words, label) for label, words in guesses.items()]
    write_evidence(
        doc, "deid/ner", [Evidence(i, i + len(words), label, "deid_ner", 0.99) for i, words, label in found]
    )
    for name in ("deid_merge", "deid_recovery", "deid_surrogate"):
        nlp.get_pipe(name)(doc)
    return doc


def ents(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


@pytest.mark.parametrize("guess", [{}, {"MRN": "20481736"}])
def test_a_number_with_a_check_digit_is_one_tag(nlp, guess):
    doc = note(nlp, "DNI: 20481736Y", **guess)
    assert doc._.deid_text == "DNI: [NATIONAL_ID]"
    assert [item.get("validated") for item in doc._.deid_trace[0]["evidence"]].count(True) == 1


def test_a_number_with_a_check_digit_is_one_surrogate(nlp):
    surrogate = nlp.get_pipe("deid_surrogate")
    surrogate.set_key(ProjectKey(bytes(range(32))))
    surrogate.set_style("surrogate")
    try:
        released = note(nlp, "DNI: 20481736Y", MRN="20481736")._.deid_text
    finally:
        surrogate.set_style("tag")
    assert released != "DNI: 20481736Y"
    assert "[" not in released
    # the surrogate has a wrong check digit on purpose, so that it is nobody's
    (found,) = nlp.get_pipe("deid_patterns").find(nlp.make_doc(released))
    assert found.label == "NATIONAL_ID"
    assert not found.validated


def test_a_number_with_a_wrong_check_digit_is_covered_whole(nlp):
    doc = note(nlp, "DNI: 20481736A", MRN="20481736")
    assert ents(doc) == [("20481736A", "NATIONAL_ID")]


@pytest.mark.parametrize(
    "guess", [{"STREET": "Zarzaquemada 12", "RELATIVE": "Viuda de Ortolá"}, {"RELATIVE": "Viuda"}]
)
def test_an_address_of_the_patient_is_one_tag(nlp, guess):
    doc = note(nlp, f"Domicilio: {ADDRESS}\nSoplo.", **guess)
    assert doc._.deid_text == "Domicilio: [STREET]\nSoplo."


@pytest.mark.parametrize(
    ("text", "guess", "expected"),
    [
        (
            "Firma Inés Zarzuelo Gil.",
            {"RELATIVE": "Zarzuelo Gil"},
            [("Inés Zarzuelo", "CLINICIAN"), ("Gil", "RELATIVE")],
        ),
        ("Vive en Zarzuelo.", {"CITY": "Zarzuelo"}, [("Zarzuelo", "CITY")]),
        ("Vive en Zumalabe.", {"CITY": "Zumalabe"}, [("Zumalabe", "PATIENT")]),
        ("La Dra. Ana Paz Gil.", {"CLINICIAN": "Ana Paz Gil"}, [("Ana Paz Gil", "CLINICIAN")]),
        ("Sra. Ana Paz Gil.", {"PATIENT": "Ana Paz Gil"}, [("Ana Paz Gil", "PATIENT")]),
    ],
    ids=[
        "a name of the staff, and what is left of the guess",
        "a single word of the institution",
        "a single word of the patient's own",
        "three letters inside a longer name",
        "three letters inside a longer name of the same label",
    ],
)
def test_hits_of_dictionaries_win_unless_they_are_single_words(nlp, text, guess, expected):
    assert ents(note(nlp, text, **guess)) == expected


def test_names_with_a_slip_are_not_validated(nlp):
    ruler = nlp.get_pipe("deid_ruler")
    before, ruler.fuzzy = ruler.fuzzy, True
    try:
        doc = note(nlp, "Sr. Zumalave, Sr. Zumalabe")
    finally:
        ruler.fuzzy = before
    assert [(item.rule[-1], item.validated) for item in read_evidence(doc, "deid/ruler")] == [
        ("~", False),
        ("e", True),
    ]
