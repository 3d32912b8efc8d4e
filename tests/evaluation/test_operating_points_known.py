"""Operating points where the best is known: 100 made documents with entities of a known probability."""

import warnings
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts import ship
from spacy_deid.errors import ConfigError
from spacy_deid.evaluation.constraints import bounded_risk, control_point, recall_point
from spacy_deid.evaluation.operating_points import (
    FLOORS,
    fit_points,
    highest_f1,
    measure,
)
from spacy_deid.evaluation.sweep import THRESHOLDS, Counts, summarize

LABELS = ["DATE", "PATIENT", "RELATIVE"]
NAMES = ("balanced", "high_recall", "max_recall")
DOCUMENTS = 100


@dataclass(frozen=True)
class Candidate:
    """What may be covered: it is from the threshold of its label that its probability reaches."""

    label: str
    probability: float
    gold: bool = True
    letters: int = 10


class Made:
    """A corpus of candidates, counted as `Sweep` counts a pipeline on notes."""

    def __init__(self, documents):
        self.gold, self.labels = documents, LABELS
        self.ner = SimpleNamespace(labels=LABELS)

    def count(self, point):
        kinds = {tuple(document): self._count(document, point) for document in dict.fromkeys(map(tuple, self.gold))}
        rows = [kinds[tuple(document)] for document in self.gold]
        return Counts(*(np.array(part, dtype=np.int64) for part in zip(*rows, strict=True)))

    def _count(self, document, point):
        labels, blame, total = np.zeros((3, 4)), np.zeros((3, 3)), np.zeros(10)
        for one in document:
            k, found = LABELS.index(one.label), one.probability >= point["labels"].get(one.label, point["default"])
            total[[0, 3] if one.gold and found else [1, 4]] += np.array([1, one.letters]) * (one.gold or found)
            if one.gold and not found:
                total[[1, 4]] -= [1, one.letters]
                total[[2, 5]] += [1, one.letters]
                blame[k, k] += one.letters
            if one.gold:
                labels[k] += [one.letters, 0 if found else one.letters, 1, int(not found)]
        total[6:] = [total[3] > 0 and total[5] == 0, total[5] > 0, labels[:, 2].sum(), labels[:, 3].sum()]
        return total, labels, blame


def corpus(*groups):
    """Documents with one sure entity each; a group is (candidate, how many documents have it), from the first on."""
    documents = [[Candidate("PATIENT", 0.999)] for _ in range(DOCUMENTS)]
    for candidate, number in groups:
        for document in documents[:number]:
            document.append(candidate)
    return Made(documents)


def threshold(point, label):
    return point["labels"].get(label, point["default"])


def monotone(points):
    found = [[threshold(points[name], label) for label in [*LABELS, "OTHER"]] for name in NAMES]
    return max(found[0]) <= 0.5 and all(np.all(np.diff(column) <= 0) for column in np.transpose(found))


EVEN = THRESHOLDS[5::3]
DOUBTFUL = Candidate("RELATIVE", 0.6, gold=False)


def test_no_named_point_is_surer_than_even():
    points = fit_points(measure(corpus((DOUBTFUL, 3), (Candidate("DATE", 0.45), 9))))
    assert monotone(points)
    assert points["balanced"]["default"] <= 0.5


def test_each_label_takes_the_threshold_where_it_does_most_good():
    sweep = corpus((Candidate("DATE", 0.22), 40), (Candidate("RELATIVE", 0.22, gold=False), 40))
    point = fit_points(measure(sweep))["balanced"]
    assert threshold(point, "DATE") <= 0.2 < threshold(point, "RELATIVE")
    assert point["figures"]["strict_f1"] == 1.0
    assert point["figures"]["clean"] == 1.0


def test_a_label_pays_for_another_only_up_to_the_point_above():
    """RELATIVE would have to be surer than balanced for DATE to reach the rest: it must not."""
    sweep = corpus((Candidate("RELATIVE", 0.4), 60), (DOUBTFUL, 3), (Candidate("DATE", 0.01), 30))
    points = fit_points(measure(sweep))
    assert monotone(points)
    assert threshold(points["high_recall"], "DATE") <= 0.01
    assert threshold(points["high_recall"], "RELATIVE") <= threshold(points["balanced"], "RELATIVE") <= 0.4


