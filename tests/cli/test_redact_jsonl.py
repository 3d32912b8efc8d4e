"""redact: JSONL files."""

import json
import os
import signal
from pathlib import Path

import pytest
from conftest import NOTE, REDACTED
from spacy.language import Language

from spacy_deid import Deidentifier
from spacy_deid.cli.console import progress
from spacy_deid.cli.redaction import RedactionRun
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.io import Job


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def test_rows_keep_their_order_and_only_named_fields(redact, tmp_path: Path):
    rows = [json.dumps({"id": i, "name": "Ana Lopez", "text": NOTE}) for i in range(5)]
    path = write(tmp_path / "notes.jsonl", *rows)
    result = redact(path, "--text-field", "text", "--keep-field", "id", "--batch-size", 2)
    assert result.exit_code == 0, result.stderr
    lines = (tmp_path / "out" / "notes.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"id": i, "text": REDACTED} for i in range(5)]
    assert "1 file(s) with 5 note(s)" in result.stdout


def test_byte_order_mark_and_line_ends_are_kept(redact, tmp_path: Path):
    path = tmp_path / "notes.jsonl"
    path.write_bytes('\ufeff{"t": "a"}\r\n{"t": "b\u2028c"}'.encode())
    assert redact(path, "--text-field", "t").exit_code == 0
    assert (tmp_path / "out" / "notes.jsonl").read_bytes() == path.read_bytes()


BAD_ROWS = [
    (b"Ana Lopez", "not JSON"),
    (b'["Ana Lopez"]', "not an object"),
    (b'{"note": "Ana Lopez"}', "'text' is missing or no string (set --text-field to the key of the note)"),
    (b'{"text": null}', "'text' is missing or no string (set --text-field to the key of the note)"),
    (b'{"text": 1}', "'text' is missing or no string (set --text-field to the key of the note)"),
    (b'{"text": "Ana \\ud800"}', "'text' holds half a surrogate pair"),
    (b'{"text": "Ana \xff"}', "not utf-8 text"),
    (b"[" * 100_000, "not JSON"),
    (
        b'{"text": "Ana", "id": Infinity}',
        "contains an infinite value, which JSON cannot represent. Replace the value in the input",
    ),
    (
        b'{"text": "Ana", "id": 1e999}',
        "contains an infinite value, which JSON cannot represent. Replace the value in the input",
    ),
]


def test_rows_fail_alone_and_are_listed_by_number(redact, tmp_path: Path):
    good = json.dumps({"text": NOTE, "id": 7}).encode()
    lines = [line for bad, _ in BAD_ROWS for line in (good, bad)]
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b"\n".join([*lines, b"", good, b""]))
    rejects = tmp_path / "rejects.jsonl"
    options = ("--text-field", "text", "--keep-field", "id", "--trace", "--batch-size", 3)
    result = redact(path, *options, "--rejects", rejects, "--report", tmp_path / "report.json")
    assert result.exit_code == 1
    written = (tmp_path / "out" / "notes.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in written] == [{"id": 7, "text": REDACTED}] * 11
    assert [json.loads(line) for line in rejects.read_text().splitlines()] == [
        {"note": "notes.jsonl", "row": 2 * i + 2, "reason": reason} for i, (_, reason) in enumerate(BAD_ROWS)
    ]
    trace = json.loads((tmp_path / "out" / "notes.trace.json").read_text())
    numbers = [*range(1, 20, 2), 22]
    assert [(row["row"], row["released_row"]) for row in trace["rows"]] == list(
        zip(numbers, range(1, 12), strict=True)
    )
    assert "1 file(s) with 11 note(s)" in result.stdout
    assert "0 failed; 10 row(s) failed" in result.stdout
    assert json.loads((tmp_path / "report.json").read_text())["failed_rows"] == 10
    assert "Ana" not in result.output + rejects.read_text()


def test_reasons_go_to_stderr_and_are_bounded(redact, tmp_path: Path):
    path = write(tmp_path / "notes.jsonl", '{"text": "x"}', *['{"text": null}'] * 30)
    result = redact(path, "--text-field", "text")
    assert result.exit_code == 1
    assert f"failed: {path}: row 2: 'text' is missing or no string" in result.stderr
    assert len(result.stderr.splitlines()) < 25
    assert "10 more row(s) failed" in result.stderr
    assert (tmp_path / "out" / "notes.jsonl").read_text() == '{"text": "x"}\n'


def test_a_file_without_a_good_row_fails_and_is_not_written(redact, tmp_path: Path):
    path = write(tmp_path / "notes.jsonl", '{"note": "Ana Lopez"}', '{"note": "Eva"}')
    result = redact(path, "--text-field", "text", "--trace")
    assert result.exit_code == 1
    assert f"failed: {path}: none of its 2 row(s) could be redacted" in result.stderr
    assert "0 file(s)" in result.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", ["null", '""', '" \\u00a0"', "NaN", "[1]", '{"a": 1}', "true", None])
def test_row_without_a_patient_id_fails_with_patient_field(redact, tmp_path: Path, value):
    bad = '{"text": "x"}' if value is None else f'{{"text": "x", "pid": {value}}}'
    path = write(tmp_path / "notes.jsonl", '{"text": "a", "pid": "7"}', bad, '{"text": "b", "pid": 0}')
    result = redact(path, "--text-field", "text", "--patient-field", "pid")
    assert result.exit_code == 1
    assert "row 2: 'pid' does not contain a valid patient id" in result.stderr
    assert (tmp_path / "out" / "notes.jsonl").read_text() == '{"text": "a"}\n{"text": "b"}\n'


@Language.component("deid_test_kills_its_worker")
def kill_worker(doc):
    if "fatal" in doc.text:
        os.kill(os.getpid(), signal.SIGKILL)
    return doc


def test_row_that_kills_its_process_fails_alone(nlp, tmp_path: Path, capsys):
    nlp.add_pipe("deid_test_kills_its_worker", first=True)
    path = write(tmp_path / "in.jsonl", *(json.dumps({"text": f"nota {i}"}) for i in range(9)), '{"text": "fatal"}')
    redaction = RedactionRun(Deidentifier(nlp), n_process=2)
    with progress(1) as bar:
        redaction.run([Job(path, Path(path.name), (tmp_path / "out.jsonl",))], bar)
    assert redaction.rejects.count == 1
    assert "row 10: the worker process was killed" in capsys.readouterr().err
    assert (tmp_path / "out.jsonl").read_text() == "".join(path.read_text().splitlines(keepends=True)[:9])


def test_a_file_with_failed_rows_is_done_again_with_resume(redact, tmp_path: Path):
    path = write(tmp_path / "notes.jsonl", '{"text": "x"}', '{"text": null}')
    assert redact(path, "--text-field", "text").exit_code == 1
    again = redact(path, "--text-field", "text", "--resume")
    assert again.exit_code == 1
    assert "0 skipped" in again.stdout
    write(path, '{"text": "x"}', '{"text": "y"}')
    assert redact(path, "--text-field", "text", "--resume").exit_code == 0
    assert (tmp_path / "out" / "notes.jsonl").read_text() == '{"text": "x"}\n{"text": "y"}\n'
    assert "1 skipped" in redact(path, "--text-field", "text", "--resume").stdout


def test_a_file_that_cannot_be_decoded_line_by_line_fails_as_a_whole(redact, tmp_path: Path):
    path = tmp_path / "notes.jsonl"
    path.write_bytes('{"t": "a"}\n{"t": "b"}\n'.encode("utf-16") + b"\x00")
    result = redact(path, "--text-field", "t", "--encoding", "utf-16")
    assert result.exit_code == 1
    assert "not valid utf-16 text" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_value_of_a_kept_field_is_written_as_null(redact, tmp_path: Path):
    path = write(tmp_path / "notes.jsonl", '{"text": "x", "lab": NaN}')
    assert redact(path, "--text-field", "text", "--keep-field", "lab").exit_code == 0
    assert (tmp_path / "out" / "notes.jsonl").read_text() == '{"text": "x", "lab": null}\n'


def test_missing_kept_field_is_reported(redact, tmp_path: Path):
    path = write(tmp_path / "notes.jsonl", '{"text": "x", "a": 1}', '{"text": "y"}')
    result = redact(path, "--text-field", "text", "--keep-field", "a")
    assert result.exit_code == 0
    assert "1 of 2 row(s) have no key 'a' (--keep-field)" in result.stderr
    result = redact(path, "--text-field", "text", "--keep-field", "visit", "--overwrite")
    assert result.exit_code == 1
    assert "2 of 2 row(s) have no key 'visit'" in result.stderr


def test_traces_are_listed_by_row(redact, tmp_path: Path):
    path = write(tmp_path / "notes.jsonl", json.dumps({"t": NOTE}), '{"t": ""}')
    assert redact(path, "--text-field", "t", "--trace").exit_code == 0
    trace = json.loads((tmp_path / "out" / "notes.trace.json").read_text())
    assert [(row["row"], len(row["spans"])) for row in trace["rows"]] == [(1, 2), (2, 0)]
    assert trace["policy"] == "strict"


def test_folder_can_have_txt_and_jsonl_files(redact, tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    write(folder / "a.jsonl", json.dumps({"t": NOTE}))
    (folder / "b.txt").write_text(NOTE)
    assert redact(folder, "--text-field", "t").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.jsonl", "b.txt"]


def test_traces_of_two_files_with_one_name_are_refused(redact, tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    write(folder / "a.jsonl", json.dumps({"t": NOTE}))
    (folder / "a.txt").write_text(NOTE)
    result = redact(folder, "--text-field", "t", "--trace")
    assert result.exit_code == 1
    assert "a.trace.json" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_row_of_an_unknown_patient_can_be_refused(redact, tmp_path):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_patient("1", [LocalEntry("Zarzaquemada", "PATIENT", "patients.surname")])
        writer.commit({})
    source = write(tmp_path / "notes.jsonl", '{"text": "Sin fiebre.", "id": "2"}')
    options = ["--text-field", "text", "--patient-field", "id", "--dictionaries", tmp_path / "local"]
    assert redact(source, *options).exit_code == 0
    result = redact(source, *options, "--without-patient", "refuse", "--overwrite")
    assert result.exit_code == 1
    assert "unknown patient_id" in result.stderr
