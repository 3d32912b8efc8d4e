"""Audits of whole tables, and their report."""

import json

import pytest

from spacy_deid.audit.run import AuditSettings, format_audit, run_audit
from spacy_deid.audit.search import ALL, Facet
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import InputError
from spacy_deid.notes import open_source
from spacy_deid.notes.source import Columns

PATIENTS = 30
SYLLABLES = ("zu", "ke", "rra", "mbi")
NAMES = ["".join(SYLLABLES[i // 4**j % 4] for j in range(4)) for i in range(PATIENTS)]


PLAIN = AuditSettings(fuzzy=False)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The index of 30 patients: a surname, which differs by two letters or more, and a number; half have a phone."""
    folder = tmp_path_factory.mktemp("store")
    with StoreWriter(folder) as writer:
        for i, name in enumerate(NAMES):
            entries = [LocalEntry(name, "PATIENT", "patients.surname"), LocalEntry(f"47{i:05}", "MRN", "patients.mrn")]
            phone = [LocalEntry(f"60010{i:04}", "PHONE", "patients.phone")] if i % 2 else []
            writer.add_patient(f"P{i}", [*entries, *phone])
        writer.commit({})
    return folder


@pytest.fixture
def notes(tmp_path):
    """Make a table: ``notes(rows)`` with rows of (patient, text) or whole records."""

    def make(rows):
        path = tmp_path / "notes.jsonl"
        base = {"note_type": "letter", "ward": "A"}
        records = [
            {"note_id": f"n{i}", **base, **(row if isinstance(row, dict) else {"patient_id": row[0], "text": row[1]})}
            for i, row in enumerate(rows)
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return open_source(str(path))

    return make


def leaking(i):
    return (f"P{i}", f"Acude {NAMES[i]} por tos.")


def clean(i):
    return (f"P{i}", "Acude [PATIENT] por tos.")


def test_the_rate_is_that_of_the_notes_that_leak(store, notes):
    audit = run_audit(notes([leaking(i) if i < 6 else clean(i) for i in range(PATIENTS)]), Columns(), store, PLAIN)
    rate = audit.rates[ALL]
    assert (audit.notes, audit.patients, rate.notes, rate.hits) == (30, 30, 30, 6)
    assert rate.leak_rate == pytest.approx(0.2)
    assert rate.expected == 0
    assert rate.interval[0] < 0.2 < rate.interval[1]


def test_the_name_of_another_patient_is_not_a_leak(store, notes):
    rows = [(f"P{i}", f"Acude {NAMES[(i + 1) % PATIENTS]}.") for i in range(PATIENTS)]
    assert run_audit(notes(rows), Columns(), store, PLAIN).rates[ALL].hits == 0


def test_terms_found_in_all_notes_count_as_chance(store, notes):
    rows = [(f"P{i}", f"Hospital {NAMES[3]}.") for i in range(PATIENTS)]
    rate = run_audit(notes(rows), Columns(), store, AuditSettings(draws=29, fuzzy=False)).rates[ALL]
    assert rate.hits == 1
    assert rate.expected == pytest.approx(1 / 30)
    assert rate.leak_rate < 0.002


def test_a_note_counts_only_for_facets_of_its_patient(store, notes):
    rates = run_audit(notes([clean(i) for i in range(PATIENTS)]), Columns(), store, PLAIN).rates
    assert rates[Facet("kind", "PATIENT")].notes == 30
    assert rates[Facet("kind", "PHONE")].notes == rates[Facet("source", "patients.phone")].notes == 15


def test_notes_are_grouped_by_type_and_any_column(store, notes):
    rows = [
        {"patient_id": f"P{i}", "text": leaking(i)[1] if i < 3 else "x", "ward": "AB"[i % 2], "note_type": None}
        for i in range(PATIENTS)
    ]
    rates = run_audit(notes(rows), Columns(), store, AuditSettings(fuzzy=False, by=("ward",))).rates
    assert rates[Facet("type", "untyped")].notes == 30
    assert [(rates[Facet("column:ward", ward)].notes, rates[Facet("column:ward", ward)].hits) for ward in "AB"] == [
        (15, 2),
        (15, 1),
    ]


def test_without_type_there_is_one_group(store, notes):
    rates = run_audit(notes([clean(1)]), Columns(note_type=""), store, PLAIN).rates
    assert [facet.name for facet in rates if facet.by == "type"] == ["untyped"]


def test_the_seed_decides_and_the_order_of_the_table_does_not(store, notes):
    rows = [
        {"note_id": f"n{i}", "patient_id": f"P{i}", "text": f"{NAMES[i]} {NAMES[i // 2]}"} for i in range(PATIENTS)
    ]
    settings = AuditSettings(draws=3, fuzzy=False, seed=5)
    first, turned = (run_audit(notes(r), Columns(), store, settings).as_dict() for r in (rows, rows[::-1]))
    assert first == turned
    other = run_audit(notes(rows), Columns(), store, AuditSettings(draws=3, fuzzy=False, seed=6)).as_dict()
    assert other["leaks"]["all"] != first["leaks"]["all"]


def test_every_hit_is_reported_with_its_offsets(store, notes):
    taken = []
    rows = [clean(0), leaking(1), ("P2", f"{NAMES[2]}, {NAMES[2].upper()}")]
    run_audit(notes(rows), Columns(), store, PLAIN, lambda found, note_id, text: taken.append((found, note_id, text)))
    assert [(found.row, note_id, len(found.hits)) for found, note_id, _ in taken] == [(2, "n1", 1), (3, "n2", 2)]
    assert [text[hit.start : hit.end].lower() for found, _, text in taken for hit in found.hits] == [
        NAMES[1],
        NAMES[2],
        NAMES[2],
    ]


def test_skipped_notes_are_counted_by_reason(store, notes):
    rows = [clean(0), (None, "x"), (" ", "x"), ("P99", NAMES[0]), ("P1", None), ("P1", " \n")]
    audit = run_audit(notes(rows), Columns(), store, PLAIN)
    assert audit.skipped == {"no patient id": 2, "patient not in the index": 1, "empty": 2}
    assert audit.as_dict()["audited"] == 1


@pytest.mark.parametrize(
    ("rows", "columns", "by", "message"),
    [
        ([], Columns(), (), "the source is empty"),
        ([("P99", "x")], Columns(), (), r"no notes to audit \(1 patient not in the index\)"),
        ([("P1", "")], Columns(), (), r"no notes to audit \(1 empty\)"),
        ([("P1", "x"), ("P1", ["x"])], Columns(), (), "row 2: the text is not a string"),
        ([("P1", "x")], Columns(text="body"), (), "no column 'body'"),
        ([("P1", "x")], Columns(), ("clinic",), "no column 'clinic'"),
    ],
)
def test_invalid_tables_are_refused(store, notes, rows, columns, by, message):
    with pytest.raises(InputError, match=message):
        run_audit(notes(rows), columns, store, AuditSettings(by=by))


def test_a_column_of_ids_is_refused_as_a_group(store, notes, monkeypatch):
    monkeypatch.setattr("spacy_deid.audit.run._GROUPS", 20)
    with pytest.raises(InputError, match="more than 20 values in column 'note_id'"):
        run_audit(notes([clean(i) for i in range(PATIENTS)]), Columns(note_type="note_id"), store, PLAIN)


def test_misspelt_names_are_planted_to_measure_the_sensitivity(store, notes):
    rows = [(f"P{i}", f"Acude [PATIENT] por tos el Lunes, nota {n}.") for i in range(PATIENTS) for n in range(5)]
    rate = run_audit(notes(rows), Columns(), store, AuditSettings()).rates[ALL]
    assert 0.9 < rate.sensitivity <= 1  # names of eight letters
    assert run_audit(notes(rows), Columns(), store, PLAIN).rates[ALL].sensitivity is None


def test_an_audit_of_one_patient_has_no_chance_rate(store, notes):
    rate = run_audit(notes([leaking(0), clean(0)]), Columns(), store, PLAIN).rates[ALL]
    assert (rate.expected, rate.leak_rate, rate.patients) == (None, 0.5, 1)


RATE = {
    "notes": 80,
    "hits": 4,
    "patients": 40,
    "observed": 0.05,
    "expected": 0.0025,
    "leak_rate": 0.0476,
    "sensitivity": 0.8,
    "design_effect": 1.2,
    "interval": [0.0172, 0.12],
}


def report(leaks, skipped=None):
    return {"notes": 80, "audited": 80, "patients": 40, "skipped": skipped or {}, "leaks": leaks}


def test_columns_of_the_table_are_aligned():
    lines = format_audit(report({"all": {"all": RATE}, "kind": {"PATIENT": RATE}})).splitlines()
    assert lines[0] == "80 of 80 notes audited, of 40 patients"
    head, row = lines[2:4]
    assert row.split() == ["all", "80", "4", "0.0025", "0.0476", "[0.0172,", "0.1200]"]
    for name, figure in (("notes", "80"), ("hits", "4"), ("chance", "0.0025"), ("leak rate", "0.0476")):
        assert head.index(name) + len(name) == row.index(f" {figure}") + 1 + len(figure)
    assert lines[5].startswith("by kind")


def test_missing_values_are_left_blank():
    row = format_audit(report({"all": {"all": RATE | {"expected": None}}})).splitlines()[3]
    assert row.split()[:4] == ["all", "80", "4", "–"]
    assert row.endswith("0.1200]")


def test_the_table_has_a_section_per_group_column():
    text = format_audit(report({"all": {"all": RATE}, "column:ward": {"7B": RATE}, "type": {"letter": RATE}}))
    assert text.index("by note type") < text.index("by ward") < text.index("\n7B ")


def test_skipped_notes_are_listed():
    assert "3 notes left out: no patient id" in format_audit(report({}, {"no patient id": 3}))


@pytest.mark.parametrize("name", ["x" * 200, "a\nb", "a\x1b[31mb"])
def test_long_group_names_are_cut(name):
    text = format_audit(report({"type": {name: RATE}}))
    assert len(text.splitlines()) == 4
    assert "\x1b" not in text
    assert len(text.splitlines()[3]) < 120
