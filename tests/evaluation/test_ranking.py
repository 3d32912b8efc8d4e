"""Figures, thresholds and curves of a score."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation.plots import plot_score_curve
from spacy_deid.evaluation.ranking import (
    average_precision,
    best_f1_threshold,
    choose_threshold,
    figures_at,
    read_threshold,
    recall_threshold,
    roc_auc,
    score_curve,
    summarize,
    sweep,
    write_score_curve,
)

GOLD = [True, True, False, True, False, False]
SCORES = [9.0, 7.0, 7.0, 3.0, 3.0, 1.0]

# few different values, so that ties are common; whole numbers, so that a transformation keeps them apart
SCORE = st.one_of(st.integers(-5, 5).map(float), st.just(math.inf), st.just(-math.inf))
TOKENS = st.lists(st.tuples(st.booleans(), SCORE), min_size=1, max_size=40)
MIXED = TOKENS.filter(lambda tokens: len({gold for gold, _ in tokens}) == 2)
FINITE = st.lists(st.tuples(st.booleans(), st.integers(-5, 5).map(float)), min_size=2, max_size=40).filter(
    lambda tokens: len({gold for gold, _ in tokens}) == 2
)


def sides(tokens):
    return [gold for gold, _ in tokens], [score for _, score in tokens]


def test_figures_of_a_threshold_are_those_counted_by_hand():
    # found: 9 and both sevens; 2 of them PHI, of 3 in all
    assert figures_at(GOLD, SCORES, 7.0) == {
        "accuracy": pytest.approx(4 / 6),
        "f1": pytest.approx(4 / 6),
        "recall": pytest.approx(2 / 3),
        "precision": pytest.approx(2 / 3),
    }


def test_a_score_equal_to_the_threshold_is_found():
    assert figures_at([True], [2.5], 2.5)["recall"] == 1.0
    assert figures_at([True], [2.5], math.nextafter(2.5, 3))["recall"] == 0.0


def test_average_precision_by_hand_takes_ties_as_one_step():
    # R .333 at P 1; R .667 at P 2/3; R 1 at P 3/5
    assert average_precision(GOLD, SCORES) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)


def test_roc_auc_by_hand_counts_ties_half():
    # nine pairs: 9 beats three, 7 ties one and beats two, 3 loses one, ties one, beats one
    assert roc_auc(GOLD, SCORES) == pytest.approx((3 + 2.5 + 1.5) / 9)


def test_the_order_of_tied_tokens_makes_no_difference():
    assert average_precision([True, False], [1, 1]) == average_precision([False, True], [1, 1]) == 0.5
    assert roc_auc([True, False], [1, 1]) == 0.5


def test_a_perfect_score_has_full_areas_and_a_reversed_one_none():
    assert average_precision([1, 1, 0, 0], [4, 3, 2, 1]) == roc_auc([1, 1, 0, 0], [4, 3, 2, 1]) == 1.0
    assert roc_auc([0, 0, 1, 1], [4, 3, 2, 1]) == 0.0


def test_the_best_f1_is_found_and_of_equals_the_highest_threshold():
    # F1 at 9: .5, at 7: .667, at 3: .75; halfway to 1
    assert best_f1_threshold(GOLD, SCORES) == 2.0
    # at 2: 2·1/(2·1+0+1) = .667; at 1: 2·2/(2·2+2+0) = .667
    assert best_f1_threshold([1, 0, 0, 1], [2, 1, 1, 1]) == 1.5


@pytest.mark.parametrize(("recall", "threshold"), [(0.3, 8.0), (0.5, 5.0), (2 / 3, 5.0), (0.99, 2.0), (1.0, 2.0)])
def test_the_threshold_for_a_recall_is_halfway_below_the_highest_score_that_reaches_it(recall, threshold):
    assert recall_threshold(GOLD, SCORES, recall) == threshold


@given(TOKENS.filter(lambda tokens: any(gold and score > -math.inf for gold, score in tokens)))
def test_no_score_equals_a_chosen_threshold(tokens):
    gold, scores = sides(tokens)
    assert best_f1_threshold(gold, scores) not in scores


def test_infinity_is_found_first_and_its_threshold_is_a_finite_number():
    threshold = recall_threshold([True, True, False], [math.inf, 1.0, 2.0], 0.5)
    assert math.isfinite(threshold)
    assert figures_at([True, True, False], [math.inf, 1.0, 2.0], threshold)["recall"] == 0.5
    assert average_precision([True, False], [math.inf, 1.0]) == 1.0


def test_a_token_without_a_score_is_never_found():
    gold, scores = [True, True, False], [5.0, -math.inf, 1.0]
    assert recall_threshold(gold, scores, 0.5) == 3.0
    with pytest.raises(InputError, match=r"recall of 1\.0: .* the recall is 0\.5"):
        recall_threshold(gold, scores, 1.0)
    assert figures_at(gold, scores, -1e308)["recall"] == 0.5
    assert roc_auc(gold, scores) == 0.5


@pytest.mark.parametrize("measure", [sweep, average_precision, roc_auc, best_f1_threshold])
def test_a_score_that_is_no_number_is_refused_by_its_place(measure):
    with pytest.raises(InputError, match=r"1 score.*first at 1"):
        measure([True, False], [1.0, math.nan])


def test_sides_of_different_length_are_refused():
    with pytest.raises(InputError, match="cannot be evaluated"):
        sweep([True], [1.0, 2.0])


def test_without_phi_there_is_no_threshold_and_no_area():
    figures = summarize([False, False], [1.0, 2.0], 2.0)
    assert figures == {
        "accuracy": 0.5,
        "f1": 0.0,
        "recall": None,
        "precision": 0.0,
        "pr_auc": None,
        "roc_auc": None,
        "gold": 0,
        "total": 2,
    }
    with pytest.raises(InputError, match="0 token"):
        best_f1_threshold([False], [1.0])


def test_where_all_is_phi_only_the_area_under_roc_is_undefined():
    figures = summarize([True, True], [1.0, 2.0], 1.0)
    assert figures["roc_auc"] is None
    assert figures["pr_auc"] == figures["f1"] == figures["accuracy"] == 1.0


def test_nothing_at_all_has_no_figure():
    assert set(summarize([], [], 0.0).values()) == {None, 0}


@given(TOKENS, st.integers(-6, 6).map(float))
def test_every_figure_is_undefined_or_a_share(tokens, threshold):
    figures = summarize(*sides(tokens), threshold)
    for name in ("accuracy", "f1", "recall", "precision", "pr_auc", "roc_auc"):
        assert figures[name] is None or 0.0 <= figures[name] <= 1.0


@given(MIXED)
def test_areas_and_what_is_found_do_not_change_under_a_monotone_transformation(tokens):
    gold, scores = sides(tokens)
    bent = [math.exp(score) * 3 + 1 if score > -math.inf else score for score in scores]
    assert average_precision(gold, bent) == average_precision(gold, scores)
    assert roc_auc(gold, bent) == roc_auc(gold, scores)
    one, other = sweep(gold, scores), sweep(gold, bent)
    assert one.tp.tolist() == other.tp.tolist()
    assert one.fp.tolist() == other.fp.tolist()


@given(FINITE)
def test_turning_the_scores_round_turns_the_area_under_roc_round(tokens):
    gold, scores = sides(tokens)
    assert roc_auc(gold, [-score for score in scores]) == pytest.approx(1 - roc_auc(gold, scores))


@given(MIXED)
def test_no_threshold_beats_the_best_f1(tokens):
    gold, scores = sides(tokens)
    if not any(math.isfinite(s) or s > 0 for s in scores):
        return
    best = figures_at(gold, scores, best_f1_threshold(gold, scores))["f1"]
    others = [figures_at(gold, scores, score)["f1"] for score in scores if score > -math.inf]
    assert best == pytest.approx(max(others))


@given(FINITE, st.floats(0.01, 1.0))
def test_the_threshold_for_a_recall_reaches_it_and_the_next_higher_does_not(tokens, recall):
    gold, scores = sides(tokens)
    threshold = recall_threshold(gold, scores, recall)
    assert figures_at(gold, scores, threshold)["recall"] >= recall
    found = [score for score in scores if score > threshold]
    assert figures_at(gold, scores, math.nextafter(min(found), math.inf))["recall"] < recall


@given(MIXED)
def test_a_sweep_agrees_with_the_figures_of_each_of_its_thresholds(tokens):
    gold, scores = sides(tokens)
    steps = sweep(gold, scores)
    figures = steps.figures()
    assert np.all(np.diff(steps.thresholds) < 0)
    for i, threshold in enumerate(steps.thresholds):
        for name, value in figures_at(gold, scores, float(threshold)).items():
            assert value == figures[name][i]


@settings(deadline=None)  # the first example imports scikit-learn
@given(FINITE)
def test_the_areas_are_those_of_scikit_learn(tokens):
    metrics = pytest.importorskip("sklearn.metrics")
    gold, scores = sides(tokens)
    assert average_precision(gold, scores) == pytest.approx(metrics.average_precision_score(gold, scores))
    assert roc_auc(gold, scores) == pytest.approx(metrics.roc_auc_score(gold, scores))


GOLD_SCORE_CURVES = [True, True, False, True, False, False]
SCORES_SCORE_CURVES = [9.0, 7.0, 7.0, 3.0, 3.0, 1.0]
ABOUT = {"threshold": 2.0, "by": "f1", "score": "surprisal", "title": "a title"}
PNG = b"\x89PNG\r\n"


@pytest.mark.parametrize(("by", "threshold"), [("f1", 2.0), ("recall=.5", 5.0), ("recall=1", 2.0)])
def test_a_threshold_is_chosen_by_f1_or_by_recall(by, threshold):
    assert choose_threshold(GOLD_SCORE_CURVES, SCORES_SCORE_CURVES, by) == threshold


@pytest.mark.parametrize("by", ["F1", "recall", "recall=", "recall=0", "recall=1.1", "recall=high", "recall=nan", ""])
def test_another_way_to_choose_is_refused(by):
    with pytest.raises(ConfigError, match="recall=R"):
        choose_threshold(GOLD_SCORE_CURVES, SCORES_SCORE_CURVES, by)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(-50, 50) | st.just(math.inf)), min_size=1, max_size=300),
    st.sampled_from(["f1", "recall=.7"]),
)
def test_rows_fall_hold_the_chosen_threshold_and_agree_with_its_figures(tokens, by):
    gold, scores = [True, *(g for g, _ in tokens)], [0.0, *(s for _, s in tokens)]
    threshold = choose_threshold(gold, scores, by)
    rows = score_curve(gold, scores, threshold)
    levels = [row["threshold"] for row in rows]
    assert levels == sorted(set(levels), reverse=True)
    (chosen,) = [row for row in rows if row["threshold"] == threshold]
    for row in (chosen, rows[0], rows[-1]):
        assert {name: row[name] for name in figures_at([], [], 0)} == figures_at(gold, scores, row["threshold"])
    assert rows[-1]["recall"] == 1.0


def test_a_long_curve_is_thinned():
    gold, scores = [i % 3 == 0 for i in range(20_000)], [math.sin(i) for i in range(20_000)]
    assert 200 <= len(score_curve(gold, scores, 0.5)) <= 401


def test_curves_are_written_and_their_threshold_read_again(tmp_path):
    rows = score_curve(GOLD_SCORE_CURVES, SCORES_SCORE_CURVES, 2.0)
    path = write_score_curve(tmp_path / "new", ABOUT, rows)
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
        (GOLD_SCORE_CURVES, SCORES_SCORE_CURVES),
        ([True, False], [1.0, 1.0]),
        ([True, False], [math.inf, math.inf]),
        ([True, False, True, False], [1000.0, 2.0, 1.5, 1.0]),
    ],
)
def test_a_picture_is_drawn_of_any_curve(tmp_path, gold, scores, score):
    pytest.importorskip("matplotlib")
    threshold = choose_threshold(gold, scores, "f1")
    path = plot_score_curve(
        tmp_path / "new" / "a.png",
        {**ABOUT, "threshold": threshold, "score": score},
        score_curve(gold, scores, threshold),
    )
    assert path.read_bytes().startswith(PNG)
