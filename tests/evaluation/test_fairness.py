"""Recall of names compared between groups, in pairs."""

import numpy as np
import pytest

from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.fairness import AXES, compare, count_found, format_fairness, make_rows, measure
from spacy_deid.evaluation.swaps import Swap


def swap(pool="spanish", axis="origin", sex="female", context=0):
    note = AnnotatedText("1", "Ana Vega, y Ana.", (Entity(0, 8, "PATIENT"), Entity(12, 15, "PATIENT")))
    return Swap(context, axis, pool, sex, note)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], (0, 2)),
        ([Entity(0, 8, "PATIENT")], (1, 2)),
        ([Entity(0, 7, "PATIENT"), Entity(12, 15, "PATIENT")], (1, 2)),
        ([Entity(0, 3, "CITY"), Entity(4, 8, "DATE"), Entity(10, 16, "PATIENT")], (2, 2)),
    ],
)
def test_a_mention_is_found_if_no_letter_of_it_is_left_whatever_the_label(found, expected):
    assert count_found(swap(), found) == expected


def test_the_blank_within_a_name_need_not_be_covered():
    assert count_found(swap(), [Entity(0, 3, "PATIENT"), Entity(4, 8, "PATIENT")]) == (1, 2)


def counts(*found, mentions=10):
    return np.array([[n, mentions] for n in found], dtype=np.int64)


def test_groups_are_compared_with_all_and_with_each_other():
    result = compare({"a": counts(10, 10), "b": counts(10, 5), "c": counts(10, 8)}, 200, 0)
    assert result["groups"]["a"]["recall"]["value"] == 1.0
    assert result["groups"]["b"]["difference"]["value"] == pytest.approx(15 / 20 - 53 / 60)
    assert len(result["pairs"]) == 3
    assert (result["largest"]["higher"], result["largest"]["lower"]) == ("a", "b")
    assert result["largest"]["difference"]["value"] == pytest.approx(0.25)
    low, high = result["largest"]["difference"]["ci"]
    assert low <= 0.25 <= high


def test_the_interval_is_of_pairs_a_difference_that_all_contexts_have_has_no_width():
    result = compare({"a": counts(10, 6, 3), "b": counts(9, 5, 2)}, 200, 0)
    low, high = result["largest"]["difference"]["ci"]
    assert low == pytest.approx(0.1)
    assert high == pytest.approx(0.1)


def test_the_interval_of_the_largest_difference_is_that_of_the_largest_and_not_of_one_pair():
    table = {"a": counts(10, 0, 5), "b": counts(0, 10, 5), "c": counts(5, 5, 5)}
    result = compare(table, 500, 0)
    assert result["largest"]["difference"]["value"] == 0
    low, high = result["largest"]["difference"]["ci"]
    assert low >= 0
    assert high == pytest.approx(1)
    assert min(pair["difference"]["ci"][0] for pair in result["pairs"]) < 0


def test_sexes_are_compared_on_the_names_of_the_origin_groups():
    results = [
        (swap(pool, axis, sex, context), (2 if sex == "female" else 1, 2))
        for axis, pool in (("origin", "spanish"), ("origin", "chinese"), ("decade", "1930s"), ("decade", "2010s"))
        for sex in ("female", "male")
        for context in (0, 1)
    ]
    result = measure(results, 2, bootstrap=50)
    assert set(result) == set(AXES)
    assert result["sex"]["groups"]["female"]["mentions"] == 8
    assert result["sex"]["largest"]["difference"]["value"] == pytest.approx(0.5)
    assert result["origin"]["largest"]["difference"]["value"] == 0


def test_rows_have_the_target_and_the_table_every_group():
    groups = {"a": counts(10, 9), "b": counts(9, 9)}
    result = {axis: compare(groups, 50, 0) for axis in AXES}
    rows = make_rows(result, lang="es", names="listed", n=2, seed=1, command="c", date="2026-01-01")
    assert rows[0].name == "largest recall difference between two origin groups"
    assert (rows[0].target, rows[0].better, rows[0].met) == (0.01, "lower", False)
    assert len({(row.name, row.split) for row in rows if "largest" in row.name}) == 9
    table = format_fairness(result)
    assert all(kind in table for kind in AXES.values())
    assert "largest difference: +0.0500" in table
