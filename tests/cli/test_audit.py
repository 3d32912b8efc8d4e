"""``spacy-deid audit``."""

import json

import pytest

from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry

PATIENTS = 40
LEAKS = 4
NAMES = ["".join(("zu", "ke", "rra", "mbi")[i // 4**j % 4] for j in range(4)) for i in range(PATIENTS)]


@pytest.fixture
def store(tmp_path):
    with StoreWriter(tmp_path / "store") as writer:
        for i in range(PATIENTS):
            entries = [
                LocalEntry(NAMES[i], "PATIENT", "patients.surname"),
                LocalEntry(f"47{i:05}", "MRN", "patients.mrn"),
            ]
            writer.add_patient(f"P{i}", entries)
        writer.commit({})
    return tmp_path / "store"


def records(extra=()):
    rows = [
        {
            "note_id": f"note-{NAMES[i % PATIENTS]}",
            "patient_id": f"P{i % PATIENTS}",
            "note_type": "letter" if i < PATIENTS else "phone",
            "text": f"Acude {NAMES[i]} por tos." if i < LEAKS else "Acude [PATIENT] por tos.",
        }
        for i in range(2 * PATIENTS)
    ]
    return [*rows, *extra]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_leaks_are_counted_by_type_source_kind_and_form(cli, store, tmp_path):
    notes = write(tmp_path / "out.jsonl", records())
    result = cli("audit", notes, "--dictionaries", store, "--output", tmp_path / "audit.json", "--no-fuzzy")
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    leaks = report["leaks"]
    assert (report["notes"], report["audited"], report["patients"]) == (80, 80, 40)
    assert leaks["all"]["all"]["hits"] == LEAKS
    assert leaks["all"]["all"]["leak_rate"] == pytest.approx(LEAKS / 80)
    assert [leaks["type"][name]["hits"] for name in ("letter", "phone")] == [LEAKS, 0]
    assert [leaks["source"][f"patients.{name}"]["hits"] for name in ("surname", "mrn")] == [LEAKS, 0]
    assert [leaks["kind"][name]["hits"] for name in ("PATIENT", "MRN")] == [LEAKS, 0]
    assert [leaks["form"][name]["hits"] for name in ("exact", "split", "fuzzy")] == [LEAKS, 0, 0]
    assert "by source" in result.stdout


CANARIES = (*NAMES, *(name.upper() for name in NAMES), "note-", "P1 ", '"P1"', "47000", "ward-of-")


def sightings(*said):
    return [word for word in CANARIES for text in said if word in text]


def broken_up(i):
    """A note that leaks its patient's identifiers as they stand, split, misspelt, and in capitals."""
    name = NAMES[i]
    forms = (name.upper(), f"{name[:4]}-\n{name[4:]}", f"{name[:5]}x{name[5:]}", f"47 0{i:04}")
    return {"note_id": f"note-{i}", "patient_id": f"P{i}", "note_type": "letter", "text": ", ".join(forms)}


def test_identifiers_are_written_only_with_text(cli, store, tmp_path, caplog):
    caplog.set_level(0)
    notes = write(tmp_path / "out.jsonl", [broken_up(i) for i in range(PATIENTS)])
    args = [
        "audit",
        notes,
        "--dictionaries",
        store,
        "--output",
        tmp_path / "audit.json",
        "--hits",
        tmp_path / "hits.jsonl",
    ]
    result = cli(*args)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "hits.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["form"] for row in rows} == {"exact", "split", "fuzzy"}
    assert {tuple(row) for row in rows} == {("row", "start", "end", "kind", "source", "form")}
    written = [path.read_text(encoding="utf-8") for path in (tmp_path / "audit.json", tmp_path / "hits.jsonl")]
    assert sightings(result.output, caplog.text, *written) == []
    result = cli(*args, "--with-text")
    rows = [json.loads(line) for line in (tmp_path / "hits.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["text"] for row in rows} >= {name.upper() for name in NAMES}
    assert {row["note_id"] for row in rows} == {f"note-{i}" for i in range(PATIENTS)}
    assert (tmp_path / "hits.jsonl").stat().st_mode & 0o077 == 0
    assert sightings(result.output, caplog.text, (tmp_path / "audit.json").read_text(encoding="utf-8")) == []


def test_notes_are_grouped_by_a_column(cli, store, tmp_path):
    rows = [row | {"ward": "AB"[i % 2]} for i, row in enumerate(records())]
    result = cli("audit", write(tmp_path / "out.jsonl", rows), "--dictionaries", store, "--by", "ward")
    assert result.exit_code == 0, result.output
    assert "by ward" in result.stdout


@pytest.mark.parametrize("option", ["--output", "--hits"])
def test_audit_does_not_overwrite_its_input(cli, store, tmp_path, option):
    notes = write(tmp_path / "out.jsonl", records())
    before = notes.read_bytes()
    result = cli("audit", notes, "--dictionaries", store, option, notes)
    assert result.exit_code == 1
    assert "would be overwritten" in result.stderr
    assert notes.read_bytes() == before


def test_two_outputs_to_one_file_are_refused(cli, store, tmp_path):
    notes = write(tmp_path / "out.jsonl", records())
    result = cli(
        "audit", notes, "--dictionaries", store, "--output", tmp_path / "x.json", "--hits", tmp_path / "x.json"
    )
    assert result.exit_code == 1
    assert "same file" in result.stderr


def test_failed_audit_leaves_no_file(cli, store, tmp_path):
    rows = [*records(), {"note_id": "x", "patient_id": "P1", "note_type": "letter", "text": [NAMES[1]]}]
    notes = write(tmp_path / "out.jsonl", rows)
    result = cli(
        "audit", notes, "--dictionaries", store, "--output", tmp_path / "a.json", "--hits", tmp_path / "h.jsonl"
    )
    assert result.exit_code == 1
    assert "row 81: the text is not a string" in result.stderr
    assert sightings(result.output) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "store"]


def test_two_processes_find_the_same_as_one(cli, store, tmp_path):
    notes = write(tmp_path / "out.jsonl", records())
    reports = []
    for count in (1, 2):
        result = cli("audit", notes, "--dictionaries", store, "--output", tmp_path / "a.json", "--n-process", count)
        assert result.exit_code == 0, result.output
        reports.append((tmp_path / "a.json").read_bytes())
    assert reports[0] == reports[1]


def test_a_folder_of_texts_is_audited_by_its_index(cli, store, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "1.txt").write_text(f"Acude {NAMES[0]}.", encoding="utf-8")
    (tmp_path / "out" / "2.txt").write_text("Acude.", encoding="utf-8")
    (tmp_path / "out" / "3.txt").write_text("Sin dueño.", encoding="utf-8")
    index = tmp_path / "index.csv"
    index.write_text("note_id,patient_id,note_type\n1,P0,letter\n2,P1,letter\n", encoding="utf-8")
    result = cli("audit", tmp_path / "out", "--dictionaries", store, "--index", index, "--output", tmp_path / "a.json")
    assert result.exit_code == 0, result.output
    assert "1 .txt file(s) without a row in the index were not audited" in result.stderr
    report = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert report["leaks"]["all"]["all"]["hits"] == 1
    assert report["skipped"] == {"not in the index table": 1}


def test_notes_without_or_with_unknown_patients_are_counted(cli, store, tmp_path):
    strays = [
        {"note_id": "x", "patient_id": patient, "note_type": "", "text": NAMES[0]} for patient in (None, "", "P99")
    ]
    notes = write(tmp_path / "out.jsonl", records(strays))
    result = cli("audit", notes, "--dictionaries", store, "--output", tmp_path / "a.json")
    report = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert report["skipped"] == {"no patient id": 2, "patient not in the index": 1}
    assert (report["notes"], report["audited"]) == (83, 80)
    assert "2 notes left out: no patient id" in result.stdout


@pytest.mark.parametrize(
    ("rows", "args", "message"),
    [
        ([], [], "the source is empty"),
        (
            [{"note_id": "1", "patient_id": "P99", "note_type": "a", "text": "x"}],
            [],
            "no notes to audit (1 patient not in",
        ),
        ([{"note_id": "1", "patient_id": "P1", "note_type": "a", "text": 7}], [], "row 1: the text is not a string"),
        (records(), ["--text-field", "body"], "no column 'body'"),
        (records(), ["--with-text"], "--hits is missing"),
    ],
)
def test_bad_input_is_refused(cli, store, tmp_path, rows, args, message):
    result = cli(
        "audit", write(tmp_path / "out.jsonl", rows), "--dictionaries", store, "--output", tmp_path / "a.json", *args
    )
    assert result.exit_code == 1
    assert message in result.stderr
    assert sightings(result.output) == []
    assert not (tmp_path / "a.json").exists()


def test_missing_dictionaries_are_refused(cli, tmp_path):
    result = cli("audit", write(tmp_path / "out.jsonl", records()), "--dictionaries", tmp_path / "nowhere")
    assert result.exit_code == 1
    assert "nowhere" in result.stderr
