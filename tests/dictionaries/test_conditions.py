"""Names that are also words match only in the context of a name."""

import pytest

from spacy_deid.dictionaries.patients import PatientTerms
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry, Tag

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
        ("Regaló a Ndu 3 Rosa", ["Ndu", "Rosa"]),
    ],
)
def test_where_an_ambiguous_given_name_counts(text, hits):
    assert found(own(("rosa", GIVEN), ("ndu", SURNAME)), text) == hits


def test_two_adjacent_ambiguous_names_of_one_patient_match():
    terms = own(("will", GIVEN), ("green", WEAK))
    assert found(terms, "Will Green said that he will wear green. Green, Will") == ["Will", "Green", "Green", "Will"]


def test_a_repeated_word_is_not_a_name():
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


def test_a_place_is_not_the_context_of_a_name():
    terms = own(("rosa", GIVEN), ("ndu", Tag("CITY", "p.city", "")))
    assert found(terms, "Ndu Rosa") == ["Ndu"]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("The patient Got A Bill for the visit.", ["Bill"]),
        ("The Patient got a bill. Seen by Dr. bill and by Bill.", ["bill", "Bill"]),
        ("seen by bill today, no capitals in here", ["bill"]),
        ("SEEN BY BILL", ["BILL"]),
        ("Seen by Bill Ndu and by bill ndu.", ["Bill Ndu", "bill ndu"]),
    ],
)
def test_a_name_of_the_institution_in_small_letters_counts_where_a_name_would(text, hits, tmp_path):
    entries = [LocalEntry(term, "CLINICIAN", "s.name") for term in ("bill", "bill ndu")]
    with StoreWriter(tmp_path / "d") as writer:
        writer.add_institution(entries)
        writer.commit({})
    store = LocalStore.open(tmp_path / "d")
    assert [text[match.start : match.end] for match in store.institution.find(text)] == hits


def test_a_patients_own_name_counts_in_small_letters_too():
    assert found(own(("nadia", SURNAME)), "Le dije a nadia que viniera a Urgencias.") == ["nadia"]


def test_a_name_with_the_condition_capital_counts_where_it_is_capitalised():
    terms = own(("dean", Tag("PATIENT", "p.given", "capital")), ("rosa", Tag("PATIENT", "p.given", "capital")))
    assert found(terms, "Dean left. ROSA stays: a rosa, the dean.") == ["Dean", "ROSA"]


def test_lowercase_words_and_titles_are_not_initials():
    terms = own(("de", GIVEN), ("la", GIVEN), ("mr", GIVEN), ("rogers", SURNAME))
    assert found(terms, "En el momento de la intervención. Mr. Rogers came. Rogers, DE") == ["Rogers", "Rogers", "DE"]
