"""Calibrated probabilities, and operating points: the thresholds from which on a token counts as PHI.

Probabilities are calibrated by a logistic curve over the log-odds of the raw score (Platt 1999).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ConfigError, Errors

_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic calibration curve: p' = sigmoid(scale · logit(p) + shift). Scale 1 and shift 0 change nothing."""

    scale: float = 1.0
    shift: float = 0.0

    def __call__(self, probs: np.ndarray) -> np.ndarray:
        """Calibrate raw probabilities.

        probs (ndarray): raw probabilities, any shape.
        RETURNS (ndarray): calibrated probabilities, same shape.
        """
        logits = self.scale * _logit(probs) + self.shift
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30))))

    def inverse(self, prob: float) -> float:
        """Return the raw probability that is calibrated to a given one.

        prob (float): calibrated probability.
        RETURNS (float): raw probability.
        """
        logit = (float(_logit(np.asarray(prob))) - self.shift) / self.scale
        return float(1.0 / (1.0 + np.exp(-np.clip(logit, -30, 30))))


def _logit(probs: np.ndarray) -> np.ndarray:
    """Return the log-odds of probabilities, clipped away from 0 and 1."""
    clipped = np.clip(np.asarray(probs, dtype=np.float64), _EDGE, 1 - _EDGE)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def fit_calibration(probs: np.ndarray, hits: np.ndarray, steps: int = 50) -> tuple[Calibration, dict[str, float]]:
    """Fit a calibration curve by Newton's method, with a small ridge penalty towards no change.

    probs (ndarray): raw probabilities, shape (n,).
    hits (ndarray): whether each prediction was right, shape (n,).
    steps (int): number of Newton steps.
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
    """Compute the mean gap between probability and accuracy over bins of equal size (Naeini, Cooper and Hauskrecht
    2015).

    probs, hits (ndarray): shape (n,).
    bins (int): number of bins.
    RETURNS (float): 0 (perfect) to 1; 0 for empty input.
    """
    order = np.argsort(probs, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    gaps = [abs(float(np.mean(probs[p])) - float(np.mean(hits[p]))) * len(p) for p in parts]
    return sum(gaps) / max(1, len(order))


_CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Thresholds: calibrated probabilities from which on a token counts as PHI.

    default (float): threshold of labels without their own.
    labels (Mapping[str, float]): canonical label → threshold.
    name (str): "balanced", "high_recall", …; "custom" if the thresholds were given as numbers.
    """

    default: float
    labels: Mapping[str, float] = field(default_factory=dict)
    name: str = _CUSTOM

    def thresholds(self, labels: Sequence[str]) -> list[float]:
        """Return the threshold of each label.

        labels (Sequence[str]): canonical labels.
        RETURNS (list[float]): thresholds in the same order.
        """
        return [self.labels.get(label, self.default) for label in labels]

    def receipt(self) -> dict[str, Any]:
        """Return the operating point as plain values, for reports.

        RETURNS (dict[str, Any]): "operating_point" and "thresholds".
        """
        thresholds = {"default": self.default, "labels": dict(self.labels)}
        return {"operating_point": self.name, "thresholds": thresholds}


def make_point(threshold: float | Mapping[str, float], component: str) -> OperatingPoint:
    """Make an operating point from the setting ``threshold``.

    threshold (Union[float, Mapping[str, float]]): one threshold for all labels, or ``{"default": …, "LABEL": …}``.
    component (str): name of the component, for error messages.
    RETURNS (OperatingPoint): the point, with the name "custom".
    RAISES: ConfigError for a threshold that is not between 0 and 1 (D200), or without a default (D340).
    """
    values = dict(threshold) if isinstance(threshold, Mapping) else {"default": threshold}
    for value in values.values():
        _check(value, component)
    if "default" not in values:
        raise ConfigError(Errors.D340.format(name=component))
    return OperatingPoint(values.pop("default"), values)


def named_points(cfg: Mapping[str, Any], component: str) -> dict[str, OperatingPoint]:
    """Read the operating points that a component was calibrated to.

    cfg (Mapping[str, Any]): settings of the component: ``{"points": {name: {"default", "labels", "figures"}}}``.
    component (str): name of the component, for error messages.
    RETURNS (dict[str, OperatingPoint]): name → operating point.
    RAISES: ConfigError (D200) for a threshold that is not between 0 and 1.
    """
    points = {}
    for name, record in cfg.get("points", {}).items():
        values = {"default": record["default"], **record.get("labels", {})}
        for value in values.values():
            _check(value, component)
        # the JSON that a component is saved in turns 0.7 into 0.7000000000000001
        exact = {label: round(value, 12) for label, value in values.items()}
        points[name] = OperatingPoint(exact.pop("default"), exact, name)
    return points


def _check(threshold: Any, component: str) -> None:
    """Check that a threshold is between 0 and 1."""
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not number or not 0.0 < threshold < 1.0:
        raise ConfigError(Errors.D200.format(name=component, threshold=threshold))
