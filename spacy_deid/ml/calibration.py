"""Calibrated probabilities: a logistic curve over the log-odds of the raw score (Platt 1999)."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Calibration", "expected_calibration_error", "fit_calibration"]

_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Calibration:
    """p' = sigmoid(scale · logit(p) + shift). Scale 1 and shift 0 change nothing."""

    scale: float = 1.0
    shift: float = 0.0

    def __call__(self, probs: np.ndarray) -> np.ndarray:
        """Calibrate raw probabilities, any shape."""
        logits = self.scale * _logit(probs) + self.shift
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30))))

    def inverse(self, prob: float) -> float:
        """The raw probability that is calibrated to this one."""
        logit = (float(_logit(np.asarray(prob))) - self.shift) / self.scale
        return float(1.0 / (1.0 + np.exp(-np.clip(logit, -30, 30))))


def _logit(probs: np.ndarray) -> np.ndarray:
    clipped = np.clip(np.asarray(probs, dtype=np.float64), _EDGE, 1 - _EDGE)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def fit_calibration(probs: np.ndarray, hits: np.ndarray, steps: int = 50) -> tuple[Calibration, dict[str, float]]:
    """Fit the curve by Newton's method, with a little ridge towards no change.

    probs (ndarray): raw probabilities, shape (n,).
    hits (ndarray): whether each was right, shape (n,).
    RETURNS (tuple): the calibration, and "scale", "shift", "number", "ece_before", "ece_after".
    """
    x = np.stack([_logit(probs), np.ones(len(probs))], axis=1)
    y = np.asarray(hits, dtype=np.float64)
    unchanged = np.asarray([1.0, 0.0])
    w = np.zeros(2) if len(y) else unchanged
    for _ in range(steps if len(y) else 0):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30, 30)))
        gradient = x.T @ (p - y) + (w - unchanged)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.eye(2)
        w = w - np.linalg.solve(hessian, gradient)
    fitted = Calibration(max(float(w[0]), 0.01), float(w[1]))
    report = {
        "scale": fitted.scale,
        "shift": fitted.shift,
        "number": float(len(y)),
        "ece_before": expected_calibration_error(probs, y),
        "ece_after": expected_calibration_error(fitted(probs), y),
    }
    return fitted, report


def expected_calibration_error(probs: np.ndarray, hits: np.ndarray, bins: int = 10) -> float:
    """Mean gap between score and share of hits, over bins of equal size (Naeini, Cooper and Hauskrecht 2015).

    probs, hits (ndarray): shape (n,).
    RETURNS (float): 0 (perfect) to 1; 0 if there is nothing to measure.
    """
    order = np.argsort(probs, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    gaps = [abs(float(np.mean(probs[p])) - float(np.mean(hits[p]))) * len(p) for p in parts]
    return sum(gaps) / max(1, len(order))
