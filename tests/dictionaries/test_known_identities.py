"""Full names and numbers of known people."""

import pickle

import pytest

from spacy_deid.dictionaries.store import KnownIdentities, LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry


@pytest.fixture
def roster(tmp_path):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_institution(
            [
                LocalEntry("Hospital Zarzal", "HOSPITAL", "clinics.name"),
                LocalEntry("Fermín Galdeano Ochoa", "CLINICIAN", "staff.name"),
                LocalEntry("Galdeano", "CLINICIAN", "staff.surname"),
            ]
        )
        for patient in ("1", "2"):
            writer.add_patient(
                patient,
                [
                    LocalEntry(f"Aurelia Zarzaquemada{patient}".rstrip("1"), "PATIENT", "patients.name"),
                    LocalEntry("Zarzaquemada", "PATIENT", "patients.surname"),
                    LocalEntry(f"600 123 45{patient}", "PHONE", "patients.phone"),
                    LocalEntry("Soria Norte", "CITY", "patients.city"),
                ],
            )
        writer.commit({})
    return KnownIdentities(LocalStore.open(tmp_path / "local"))


@pytest.mark.parametrize(
    "value",
    ["Aurelia Zarzaquemada", "AURELIA  ZARZAQUEMADA", "Fermín Galdeano Ochoa", "600123451", "600-123-452"],
)
def test_full_names_and_numbers_of_people_are_known(roster, value):
    assert value in roster


@pytest.mark.parametrize(
    "value",
    ["Zarzaquemada", "Galdeano", "Aurelia", "Lucía Zarzaquemada", "600123453", "Soria Norte", "Hospital Zarzal"],
)
def test_single_words_and_places_are_not_identities(roster, value):
    assert value not in roster


@pytest.mark.parametrize("value", ["", " ", "12", "\ud800"])
def test_values_that_do_not_identify_a_person_are_unknown(roster, value):
    assert value not in roster


def test_repr_and_pickle_contain_no_names(roster):
    assert "Aurelia Zarzaquemada" in roster
    data = pickle.dumps(roster)
    assert b"arzaquemada" not in data
    assert "arzaquemada" not in repr(roster)
    assert "Aurelia Zarzaquemada" in pickle.loads(data)
