import pytest

from spacy_deid.background.counts import count_phrases
from spacy_deid.dictionaries.matcher import Match
from spacy_deid.medical.harvest import Note, harvest

SCIENCE = count_phrases(
    [
        "pulmonary embolism was seen",
        "anna virtanen wrote of pulmonary embolism",
        "in helsinki the mother",
        "type 2 diabetes",
    ]
)


def notes(text, patients=10):
    return [Note(f"p{i}", text) for i in range(patients)]


def terms(*rows, **settings):
    return {row.term for row in harvest(*rows, **settings).taken}


def test_phrases_of_enough_patients_that_science_has_are_taken():
    taken = terms(notes("Has pulmonary embolism and foobarosis."), SCIENCE, "en")
    assert "pulmonary embolism" in taken
    assert not any("foobarosis" in term for term in taken)


def test_patients_count_and_not_notes():
    rows = [Note("one", "pulmonary embolism")] * 50
    found = harvest(rows, SCIENCE, "en")
    assert found.taken == []
    assert found.left["too few patients"] == 3
    assert (found.notes, found.patients) == (50, 1)


@pytest.mark.parametrize("text", ["Anna Virtanen", "virtanen", "Helsinki", "mother", "the"])
def test_names_places_kin_and_function_words_are_left_out(text):
    assert terms(notes(text), SCIENCE, "en") == set()


def test_what_the_dictionaries_of_identifiers_find_is_cut_out():
    def identifiers(patient, text):
        start = text.index("embolism")
        return [Match(start, start + 8, "PATIENT", "patients.surname")]

    taken = terms(notes("pulmonary embolism"), SCIENCE, "en", identifiers=identifiers)
    assert taken == {"pulmonary"}


def test_the_report_has_counts_and_the_form_that_build_reads():
    found = harvest(notes("type 2 diabetes", 12), SCIENCE, "en")
    lines = found.to_csv("disease").splitlines()
    assert lines[0] == "term,kind,patients,mentions,science"
    assert "type 2 diabetes,disease,12,12,1" in lines
