"""Operating points of the shipped Spanish pipeline on the sample notes: every figure is that of the whole pipeline."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spacy_deid
from spacy_deid.errors import ConfigError
from spacy_deid.evaluation import AnnotatedText, evaluate, from_doc, read_folder
from spacy_deid.evaluation.constraints import bounded_risk, control_point, control_risk, needed_documents, recall_point
from spacy_deid.evaluation.operating_points import (
    fit_points,
    measure,
    operating_curve,
    write_operating_curve,
)
from spacy_deid.evaluation.plots import plot_operating_curve
from spacy_deid.evaluation.sweep import THRESHOLDS, Sweep, decide, detect, left_out, summarize, take_apart

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample"


@pytest.fixture(scope="module")
def gold():
    notes = read_folder(SAMPLE / "dev", scheme="meddocan") + read_folder(SAMPLE / "train", scheme="meddocan")
    assert len(notes) > 20
    return notes


@pytest.fixture(scope="module")
def nlp():
    return spacy_deid.load("es")


@pytest.fixture(scope="module")
def table(nlp, gold):
    return measure(Sweep(nlp, gold, "meddocan"), THRESHOLDS[::4])


def run(nlp, gold, point):
    """The same point, by the whole pipeline, note by note."""
    ner, before = nlp.get_pipe("deid_ner"), nlp.get_pipe("deid_ner").threshold
    ner.set_threshold({"default": point["default"], **point["labels"]})
    try:
        return [from_doc(nlp(document.text), document.name) for document in gold]
    finally:
        ner.set_threshold(before)


@pytest.mark.parametrize(
    "point", [{"default": 0.4, "labels": {}}, {"default": 0.9, "labels": {"TERRITORY": 0.01, "DATE": 0.2}}]
)
def test_a_sweep_counts_what_the_whole_pipeline_finds(nlp, gold, table, point):
    figures = summarize(table.sweep.count(point))
    scores = evaluate(gold, run(nlp, gold, point), scheme="meddocan", bootstrap=0)["all"]
    assert figures["strict_f1"] == pytest.approx(scores["ner"]["f1"], abs=1e-5)
    assert figures["character_recall"] == pytest.approx(scores["character"]["recall"], abs=1e-5)
    assert figures["character_precision"] == pytest.approx(scores["character"]["precision"], abs=1e-5)
    assert figures["clean"] == pytest.approx(scores["clean"]["share"], abs=1e-5)


def test_recall_never_falls_as_the_threshold_does(table):
    rows = operating_curve(table)
    assert [row["threshold"] for row in rows] == sorted(THRESHOLDS[::4], reverse=True)[: len(rows)]
    for key, sign in (("character_recall", 1), ("clean", 1), ("missed", -1)):
        assert np.all(sign * np.diff([row[key] for row in rows]) >= 0)
    assert rows[0]["character_recall"] < rows[-1]["character_recall"]


@pytest.mark.filterwarnings("ignore::spacy_deid.evaluation.operating_points.PointWarning")
def test_named_points_keep_their_rules(table):
    rows, points = [row for row in operating_curve(table) if row["threshold"] <= 0.5], fit_points(table)
    figures = {name: point["figures"] for name, point in points.items()}
    assert figures["balanced"]["strict_f1"] > max(row["strict_f1"] for row in rows) - 0.001
    thresholds = [points[name]["default"] for name in ("balanced", "high_recall", "max_recall")]
    assert thresholds == sorted(thresholds, reverse=True)
    for name, floor in (("high_recall", 0.9), ("max_recall", 0.8)):
        kept = [r for r in rows if r["character_precision"] >= floor and r["threshold"] <= thresholds[0]]
        assert not kept or figures[name]["character_precision"] >= floor
        key = "clean" if name == "high_recall" else "character_recall"
        assert not kept or figures[name][key] == max(row[key] for row in kept)


@pytest.mark.filterwarnings("ignore::spacy_deid.evaluation.operating_points.PointWarning")
def test_balanced_goes_as_low_as_a_precision_allows(table):
    rows = [row for row in operating_curve(table) if row["threshold"] <= 0.5]
    wanted = rows[len(rows) // 2]["character_precision"]
    point = fit_points(table, wanted - 1e-5)["balanced"]  # rows are rounded to five places
    assert point["default"] <= rows[len(rows) // 2]["threshold"]
    assert point["figures"]["character_precision"] >= wanted - 1e-5
    assert fit_points(table, 0.9999999)["balanced"] == fit_points(table)["balanced"]


def test_the_surest_threshold_with_the_wanted_recall_is_taken(table):
    rows = operating_curve(table)
    wanted = rows[len(rows) // 2]["character_recall"] - 1e-5  # rows are rounded to five places
    point = recall_point(table, wanted)
    assert point["default"] == next(r["threshold"] for r in rows if r["character_recall"] >= wanted)


def test_a_recall_per_label_is_reached_by_every_label(table):
    wanted = 0.9
    point = recall_point(table, wanted, per_label=True)
    counts = table.sweep.count(point)
    due, missed = counts.labels[:, :, 0].sum(axis=0), counts.labels[:, :, 1].sum(axis=0)
    assert due.sum() > 0
    assert np.all(1 - missed[due > 0] / due[due > 0] >= wanted)
    assert len(set(point["labels"].values()) | {point["default"]}) > 1


def test_a_risk_is_bounded_on_the_development_set(table, gold):
    point = control_point(table, 0.3)
    n = len(gold)
    assert n / (n + 1) * point["figures"]["missed"] + 1 / (n + 1) <= 0.3 + 1e-5
    assert control_point(table, 0.3, loss="character")["default"] >= point["default"]


def test_too_small_a_development_set_says_how_many_documents_are_needed(table, gold):
    with pytest.raises(ConfigError, match=f"got {len(gold)}, need at least 99"):
        control_point(table, 0.01)


def test_what_no_threshold_reaches_is_refused_with_the_best_there_is(table):
    with pytest.raises(
        ConfigError, match=r"no threshold reaches a character recall of 0.9999999: the best on these \d+ document"
    ):
        recall_point(measure(table.sweep, [0.95]), 0.9999999)
    with pytest.raises(ConfigError, match="no threshold reaches"):
        control_point(measure(table.sweep, [0.99999]), 1 / len(table.sweep.gold))


def test_a_corpus_without_entities_has_no_recall_and_does_not_crash(nlp):
    table = measure(Sweep(nlp, [AnnotatedText("a", "Hemoglobina normal.")]), [0.9, 0.5])
    assert [row["character_recall"] for row in operating_curve(table)] == [None, None]
    assert fit_points(table)["balanced"]["default"] == 0.5


def test_leaving_a_detector_out_takes_its_detections_away_and_gives_them_back(nlp, gold):
    stages = take_apart(nlp)
    docs = detect(nlp, [document.text for document in gold[:3]], stages)
    before = [decide(nlp, doc, stages).spans["deid/merged"].attrs for doc in docs]
    with left_out(nlp, docs, stages, ["deid_ner"]):
        assert all("deid/ner" not in decide(nlp, doc, stages).spans for doc in docs)
    assert [decide(nlp, doc, stages).spans["deid/merged"].attrs for doc in docs] == before


@pytest.mark.filterwarnings("ignore::spacy_deid.evaluation.operating_points.PointWarning")
def test_curves_are_written_without_a_word_of_a_note(table, gold, tmp_path):
    path = write_operating_curve(tmp_path / "curves", operating_curve(table), fit_points(table))
    data = json.loads(path.read_text())
    assert set(data) == {"points", "rows"}
    assert "NOMBRE_SUJETO_ASISTENCIA" in data["rows"][0]["labels"]
    entities = {document.text[e.start : e.end] for document in gold for e in document.entities}
    assert not [text for text in entities if len(text) > 5 and text in path.read_text()]


@pytest.mark.filterwarnings("ignore::spacy_deid.evaluation.operating_points.PointWarning")
def test_a_picture_is_drawn(table, tmp_path):
    pytest.importorskip("matplotlib")
    assert (
        plot_operating_curve(tmp_path, operating_curve(table), fit_points(table)).read_bytes().startswith(b"\x89PNG")
    )


def test_without_matplotlib_the_error_says_how_to_get_it(table, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(ConfigError, match=r"pip install 'spacy-deid\[plots\]'"):
        plot_operating_curve(tmp_path, operating_curve(table), {})


# ---------------------------------------------------------------- conformal risk control


@pytest.mark.parametrize(("alpha", "needed"), [(0.5, 1), (0.1, 9), (0.05, 19), (0.01, 99), (0.001, 999), (0.03, 33)])
def test_as_many_documents_are_needed_as_the_inequality_says(alpha, needed):
    assert needed_documents(alpha) == needed
    assert 1 / (needed + 1) <= alpha + 1e-12
    assert needed == 1 or 1 / needed > alpha


def test_too_few_documents_are_refused_with_the_number_that_is_needed():
    with pytest.raises(ConfigError, match=r"too few documents for a risk bound of 0.05: got 18, need at least 19"):
        control_risk(np.zeros((3, 18)), 0.05)
    assert control_risk(np.zeros((3, 19)), 0.05) == 0


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2])
def test_a_bound_that_is_no_share_is_refused(alpha):
    with pytest.raises(ConfigError, match="greater than 0 and less than 1"):
        needed_documents(alpha)


def test_the_smallest_setting_that_keeps_the_bound_is_taken():
    losses = np.zeros((4, 99))
    losses[0, :20], losses[1, :9], losses[2, :5] = 1.0, 1.0, 1.0
    assert bounded_risk(losses) == pytest.approx([0.21, 0.10, 0.06, 0.01])
    assert [control_risk(losses, alpha) for alpha in (0.5, 0.1, 0.06, 0.02)] == [0, 1, 2, 3]


def test_no_setting_is_none():
    assert control_risk(np.ones((2, 50)), 0.1) is None


def test_a_loss_that_rises_again_counts_as_if_it_had_not_fallen():
    losses = np.zeros((3, 99))
    losses[0, :20], losses[2, :20] = 1.0, 1.0
    assert control_risk(losses, 0.1) is None


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=20, max_size=30), st.floats(0.06, 0.9))
def test_the_bound_holds_from_the_chosen_setting_on(documents, alpha):
    losses = np.array(documents).T
    chosen = control_risk(losses, alpha)
    risks = bounded_risk(losses)
    assert np.all(np.diff(risks) <= 1e-12)
    assert chosen is None or np.all(losses[chosen:].mean(axis=1) <= alpha)


def test_the_expected_loss_on_a_new_document_keeps_the_bound():
    """Theorem 1 by simulation: document hardness is uniform, setting k misses what is harder than it reaches."""
    generator, settings, alpha, runs = np.random.default_rng(1), np.linspace(0.5, 1.0, 51), 0.1, 2000
    total = 0.0
    for _ in range(runs):
        hardness = generator.uniform(size=41)
        losses = (hardness[None, :] > settings[:, None]).astype(float)
        chosen = control_risk(losses[:, :40], alpha)
        total += losses[chosen, 40]
    assert 0.05 < total / runs <= alpha + 2 * np.sqrt(alpha / runs)
