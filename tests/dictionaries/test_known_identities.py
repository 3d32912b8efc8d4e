"""Who is known: full names and numbers that no surrogate may be."""

import pickle

import pytest

from spacy_deid.dictionaries.known_identities import KnownIdentities
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
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
def test_people_and_their_numbers_are_known(roster, value):
    assert value in roster


@pytest.mark.parametrize(
    "value",
    ["Zarzaquemada", "Galdeano", "Aurelia", "Lucía Zarzaquemada", "600123453", "Soria Norte", "Hospital Zarzal"],
)
def test_single_words_and_places_are_nobody(roster, value):
    assert value not in roster


@pytest.mark.parametrize("value", ["", " ", "12", "\ud800"])
def test_what_tells_nobody_from_others_is_nobody(roster, value):
    assert value not in roster


def test_it_shows_no_name_and_pickles_the_folder_alone(roster):
    assert "Aurelia Zarzaquemada" in roster
    data = pickle.dumps(roster)
    assert b"arzaquemada" not in data
    assert "arzaquemada" not in repr(roster)
    assert "Aurelia Zarzaquemada" in pickle.loads(data)
