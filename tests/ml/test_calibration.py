import numpy as np
import pytest

from spacy_deid.ml.decoding import Calibration, expected_calibration_error, fit_calibration


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
