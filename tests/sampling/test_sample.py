"""Allocation of notes to strata, and periods of dates."""

from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.sampling.sample import UNDATED, Group, allocate, make_period


def groups(*pairs):
    return [Group(str(i), "", documents, words) for i, (documents, words) in enumerate(pairs)]


def test_long_notes_weigh_more_than_many_short_ones():
    made = groups((1000, 2_000), (100, 80_000))
    allocate(made, 50)
    assert [group.weight for group in made] == [2_000, 80_000]
    assert [group.planned for group in made] == [10, 49]


def test_small_groups_give_at_least_k_and_tiny_ones_all():
    made = groups((1000, 900_000), (30, 30), (3, 3))
    allocate(made, 100)
    assert [group.planned for group in made] == [100, 10, 3]


def test_what_a_group_cannot_give_the_others_do():
    made = groups((20, 100_000), (1000, 10_000), (1000, 30_000))
    allocate(made, 100)
    assert [group.planned for group in made] == [20, 20, 60]


def test_the_example_of_the_paper_is_weighted_by_the_logarithm():
    made = groups((12_700_000, int(12_700_000 * 1.99)), (3_700_000, 3_700_000 * 794))
    allocate(made, 10_000, weighting="log-words")
    assert 10.7e6 < made[1].weight < 10.8e6
    assert made[0].weight < made[1].weight


def test_an_unknown_weighting_is_refused():
    with pytest.raises(ConfigError, match="unknown weighting"):
        allocate(groups((1, 1)), 1, weighting="x")


SIZES = st.lists(st.tuples(st.integers(1, 500), st.integers(0, 1000)), min_size=1, max_size=30)


@settings(deadline=None)
@given(SIZES, st.integers(1, 2000), st.integers(0, 20))
def test_the_promises_of_an_allocation_hold(pairs, size, least):
    made = groups(*((documents, documents * mean) for documents, mean in pairs))
    allocate(made, size, least)
    assert all(min(least, g.documents) <= g.planned <= g.documents for g in made)
    weighty = sum(group.documents for group in made if group.weight)
    assert sum(group.planned for group in made) >= min(size, weighty)
    slack = sum(max(least, 1) for _ in made)
    assert sum(group.planned for group in made) <= size + slack


@pytest.mark.parametrize(
    ("period", "name"),
    [
        ("year", "2019"),
        ("half", "2019-H2"),
        ("quarter", "2019-Q3"),
        ("month", "2019-07"),
        ("4", "2016-2019"),
        ("1", "2019"),
    ],
)
def test_periods(period, name):
    find = make_period(period)
    for day in (date(2019, 7, 3), datetime(2019, 7, 3, 12), "2019-07-03", " 2019-07-03T10:00:00 "):
        assert find(day) == name


@pytest.mark.parametrize("value", [None, "", "3.7.2019", "2019-13-01", 20190703, b"2019-07-03"])
def test_what_is_no_date_is_undated(value):
    assert make_period("year")(value) == UNDATED


def test_dates_of_another_format_are_read_by_it():
    assert make_period("month", "%d.%m.%Y")("03.07.2019") == "2019-07"


@pytest.mark.parametrize("period", ["weeks", "0", "-1", "1000", "4.5", ""])
def test_an_unknown_period_is_refused(period):
    with pytest.raises(ConfigError, match="unknown period"):
        make_period(period)
