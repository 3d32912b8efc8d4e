"""A word that is also a name counts in the context of a name."""

import pytest

from spacy_deid.dictionaries.entries import LocalEntry, Tag
from spacy_deid.dictionaries.patients import PatientTerms
from spacy_deid.dictionaries.store import LocalStore, StoreWriter

GIVEN, SURNAME = Tag("PATIENT", "p.given", "name"), Tag("PATIENT", "p.surname", "")
WEAK = Tag("PATIENT", "p.surname", "name")


def own(*terms):
    return PatientTerms(terms)


def found(terms, text):
    return [text[match.start : match.end] for match in terms.find(text)]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("Una rosa roja", []),
        ("Rosa acude a revisión", []),
        ("Dña. Rosa acude a revisión", ["Rosa"]),
        ("Sra Rosa", ["Rosa"]),
        ("dr. rosa", ["rosa"]),
        ("Nombre: Rosa", ["Rosa"]),
        ("Firmado: M. Rosa", ["Rosa"]),
        ("Dr. Ndu Rosa", ["Ndu", "Rosa"]),
        ("Rosa Ndu", ["Rosa", "Ndu"]),
        ("Ndu, Rosa", ["Ndu", "Rosa"]),
        ("Ndu-Rosa", ["Ndu", "Rosa"]),
        ("Ndu y una rosa", ["Ndu"]),
        ("Ndu rosa", ["Ndu"]),
        ("Alta.\n\nRosa\n", ["Rosa"]),
        ("Alta.\n\nrosa\n", []),
        ("Regaló a Ndu 3 Rosa", ["Ndu"]),
    ],
)
def test_where_an_ambiguous_given_name_counts(text, hits):
    assert found(own(("rosa", GIVEN), ("ndu", SURNAME)), text) == hits


def test_two_ambiguous_names_of_one_patient_vouch_for_each_other():
    terms = own(("will", GIVEN), ("green", WEAK))
    assert found(terms, "Will Green said that he will wear green. Green, Will") == ["Will", "Green", "Green", "Will"]


def test_the_same_word_twice_is_no_name():
    assert found(own(("will", GIVEN)), "Will Will come") == []


def test_in_the_institution_one_of_the_two_must_count_by_itself(tmp_path):
    entries = [
        LocalEntry("will", "CLINICIAN", "s.given", "name"),
        LocalEntry("green", "CLINICIAN", "s.surname", "name"),
    ]
    entries.append(LocalEntry("ndu", "CLINICIAN", "s.surname"))
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_institution(entries)
        writer.commit({})
    local = LocalStore.open(tmp_path / "local").institution
    assert found(local, "Will Green") == []
    assert found(local, "Will Ndu") == ["Will", "Ndu"]
    assert found(local, "Dr Will Green") == ["Will", "Green"]


def test_a_place_vouches_for_no_name():
    terms = own(("rosa", GIVEN), ("ndu", Tag("CITY", "p.city", "")))
    assert found(terms, "Ndu Rosa") == ["Ndu"]
