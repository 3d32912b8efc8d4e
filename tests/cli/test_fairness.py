"""``spacy-deid fairness``."""

import json

import pytest
import spacy
from typer.testing import CliRunner

from spacy_deid.cli import app
from spacy_deid.evaluation import read_rows
from spacy_deid.saving import save


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """Rules alone: they find the names that a heading announces and no other."""
    nlp = spacy.blank("en")
    nlp.add_pipe("deid_patterns")
    nlp.add_pipe("deid_merge")
    path = tmp_path_factory.mktemp("rules") / "en"
    save(nlp, path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["fairness", *map(str, arguments)])


def test_the_command_prints_a_table_and_writes_figures_and_rows(pipeline, tmp_path):
    figures, rows = tmp_path / "all.json", tmp_path / "rows.json"
    result = run(pipeline, "--lang", "en", "--n", 2, "--bootstrap", 20, "--output", figures, "--metrics", rows)
    assert result.exit_code == 0, result.output
    assert "african_american" in result.output
    written = json.loads(figures.read_text(encoding="utf8"))
    assert written["n"] == 2
    assert set(written["origin"]["groups"]) >= {"anglo", "hispanic"}
    assert read_rows(rows)[0].target == 0.01


def test_the_same_seed_gives_the_same_figures(pipeline, tmp_path):
    for name in ("a", "b"):
        run(pipeline, "--lang", "en", "--n", 1, "--bootstrap", 20, "--output", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_language_without_names_is_refused(pipeline):
    result = run(pipeline, "--lang", "xx")
    assert result.exit_code == 1
    assert "'xx'" in result.output
