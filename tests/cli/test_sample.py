"""``spacy-deid sample``."""

import json
import sqlite3
from contextlib import closing

import pytest

from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry

CANARY = "Zarzaquemada"


@pytest.fixture
def database(tmp_path):
    """A database of 60 notes of 30 patients, half of which name their patient."""
    path = tmp_path / "ehr.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE notes (note_id, patient_id, note_type, date, text)")
        rows = [
            (
                f"N{i}",
                f"P{i % 30}",
                "progress",
                "2020-01-01",
                f"Acude {CANARY}{i % 30}." if i < 30 else "Acude por tos.",
            )
            for i in range(60)
        ]
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    return path


@pytest.fixture
def store(tmp_path):
    """The index of the patients."""
    with StoreWriter(tmp_path / "store") as writer:
        for i in range(30):
            writer.add_patient(f"P{i}", [LocalEntry(f"{CANARY.lower()}{i}", "PATIENT", "patients.name")])
        writer.commit({})
    return tmp_path / "store"


def test_notes_with_their_patients_names_are_drawn(cli, database, store, tmp_path):
    result = cli(
        "sample", database, "--output", tmp_path / "s", "--n", 12, "--table", "notes", "--dictionaries", store
    )
    assert result.exit_code == 0, result.output
    assert (
        "12 of 60 notes in 1 groups drawn, of 12 patients, 12 with identifiers of their own patient" in result.stdout
    )
    lines = (tmp_path / "s" / "sample.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(CANARY in json.loads(line)["text"] for line in lines)


def test_only_the_sample_contains_identifiers(cli, database, store, tmp_path):
    result = cli(
        "sample", database, "--output", tmp_path / "s", "--n", 12, "--table", "notes", "--dictionaries", store
    )
    said = result.output + (tmp_path / "s" / "frame.json").read_text() + (tmp_path / "s" / "groups.csv").read_text()
    assert "progress" in said
    assert CANARY.lower() not in said.lower()
    assert "P1" not in said
    assert "N1" not in said


def test_a_sample_is_not_drawn_into_itself(cli, tmp_path, database):
    assert cli("sample", database, "--output", tmp_path / "s", "--n", 12, "--table", "notes").exit_code == 0
    before = (tmp_path / "s" / "sample.jsonl").read_bytes()
    result = cli(
        "sample",
        tmp_path / "s" / "sample.jsonl",
        "--output",
        tmp_path / "s",
        "--n",
        2,
        "--date-field",
        "",
        "--overwrite",
    )
    assert result.exit_code == 1
    assert "would be overwritten" in result.stderr
    assert (tmp_path / "s" / "sample.jsonl").read_bytes() == before


def test_errors_quote_no_note(cli, tmp_path, caplog):
    caplog.set_level(0)
    (tmp_path / "n.csv").write_text(f"N1,P1,letter,2020-01-01,Acude {CANARY}.\n", encoding="utf-8")
    (tmp_path / "m.csv").write_bytes(f"note_id,text\nN1,{CANARY} ünö\n".encode("latin-1"))
    for name in ("n.csv", "m.csv"):
        result = cli(
            "sample",
            tmp_path / name,
            "--output",
            tmp_path / "s",
            "--patient-field",
            "",
            "--type-field",
            "",
            "--date-field",
            "",
        )
        assert result.exit_code == 1
        assert name in result.stderr
        assert CANARY not in result.output + caplog.text


def test_inception_opens_every_note_of_a_sample(cli, tmp_path, database):
    cassis = pytest.importorskip("cassis")
    args = ["--n", 12, "--table", "notes", "--tool", "inception"]
    assert cli("sample", database, "--output", tmp_path / "s", *args).exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "s" / "sample.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 12
    for row in rows:
        with (tmp_path / "s" / "inception" / "documents" / f"{row['id']}.json").open("rb") as file:
            assert cassis.load_cas_from_json(file).sofa_string == row["text"]


def test_sample_is_preannotated_by_a_pipeline(cli, tmp_path, pipeline_folder):
    row = {"note_id": "1", "patient_id": "p", "note_type": "a", "date": "2020-01-01", "text": "Puerto Esparza, tos"}
    (tmp_path / "n.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    args = ["--prelabel", pipeline_folder, "--tool", "brat", "--tool", "inception", "--tool", "label-studio"]
    result = cli("sample", tmp_path / "n.jsonl", "--output", tmp_path / "s", *args)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "s" / "brat" / "n000001.ann").read_text() == "T1\tCITY 0 14\tPuerto Esparza\n"
    assert '"CITY"' in (tmp_path / "s" / "label-studio" / "tasks.json").read_text()
    assert '"CITY"' in (tmp_path / "s" / "inception" / "documents" / "n000001.json").read_text()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--text-field", "body"], "no column 'body'. Its columns: note_id, patient_id, note_type, date, text"),
        (["--period", "moon"], "unknown period 'moon'"),
        (["--encoding", "klingon"], "unknown text encoding"),
        (["--dictionaries", "nowhere"], "nowhere"),
        (["--table", CANARY], "the database rejected the query"),
    ],
)
def test_failed_command_leaves_no_files(cli, database, tmp_path, args, message):
    result = cli("sample", database, "--output", tmp_path / "s", "--table", "notes", *args)
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "s").exists()


def test_existing_folder_is_refused_before_anything_is_read(cli, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "thesis.docx").touch()
    result = cli("sample", tmp_path / "missing.csv", "--output", tmp_path / "s")
    assert result.exit_code == 1
    assert "contains files that are not part of a sample" in result.stderr
