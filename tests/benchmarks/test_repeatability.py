"""Repeated runs compared. The expected values are those of scipy.stats.kruskal and scipy.stats.chi2.sf, 1.17."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.repeatability import _chi_square_tail, compare_runs, kruskal_wallis
from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity


@pytest.mark.parametrize(
    ("groups", "h", "p"),
    [
        ([[1, 2, 3], [4, 5, 6]], 3.857142857142854, 0.049534613435626915),
        ([[1, 1, 2, 3], [2, 2, 3], [5, 1]], 0.8138138138138123, 0.66570616006253),
        ([[0.9, 0.95, 1, 1], [0.8, 1, 1, 1], [1, 0.7, 0.99, 1]], 0.3347826086956576, 0.84586855452635),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], 6.666666666666664, 0.08331630551120184),
    ],
)
def test_the_statistic_is_that_of_scipy(groups, h, p):
    assert kruskal_wallis(groups) == pytest.approx((h, p), abs=1e-12)


def test_the_tail_of_chi_square_is_that_of_scipy():
    wanted = [0.0692798832, 0.1920499086, 0.3476426447, 0.5089322578, 0.6538416824, 0.7703601960]
    assert [_chi_square_tail(3.3, freedom) for freedom in range(1, 7)] == pytest.approx(wanted, abs=1e-9)
    assert _chi_square_tail(0.0, 3) == 1.0


def test_values_that_are_all_the_same_do_not_differ():
    assert kruskal_wallis([[1.0, 1.0], [1.0]]) == (0.0, 1.0)


@pytest.mark.parametrize("groups", [[], [[1.0]], [[1.0], []], [[1.0], [float("nan")]]])
def test_too_little_to_compare_is_an_error(groups):
    with pytest.raises(InputError):
        kruskal_wallis(groups)


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=2, max_size=4))
def test_h_is_not_negative_and_p_is_a_probability(groups):
    h, p = kruskal_wallis(groups)
    assert h >= -1e-9
    assert 0 <= p <= 1


def test_runs_over_documents():
    text = "Ana vive en Soria"
    gold = [AnnotatedText(name, text, (Entity(0, 3, "PATIENT"), Entity(12, 17, "CITY"))) for name in "abc"]
    whole = [AnnotatedText(name, text, gold[0].entities) for name in "abc"]
    half = [AnnotatedText(name, text, gold[0].entities[: 1 + (name == "a")]) for name in "abc"]
    result = compare_runs(gold, [whole, whole, half])
    assert result["same"] == pytest.approx(1 / 3)
    assert result["recall"]["micro"] == pytest.approx([1, 1, 14 / 24])
    assert 0 < result["recall"]["p"] < 1
    assert compare_runs(gold, [whole, whole])["accuracy"]["p"] == 1.0
