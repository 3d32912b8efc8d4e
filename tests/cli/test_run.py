"""``spacy-deid run``: options, messages and exit codes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'warehouse'")
NOTE = "Vive en Puerto Esparza."


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Process partitions in this process, because a worker process starts for seconds."""
    from spacy_deid.warehouse.engines import LocalEngine

    real = LocalEngine.run
    monkeypatch.setattr(LocalEngine, "run", lambda self, folder, names, n_process: real(self, folder, names, 0))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    rows = [{"note_id": i, "text": f"Nota {i}. {NOTE}", "ward": "A", "name": "Ana Ruiz"} for i in range(20)]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "notes.jsonl"


@pytest.fixture
def run(cli, pipeline_folder, tmp_path, notes):
    def call(*args: object, source: object = notes):
        return cli("run", "--pipeline", pipeline_folder, "--input", source, "--output", tmp_path / "out", *args)

    return call


def released(tmp_path: Path) -> list[dict]:
    return [row for path in (tmp_path / "out" / "notes").iterdir() for row in pq.read_table(path).to_pylist()]


def test_a_run_and_its_repetition(run, tmp_path):
    result = run("--keep-field", "ward")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("20 note(s) read, 20 released, 0 in quarantine; 20 span(s) removed; 1 part")
    assert released(tmp_path)[0]["text"] == "Nota 0. Vive en [CITY]."
    assert released(tmp_path)[0]["ward"] == "A"
    result = run("--keep-field", "ward")
    assert "0 partition(s) processed, 1 kept" in result.stdout
    result = run("--style", "mask")
    assert result.exit_code == 1
    assert "other settings (columns, style)" in result.stderr
    assert run("--style", "mask", "--changed").exit_code == 0


def test_a_dry_run_writes_no_text(run, tmp_path):
    result = run("--dry-run")
    assert result.exit_code == 0, result.output
    assert "20 would be released" in result.stdout
    assert list((tmp_path / "out").rglob("*.parquet")) == []
    assert json.loads((tmp_path / "out" / "run" / "report.json").read_text())["sources"] == {
        "CITY": {"deid_ruler": 20}
    }


def test_columns_by_policy_and_a_config_file(run, tmp_path):
    (tmp_path / "columns.toml").write_text('[columns]\ntext = "text"\nname = "label:PATIENT"\nward = "keep"\n')
    (tmp_path / "run.toml").write_text(f'[run]\ncolumns = "{tmp_path}/columns.toml"\npartition-rows = 5\n')
    result = run("--config", tmp_path / "run.toml")
    assert result.exit_code == 0, result.output
    assert "4 partition(s) processed" in result.stdout
    assert {(row["name"], row["ward"]) for row in released(tmp_path)} == {("[PATIENT]", "A")}
    assert "cannot be used together" in run("--config", tmp_path / "run.toml", "--text-field", "name").stderr


def test_notes_in_quarantine_are_named_by_reason_and_decide_the_exit_code(run, notes):
    with notes.open("a") as file:
        file.write('{"note_id": 99, "text": 5}\n{\n')
    result = run()
    assert result.exit_code == 1
    assert "quarantine: 1 note(s): not a JSON object" in result.stderr
    assert "quarantine: 1 note(s): column 'text' is not text" in result.stderr
    assert run("--max-quarantine", "0.1").exit_code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--engine", "local", "--address", "host:1"], "no address"),
        (["--text-field", "missing"], "no column 'missing'"),
        (["--key", "KEY"], "KEY"),
        (["--without-patient", "refuse"], "dictionaries"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_wrong_options_are_named_before_the_start(run, tmp_path, args, message):
    result = run(*args)
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "out" / "notes").exists()


@pytest.mark.parametrize(
    ("source", "args", "message"),
    [
        ("none.parquet", [], "no such file or folder"),
        ("a.duckdb", [], "required option --table is missing"),
        ("env:NOTES_URL", ["--table", "a", "--query", "b"], "cannot be used together"),
        ("postgresql://me:secret@host/db", ["--table", "a"], "contains a password"),
    ],
)
def test_wrong_inputs_are_named_before_the_start(run, source, args, message):
    result = run(*args, source=source)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "secret" not in result.output


def test_the_options_are_listed_in_panels(cli):
    shown = cli("run", "--help").output
    panels = ["Detection", "Policy and surrogates", "Input", "Output", "Engine"]
    assert [panel for panel in panels if f"─ {panel} ─" in shown] == panels


@pytest.mark.slow
def test_a_run_that_is_stopped_says_how_to_continue(notes, pipeline_folder, tmp_path):
    with notes.open("a") as file:
        file.writelines(json.dumps({"note_id": i, "text": NOTE * 50}) + "\n" for i in range(20, 1000))
    command = [sys.executable, "-m", "spacy_deid", "run", "--pipeline", pipeline_folder, "--input", notes]
    process = subprocess.Popen(
        [*command, "--output", tmp_path / "out", "--partition-rows", "10"], stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and len(list((tmp_path / "out").rglob("*.parquet"))) < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=120)[1]
    assert process.returncode == 143
    assert error.startswith("stopped: ")
    assert error.endswith("Run the command again to continue\n")
    assert list((tmp_path / "out").rglob(".*")) == []
