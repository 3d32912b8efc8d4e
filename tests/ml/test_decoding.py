"""Operating points: one threshold or one for each label, by number or by name."""

import numpy as np
import pytest

from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.ml import crf
from spacy_deid.ml.decoding import (
    Calibration,
    choose_spans,
    decode_spans,
    expected_calibration_error,
    fit_calibration,
    make_point,
    named_points,
    read_posteriors,
)

B, E, S = 1, 3, 4  # tags of label 0


def emission(*rows):
    """One row of scores a token: {tag: score}, all else 0, O by default 5."""
    out = np.zeros((len(rows), crf.n_tags(2)), dtype=np.float32)
    out[:, 0] = 5.0
    for i, row in enumerate(rows):
        for tag, score in row.items():
            out[i, tag] = score
    return out


def spans(scores, threshold=0.5):
    return [span[:3] for span in decode_spans([scores], threshold, Calibration(), Calibration())[0]]


def test_best_path_gives_the_edges():
    assert spans(emission({}, {B: 12}, {E: 12}, {}, {S: 12})) == [(1, 3, 0), (4, 5, 0)]


def test_lower_threshold_adds_uncertain_tokens_and_keeps_the_sure_edges():
    scores = emission({B: 12}, {E: 12}, {}, {S: 4}, {})
    assert spans(scores) == [(0, 2, 0)]
    assert spans(scores, 0.2) == [(0, 2, 0), (3, 4, 0)]


def test_higher_threshold_takes_unsure_spans_away():
    scores = emission({S: 12}, {}, {S: 5.5})
    assert spans(scores) == [(0, 1, 0), (2, 3, 0)]
    assert spans(scores, 0.9) == [(0, 1, 0)]


@pytest.mark.parametrize("thresholds", [(0.9, 0.5), (0.5, 0.3), (0.3, 0.05), (0.05, 0.001)])
def test_lower_threshold_never_uncovers_a_token(thresholds):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(300, crf.n_tags(2))).astype(np.float32) * 2
    scores[:, 0] += 4
    high, low = (
        {i for s, e, *_ in decode_spans([scores], t, Calibration(), Calibration())[0] for i in range(s, e)}
        for t in thresholds
    )
    assert high
    assert high <= low


def test_long_sequences_give_the_same_spans_as_short_ones():
    short = emission({}, {B: 12}, {E: 12}, {}, {S: 12}, {})
    whole = spans(np.concatenate([short] * 300))
    assert whole == [(6 * i + s, 6 * i + e, label) for i in range(300) for s, e, label in [(1, 3, 0), (4, 5, 0)]]


def test_scores_are_calibrated():
    (raw,), (flat,) = (
        decode_spans([emission({S: 8})], 0.5, Calibration(), c)[0] for c in (Calibration(), Calibration(0.5, 0.0))
    )
    assert 0.5 < flat[3] < raw[3] <= 1.0


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("high", "low"), [(0.9, 0.4), (0.4, 0.05), (0.05, 0.001)])
def test_lower_threshold_of_one_label_never_uncovers_a_token(label, high, low):
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(300, crf.n_tags(2))).astype(np.float32) * 2
    scores[:, 0] += 4
    (posterior,) = read_posteriors([scores])
    covered = []
    for threshold in (high, low):
        both = [0.3, 0.3]
        both[label] = threshold
        found = choose_spans(posterior, both, Calibration(), Calibration())
        covered.append({i for s, e, *_ in found for i in range(s, e)})
    assert covered[0] < covered[1]


def test_a_label_can_be_looked_for_harder_than_the_others():
    scores = emission({S: 4}, {}, {S + 4: 4})
    (posterior,) = read_posteriors([scores])
    found = [choose_spans(posterior, t, Calibration(), Calibration()) for t in ([0.2, 0.45], [0.45, 0.2], 0.2)]
    assert [[span[:3] for span in spans] for spans in found] == [[(0, 1, 0)], [(2, 3, 1)], [(0, 1, 0), (2, 3, 1)]]


def test_nothing_is_found_in_nothing():
    (posterior,) = read_posteriors([np.zeros((0, crf.n_tags(2)), dtype=np.float32)])
    assert choose_spans(posterior, 0.01, Calibration(), Calibration()) == []


def test_scores_that_are_no_numbers_are_no_text():
    with pytest.raises(NotDeidentified, match="NaN or infinite"):
        read_posteriors([np.full((3, 5), np.nan, dtype=np.float32)])


@pytest.fixture
def overconfident():
    """Scores whose log-odds are three times too large."""
    rng = np.random.default_rng(0)
    true = rng.uniform(0.02, 0.98, size=4000)
    hits = rng.random(4000) < true
    logits = 3 * np.log(true / (1 - true))
    return 1 / (1 + np.exp(-logits)), hits


def test_fit_undoes_overconfidence(overconfident):
    probs, hits = overconfident
    calibration, report = fit_calibration(probs, hits)
    assert calibration.scale == pytest.approx(1 / 3, abs=0.05)
    assert report["ece_after"] < 0.03 < report["ece_before"]


def test_identity_changes_nothing():
    probs = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(Calibration()(probs), probs, atol=1e-9)


def test_inverse_undoes_the_curve():
    calibration = Calibration(0.4, -0.7)
    for prob in (0.01, 0.3, 0.9):
        assert float(calibration(np.asarray(calibration.inverse(prob)))) == pytest.approx(prob)


def test_nothing_to_fit_on_changes_nothing():
    calibration, report = fit_calibration(np.zeros(0), np.zeros(0, dtype=bool))
    assert (calibration.scale, calibration.shift) == (1.0, 0.0)
    assert report["number"] == 0


def test_expected_calibration_error_of_a_hand_computed_case():
    # two bins of two: |0.2 - 0.5| and |0.8 - 1.0|, each half of the weight
    probs, hits = np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 1.0, 1.0, 1.0])
    assert expected_calibration_error(probs, hits, bins=2) == pytest.approx(0.25)


def test_one_threshold_is_that_of_every_label():
    assert make_point(0.3, "ner").thresholds(["AGE", "DATE"]) == [0.3, 0.3]


def test_a_label_has_its_own_threshold_and_the_others_the_default():
    point = make_point({"default": 0.3, "DATE": 0.1}, "ner")
    assert point.thresholds(["AGE", "DATE"]) == [0.3, 0.1]
    assert point.receipt() == {"operating_point": "custom", "thresholds": {"default": 0.3, "labels": {"DATE": 0.1}}}


def test_thresholds_by_label_without_a_default_are_refused():
    with pytest.raises(ConfigError, match="require a 'default'"):
        make_point({"DATE": 0.1}, "ner")


@pytest.mark.parametrize("threshold", [0.0, 1.0, True, "0.5", None, {"default": 0.5, "AGE": 1.5}])
def test_what_is_no_probability_is_refused(threshold):
    with pytest.raises(ConfigError, match="must be between 0 and 1"):
        make_point(threshold, "ner")


def test_named_points_have_their_names():
    points = named_points({"points": {"high_recall": {"default": 0.05, "labels": {"AGE": 0.2}}}}, "ner")
    assert points["high_recall"].name == "high_recall"
    assert points["high_recall"].thresholds(["AGE", "DATE"]) == [0.2, 0.05]


def test_a_threshold_that_json_has_blurred_is_exact_again():
    assert named_points({"points": {"balanced": {"default": 0.7000000000000001}}}, "ner")["balanced"].default == 0.7
