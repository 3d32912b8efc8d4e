import json

import pytest
from typer.testing import CliRunner

from spacy_deid.background.counts import PhraseCounts
from spacy_deid.cli import app


def run(*arguments):
    return CliRunner().invoke(app, ["counts", "build", *map(str, arguments)])


def test_counts_are_built_from_files_of_several_kinds(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("primary care\n", encoding="utf8")
    (tmp_path / "in" / "b.jsonl").write_text(json.dumps({"text": "primary care"}) + "\n{\n", encoding="utf8")
    result = run(tmp_path / "in", "--output", tmp_path / "c.bin", "--licence", "CC0")
    assert result.exit_code == 0, result.output
    assert "skipped: 1 (not a JSON object)" in result.output
    counts = PhraseCounts.from_file(tmp_path / "c.bin")
    assert (counts.count("primary care"), counts.manifest["licence"]) == (2, "CC0")


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "c.bin").write_bytes(b"old")
    (tmp_path / "a.txt").write_text("x y", encoding="utf8")
    assert run(tmp_path / "a.txt", "--output", tmp_path / "c.bin").exit_code == 1
    assert (tmp_path / "c.bin").read_bytes() == b"old"
    assert run(tmp_path / "a.txt", "--output", tmp_path / "c.bin", "--overwrite", "--keep", 1).exit_code == 0


@pytest.mark.parametrize("text", ["", " , \n"])
def test_a_corpus_without_words_is_an_error_and_leaves_nothing(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf8")
    result = run(tmp_path / "a.txt", "--output", tmp_path / "c.bin")
    assert result.exit_code == 1
    assert "holds no words" in result.output
    assert not (tmp_path / "c.bin").exists()
