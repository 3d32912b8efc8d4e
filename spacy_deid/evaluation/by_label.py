"""Thresholds by label: each where it does most good, found on a development set.

Labels differ: a doubtful phone number is one, a doubtful relative is a word. To first order what one label's threshold
adds and costs does not depend on the others', so each is chosen for itself, all by one price. For the highest F1 it is
the F1 that is reached (Dinkelbach 1967); for recall it is how many letters and digits may be covered for nothing to
save one from being missed, the most that keeps the wanted precision.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from .sweep import Counts, Point, Sweep

__all__ = ["cheapest_recall", "highest_f1"]

Totals = np.ndarray  # `Counts.total` summed over the documents
_LEAST_GAIN = 3  # entities, or letters and digits, by which another threshold must be better: fewer are chance
_STEPS = 24
_LETTER = 0.025  # entities that a missed letter or digit costs: of two equal F1 take the one that leaks less


def highest_f1(sweep: Sweep, default: float, choices: Sequence[float]) -> dict[str, float]:
    """Thresholds by label for the highest F1 of entity and label, with an eye on what is missed.

    sweep (Sweep): a pipeline and its development set.
    default (float): threshold to start from. choices (Sequence[float]): thresholds that a label may have instead.
    RETURNS (dict[str, float]): label → threshold, for the labels that leave the default.
    """
    others = [choice for choice in choices if choice != default]
    base, table = _vary(sweep, {"default": default, "labels": {}}, dict.fromkeys(sweep.ner.labels, others))
    tp, fp, fn = base[:3]
    f1 = 2 * tp / max(1, 2 * tp + fp + fn)
    return _choose(base, table, partial(_worth, f1))


def cheapest_recall(
    sweep: Sweep, point: Point, choices: Mapping[str, Sequence[float]], precision: float
) -> dict[str, float]:
    """Thresholds by label for the highest character recall at a precision.

    sweep (Sweep): a pipeline and its development set.
    point (Mapping): thresholds to start from.
    choices (Mapping[str, Sequence[float]]): thresholds that a label may have instead, the surer first.
    precision (float): character precision to keep.
    RETURNS (dict[str, float]): label → threshold, for the labels that leave the point; empty if no choice keeps the
        precision.
    """
    base, table = _vary(sweep, point, choices)
    best: dict[str, float] = {}
    low, high = 0.0, 2.0  # price of a letter or digit covered for nothing, in missed ones
    for _ in range(_STEPS):
        price = (low + high) / 2
        labels = _choose(base, table, partial(_saved, price))
        counts = _total(sweep, point, labels)
        if counts[3] >= precision * (counts[3] + counts[4]):
            best, high = labels, price
        else:
            low = price
    return best


def _worth(f1: float, total: Totals) -> float:
    """What is above a given F1, in entities, less a little for what is missed."""
    tp, fp, fn, _, _, missed, *_ = total
    return float(2 * tp - f1 * (2 * tp + fp + fn) - _LETTER * missed)


def _saved(price: float, total: Totals) -> float:
    """What is not missed, less what is covered for nothing at a price."""
    return float(-total[5] - price * total[4])


def _total(sweep: Sweep, point: Point, labels: Mapping[str, float]) -> Totals:
    """Totals where some labels leave a point."""
    counts: Counts = sweep.count({"default": point["default"], "labels": {**point["labels"], **labels}})
    return np.asarray(counts.total.sum(axis=0))


def _vary(
    sweep: Sweep, point: Point, choices: Mapping[str, Sequence[float]]
) -> tuple[Totals, dict[str, dict[float, Totals]]]:
    """Totals at a point, and with one label at a time at another threshold."""
    others = {
        label: {c: _total(sweep, point, {label: c}) for c in values} for label, values in choices.items() if values
    }
    return _total(sweep, point, {}), others


def _choose(
    base: Totals, table: Mapping[str, Mapping[float, Totals]], value: Callable[[Totals], float]
) -> dict[str, float]:
    """The threshold of each label with the highest value, if it is clearly better than the default's."""
    chosen = {}
    for label, totals in table.items():
        best = max(totals, key=lambda choice: value(totals[choice]))
        if value(totals[best]) >= value(base) + _LEAST_GAIN:
            chosen[label] = best
    return chosen
