"""Measures over scored tokens: known values, ties, infinities, nothing to measure, and a yardstick from elsewhere."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.evaluation.ranking import (
    average_precision,
    best_f1_threshold,
    figures_at,
    recall_threshold,
    roc_auc,
    summarize,
    sweep,
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
