import pytest

from spacy_deid.medical.build import build_dictionary, refine
from spacy_deid.medical.dictionary import MedicalDictionary, MedicalTerm


def forms(lang, *texts, kind="disease"):
    return {term.text: term.form for term in refine([MedicalTerm(text, kind) for text in texts], lang)}


@pytest.mark.parametrize("text", ["Col\u00f3n", "Rosa", "Anna Virtanen", "Madrid"])
def test_a_term_that_could_be_a_person_or_a_place_needs_context(text):
    assert set(forms("es", text).values()) == {"name"}


def test_a_term_that_holds_an_eponym_is_one():
    assert forms("en", "juvenile Huntington's disease") == {"juvenile huntington's disease": "eponym"}


def test_kin_days_and_sentences_are_left_out():
    assert forms("en", "Mother", "Monday", "one two three four five six seven", "x" * 90) == {}


def test_short_finnish_terms_are_inflected_and_long_ones_are_not():
    assert {"astma", "astmaa", "astmassa"} <= set(forms("fi", "Astma"))
    assert len(forms("fi", "muu t\u00e4smentamaton kuume")) == 1


def test_the_manifest_counts_the_sources_and_the_base_stays():
    base = MedicalDictionary("en", {"sources": {"old": 1}})
    base.add([MedicalTerm("fever", "finding")])
    built = build_dictionary("en", {"new": [MedicalTerm("asthma", "disease"), MedicalTerm("asthma", "finding")]}, base)
    assert built.manifest["sources"] == {"old": 1, "new": 1}
    assert [match.label for match in built.find("fever and asthma")] == ["finding", "disease"]
