import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.medical.build import Eponym, Head, build_dictionary, expand_eponyms, read_eponyms, read_heads, refine
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


HEADS = {
    "en": {"disease": Head("disease", False, ("disease",)), "fracture": Head("disease", True, ("fracture",))},
    "es": {"disease": Head("disease", False, ("enfermedad", "enf"))},
    "fi": {"disease": Head("disease", False, ("tauti",))},
}


def phrases(lang, *row, form="eponym"):
    return {term.text for term in expand_eponyms([Eponym(*row)], HEADS[lang], lang) if term.form == form}


def test_english_has_possessives_and_what_is_typed_without_apostrophe():
    texts = phrases("en", "Parkinson", ("disease",), "context")
    assert texts == {"Parkinson disease", "Parkinson's disease", "Parkinsons disease"}


def test_what_a_patient_can_have_is_no_phrase_in_the_possessive_of_an_ordinary_name():
    assert phrases("en", "Smith", ("fracture",), "never") == {"Smith fracture"}
    assert "Colles' fracture" in phrases("en", "Colles", ("fracture",), "context")


def test_spanish_has_prepositions_and_abbreviations_with_their_stop():
    texts = phrases("es", "Crohn", ("disease",), "context")
    assert {"enfermedad de Crohn", "enf. de Crohn", "enfermedad Crohn"} <= texts


def test_finnish_has_genitives_with_the_cases_of_the_head_word():
    texts = phrases("fi", "Parkinson", ("disease",), "context")
    assert {"Parkinsonin tauti", "Parkinsonin taudin", "Parkinsonin taudissa", "Parkinson tautien"} <= texts


def test_a_name_that_keeps_its_consonants_is_found_both_ways():
    texts = phrases("fi", "Hashimoto", ("disease",), "context")
    assert {"Hashimoton tauti", "Hashimodon tauti"} <= texts


def test_a_name_alone_is_there_as_its_row_says():
    assert "Crohnia" in phrases("fi", "Crohn", ("disease",), "context", form="name")
    assert phrases("en", "Bruce", ("disease",), "never", form="name") == set()
    assert "Guillain-Barr\u00e9" in phrases("en", "Guillain-Barr\u00e9", ("disease",), "always")


def test_two_surnames_with_a_hyphen_can_be_one_person():
    assert "Stevens-Johnson" in phrases("en", "Stevens-Johnson", ("disease",), "always", form="name")


def test_an_unknown_concept_and_a_wrong_row_are_named(tmp_path):
    with pytest.raises(ConfigError, match="no concept 'curse'"):
        list(expand_eponyms([Eponym("X", ("curse",), "never")], HEADS["en"], "en"))
    path = tmp_path / "eponyms.csv"
    path.write_text("name,concepts,alone\nCrohn,disease,context\nX,disease,maybe\n", encoding="utf8")
    with pytest.raises(ConfigError, match=r"eponyms.csv, row 3: 'alone' must be one of"):
        read_eponyms(path)
    path.write_text("name,concepts,alone\nCrohn,disease\n", encoding="utf8")
    with pytest.raises(ConfigError, match="row 2: wrong number of columns"):
        read_eponyms(path)
    path.write_text("name,concepts\nCrohn,disease\n", encoding="utf8")
    with pytest.raises(ConfigError, match="row 1: no column 'alone'"):
        read_eponyms(path)


def test_the_head_words_of_a_language_are_in_its_folder():
    assert read_heads("es")["disease"].words[0] == "enfermedad"
    assert read_heads("xx")["disease"] == Head("disease", False, ())
