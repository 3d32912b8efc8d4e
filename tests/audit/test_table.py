"""The audit as a table."""

import pytest

from spacy_deid.audit.run import format_audit

RATE = {
    "notes": 80,
    "hits": 4,
    "patients": 40,
    "observed": 0.05,
    "expected": 0.0025,
    "leak_rate": 0.0476,
    "wilson": [0.0172, 0.12],
    "bootstrap": [0.01, 0.09],
}


def report(leaks, skipped=None):
    return {"notes": 80, "audited": 80, "patients": 40, "skipped": skipped or {}, "leaks": leaks}


def test_figures_stand_below_their_heads():
    lines = format_audit(report({"all": {"all": RATE}, "kind": {"PATIENT": RATE}})).splitlines()
    assert lines[0] == "80 of 80 notes audited, of 40 patients"
    head, row = lines[2:4]
    assert row.split() == ["all", "80", "4", "0.0025", "0.0476", "[0.0172,", "0.1200]", "[0.0100,", "0.0900]"]
    for name, figure in (("notes", "80"), ("hits", "4"), ("chance", "0.0025"), ("leak rate", "0.0476")):
        assert head.index(name) + len(name) == row.index(f" {figure}") + 1 + len(figure)
    assert lines[5].startswith("by kind")


def test_what_is_not_known_is_left_open():
    row = format_audit(report({"all": {"all": RATE | {"expected": None, "bootstrap": None}}})).splitlines()[3]
    assert row.split()[:4] == ["all", "80", "4", "–"]
    assert row.endswith("0.1200]")


def test_every_column_of_groups_has_its_part():
    text = format_audit(report({"all": {"all": RATE}, "column:ward": {"7B": RATE}, "type": {"letter": RATE}}))
    assert text.index("by note type") < text.index("by ward") < text.index("\n7B ")


def test_notes_left_out_are_told():
    assert "3 notes left out: no patient id" in format_audit(report({}, {"no patient id": 3}))


@pytest.mark.parametrize("name", ["x" * 200, "a\nb", "a\x1b[31mb"])
def test_a_name_of_a_group_keeps_to_its_place(name):
    text = format_audit(report({"type": {name: RATE}}))
    assert len(text.splitlines()) == 4
    assert "\x1b" not in text
    assert len(text.splitlines()[3]) < 120
