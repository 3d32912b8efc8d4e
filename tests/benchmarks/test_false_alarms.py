"""What is marked in texts that nobody annotated, counted by class, label and rule."""

import json

import pytest
import spacy
from typer.testing import CliRunner

from benchmarks import false_alarms
from spacy_deid.evaluation import AnnotatedText, read_rows, write_docbin
from spacy_deid.labels import LABELS
from spacy_deid.saving import save
from spacy_deid.synth.language import split_of

SECRET = "secreto@example.org"
NAMES = [f"e3c/e3c_es_ccby_clean.jsonl/{number}" for number in range(1, 40)]
KEPT = next(name for name in NAMES if split_of(name) == "test").rpartition("/")[2]
USED = next(name for name in NAMES if split_of(name) == "train").rpartition("/")[2]
TEXT = f"Nació en 1960 y escribe a {SECRET} siempre."


@pytest.fixture
def pipeline(tmp_path):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_patterns")
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate")
    save(nlp, tmp_path / "es")
    return tmp_path / "es"


@pytest.fixture
def assets(tmp_path):
    folder = tmp_path / "assets" / "e3c"
    folder.mkdir(parents=True)
    texts = {KEPT: TEXT, USED: "De un hospital y de otro@example.org y más."}
    lines = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
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
    rows = {row.name.removesuffix(" per 1,000 words"): row.value for row in read_rows(target)}
    assert rows["class ids and contacts: marked"] == rows["label EMAIL: changed"] == 125
    assert rows["class names: marked"] == 0
    assert any(name.startswith("found by deid_patterns/") for name in rows)
    assert "secreto" not in result.output + target.read_text(encoding="utf8")


def test_a_year_is_marked_and_no_alarm(pipeline, assets, tmp_path):
    run(pipeline, "--data", "e3c_es", "--assets", assets, "--metrics", tmp_path / "rows.json")
    rows = {row.name.removesuffix(" per 1,000 words"): row.value for row in read_rows(tmp_path / "rows.json")}
    assert (rows["label DATE: marked"], rows["label DATE: changed"]) == (125, 0)


def test_a_text_that_was_trained_on_is_left_out(pipeline, assets, tmp_path):
    note = AnnotatedText("1", f"Datos. Nombre: Ana. {TEXT.replace('1960', '1961')} Fin.", ())
    write_docbin([note], tmp_path / "train.spacy", spacy.blank("es").make_doc)
    result = run(pipeline, "--data", "e3c_es", "--assets", assets, "--trained-on", tmp_path / "train.spacy")
    assert result.exit_code == 1
    assert "no text that was not trained on" in result.output


def test_the_command_is_the_one_that_was_given(pipeline, assets, tmp_path):
    target = tmp_path / "rows.json"
    run(pipeline, "--data", "e3c_es", "--words", 5, "--assets", assets, "--metrics", target)
    assert {row.command for row in read_rows(target)} == {
        "python -m benchmarks.false_alarms es --data e3c_es --assets assets --words 5"
    }


def test_the_text_is_shown_if_it_is_asked_for_and_never_written(pipeline, assets, tmp_path):
    target = tmp_path / "rows.json"
    result = run(pipeline, "--data", "e3c_es", "--assets", assets, "--metrics", target, "--with-text")
    assert SECRET in result.output
    assert "secreto" not in target.read_text(encoding="utf8")


def test_rows_of_an_earlier_run_give_way_and_those_of_other_texts_stay(pipeline, assets, tmp_path):
    target = tmp_path / "rows.json"
    fax = false_alarms.Finding("FAX", ("a",), "", True)
    false_alarms.replace_rows(target, false_alarms.rows("e3c_es", 10, [fax], "c"))
    false_alarms.replace_rows(target, false_alarms.rows("nubes", 10, [], "c"))
    run(pipeline, "--data", "e3c_es", "--assets", assets, "--metrics", target)
    left = {(row.data, row.name.partition(":")[0]) for row in read_rows(target)}
    assert ("e3c_es", "label FAX") not in left
    assert ("nubes", "class names") in left


@pytest.mark.parametrize("name", ["e3c_xx", "nubes", "mts_dialog", "eduskunta"])
def test_a_text_that_is_unknown_or_not_there_is_named(pipeline, assets, name):
    result = run(pipeline, "--data", name, "--assets", assets)
    assert result.exit_code == 1
    assert name in result.output
