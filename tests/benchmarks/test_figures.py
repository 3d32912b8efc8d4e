"""The tables of figures in the documents, the pinned test sets, and the command that a row names."""

import json
from hashlib import sha256

import pytest
import spacy

from benchmarks import figures, test_sets
from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity, MetricRow, write_docbin, write_rows
from spacy_deid.evaluation.rows import with_interval


def row(name, value=0.5, target=None, data="mine", split="dev", better="higher"):
    return MetricRow(name, value, target, better, data, split, "c", "2026-01-02")


@pytest.fixture
def render(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def render_rows(rows, part=""):
        write_rows("metrics/some.json", rows)
        return figures.render("some", part)

    return render_rows


def test_targets_come_first_and_misses_before_them(render):
    text = render([row("a", 0.9), row("b", 0.9, 0.8), row("c", 0.7, 0.8), row("d", 0.2, 0.3, better="lower")])
    assert [line.split(" | ")[:4] for line in text.splitlines() if line.startswith("| ")] == [
        ["| figure", "value", "target", "met"],
        ["| ---", "---:", "---", "---"],
        ["| c", "0.7", "≥ 0.8", "**no**"],
        ["| b", "0.9", "≥ 0.8", "yes"],
        ["| d", "0.2", "≤ 0.3", "yes"],
        ["| figure", "value", "data |"],
        ["| ---", "---:", "--- |"],
        ["| a", "0.9", "mine dev |"],
    ]


def test_variants_that_share_figures_make_one_table(render):
    names = [f"{variant}: {figure}" for variant in ("whole", "without x") for figure in ("F1", "recall", "leak")]
    text = render([row(name, number / 10) for number, name in enumerate(names)])
    assert text == (
        "| mine dev | whole | without x |\n| --- | ---: | ---: |\n"
        "| F1 | 0 | 0.3 |\n| recall | 0.1 | 0.4 |\n| leak | 0.2 | 0.5 |\n"
    )


def test_a_figure_of_several_corpora_has_a_column_for_each(render):
    rows = [row(f"words/s: {name}", 5, data=data, split="none") for data in ("a", "b") for name in ("x", "y", "z")]
    assert render(rows).splitlines()[0] == "| words/s | a | b |"


def test_a_cell_that_was_not_measured_stays_empty(render):
    text = render([row("a: F1"), row("a: recall"), row("b: F1"), row("b: leak")])
    assert "| recall | 0.5 |  |" in text
    assert "| leak |  | 0.5 |" in text


def test_an_interval_stands_with_its_figure(render):
    text = render(with_interval(row("F1", 0.8, 0.9), [0.75, 0.85]))
    assert "| F1 | 0.8 [0.75, 0.85] | ≥ 0.9 | **no** |" in text
    assert "interval" not in text


def test_only_rows_that_begin_with_the_part_are_shown(render):
    assert "found by" not in render([row("class names: marked"), row("found by x: marked")], "class")


def test_targets_keep_their_intervals_and_say_their_language(tmp_path):
    rows = [*with_interval(row("F1", 0.8, 0.9), [0.7, 0.9]), *with_interval(row("recall"), [0.4, 0.6])]
    write_rows(tmp_path / "detection_fi.json", rows)
    found = figures.read_targets(tmp_path / "detection_fi.json")
    assert [row.name.partition(",")[0] for row in found] == ["fi: F1"] * 3


@pytest.fixture
def pinned(tmp_path):
    note = AnnotatedText("n", "Ana came.", (Entity(0, 3, "PATIENT"),))
    path = tmp_path / "en" / "test.spacy"
    path.parent.mkdir()
    write_docbin([note], path, spacy.blank("en").make_doc)
    table = tmp_path / "test_sets.json"
    table.write_text(json.dumps({"en": {"path": "en/test.spacy", "sha256": sha256(path.read_bytes()).hexdigest()}}))
    return note, path, table


def test_a_test_set_is_read_as_it_was_written(pinned, tmp_path):
    note, _, table = pinned
    assert test_sets.read_test_set("en", tmp_path, table) == [note]


def test_a_test_set_that_changed_is_refused(pinned, tmp_path):
    _, path, table = pinned
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(InputError, match="its SHA-256 differs"):
        test_sets.read_test_set("en", tmp_path, table)


def test_a_test_set_that_is_not_there_is_named(pinned, tmp_path):
    with pytest.raises(InputError, match=r"test\.spacy: not there"):
        test_sets.read_test_set("en", tmp_path / "elsewhere", pinned[2])


@pytest.mark.parametrize("lang", ["en", "es", "fi"])
def test_every_language_has_a_pinned_test_set(lang):
    table = json.loads(test_sets.TEST_SETS.read_text(encoding="utf8"))
    assert table[lang]["path"] == f"{lang}/test.spacy"
    assert len(table[lang]["sha256"]) == 64
