"""Plans of reviews, and the bound on the notes that still leak."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.audit.review_plan import Stratum, count_strata, find_status, make_strata, plan_review

RISKS = [i / 1000 for i in range(1000)]


def test_strata_are_ordered_by_risk():
    strata = make_strata(RISKS)
    assert [int((strata == number).sum()) for number in range(4)] == [500, 300, 150, 50]
    assert sorted(strata) == list(strata)


def test_groups_divide_the_strata():
    strata = make_strata(RISKS, ["letter", "note"] * 500)
    assert strata.max() == 7
    assert len({(group, stratum) for group, stratum in zip(["letter", "note"] * 500, strata, strict=True)}) == 8


def test_batches_double_and_take_more_of_the_notes_at_risk():
    strata = make_strata(RISKS)
    chosen = plan_review(strata, RISKS, 400)
    sizes = [sum(one.batch == batch for one in chosen) for batch in (1, 2, 3)]
    assert sizes == pytest.approx([100, 100, 200], abs=15)
    assert len({one.note for one in chosen}) == len(chosen)
    shares = [sum(one.stratum == number for one in chosen) / (strata == number).sum() for number in range(4)]
    assert shares[3] > shares[0]
    first = [RISKS[one.note] for one in chosen if one.batch == 1]
    assert first == sorted(first, reverse=True)


def test_all_notes_can_be_planned():
    assert len(plan_review(make_strata(RISKS[:30]), RISKS[:30], 1000)) == 30
    assert plan_review(make_strata([]), [], 10) == []


def test_without_leaks_the_bound_is_the_exact_limit():
    # With no leak among 59 of 10,000 notes, the limit of 97.5 % is about 1 - .025 ** (1 / 59).
    done = find_status([Stratum(10_000, 59, 0)])
    assert done.share == 0
    assert done.level == 0.975
    assert done.upper == pytest.approx(1 - 0.025 ** (1 / 59), rel=0.03)


def test_a_review_of_all_notes_leaves_no_leak():
    assert find_status([Stratum(50, 50, 9), Stratum(10, 10, 10)]).upper == 0


def test_notes_of_a_stratum_that_nobody_looked_at_may_all_leak():
    done = find_status([Stratum(90, 90, 0), Stratum(10, 0, 0)])
    assert (done.share, done.upper) == (0.1, 0.1)


def test_later_looks_have_a_higher_level():
    one, three = (find_status([Stratum(1000, 200, 5)], looks) for looks in (1, 3))
    assert one.upper < three.upper
    assert 1 - three.level == pytest.approx(0.05 / 12)


STRATUM = st.tuples(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60)).map(
    lambda t: Stratum(t[0], min(t[1], t[0]), min(t[2], t[1], t[0]))
)


@settings(deadline=None, max_examples=30)
@given(st.lists(STRATUM, min_size=1, max_size=4))
def test_the_bound_is_a_share_of_the_notes_that_nobody_reviewed(strata):
    done = find_status(strata)
    assert 0 <= done.upper <= (done.notes - done.reviewed) / done.notes + 1e-12
    assert 0 <= done.share <= 1


def test_the_bound_holds_in_simulated_reviews():
    rng = np.random.default_rng(3)
    truth = rng.random(1000) < np.repeat([0.01, 0.05, 0.1, 0.4], [500, 300, 150, 50])
    strata, held = make_strata(RISKS), 0
    for seed in range(100):
        seen = {one.note for one in plan_review(strata, RISKS, 200, seed)}
        counts = []
        for number in range(4):
            members = np.flatnonzero(strata == number)
            looked = [note for note in members if note in seen]
            counts.append(Stratum(len(members), len(looked), int(truth[looked].sum())))
        left = truth.sum() - truth[list(seen)].sum()
        held += find_status(counts, 2).upper >= left / 1000
    assert held >= 95


def test_only_complete_batches_count():
    plan = [{"id": "a", "stratum": 0, "batch": 1}, {"id": "b", "stratum": 1, "batch": 1}]
    plan.append({"id": "c", "stratum": 1, "batch": 2})
    plan.append({"id": "d", "stratum": 1, "batch": 2})
    counts, batches = count_strata(plan, [5, 6], {"a": True, "b": False, "c": True})
    assert batches == 1
    assert counts == [Stratum(5, 1, 1), Stratum(6, 1, 0)]
    assert count_strata(plan, [5, 6], {}) == ([Stratum(5, 0, 0), Stratum(6, 0, 0)], 0)
