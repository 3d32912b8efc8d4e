import numpy as np
import pytest

from spacy_deid.evaluation.bootstrap import interval, resample, score

NONE = np.zeros((0, 3), dtype=np.int64)


def test_figures_of_a_triple():
    # P = 6 / (6 + 2), R = 6 / (6 + 4), F1 = 12 / (12 + 2 + 4)
    entry = score(np.array([6, 2, 4]), NONE)
    assert entry == {"tp": 6, "fp": 2, "fn": 4, "precision": 0.75, "recall": 0.6, "f1": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("triple", "figures"),
    [([0, 0, 0], (None, None, None)), ([0, 3, 0], (0.0, None, 0.0)), ([0, 0, 3], (None, 0.0, 0.0))],
)
def test_figure_with_nothing_to_divide_by_is_not_defined(triple, figures):
    entry = score(np.array(triple), NONE)
    assert (entry["precision"], entry["recall"], entry["f1"]) == figures


def test_replicate_is_a_sum_over_as_many_documents():
    replicates = resample(np.ones((7, 2, 3), dtype=np.int64), 20, seed=0)
    assert replicates.shape == (20, 2, 3)
    assert (replicates == 7).all()


def test_documents_are_drawn_whole():
    # Document 0 has only hits, document 1 only misses: each replicate has two documents' worth of both together.
    replicates = resample(np.array([[[1, 0, 0]], [[0, 0, 1]]]), 200, seed=0)[:, 0]
    assert {tuple(row) for row in replicates.tolist()} == {(2, 0, 0), (1, 0, 1), (0, 0, 2)}


def test_same_seed_gives_the_same_draws_and_another_seed_others():
    counts = np.arange(30, dtype=np.int64).reshape(10, 1, 3)
    assert (resample(counts, 50, 1) == resample(counts, 50, 1)).all()
    assert (resample(counts, 50, 1) != resample(counts, 50, 2)).any()


def test_no_document_gives_replicates_of_nothing():
    assert (resample(np.zeros((0, 2, 3), dtype=np.int64), 5, 0) == np.zeros((5, 2, 3))).all()


def test_interval_holds_the_middle_95_percent_of_what_is_defined():
    # 0, 1, …, 1000: the 2.5 % and 97.5 % quantiles are 25 and 975.
    assert interval(np.array([*range(1001), np.nan])) == pytest.approx([25.0, 975.0])
    assert interval(np.array([np.nan])) is None


def test_interval_is_as_wide_as_the_binomial_says():
    # 400 documents of one entity, 3 in 4 found: the interval is about 0.75 ± 1.96 sqrt(0.75 * 0.25 / 400) = ± 0.0424.
    counts = np.array([[[1, 0, 0]], [[1, 0, 0]], [[1, 0, 0]], [[0, 0, 1]]] * 100)
    low, high = score(counts.sum(axis=0)[0], resample(counts, 2000, 0)[:, 0])["ci"]["recall"]
    assert low == pytest.approx(0.75 - 0.0424, abs=0.006)
    assert high == pytest.approx(0.75 + 0.0424, abs=0.006)
