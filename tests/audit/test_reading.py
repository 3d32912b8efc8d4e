"""Control patients of an audit, and hostile notes."""

import random
import unicodedata

import pytest

from spacy_deid.audit.run import PatientPanels, draw_other_patients
from spacy_deid.audit.search import Note, Searcher
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry


def draw(panels, group, own="P0", count=4):
    return panels.draw(group, own, count, random.Random(1))


def make(groups, seed=0, turned=False):
    panels = PatientPanels(seed)
    pairs = [(group, patient) for group, patients in groups.items() for patient in patients]
    for group, patient in reversed(pairs) if turned else pairs:
        panels.add(group, patient)
    return panels


GROUPS = {"a": [f"P{i}" for i in range(50)], "b": [f"Q{i}" for i in range(50)], "c": ["R1", "R2"]}


def test_control_patients_are_from_the_same_group():
    panels = make(GROUPS)
    assert {patient[0] for patient in draw(panels, "a")} == {"P"}
    assert {patient[0] for patient in draw(panels, "b")} == {"Q"}


def test_a_small_group_draws_from_all_patients():
    assert len(draw(make(GROUPS), "c", own="R1")) == 4
    assert len(draw(make(GROUPS), "unknown")) == 4


def test_a_panel_is_limited_and_does_not_depend_on_the_order(monkeypatch):
    monkeypatch.setattr("spacy_deid.audit.run._SIZE", 10)
    drawn = [set(draw(make(GROUPS, turned=turned), "a", count=9)) for turned in (False, True)]
    assert drawn[0] == drawn[1]
    assert set(draw(make(GROUPS, seed=1), "a", count=9)) != drawn[0]
    assert len(draw(make(GROUPS), "a", own="nobody", count=50)) == 10


def test_the_number_of_panels_is_limited(monkeypatch):
    monkeypatch.setattr("spacy_deid.audit.run._PANELS", 1)
    assert {patient[0] for patient in draw(make(GROUPS), "b", count=40)} > {"P"}


def test_control_patients_are_distinct_and_never_the_patient():
    patients = [f"P{i}" for i in range(6)]
    for seed in range(50):
        drawn = draw_other_patients(patients, "P3", 4, random.Random(seed))
        assert len(set(drawn)) == 4
        assert "P3" not in drawn
    assert draw_other_patients(["P3"], "P3", 4, random.Random(1)) == ()


ENTRIES = [
    LocalEntry("núñez peña", "PATIENT", "patients.surname"),
    LocalEntry("núñez", "PATIENT", "patients.surname"),
    LocalEntry("may", "PATIENT", "patients.given", "name"),
    LocalEntry("600123456", "PHONE", "patients.phone"),
    LocalEntry("600 123 456", "PHONE", "patients.phone"),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    with StoreWriter(folder) as writer:
        writer.add_patient("P1", ENTRIES)
        writer.add_patient("P2", [LocalEntry("zuriaga", "PATIENT", "patients.surname")])
        writer.commit({})
    return Searcher(folder)


def found(searcher, text, others=()):
    return [text[hit.start : hit.end] for hit in searcher.search(Note(1, "P1", (), text, others)).hits]


@pytest.mark.parametrize("surface", ["Núñez Peña", "NÚÑEZ PEÑA", "Núñez\r\nPeña", "Núñez‐Peña", "Núñez\u00a0Peña"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_offsets_are_right_after_emoji_and_decomposed_accents(searcher, surface, form):
    surface = unicodedata.normalize(form, surface)
    assert found(searcher, f"👩‍⚕️🙂 Señora\r\n{surface} 🙂") == [surface]


@pytest.mark.parametrize("surface", ["600\u00a0123\u2011456", "600.123.456", "60 01 23 456", "(600) 123-456"])
def test_numbers_are_found_with_any_grouping(searcher, surface):
    assert found(searcher, f"Tel. {surface}.") == [surface.strip("(")]


@pytest.mark.parametrize(
    "text", ["It may be.", "May be seen.", "Came.\nMay go.", "maybe", "MAYBE", "Mayo", "no may\n- May rest"]
)
def test_an_ordinary_word_is_not_a_hit_for_a_patient_with_that_name(searcher, text):
    assert found(searcher, text) == []


def test_a_name_that_is_also_a_word_is_found_in_the_context_of_a_name(searcher):
    assert found(searcher, "Mrs. May came.") == ["May"]
    assert found(searcher, "Seen with May today.") == ["May"]


@pytest.mark.parametrize("text", ["\ud83d Núñez", "\x00Núñez\x00", "\ufeffNúñez", "\u202eNúñez\u202c"])
def test_broken_characters_do_not_hide_identifiers(searcher, text):
    assert found(searcher, text) == ["Núñez"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("Mrs. May Núñez 600 123 456 called. " * 3000, 9000), ("x" * 500_000, 0), ("a\n" * 200_000, 0)],
    ids=["hits", "one word", "lines"],
)
def test_long_notes_take_time_by_their_length(searcher, text, count):
    assert len(found(searcher, text, ("P2",))) == count
