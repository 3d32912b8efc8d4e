"""redact: what is refused before anything is written."""

import os
from pathlib import Path

import pytest
from conftest import NOTE, REDACTED


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """One note in a folder of its own."""
    path = tmp_path / "notes" / "a.txt"
    path.parent.mkdir()
    path.write_text(NOTE)
    return path


@pytest.mark.parametrize("spelling", ["{0}", "{0}/../notes", "{0}/.", "{0}/../link"])
@pytest.mark.parametrize("flag", ["--overwrite", "--resume", "--trace"])
def test_input_is_never_overwritten(redact, note: Path, tmp_path: Path, spelling: str, flag: str):
    (tmp_path / "link").symlink_to(note.parent)
    result = redact(note, flag, output=Path(spelling.format(note.parent)))
    assert result.exit_code == 1
    assert "would be overwritten" in result.stderr
    assert note.read_text() == NOTE
    assert os.listdir(note.parent) == ["a.txt"]


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_output_that_is_a_link_to_the_input_is_refused(redact, note: Path, tmp_path: Path, link):
    (tmp_path / "out").mkdir()
    link(note, tmp_path / "out" / "a.txt")
    result = redact(note, "--overwrite")
    assert result.exit_code == 1
    assert "would be overwritten" in result.stderr
    assert note.read_text() == NOTE


def test_input_that_is_a_link_into_the_output_is_refused(redact, note: Path, tmp_path: Path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.txt").symlink_to(note)
    assert redact(tmp_path / "links", "--overwrite", output=note.parent).exit_code == 1
    assert note.read_text() == NOTE


def test_report_over_the_input_is_refused(redact, note: Path):
    assert redact(note, "--report", note, "--overwrite").exit_code == 1
    assert note.read_text() == NOTE


@pytest.mark.parametrize("source", ["--key", "--context", "--columns", "--policy", "--vault-key"])
@pytest.mark.parametrize("target", ["--report", "--rejects", "--review"])
def test_a_file_that_an_option_names_is_not_overwritten(redact, note: Path, tmp_path: Path, source: str, target: str):
    path = tmp_path / "read" / "file"
    path.parent.mkdir()
    path.write_text("file,patient_id\n")
    result = redact(note, source, path, target, path.parent / ".." / "read" / "file", "--overwrite")
    assert result.exit_code == 1
    assert "would be overwritten" in result.stderr
    assert path.read_text() == "file,patient_id\n"


def test_two_options_that_name_one_file_are_refused(redact, note: Path, tmp_path: Path):
    result = redact(note, "--report", tmp_path / "x.json", "--rejects", tmp_path / "x.json")
    assert result.exit_code == 1
    assert "two options write to the same file" in result.stderr
    assert not (tmp_path / "out").exists()


def test_two_notes_of_one_name_are_refused_before_anything_is_written(redact, note: Path, tmp_path: Path):
    other = tmp_path / "other" / "a.txt"
    other.parent.mkdir()
    other.write_text(NOTE)
    result = redact(note, other)
    assert result.exit_code == 1
    assert str(note) in result.stderr
    assert str(other) in result.stderr
    assert not (tmp_path / "out").exists()


def test_existing_output_is_refused_replaced_or_resumed(redact, note: Path, tmp_path: Path):
    out = tmp_path / "out" / "a.txt"
    out.parent.mkdir()
    out.write_text("mine")
    result = redact(note)
    assert result.exit_code == 1
    assert "--overwrite or --resume" in result.stderr
    assert out.read_text() == "mine"
    assert redact(note, "--resume").exit_code == 0
    assert out.read_text() == "mine"
    assert redact(note, "--overwrite").exit_code == 0
    assert out.read_text() == REDACTED


def test_resume_redoes_a_note_that_has_changed(redact, note: Path, tmp_path: Path):
    assert redact(note).exit_code == 0
    os.utime(tmp_path / "out" / "a.txt", (1, 1))
    result = redact(note, "--resume")
    assert result.exit_code == 0
    assert "1 file(s) with" in result.stdout


def test_output_folder_inside_the_input_is_not_read(redact, note: Path):
    out = note.parent / "out"
    assert redact(note.parent, output=out).exit_code == 0
    result = redact(note.parent, "--overwrite", output=out)
    assert result.exit_code == 0
    assert "1 file(s) with" in result.stdout
    assert not (out / "out").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-", "--trace"], "'-' reads one note"),
        (["-", "{note}"], "'-' reads one note"),
        (["{note}", "--resume", "--overwrite"], "cannot be used together"),
        (["{note}", "--encoding", "nope"], "unknown text encoding 'nope'"),
        (["{note}x"], "no such file or folder"),
        (["{note}", "--policy", "nope"], "safe_harbor"),
    ],
)
def test_conflicting_options_are_named(redact, note: Path, tmp_path: Path, args: list[str], message: str):
    output = None if "-" in args else tmp_path / "out"
    result = redact(*(arg.format(note=note) for arg in args), output=output, input=b"")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_missing_output_is_named(redact, note: Path):
    result = redact(note, output=None)
    assert result.exit_code == 1
    assert "--output is missing" in result.stderr


def test_output_that_is_a_file_is_refused(redact, note: Path, tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "not a folder" in redact(note, output=tmp_path / "file").stderr


def test_unsupported_file_types_are_refused(redact, tmp_path: Path):
    for name, message in (("a.doc", "unsupported file type"), ("a.jsonl", "--text-field")):
        (tmp_path / name).write_text("")
        result = redact(tmp_path / name)
        assert result.exit_code == 1
        assert message in result.stderr


def test_folder_without_notes_is_an_error(redact, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    result = redact(tmp_path / "empty")
    assert result.exit_code == 1
    assert "no notes found" in result.stderr
