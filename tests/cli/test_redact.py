"""redact: text files and standard input, and pipelines that recover medical terms."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from conftest import NOTE, REDACTED
from spacy.language import Language
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.saving import save


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with notes in two levels."""
    folder = tmp_path / "notes"
    (folder / "ward").mkdir(parents=True)
    (folder / "a.txt").write_text(NOTE)
    (folder / "ward" / "b.txt").write_text(NOTE)
    return folder


def read_tree(folder: Path) -> dict[str, bytes]:
    """Contents by relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_folder_keeps_its_tree_and_a_summary_is_printed(redact, notes: Path, tmp_path: Path):
    result = redact(notes)
    assert result.exit_code == 0, result.stderr
    assert read_tree(tmp_path / "out") == {"a.txt": REDACTED.encode(), "ward/b.txt": REDACTED.encode()}
    assert "2 file(s) with 2 note(s)" in result.stdout
    assert "4 span(s) changed" in result.stdout


def test_only_the_released_note_is_written_to_stdout(redact):
    result = redact("-", output=None, input=NOTE.encode())
    assert result.exit_code == 0
    assert result.stdout_bytes == REDACTED.encode()


def test_failure_on_stdin_writes_nothing_to_stdout(redact):
    result = redact("-", output=None, input=b"\xffAna")
    assert result.exit_code == 1
    assert result.stdout_bytes == b""
    assert "standard input: not valid utf-8 text" in result.stderr


def test_module_runs_as_a_program(pipeline_folder: Path):
    command = [sys.executable, "-W", "error", "-m", "spacy_deid", "redact", "-", "--pipeline", str(pipeline_folder)]
    done = subprocess.run(command, input=NOTE.encode(), capture_output=True, check=True)
    assert done.stdout == REDACTED.encode()
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("tag", "en [CITY]."),
        ("numbered", "en [CITY_1]."),
        ("mask", "en **************."),
        ("remove", "en ."),
    ],
)
def test_option_style_is_applied(redact, notes: Path, tmp_path: Path, style: str, expected: str):
    assert redact(notes, "--style", style).exit_code == 0
    assert expected in (tmp_path / "out" / "a.txt").read_text()


def test_policy_file_decides_what_is_changed(redact, notes: Path, tmp_path: Path):
    policy = tmp_path / "board.toml"
    policy.write_text('name = "board"\ndefault = "replace"\n[labels]\nCITY = "keep"\n')
    assert redact(notes, "--policy", policy).exit_code == 0
    text = (tmp_path / "out" / "a.txt").read_text()
    assert "Puerto Esparza" in text
    assert "[EMAIL]" in text


WIDE = "Vive en P u e r t o   E s p a r z a.\r\nCorreo: ana.lo\r\npez@ejemplo.es\r\nF\u00adin: A B C D\r\n"
WIDE_REDACTED = "Vive en [CITY].\r\nCorreo: [EMAIL]\r\nF\u00adin: A B C D\r\n"


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "-"])
def test_invisible_characters_do_not_hide_identifiers(redact, tmp_path: Path, name: str):
    if name == "-":
        assert redact("-", output=None, input=WIDE.encode()).stdout_bytes == WIDE_REDACTED.encode()
        return
    source = tmp_path / "in" / name
    source.parent.mkdir()
    source.write_bytes((json.dumps({"text": WIDE}) if name.endswith("jsonl") else WIDE).encode())
    result = redact(source, "--trace", *(["--text-field", "text"] if name.endswith("jsonl") else []))
    assert result.exit_code == 0, result.stderr
    written = (tmp_path / "out" / name).read_bytes().decode()
    assert (json.loads(written)["text"] if name.endswith("jsonl") else written) == WIDE_REDACTED
    trace = json.loads((tmp_path / "out" / "a.trace.json").read_text())
    spans = trace["rows"][0]["spans"] if name.endswith("jsonl") else trace["spans"]
    found = ["P u e r t o   E s p a r z a", "ana.lo\r\npez@ejemplo.es"]
    assert [WIDE[span["start"] : span["end"]] for span in spans] == found
    assert [WIDE[span["evidence"][0]["start"] : span["evidence"][0]["end"]] for span in spans] == found


def test_trace_has_offsets_and_versions_but_no_text(redact, notes: Path, tmp_path: Path):
    assert redact(notes, "--trace").exit_code == 0
    raw = (tmp_path / "out" / "ward" / "b.trace.json").read_text()
    trace = json.loads(raw)
    assert trace["pipeline"]["name"] == "es_towns"
    assert len(trace["pipeline"]["fingerprint"]) == 16
    assert [NOTE[span["start"] : span["end"]] for span in trace["spans"]] == ["Puerto Esparza", "ana.lopez@ejemplo.es"]
    assert trace["spans"][0]["evidence"][0]["rule"] == "towns"
    assert "Esparza" not in raw
    assert "lopez" not in raw


def test_report_counts_and_names_no_file(redact, notes: Path, tmp_path: Path):
    (notes / "Ana Lopez.txt").write_bytes(b"\xff")
    report = tmp_path / "report.json"
    assert redact(notes, "--report", report, "--policy", "safe_harbor").exit_code == 1
    data = json.loads(report.read_text())
    assert data["files"] == {"written": 2, "failed": 1, "skipped": 0}
    assert data["labels"] == {"CITY": 2, "EMAIL": 2}
    assert data["policy"] == "safe_harbor"
    assert data["style"] == "tag"
    assert "Lopez" not in report.read_text()


def test_bad_file_fails_alone_and_is_named(redact, notes: Path, tmp_path: Path):
    (notes / "bad.txt").write_bytes("Núñez".encode("latin-1"))
    result = redact(notes)
    assert result.exit_code == 1
    assert f"failed: {notes / 'bad.txt'}: not valid utf-8 text" in result.stderr
    assert sorted(read_tree(tmp_path / "out")) == ["a.txt", "ward/b.txt"]


@Language.component("fails_on_marker")
def fails_on_marker(doc: Doc) -> Doc:
    """Raise where the text says so, and quote the text."""
    if "MARKER" in doc.text:
        raise RuntimeError(f"cannot handle {doc.text}")
    return doc


@pytest.mark.parametrize("processes", [1, 2])
def test_note_that_fails_in_the_pipeline_fails_alone(nlp: Language, cli, notes: Path, tmp_path: Path, processes: int):
    nlp.add_pipe("fails_on_marker", first=True)
    nlp.to_disk(tmp_path / "pipeline")
    (notes / "aa.txt").write_text("MARKER Puerto Esparza")
    result = cli(
        "redact", notes, "--pipeline", tmp_path / "pipeline", "--output", tmp_path / "out", "--n-process", processes
    )
    assert result.exit_code == 1
    assert read_tree(tmp_path / "out") == {"a.txt": REDACTED.encode(), "ward/b.txt": REDACTED.encode()}
    assert "aa.txt: RuntimeError at test_redact.py:" in result.stderr
    assert "Esparza" not in result.stderr


def test_note_without_a_required_detector_is_not_written(nlp: Language, cli, notes: Path, tmp_path: Path):
    nlp.disable_pipe("deid_ruler")
    nlp.to_disk(tmp_path / "pipeline")
    result = cli("redact", notes, "--pipeline", tmp_path / "pipeline", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "deid/ruler" in result.stderr
    assert not (tmp_path / "out").exists()


def test_string_store_does_not_grow_with_the_notes(nlp: Language):
    deid = spacy_deid.Deidentifier(nlp)
    before = len(nlp.vocab.strings)
    for i in range(10):
        assert all(result.ok for result in deid.pipe([f"palabra{i}x{j} en Puerto Esparza" for j in range(4)]))
    assert len(nlp.vocab.strings) <= before + 10  # labels and span group keys, which are no words of notes


def test_two_processes_write_the_same_as_one(redact, notes: Path, tmp_path: Path):
    for i in range(20):
        (notes / f"n{i}.txt").write_text(f"Nota {i}. Vive en Villarrubia del Monte.")
    assert redact(notes, output=tmp_path / "one").exit_code == 0
    assert redact(notes, "--n-process", 2, "--batch-size", 3, output=tmp_path / "two").exit_code == 0
    assert len(read_tree(tmp_path / "one")) == 22
    assert read_tree(tmp_path / "one") == read_tree(tmp_path / "two")


def test_interrupt_leaves_only_complete_files(redact, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls = []
    real = os.replace

    def interrupt(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", interrupt)
    assert redact(notes).exit_code != 0
    monkeypatch.undo()
    assert read_tree(tmp_path / "out") == {"a.txt": REDACTED.encode()}
    assert redact(notes, "--resume").exit_code == 0
    assert sorted(read_tree(tmp_path / "out")) == ["a.txt", "ward/b.txt"]


@pytest.fixture(scope="module")
def recovering(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recovering") / "en_names"
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.meta["name"] = "names"
    names = folder.parent / "names.csv"
    names.write_text("term,label\nCrohn,PERSON\nBell,PERSON\n", encoding="utf8")
    nlp.add_pipe("deid_ruler", config={"paths": [str(names)]})
    for factory in ("deid_merge", "deid_recovery", "deid_surrogate"):
        nlp.add_pipe(factory)
    save(nlp, folder)
    return folder


def test_recovered_terms_are_counted_and_traced(cli, recovering, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Mr. Bell has Crohn's disease.", encoding="utf8")
    row = json.dumps({"text": "Crohn's disease. Crohn's disease."})
    (tmp_path / "in" / "b.jsonl").write_text(row + "\n", encoding="utf8")
    settings = ("--pipeline", recovering, "--text-field", "text", "--trace", "--report", tmp_path / "report.json")
    result = cli("redact", tmp_path / "in", "--output", tmp_path / "out", *settings)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf8") == "Mr. [PERSON] has Crohn's disease."
    assert json.loads((tmp_path / "report.json").read_text())["recovered"] == {"eponym:disease": 3}
    spans = json.loads((tmp_path / "out" / "a.trace.json").read_text())["spans"]
    assert [span["action"] for span in spans] == ["replace", "recover"]
    written = (tmp_path / "report.json").read_text() + (tmp_path / "out" / "a.trace.json").read_text()
    assert "Crohn" not in written
    assert "Bell" not in written


def test_report_without_recovery_has_no_counts_of_it(redact, tmp_path):
    (tmp_path / "a.txt").write_text("Vive en Puerto Esparza.", encoding="utf8")
    assert redact(tmp_path / "a.txt", "--report", tmp_path / "report.json").exit_code == 0
    assert "recovered" not in json.loads((tmp_path / "report.json").read_text())
