"""Operating points: how sure the token classifier must be, for all labels or for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError, Errors

__all__ = ["OperatingPoint", "make_point", "named_points"]

_CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Thresholds: calibrated probabilities from which on a token counts as PHI.

    default (float): threshold of the labels that have none of their own.
    labels (Mapping[str, float]): threshold by canonical label.
    name (str): "balanced", "high_recall", …; "custom" if the thresholds were given as numbers.
    """

    default: float
    labels: Mapping[str, float] = field(default_factory=dict)
    name: str = _CUSTOM

    def thresholds(self, labels: Sequence[str]) -> list[float]:
        """The threshold of each label, in the given order."""
        return [self.labels.get(label, self.default) for label in labels]

    def receipt(self) -> dict[str, Any]:
        """Plain values for the record of a run."""
        thresholds = {"default": self.default, "labels": dict(self.labels)}
        return {"operating_point": self.name, "thresholds": thresholds}


def make_point(threshold: float | Mapping[str, float], component: str) -> OperatingPoint:
    """Make an operating point from the setting ``threshold``.

    threshold (Union[float, Mapping[str, float]]): one for all labels, or ``{"default": …, "LABEL": …}``.
    component (str): name of the component, for the error.
    RETURNS (OperatingPoint): the point, "custom".
    RAISES: ConfigError (D200) for a number that is not above 0 and below 1, or (D340) without a default.
    """
    values = dict(threshold) if isinstance(threshold, Mapping) else {"default": threshold}
    for value in values.values():
        _check(value, component)
    if "default" not in values:
        raise ConfigError(Errors.D340.format(name=component))
    return OperatingPoint(values.pop("default"), values)


def named_points(cfg: Mapping[str, Any], component: str) -> dict[str, OperatingPoint]:
    """The named points that a component was calibrated to.

    cfg (Mapping[str, Any]): settings of the component: ``{"points": {name: {"default", "labels", "figures"}}}``.
    component (str): name of the component, for the error.
    RETURNS (dict[str, OperatingPoint]): by name.
    RAISES: ConfigError (D200) for a threshold that is not above 0 and below 1.
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
    """Make sure that a threshold lies within 0 and 1."""
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not number or not 0.0 < threshold < 1.0:
        raise ConfigError(Errors.D200.format(name=component, threshold=threshold))
