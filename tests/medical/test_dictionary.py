import pickle

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.medical.dictionary import MedicalDictionary, MedicalTerm, languages


def found(lang, text):
    return [(text[match.start : match.end], match.rule) for match in MedicalDictionary.load(lang).find(text)]


@pytest.fixture
def small():
    dictionary = MedicalDictionary("en", {"sources": {"test": 4}})
    dictionary.add(
        [
            MedicalTerm("angiosarcoma", "disease"),
            MedicalTerm("Parkinson's disease", "disease", "eponym"),
            MedicalTerm("Parkinson", "disease", "name"),
            MedicalTerm("KIT", "gene", "symbol"),
        ]
    )
    return dictionary


def test_a_match_says_kind_form_and_place(small):
    (match,) = small.find("an Angiosarcoma.")
    assert match == (3, 15, "disease", "term:disease")
    assert (match.form, match.person_named, match.needs_context) == ("term", False, False)


def test_an_eponym_holds_its_head_word_and_a_name_alone_needs_context(small):
    eponym, name = small.find("Parkinson\u2019s disease, Dr Parkinson")
    assert (eponym.start, eponym.end, eponym.person_named, eponym.needs_context) == (0, 19, True, False)
    assert (name.rule, name.person_named, name.needs_context) == ("name:disease", True, True)


def test_a_symbol_is_one_in_capitals_only(small):
    assert [match.rule for match in small.find("KIT mutation, first aid kit, Kit")] == ["symbol:gene"]


def test_of_two_forms_of_a_term_the_more_careful_holds(small):
    small.add([MedicalTerm("Parkinson", "disease", "term")])
    assert [match.form for match in small.find("parkinson")] == ["name"]


def test_what_matches_everywhere_is_left_out():
    dictionary = MedicalDictionary("en")
    assert dictionary.add([MedicalTerm(text, "other") for text in ("a", "of the", "-", "", "x" * 300)]) == 0


def test_bytes_and_pickles_keep_everything(small):
    for again in (MedicalDictionary.from_bytes(small.to_bytes()), pickle.loads(pickle.dumps(small))):
        assert (again.lang, again.manifest, len(again)) == ("en", {"sources": {"test": 4}}, 4)
        assert again.find("KIT in Parkinson's disease") == small.find("KIT in Parkinson's disease")


@pytest.mark.parametrize("data", [b"", b"nonsense", b"DEIDMED1", b"DEIDMED1xyz"])
def test_a_damaged_dictionary_is_refused(data, tmp_path):
    (tmp_path / "d.bin").write_bytes(data)
    with pytest.raises(ConfigError, match=r"d.bin: not a medical dictionary"):
        MedicalDictionary.from_file(tmp_path / "d.bin")


def test_a_missing_dictionary_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        MedicalDictionary.from_file(tmp_path / "none.bin")
    with pytest.raises(ConfigError, match="no medical dictionary for language 'xx'"):
        MedicalDictionary.load("xx")


def test_dictionaries_ship_and_say_where_their_terms_come_from():
    assert languages() == ["en", "es", "fi"]
    assert all(MedicalDictionary.load(lang).manifest["sources"] for lang in languages())


@pytest.mark.parametrize(
    ("lang", "text", "term"),
    [
        ("en", "started Parkinson's medication today", "Parkinson's medication"),
        ("en", "on the Bruce protocol", "Bruce protocol"),
        ("en", "Murphy\u2019s sign negative", "Murphy\u2019s sign"),
        ("en", "Gram-negative rods", "Gram-negative rods"),
        ("en", "Guillain-Barr\u00e9 syndrome", "Guillain-Barr\u00e9 syndrome"),
        ("en", "a Foley catheter", "Foley catheter"),
        ("es", "enfermedad de Crohn", "enfermedad de Crohn"),
        ("es", "signo de Babinski +", "signo de Babinski"),
        ("es", "s\u00edndrome de Down", "s\u00edndrome de Down"),
        ("es", "escala de Barthel", "escala de Barthel"),
        ("es", "Gram negativos", "Gram negativos"),
        ("fi", "Parkinsonin taudin hoito", "Parkinsonin taudin"),
        ("fi", "Crohnin tautia sairastava", "Crohnin tautia"),
        ("fi", "Gram-v\u00e4rj\u00e4yksess\u00e4", "Gram-v\u00e4rj\u00e4yksess\u00e4"),
        ("fi", "Babinskin merkki", "Babinskin merkki"),
        ("fi", "Downin syndroomassa", "Downin syndroomassa"),
    ],
)
def test_an_eponym_with_its_head_word_is_found(lang, text, term):
    assert next(row for row in found(lang, text) if row[1].startswith("eponym:"))[0] == term


@pytest.mark.parametrize(
    ("lang", "text", "name"),
    [
        ("en", "known Crohn's", "Crohn's"),
        ("es", "Parkinson avanzado", "Parkinson"),
        ("fi", "Parkinsonia", "Parkinsonia"),
    ],
)
def test_a_name_alone_is_found_as_one_that_needs_context(lang, text, name):
    assert [row for row in found(lang, text) if row[1].startswith("name:")] == [(name, "name:disease")]


@pytest.mark.parametrize(
    "text", ["Bruce walked home", "Mrs. Smith's fracture", "Allen's tests", "David's biopsy", "Page called"]
)
def test_an_ordinary_name_alone_or_with_what_its_bearer_has_is_no_term(text):
    assert [row for row in found("en", text) if not row[1].startswith(("term:", "symbol:"))] == []


@pytest.mark.parametrize(
    ("lang", "text", "rule"),
    [
        ("en", "metoprolol", "term:drug"),
        ("en", "angiosarcoma", "term:disease"),
        ("en", "BRCA1", "symbol:gene"),
        ("es", "omeprazol", "term:drug"),
        ("es", "insuficiencia cardiaca", "term:disease"),
        ("es", "colecistectom\u00eda", "term:procedure"),
        ("fi", "astmaa", "term:disease"),
        ("fi", "Marevanilla", "term:drug"),
        ("fi", "mmHg", "term:unit"),
    ],
)
def test_ordinary_terms_are_found(lang, text, rule):
    assert found(lang, text) == [(text, rule)]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "mother monday hospital London"),
        ("es", "madre lunes hospital Madrid"),
        ("fi", "\u00e4iti maanantai Helsinki"),
    ],
)
def test_kin_days_institutions_and_places_are_no_terms(lang, text):
    assert [row for row in found(lang, text) if not row[1].startswith("name:")] == []
