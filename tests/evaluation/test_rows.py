import json

import pytest

from spacy_deid.errors import InputError
from spacy_deid.evaluation import MetricRow, read_rows, write_rows
from spacy_deid.evaluation.rows import replace_rows, with_interval


def row(name: str = "character recall", split: str = "dev", value: float = 0.99, **fields) -> MetricRow:
    settings = {"target": 0.999, "better": "higher", "data": "MEDDOCAN 1.0", "command": "make", "date": "2026-01-02"}
    return MetricRow(name=name, split=split, value=value, **(settings | fields))


def test_row_replaces_the_one_of_the_same_name_data_and_split_and_others_stay(tmp_path):
    path = tmp_path / "new" / "metrics.json"
    write_rows(path, [row(), row(split="train")])
    rows = write_rows(path, [row(name="speed", target=None), row(value=0.5)])
    assert [(r.name, r.split, r.value) for r in rows] == [
        ("character recall", "dev", 0.5),
        ("character recall", "train", 0.99),
        ("speed", "dev", 0.99),
    ]
    assert read_rows(path) == rows


def test_rows_of_another_corpus_stay_whatever_their_name_and_split(tmp_path):
    rows = write_rows(tmp_path / "m.json", [row(), row(data="other", value=0.5)])
    assert [(r.data, r.value) for r in rows] == [("MEDDOCAN 1.0", 0.99), ("other", 0.5)]


def test_replacing_leaves_no_old_figure_of_the_same_data_and_split(tmp_path):
    write_rows(tmp_path / "m.json", [row("gone"), row("gone", data="other"), row("gone", split="train")])
    rows = replace_rows(tmp_path / "m.json", [row("new")])
    assert [r.key for r in rows] == [
        ("gone", "other", "dev"),
        ("gone", "MEDDOCAN 1.0", "train"),
        ("new", "MEDDOCAN 1.0", "dev"),
    ]
    assert read_rows(tmp_path / "m.json") == rows


def test_the_ends_of_an_interval_are_rows_without_a_target():
    figure, low, high = with_interval(row(), [0.98, 0.995])
    assert figure == row()
    assert (low.name, low.value, low.target) == ("character recall, lower end of the 95 % interval", 0.98, None)
    assert (high.name, high.value) == ("character recall, upper end of the 95 % interval", 0.995)
    assert with_interval(row(), None) == [row()]


def test_file_holds_plain_records(tmp_path):
    write_rows(tmp_path / "m.json", [row()])
    assert json.loads((tmp_path / "m.json").read_text()) == [
        {
            "name": "character recall",
            "value": 0.99,
            "target": 0.999,
            "better": "higher",
            "data": "MEDDOCAN 1.0",
            "split": "dev",
            "command": "make",
            "date": "2026-01-02",
        }
    ]


def test_only_the_file_itself_is_left_behind(tmp_path):
    write_rows(tmp_path / "m.json", [row()])
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize("content", ["", "{", '{"a": 1}', '["x"]', '[{"name": "x"}]', '[{"nome": "x"}]'])
def test_file_that_is_no_list_of_rows_is_an_error_and_stays_as_it_is(tmp_path, content):
    path = tmp_path / "m.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"m\.json: not a list of metric rows"):
        write_rows(path, [row()])
    assert path.read_text() == content


@pytest.mark.parametrize(
    "fields",
    [
        {"value": float("nan")},
        {"value": None},
        {"value": True},
        {"value": "0.9"},
        {"target": float("inf")},
        {"better": "more"},
        {"date": 2026},
    ],
)
def test_row_that_says_nothing_is_an_error(fields):
    with pytest.raises(InputError, match="metric row 'character recall'"):
        row(**fields)


@pytest.mark.parametrize(
    ("better", "target", "met"),
    [("higher", 0.9, True), ("higher", 0.999, False), ("lower", 0.999, True), ("lower", None, None)],
)
def test_row_knows_whether_its_target_is_met(better, target, met):
    assert row(better=better, target=target).met is met
