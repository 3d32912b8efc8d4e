"""``spacy-deid synth``."""

import pytest
from typer.testing import CliRunner

from spacy_deid.cli import app
from spacy_deid.evaluation import read_folder

run = CliRunner().invoke


@pytest.mark.parametrize(("format", "name"), [("brat", "c"), ("jsonl", "c.jsonl"), ("spacy", "c.spacy")])
def test_a_corpus_is_written_and_read_again(tmp_path, format, name):
    out = tmp_path / name
    result = run(app, ["synth", "es", "--output", str(out), "--n", "6", "--format", format])
    assert result.exit_code == 0, result.output
    documents = read_folder(out)
    assert len(documents) == 6
    assert any(document.entities for document in documents)


def test_existing_output_is_not_replaced(tmp_path):
    out = tmp_path / "c"
    out.mkdir()
    (out / "thesis.docx").write_text("x", encoding="utf8")
    assert run(app, ["synth", "es", "--output", str(out), "--n", "2"]).exit_code == 1
    assert run(app, ["synth", "es", "--output", str(out), "--n", "2", "--overwrite"]).exit_code == 1
    assert [path.name for path in out.iterdir()] == ["thesis.docx"]


def test_corpus_is_replaced_with_overwrite(tmp_path):
    out = tmp_path / "c"
    assert run(app, ["synth", "es", "--output", str(out), "--n", "3"]).exit_code == 0
    assert run(app, ["synth", "es", "--output", str(out), "--n", "2", "--overwrite"]).exit_code == 0
    assert len(read_folder(out)) == 2


@pytest.mark.parametrize("name", ["visit.txt", "es-train-1-a.docx"])
def test_folder_with_other_notes_is_never_replaced(tmp_path, name):
    out = tmp_path / "c"
    out.mkdir()
    (out / name).write_text("x", encoding="utf8")
    assert run(app, ["synth", "es", "--output", str(out), "--n", "2", "--overwrite"]).exit_code == 1
    assert [path.name for path in out.iterdir()] == [name]
    (out / name).unlink()
    assert run(app, ["synth", "es", "--output", str(out), "--n", "2", "--overwrite"]).exit_code == 0
    (out / name).write_text("x", encoding="utf8")
    result = run(app, ["synth", "es", "--output", str(out), "--n", "2", "--overwrite"])
    assert result.exit_code == 1
    assert "not a corpus written by this command" in result.stderr
    assert (out / name).exists()


@pytest.mark.parametrize("out", ["notes", ".", "notes/a.jsonl", "notes/../notes"])
def test_the_carriers_are_never_replaced(tmp_path, out):
    notes = tmp_path / "notes"
    notes.mkdir()
    for i in range(5):
        (notes / f"{i}.txt").write_text("Una nota con cinco palabras justas.", encoding="utf8")
    (notes / "a.jsonl").write_text('{"text": "Otra nota con cinco palabras."}\n', encoding="utf8")
    before = {path.name: path.read_bytes() for path in notes.iterdir()}
    format = "jsonl" if out.endswith(".jsonl") else "brat"
    call = ["synth", "es", "--output", str(tmp_path / out), "--n", "2", "--overwrite", "--format", format]
    result = run(app, [*call, "--carriers", str(notes)])
    assert result.exit_code == 1
    assert "would replace the carrier notes" in result.stderr
    assert {path.name: path.read_bytes() for path in notes.iterdir()} == before


def test_failed_command_leaves_no_files(tmp_path):
    result = run(app, ["synth", "qq", "--output", str(tmp_path / "c"), "--n", "2"])
    assert result.exit_code == 1
    assert "no templates for language 'qq'" in result.stderr
    assert list(tmp_path.iterdir()) == []
