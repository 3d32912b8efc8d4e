"""Leak rates and their intervals, from counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.audit.estimate import FacetTotals, estimate, wilson
from spacy_deid.audit.search import ALL, Tally


def patients(count, notes=1, hits=0, draws=5, others=0, hit_draws=0, shared=0, **counts):
    row = Tally(notes, hits, draws, others, hit_draws, shared, **counts)
    return np.array([row] * count, dtype=np.int64)


def width(rate):
    return rate.interval[1] - rate.interval[0]


def test_without_chance_hits_the_rate_is_the_share_of_notes_with_a_hit():
    counts = np.concatenate([patients(10, hits=1, hit_draws=5), patients(90)])
    rate = estimate(counts)
    assert (rate.notes, rate.hits, rate.patients) == (100, 10, 100)
    assert rate.leak_rate == rate.observed == 0.1
    assert rate.expected == 0
    assert rate.design_effect == pytest.approx(1, abs=0.02)
    assert rate.interval == pytest.approx([0.0552, 0.1744], abs=2e-3)


def test_chance_hits_are_not_counted_as_leaks():
    rate = estimate(np.concatenate([patients(20, hits=1, others=1, hit_draws=5), patients(80, others=1)]))
    assert rate.observed == pytest.approx(0.2)
    assert rate.expected == pytest.approx(0.2)
    assert rate.leak_rate == 0
    assert rate.interval[0] == 0


def test_a_shared_identifier_is_not_counted_as_a_chance_hit():
    # One note in ten leaks a town in which every other patient lives, and there is no chance.
    leaking, rest = patients(100, hits=1, draws=10, others=5, hit_draws=10, shared=5), patients(900, draws=10)
    assert estimate(np.concatenate([leaking, rest])).leak_rate == pytest.approx(0.1)


def test_nothing_is_subtracted_if_every_patient_has_the_identifier():
    rate = estimate(patients(10, hits=1, draws=5, others=5, hit_draws=5, shared=5))
    assert rate.leak_rate == 1


def test_no_hits_still_give_an_upper_bound():
    rate = estimate(patients(100))
    assert rate.leak_rate == 0
    assert rate.interval == [0, pytest.approx(0.037, abs=1e-3)]


def test_without_draws_the_chance_rate_is_unknown():
    rate = estimate(patients(10, hits=1, draws=0))
    assert rate.expected is None
    assert rate.leak_rate == 1


def test_notes_of_one_patient_widen_the_interval():
    alone = np.concatenate([patients(50, hits=1), patients(450)])
    together = np.concatenate([patients(5, notes=10, hits=10), patients(45, notes=10)])
    assert estimate(together).design_effect == pytest.approx(10, rel=0.05)
    assert width(estimate(together)) > 2 * width(estimate(alone))


def test_without_hits_the_notes_of_a_patient_are_one_observation():
    assert estimate(patients(100, notes=3)).design_effect == 3
    assert estimate(patients(100, notes=3)).interval[1] == estimate(patients(100)).interval[1]
    assert estimate(patients(1, notes=10, hits=5)).design_effect == 10


def test_misspelt_names_are_divided_by_the_sensitivity():
    # The search finds half of the planted names, and 5 % of the notes contain nothing but a misspelt name.
    rows = [
        patients(50, hits=1, near=1, planted=1, found=1),
        patients(450, planted=1, found=1),
        patients(500, planted=1),
    ]
    rate = estimate(np.concatenate(rows))
    assert rate.sensitivity == 0.5
    assert rate.observed == 0.05
    assert rate.leak_rate == pytest.approx(0.1, abs=1e-3)
    assert rate.interval[0] < 0.1 < rate.interval[1]


def test_an_uncertain_sensitivity_widens_the_interval():
    hits = np.concatenate([patients(100, hits=1, near=1), patients(900)])
    checked = [np.concatenate([hits, patients(n, planted=1, found=1), patients(n, planted=1)]) for n in (5, 500)]
    few, many = (
        estimate(np.concatenate([rows, patients(1010 - len(rows))]) if len(rows) < 1010 else rows) for rows in checked
    )
    assert few.sensitivity == many.sensitivity == 0.5
    assert few.design_effect > 2 * many.design_effect


def test_a_sensitivity_of_zero_does_not_divide():
    rate = estimate(np.concatenate([patients(5, hits=1, near=1, planted=1), patients(95, planted=1)]))
    assert rate.sensitivity == 0
    assert rate.leak_rate == 1


def test_chance_hits_widen_the_interval():
    hits = patients(10, hits=1, hit_draws=5)
    leaks = [np.concatenate([hits, patients(n, others=5), patients(90 - n)]) for n in (1, 5)]
    few, some = map(estimate, leaks)
    assert some.leak_rate < few.leak_rate
    assert some.design_effect > few.design_effect


def test_the_interval_holds_the_rate_of_simulated_audits():
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(300):
        leak = np.repeat(rng.random(200) < 0.1, 2).reshape(200, 2)  # patients leak both notes or none
        hits = (leak | (rng.random((200, 2)) < 0.05)).sum(axis=1)
        others = rng.binomial(10, 0.05, size=200)
        rows = np.array([Tally(2, h, 10, o, 5 * h) for h, o in zip(hits, others, strict=True)], dtype=np.int64)
        low, high = estimate(rows).interval
        held += low <= 0.1 <= high
    assert 0.92 <= held / 300 <= 0.98


@given(st.integers(0, 200), st.integers(1, 200))
def test_wilson_interval_contains_the_share(hits, notes):
    hits = min(hits, notes)
    low, high = wilson(hits, notes)
    assert 0 <= low <= hits / notes <= high <= 1 + 1e-12


TALLY = st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)).map(
    lambda t: Tally(t[0], min(t[1], t[0]), t[2] + t[4], min(t[3], t[2] + t[4]), t[4] if t[1] else 0, 0)
)


@settings(deadline=None)
@given(st.lists(TALLY, min_size=1, max_size=20))
def test_every_estimate_is_between_0_and_1(rows):
    rate = estimate(np.array(rows, dtype=np.int64))
    assert 0 <= rate.interval[0] <= rate.leak_rate <= rate.interval[1] <= 1
    assert rate.design_effect >= 1


LEAK, NONE = Tally(1, 1, 5, 0, 5, 0), Tally(1, 0, 5, 0, 0, 0)


def test_counts_of_a_patients_notes_are_summed():
    totals = FacetTotals(4)
    for patient, tally in ((0, LEAK), (0, NONE), (2, NONE), (2, NONE)):
        totals.add(patient, {ALL: tally})
    rate = totals.rates()[ALL]
    assert (rate.notes, rate.hits, rate.patients, rate.leak_rate) == (4, 1, 2, 0.25)


def test_many_patients_share_rows_and_give_the_same_rate(monkeypatch):
    rates = []
    for units in (10_000, 200):
        monkeypatch.setattr("spacy_deid.audit.estimate._UNITS", units)
        totals = FacetTotals(2000)
        for patient in range(2000):
            totals.add(patient, {ALL: LEAK if patient % 10 == 3 else NONE})
        rates.append(totals.rates()[ALL])
    alone, together = rates
    assert alone.leak_rate == together.leak_rate == 0.1
    assert alone.patients == together.patients == 2000


def test_shared_rows_keep_the_width_of_the_interval(monkeypatch):
    widths = []
    for units in (10_000, 500):
        monkeypatch.setattr("spacy_deid.audit.estimate._UNITS", units)
        totals = FacetTotals(5000)
        for patient in range(5000):
            totals.add(patient, {ALL: LEAK if patient * 7919 % 5003 < 500 else NONE})
        widths.append(width(totals.rates()[ALL]))
    assert widths[0] == pytest.approx(widths[1], rel=0.2)


def test_without_notes_there_is_nothing():
    totals = FacetTotals(3)
    assert len(totals) == 0
    assert totals.rates() == {}
