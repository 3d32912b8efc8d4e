"""redact: JSONL files."""

import json
from pathlib import Path

import pytest
from conftest import NOTE, REDACTED


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


def test_mark_and_line_ends_stay(redact, tmp_path: Path):
    path = tmp_path / "notes.jsonl"
    path.write_bytes('\ufeff{"t": "a"}\r\n{"t": "b\u2028c"}'.encode())
    assert redact(path, "--text-field", "t").exit_code == 0
    assert (tmp_path / "out" / "notes.jsonl").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Ana Lopez", "not JSON"),
        ('["Ana Lopez"]', "not an object"),
        ('{"note": "Ana Lopez"}', "'text' is missing or no string"),
        ('{"text": null}', "'text' is missing or no string"),
        ('{"text": "Ana \\ud800"}', "'text' holds half a surrogate pair"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_bad_row_fails_the_file_and_is_named_by_number(redact, tmp_path: Path, row: str, message: str):
    path = write(tmp_path / "notes.jsonl", '{"text": "x"}', row)
    result = redact(path, "--text-field", "text", "--trace")
    assert result.exit_code == 1
    assert f"failed: {path}: row 2: {message}" in result.stderr
    assert "Ana" not in result.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_traces_stand_by_row(redact, tmp_path: Path):
    path = write(tmp_path / "notes.jsonl", json.dumps({"t": NOTE}), '{"t": ""}')
    assert redact(path, "--text-field", "t", "--trace").exit_code == 0
    trace = json.loads((tmp_path / "out" / "notes.trace.json").read_text())
    assert [(row["row"], len(row["spans"])) for row in trace["rows"]] == [(1, 2), (2, 0)]
    assert trace["policy"] == "strict"


def test_folder_mixes_both_kinds(redact, tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    write(folder / "a.jsonl", json.dumps({"t": NOTE}))
    (folder / "b.txt").write_text(NOTE)
    assert redact(folder, "--text-field", "t").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.jsonl", "b.txt"]


def test_trace_of_two_kinds_with_one_name_is_refused(redact, tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    write(folder / "a.jsonl", json.dumps({"t": NOTE}))
    (folder / "a.txt").write_text(NOTE)
    result = redact(folder, "--text-field", "t", "--trace")
    assert result.exit_code == 1
    assert "a.trace.json" in result.stderr
    assert not (tmp_path / "out").exists()
