"""An adaptation with a held-out part, operating points that keep their recall, and the figures of the comparison."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import spacy_deid
from spacy_deid.adaptation import adapt as adaptation
from spacy_deid.adaptation import notes as replayed
from spacy_deid.adaptation.adapt import Settings, adapt, count_steps, keep_recall
from spacy_deid.adaptation.report import format_report
from spacy_deid.adaptation.training import Plan
from spacy_deid.evaluation import read_folder
from spacy_deid.evaluation.sweep import Counts

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample" / "train"


def test_many_notes_are_measured_on_a_quarter_that_is_not_trained_on(monkeypatch):
    monkeypatch.setattr(adaptation, "FEW", 24)
    monkeypatch.setattr(adaptation, "_TRIED", (0.5, 0.05))
    monkeypatch.setattr(replayed, "SYNTHETIC_NOTES", 10)
    nlp = spacy_deid.load("es")
    ner = nlp.get_pipe("deid_ner")
    ner.set_threshold(0.999999)
    ner.cfg["points"] = {}
    notes = read_folder(SAMPLE, scheme="meddocan")
    steps = []
    settings = Settings(Plan(steps=1), bootstrap=0)
    result = adapt(nlp, notes, replayed.make_replay("es", dev=2), settings, lambda: steps.append(1))
    report = result.report
    assert report["notes"]["method"] == "held out"
    assert (report["notes"]["given"], report["notes"]["measured"]) == (24, 6)
    assert len(steps) == count_steps(24, settings) == 1
    assert report["operating_point"] == ner.operating_point == "balanced"
    assert result.refusal == ""
    assert report["points"]["balanced"]["notes"]["character_recall"]["difference"]["interval"] is None
    assert "(held out)" in format_report(report)


def test_the_steps_of_cross_fitting_are_those_of_all_parts():
    assert count_steps(20, Settings()) == 4 * 160 + 180
    assert count_steps(21, Settings()) == 3 * 164 + 160 + 184


def table_of(recalls):
    """A sweep over one document with ten letters to find, of which each threshold finds some, all of them right."""

    def count(point):
        found = recalls[point["default"]]
        total = np.array([[0, 0, 0, found, 0, 10 - found, 0, 1, 1, 1]])
        return Counts(total, np.zeros((1, 0, 4), np.int64), np.zeros((1, 0, 0), np.int64))

    return SimpleNamespace(thresholds=sorted(recalls, reverse=True), sweep=SimpleNamespace(count=count))


@pytest.mark.parametrize(("wanted", "default"), [(0.5, 0.5), (0.6, 0.2), (0.9, 0.1), (1.0, 0.1), (float("nan"), 0.5)])
def test_thresholds_are_lowered_until_the_recall_is_kept(wanted, default):
    point = {"default": 0.5, "labels": {}, "figures": {}}
    kept = keep_recall(table_of({0.5: 5, 0.2: 7, 0.1: 9}), point, point, 1, wanted)
    assert kept["default"] == default
    assert kept["labels"] == {}


def test_no_threshold_is_above_that_of_the_point_before():
    point, above = ({"default": d, "labels": labels, "figures": {}} for d, labels in ((0.5, {"AGE": 0.6}), (0.2, {})))
    kept = keep_recall(table_of({0.5: 5, 0.2: 7, 0.1: 9}), point, above, 1, 0.0)
    assert kept["default"] == 0.2
    assert kept["labels"] == {}
