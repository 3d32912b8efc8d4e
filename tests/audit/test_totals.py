"""Counts by facet and patient."""

import pytest

from spacy_deid.audit.estimate import Totals
from spacy_deid.audit.search import ALL, Tally

LEAK, NONE = Tally(1, 1, 5, 0, 5, 0), Tally(1, 0, 5, 0, 0, 0)


def test_notes_of_a_patient_add_up():
    totals = Totals(4)
    for patient, tally in ((0, LEAK), (0, NONE), (2, NONE), (2, NONE)):
        totals.add(patient, {ALL: tally})
    rate = totals.rates(0, 0)[ALL]
    assert (rate.notes, rate.hits, rate.patients, rate.leak_rate) == (4, 1, 2, 0.25)


def test_many_patients_share_rows_and_give_the_same_rate(monkeypatch):
    rates = []
    for units in (10_000, 200):
        monkeypatch.setattr("spacy_deid.audit.estimate._UNITS", units)
        totals = Totals(2000)
        for patient in range(2000):
            totals.add(patient, {ALL: LEAK if patient % 10 == 3 else NONE})
        rates.append(totals.rates(400, 0)[ALL])
    alone, together = rates
    assert alone.leak_rate == together.leak_rate == 0.1
    assert alone.patients == together.patients == 2000


def test_shared_rows_keep_the_width_of_the_bootstrap(monkeypatch):
    widths = []
    for units in (10_000, 500):
        monkeypatch.setattr("spacy_deid.audit.estimate._UNITS", units)
        totals = Totals(5000)
        for patient in range(5000):
            totals.add(patient, {ALL: LEAK if patient * 7919 % 5003 < 500 else NONE})
        low, high = totals.rates(400, 0)[ALL].bootstrap
        widths.append(high - low)
    assert widths[0] == pytest.approx(widths[1], rel=0.2)


def test_without_notes_there_is_nothing():
    totals = Totals(3)
    assert len(totals) == 0
    assert totals.rates(10, 0) == {}
