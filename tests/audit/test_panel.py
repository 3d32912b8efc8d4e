"""The patients who stand for all others."""

import random

from spacy_deid.audit.reading import Panels, draw_others


def draw(panels, group, own="P0", count=4):
    return panels.draw(group, own, count, random.Random(1))


def make(groups, seed=0, turned=False):
    panels = Panels(seed)
    pairs = [(group, patient) for group, patients in groups.items() for patient in patients]
    for group, patient in reversed(pairs) if turned else pairs:
        panels.add(group, patient)
    return panels


GROUPS = {"a": [f"P{i}" for i in range(50)], "b": [f"Q{i}" for i in range(50)], "c": ["R1", "R2"]}


def test_others_are_of_the_same_group():
    panels = make(GROUPS)
    assert {patient[0] for patient in draw(panels, "a")} == {"P"}
    assert {patient[0] for patient in draw(panels, "b")} == {"Q"}


def test_a_group_with_too_few_borrows_from_all():
    assert len(draw(make(GROUPS), "c", own="R1")) == 4
    assert len(draw(make(GROUPS), "unknown")) == 4


def test_a_panel_is_bounded_and_does_not_depend_on_the_order(monkeypatch):
    monkeypatch.setattr("spacy_deid.audit.reading._SIZE", 10)
    drawn = [set(draw(make(GROUPS, turned=turned), "a", count=9)) for turned in (False, True)]
    assert drawn[0] == drawn[1]
    assert set(draw(make(GROUPS, seed=1), "a", count=9)) != drawn[0]
    assert len(draw(make(GROUPS), "a", own="nobody", count=50)) == 10


def test_panels_are_bounded(monkeypatch):
    monkeypatch.setattr("spacy_deid.audit.reading._PANELS", 1)
    assert {patient[0] for patient in draw(make(GROUPS), "b", count=40)} > {"P"}


def test_others_are_never_the_patient_and_never_the_same():
    patients = [f"P{i}" for i in range(6)]
    for seed in range(50):
        drawn = draw_others(patients, "P3", 4, random.Random(seed))
        assert len(set(drawn)) == 4
        assert "P3" not in drawn
    assert draw_others(["P3"], "P3", 4, random.Random(1)) == ()
