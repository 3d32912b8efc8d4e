"""Choosing a threshold, the curves over it as rows and as a picture."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation.ranking import figures_at
from spacy_deid.evaluation.score_curves import choose, curve_rows, plot_curves, read_threshold, write_curves

GOLD = [True, True, False, True, False, False]
SCORES = [9.0, 7.0, 7.0, 3.0, 3.0, 1.0]
ABOUT = {"threshold": 2.0, "by": "f1", "score": "surprisal", "title": "a title"}
PNG = b"\x89PNG\r\n"


@pytest.mark.parametrize(("by", "threshold"), [("f1", 2.0), ("recall=.5", 5.0), ("recall=1", 2.0)])
def test_a_threshold_is_chosen_by_f1_or_by_recall(by, threshold):
    assert choose(GOLD, SCORES, by) == threshold


@pytest.mark.parametrize("by", ["F1", "recall", "recall=", "recall=0", "recall=1.1", "recall=high", "recall=nan", ""])
def test_another_way_to_choose_is_refused(by):
    with pytest.raises(ConfigError, match="recall=R"):
        choose(GOLD, SCORES, by)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(-50, 50) | st.just(math.inf)), min_size=1, max_size=300),
    st.sampled_from(["f1", "recall=.7"]),
)
def test_rows_fall_hold_the_chosen_threshold_and_agree_with_its_figures(tokens, by):
    gold, scores = [True, *(g for g, _ in tokens)], [0.0, *(s for _, s in tokens)]
    threshold = choose(gold, scores, by)
    rows = curve_rows(gold, scores, threshold)
    levels = [row["threshold"] for row in rows]
    assert levels == sorted(set(levels), reverse=True)
    (chosen,) = [row for row in rows if row["threshold"] == threshold]
    for row in (chosen, rows[0], rows[-1]):
        assert {name: row[name] for name in figures_at([], [], 0)} == figures_at(gold, scores, row["threshold"])
    assert rows[-1]["recall"] == 1.0


def test_a_long_curve_is_thinned():
    gold, scores = [i % 3 == 0 for i in range(20_000)], [math.sin(i) for i in range(20_000)]
    assert 200 <= len(curve_rows(gold, scores, 0.5)) <= 401


def test_curves_are_written_and_their_threshold_read_again(tmp_path):
    rows = curve_rows(GOLD, SCORES, 2.0)
    path = write_curves(tmp_path / "new", ABOUT, rows)
    assert json.loads(path.read_text())["rows"] == rows
    assert read_threshold(path) == read_threshold(tmp_path / "new") == ABOUT


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"threshold": "high"}', '{"threshold": null}'])
def test_a_file_without_a_threshold_is_refused_by_name(tmp_path, content):
    (tmp_path / "curves.json").write_text(content)
    with pytest.raises(InputError, match=r"curves\.json.*no threshold"):
        read_threshold(tmp_path)


@pytest.mark.parametrize("score", ["surprisal", "combined"])
@pytest.mark.parametrize(
    ("gold", "scores"),
    [
        (GOLD, SCORES),
        ([True, False], [1.0, 1.0]),
        ([True, False], [math.inf, math.inf]),
        ([True, False, True, False], [1000.0, 2.0, 1.5, 1.0]),
    ],
)
def test_a_picture_is_drawn_of_any_curve(tmp_path, gold, scores, score):
    pytest.importorskip("matplotlib")
    threshold = choose(gold, scores, "f1")
    path = plot_curves(
        tmp_path / "new" / "a.png",
        {**ABOUT, "threshold": threshold, "score": score},
        curve_rows(gold, scores, threshold),
    )
    assert path.read_bytes().startswith(PNG)