def test_equal_f1_goes_to_the_notes_with_nothing_missed():
    """At .1 as many entities more are right as wrong in F1: 10 found for 10 that are none."""
    tie = corpus((Candidate("DATE", 0.3, letters=1), 1), (Candidate("DATE", 0.3, gold=False, letters=1), 1))
    rows = {t: summarize(tie.count({"default": t, "labels": {}})) for t in (0.5, 0.28)}
    assert abs(rows[0.5]["strict_f1"] - rows[0.28]["strict_f1"]) < 0.001
    assert rows[0.28]["clean"] > rows[0.5]["clean"]
    assert fit_points(measure(tie))["balanced"]["default"] == 0.28


def test_a_tiny_gain_of_f1_pays_for_no_note():
    groups = (Candidate("DATE", 0.3), 1), (Candidate("DATE", 0.3, gold=False), 1)
    sure = [[Candidate("PATIENT", 0.999)] * 20 for _ in range(DOCUMENTS)]
    for candidate, _ in [*groups, groups[1]]:
        sure[0].append(candidate)
    sweep = Made(sure)
    above, below = (summarize(sweep.count({"default": t, "labels": {}})) for t in (0.5, 0.28))
    assert 0 < above["strict_f1"] - below["strict_f1"] < 0.001
    assert below["clean"] == 1.0 > above["clean"]
    assert fit_points(measure(sweep))["balanced"]["figures"]["clean"] == 1.0


def test_a_clear_gain_of_f1_is_taken():
    sweep = corpus((Candidate("DATE", 0.3), 1), (Candidate("DATE", 0.3, gold=False), 30))
    assert threshold(fit_points(measure(sweep))["balanced"], "DATE") > 0.3


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.builds(
                Candidate,
                st.sampled_from(LABELS),
                st.sampled_from([0.8, 0.6, 0.4, 0.3, 0.15, 0.07, 0.02, 0.004]),
                st.booleans(),
                st.integers(1, 20),
            ),
            st.integers(1, 60),
        ),
        max_size=6,
    )
)
def test_points_are_monotone_by_label_and_keep_their_floors(groups):
    table = measure(corpus(*groups), EVEN)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if summarize(table.counts[-1])["character_precision"] < 0.5 and table.thresholds[-1] >= max(EVEN):
            with pytest.raises(ConfigError, match="incomplete"):
                fit_points(table)
            return
        points = fit_points(table)
    assert monotone(points)
    said = " ".join(str(w.message) for w in caught)
    for name, floor in FLOORS.items():
        assert points[name]["figures"]["character_precision"] >= floor or f"'{name}'" in said
    for key in ("clean", "character_recall"):
        values = [points[name]["figures"][key] for name in NAMES]
        assert values == sorted(values)


def test_the_sweep_never_stops_above_even():
    table = measure(corpus((Candidate("DATE", 0.999, gold=False), 100), (Candidate("DATE", 0.999, gold=False), 100)))
    assert table.thresholds[-1] == 0.5
    assert len(table.thresholds) == sum(t >= 0.5 for t in THRESHOLDS)


def test_a_precision_of_zero_stops_the_sweep():
    documents = [[Candidate("DATE", 0.999, gold=False), Candidate("PATIENT", 0.00002)] for _ in range(DOCUMENTS)]
    assert measure(Made(documents)).thresholds[-1] == 0.5


def test_gold_that_lacks_what_is_found_is_refused():
    sweep = corpus((Candidate("DATE", 0.999, gold=False), 100), (Candidate("DATE", 0.999, gold=False), 100))
    with pytest.raises(ConfigError, match=r"gold annotations seem incomplete: .* only 0\.3333 .* 100 document"):
        fit_points(measure(sweep))


def test_a_floor_that_is_not_reached_is_said_and_the_point_is_that_above():
    sweep = corpus((Candidate("DATE", 0.999, gold=False), 30))
    with pytest.warns(UserWarning, match=r"'(high|max)_recall'.*gold annotations may be incomplete") as caught:
        points = fit_points(measure(sweep))
    assert len(caught) == 2
    assert len({(points[name]["default"], *points[name]["labels"]) for name in NAMES}) == 1
    assert monotone(points)


EARLY = [(Candidate("DATE", 0.3), 100), (Candidate("PATIENT", 0.04), 20), (Candidate("RELATIVE", 0.004), 20)]


