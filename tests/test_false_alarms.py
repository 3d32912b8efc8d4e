"""What is marked in texts that nobody annotated, counted by class, label and rule."""

import json
import sys
from pathlib import Path

import pytest
import spacy
from typer.testing import CliRunner

from spacy_deid.evaluation import read_rows
from spacy_deid.labels import LABELS

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import false_alarms

SECRET = "secreto@example.org"


@pytest.fixture
def pipeline(tmp_path):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_patterns")
    nlp.add_pipe("deid_merge")
    nlp.to_disk(tmp_path / "es")
    return tmp_path / "es"


@pytest.fixture
def assets(tmp_path):
    folder = tmp_path / "assets" / "e3c"
    folder.mkdir(parents=True)
    texts = [f"Escribe a {SECRET} y nada más.", "Sin dolor."]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "e3c_es_ccby_clean.jsonl").write_text(lines, encoding="utf8")
    return folder.parent


def run(*arguments):
    return CliRunner().invoke(false_alarms.app, list(map(str, arguments)))


def test_every_label_is_in_one_class():
    members = [label for labels in false_alarms.CLASSES.values() for label in labels]
    assert sorted(members) == sorted(LABELS)


def test_rows_tell_the_class_the_label_and_the_rule_but_not_the_text(pipeline, assets, tmp_path):
    target = tmp_path / "rows.json"
    result = run(pipeline, "--data", "e3c_es", "--assets", assets, "--metrics", target)
    assert result.exit_code == 0, result.output
    rows = {row.name.removeprefix("entities per 1,000 words, "): row.value for row in read_rows(target)}
    assert rows["class ids and contacts"] == rows["label EMAIL"] == 125
    assert rows["class names"] == 0
    assert any(name.startswith("found by deid_patterns/") for name in rows)
    assert "secreto" not in result.output + target.read_text(encoding="utf8")


def test_the_text_is_shown_if_it_is_asked_for_and_never_written(pipeline, assets, tmp_path):
    target = tmp_path / "rows.json"
    result = run(pipeline, "--data", "e3c_es", "--assets", assets, "--metrics", target, "--with-text")
    assert SECRET in result.output
    assert "secreto" not in target.read_text(encoding="utf8")


def test_rows_of_an_earlier_run_give_way_and_those_of_other_texts_stay(pipeline, assets, tmp_path):
    target = tmp_path / "rows.json"
    old = false_alarms.rows("e3c_es", 10, [("FAX", ("a",), "")], "c") + false_alarms.rows("nubes", 10, [], "c")
    false_alarms.write_rows(target, old)
    run(pipeline, "--data", "e3c_es", "--assets", assets, "--metrics", target)
    left = {(row.split, row.name.rpartition(", ")[2]) for row in read_rows(target)}
    assert ("e3c_es", "label FAX") not in left
    assert ("nubes", "class names") in left


@pytest.mark.parametrize("name", ["e3c_xx", "nubes", "mts_dialog", "eduskunta"])
def test_a_text_that_is_unknown_or_not_there_is_named(pipeline, assets, name):
    result = run(pipeline, "--data", name, "--assets", assets)
    assert result.exit_code == 1
    assert name in result.output