@pytest.mark.parametrize(("alpha", "loss"), [*product((0.05, 0.1, 0.2), ("entity", "character"))])
def test_the_bound_holds_for_all_and_for_each_label(alpha, loss):
    sweep = corpus(*EARLY)
    table = measure(sweep)
    whole, point = (control_point(table, alpha, loss=loss, per_label=split) for split in (False, True))
    assert all(threshold(point, label) <= whole["default"] for label in LABELS)
    total = sweep.count(point).total
    missed, due = (total[:, 9], total[:, 8]) if loss == "entity" else (total[:, 5], total[:, 3] + total[:, 5])
    risk = ((missed / due).sum() + 1) / (DOCUMENTS + 1)
    assert risk <= alpha + 1e-9
    assert point["figures"]["risk_bound"] == pytest.approx(risk, abs=1e-5)


def test_a_label_that_keeps_its_bound_early_is_no_surer_than_all():
    """DATE alone would be content with .95; together the labels would miss more than the bound."""
    sweep = corpus((Candidate("DATE", 0.6), 9), (Candidate("PATIENT", 0.55), 9), (Candidate("RELATIVE", 0.52), 9))
    table = measure(sweep)
    whole = control_point(table, 0.02)
    assert threshold(control_point(table, 0.02, per_label=True), "DATE") <= whole["default"]


@pytest.mark.parametrize(("documents", "has_own"), [(4, False), (20, True)])
def test_a_label_needs_enough_documents_for_a_threshold_of_its_own(documents, has_own):
    # A bound of 0.1 needs 9 documents. At the threshold for all labels, 0.28, every RELATIVE is missed.
    sweep = corpus((Candidate("DATE", 0.3), 40), (Candidate("RELATIVE", 0.004), documents))
    point = control_point(measure(sweep), 0.1, per_label=True)
    assert point["default"] == 0.28
    assert (threshold(point, "RELATIVE") <= 0.004) == has_own
    assert threshold(point, "DATE") == 0.28


def test_the_figures_say_the_bound_that_is_kept():
    sweep = corpus(*EARLY)
    table = measure(sweep)
    point = control_point(table, 0.1)
    i = list(table.thresholds).index(point["default"])
    assert point["figures"]["risk_bound"] == pytest.approx(bounded_risk(table.losses("entity"))[i], abs=1e-5)
    assert point["figures"]["risk_bound"] <= point["figures"]["risk"] == 0.1


class Contrary(Made):
    """Where labels have thresholds of their own, what they find is thrown away again."""

    def count(self, point):
        return super().count({"default": 0.9999, "labels": {}} if point["labels"] else point)


@pytest.mark.parametrize("fit", [lambda table: control_point(table, 0.1, per_label=True)])
def test_a_bound_that_is_lost_when_labels_are_put_together_is_an_error(fit):
    with pytest.raises(ConfigError, match="no threshold reaches"):
        fit(measure(Contrary(corpus(*EARLY).gold)))


def test_a_recall_that_is_lost_when_labels_are_put_together_is_an_error():
    with pytest.raises(ConfigError, match="no threshold reaches"):
        recall_point(measure(Contrary(corpus(*EARLY).gold)), 0.95, per_label=True)


def test_a_label_stays_where_another_threshold_gains_little():
    assert highest_f1(corpus((Candidate("DATE", 0.22), 2)), 0.5, (0.35, 0.2)) == {}
    assert highest_f1(corpus((Candidate("DATE", 0.22), 20)), 0.5, (0.35, 0.2)) == {"DATE": 0.2}


def test_a_bound_stays_with_the_model_that_it_was_found_with():
    table = measure(corpus(*EARLY))
    points = {"balanced": fit_points(table)["balanced"], "risk": control_point(table, 0.1)}
    shipped, measured = spacy.blank("es"), spacy.blank("es")
    for nlp in (shipped, measured):
        nlp.add_pipe("deid_ner")
    measured.get_pipe("deid_ner").cfg["points"] = points
    ship.take_points(shipped, measured)
    assert list(shipped.get_pipe("deid_ner").cfg["points"]) == ["balanced"]
    assert list(measured.get_pipe("deid_ner").cfg["points"]) == ["balanced", "risk"]
