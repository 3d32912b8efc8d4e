"""Fit named operating points on a development set.

======================  ===============================================================
``balanced``            best F1 of entity and label
``high_recall``         most documents with everything covered, at a character precision of at least .95
``max_recall``          highest character recall, at a character precision of at least .90
======================  ===============================================================

Thresholds are at most .5 for every label, because a higher threshold would remove spans of the classifier's best path;
and for every label each point has a threshold at most as high as the point above it in the table. `balanced` is the
point with most fully covered documents among those within .001 of the best F1. Of two equally good thresholds the
higher one is taken. All figures are those of the whole pipeline on the development set, so they are optimistic.

Labels get thresholds of their own (`highest_f1`, `cheapest_recall`), because a doubtful phone number is usually right
and a doubtful relative is usually a common word. To first order the gain and cost of one label's threshold do not
depend on the other labels, so each is chosen independently at a common price: for the best F1 the price is the F1
reached (Dinkelbach 1967); for recall it is the number of falsely covered letters and digits accepted per missed one,
as high as the wanted precision allows.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors, Warnings
from .files import write_text
from .metrics import ratio
from .sweep import THRESHOLDS, Counts, Point, Sweep, summarize

Floats = NDArray[np.float64]
Loss = Literal["entity", "character"]
Record = dict[str, Any]


class PointWarning(UserWarning):
    """Warns that an operating point does not reach its minimum precision."""


# least character precision
FLOORS = {"high_recall": 0.95, "max_recall": 0.90}
_USELESS = 0.5
_EVEN = 0.5  # above it a threshold takes spans of the best path away
_TINY = 0.001  # a gain in F1 below this one is worth no document
_ENOUGH = 100  # documents from which on labels get thresholds of their own
_MARGIN = 0.002  # by which the precision is kept above its floor where many thresholds are fitted at once
_BELOW_EVEN = (0.35, 0.2, 0.1)
_FACTORS = (8.0, 4.0, 2.0, 0.5, 0.25, 0.125, 0.06)
# columns of `Counts.total` and of `Counts.labels`: what is due, what is missed
_TOTAL_COLUMNS = {"entity": (8, 9), "character": (3, 5)}
_LABEL_COLUMNS = {"entity": (2, 3), "character": (0, 1)}


@dataclass(frozen=True, slots=True)
class Table:
    """A sweep over a single threshold for all labels.

    sweep (Sweep): pipeline and corpus.
    thresholds (Sequence[float]): in decreasing order.
    counts (list[Counts]): counts at each threshold.
    """

    sweep: Sweep
    thresholds: Sequence[float]
    counts: list[Counts]

    def losses(self, loss: Loss) -> Floats:
        """Return the missed share of each document, shape (thresholds, documents); 0 without identifiers."""
        return np.stack([shares(counts.total, loss) for counts in self.counts])

    def label_losses(self, loss: Loss) -> dict[str, Floats]:
        """Return `losses` by label of the gold entities, each for the documents that have the label."""
        cubes = np.stack([label_shares(counts.labels, loss) for counts in self.counts])
        return {label: cubes[:, ~np.isnan(cubes[0, :, k]), k] for k, label in enumerate(self.sweep.labels)}


def shares(total: NDArray[np.int64], loss: Loss) -> Floats:
    """Return the missed share of each document, shape (documents,)."""
    due, missed = (total[:, column] for column in _TOTAL_COLUMNS[loss])
    due = due + missed if loss == "character" else due
    return np.nan_to_num(ratio(missed, due))


def label_shares(labels: NDArray[np.int64], loss: Loss) -> Floats:
    """Return the missed share of each label and document, shape (documents, labels); NaN if there is none."""
    due, missed = (labels[:, :, column] for column in _LABEL_COLUMNS[loss])
    return ratio(missed, due)


def measure(sweep: Sweep, thresholds: Sequence[float] = THRESHOLDS) -> Table:
    """Sweep over a single threshold for all labels, down to a character precision of .5.

    The sweep continues at least to a threshold of .5, because matches of patterns that an incomplete gold lacks must
    not end it early.

    sweep (Sweep): pipeline and corpus.
    thresholds (Sequence[float]): thresholds in any order.
    RETURNS (Table): counts by decreasing threshold.
    """
    done: dict[float, Counts] = {}
    for threshold in sorted(thresholds, reverse=True):
        done[threshold] = sweep.count({"default": threshold, "labels": {}})
        if threshold <= _EVEN and _precision(summarize(done[threshold])) < _USELESS:
            break
    return Table(sweep, list(done), list(done.values()))


def fit_points(table: Table) -> dict[str, Record]:
    """Fit the named points.

    table (Table): sweep over the development set.
    RETURNS (dict[str, dict]): name → "default" (threshold), "labels" (label → threshold) and "figures".
    RAISES: ConfigError (D351) if character precision at a threshold of .5 is below .5.
    WARNS: PointWarning (DW341) if a point does not reach its precision; it is then equal to the point above it.
    """
    rows = _even_rows(table)
    if (precision := _precision(rows[0]["figures"])) < _USELESS:
        what = {"precision": precision, "threshold": rows[0]["default"], "documents": len(table.sweep.gold)}
        raise ConfigError(Errors.D351.format(**what))
    by_label = len(table.sweep.gold) >= _ENOUGH
    balanced = _balanced([*rows, _best_labels(table.sweep)] if by_label else rows)
    high = _most(table, balanced, "high_recall", "clean")
    if by_label and _precision(high["figures"]) >= FLOORS["high_recall"]:
        high = _saving_labels(table.sweep, high, balanced)
    return {
        "balanced": balanced,
        "high_recall": high,
        "max_recall": _most(table, high, "max_recall", "character_recall"),
    }


def _even_rows(table: Table) -> list[Record]:
    """Return the points of the sweep with threshold at most .5; the point at .5 if there are none."""
    pairs = zip(table.thresholds, table.counts, strict=True)
    rows = [make_record(threshold, {}, counts) for threshold, counts in pairs if threshold <= _EVEN]
    return rows or [_record_at(table.sweep, _EVEN, {})]


def _balanced(records: Sequence[Record]) -> Record:
    """Choose among the points within .001 of the best F1 the one with most fully covered documents."""
    best = max(_figure(record, "strict_f1") for record in records)
    near = [record for record in records if best - _figure(record, "strict_f1") < _TINY]
    return max(near, key=lambda record: (_figure(record, "clean"), _figure(record, "strict_f1")))


def _best_labels(sweep: Sweep) -> Record:
    """Return the point with thresholds by label that maximize F1."""
    return _record_at(sweep, _EVEN, highest_f1(sweep, _EVEN, _BELOW_EVEN))


def _most(table: Table, above: Record, name: str, figure: str) -> Record:
    """Choose the point with the highest figure that has enough precision, with thresholds at most those of `above`."""
    records = [above, *_under(table, above)]
    allowed = [record for record in records if _precision(record["figures"]) >= FLOORS[name]]
    if not allowed:
        best = max(_precision(record["figures"]) for record in records)
        warnings.warn(Warnings.DW341.format(point=name, floor=FLOORS[name], best=best), PointWarning, stacklevel=3)
    return max(allowed or [above], key=lambda record: _figure(record, figure))


def _under(table: Table, above: Record) -> Iterator[Record]:
    """Yield points with one threshold for all labels, limited by the thresholds of `above`, in decreasing order."""
    for row in _even_rows(table):
        threshold = row["default"]
        if threshold >= max([above["default"], *above["labels"].values()]):
            continue
        default = min(threshold, above["default"])
        labels = {label: min(threshold, value) for label, value in above["labels"].items()}
        labels = {label: value for label, value in labels.items() if value != default}
        yield _record_at(table.sweep, default, labels) if labels or default != threshold else row


def _saving_labels(sweep: Sweep, point: Record, above: Record) -> Record:
    """Return a point with thresholds by label, none above those of `above`, if it is better than `point`."""
    choices = {}
    for label in sweep.ner.labels:
        own, most = (record["labels"].get(label, record["default"]) for record in (point, above))
        factors = (float(f"{own * factor:.2g}") for factor in _FACTORS)
        choices[label] = sorted({most, *(min(most, value) for value in factors)} - {own}, reverse=True)
    floor = FLOORS["high_recall"] + _MARGIN
    found = _record_at(sweep, point["default"], point["labels"] | cheapest_recall(sweep, point, choices, floor))
    return max(point, found, key=lambda record: (_figure(record, "clean"), _figure(record, "character_recall")))


def _record_at(sweep: Sweep, default: float, labels: Mapping[str, float]) -> Record:
    """Count at a point and return its record."""
    return make_record(default, labels, sweep.count({"default": default, "labels": dict(labels)}))


def make_record(default: float, labels: Mapping[str, float], counts: Counts) -> Record:
    """Create the saved form of a point: "default", "labels" and "figures"."""
    return {"default": default, "labels": dict(labels), "figures": dict(summarize(counts))}


def _figure(record: Record, name: str) -> float:
    """Return a figure of a point, 0 if undefined."""
    return float(record["figures"][name] or 0.0)


def _precision(figures: Mapping[str, Any]) -> float:
    """Return character precision, 1 if nothing is covered."""
    value = figures["character_precision"]
    return 1.0 if value is None else float(value)


Totals = np.ndarray  # `Counts.total` summed over the documents
_LEAST_GAIN = 3  # entities, or letters and digits, by which another threshold must be better: fewer are chance
_STEPS = 24
_LETTER = 0.025  # entities that a missed letter or digit costs: of two equal F1 take the one that leaks less


def highest_f1(sweep: Sweep, default: float, choices: Sequence[float]) -> dict[str, float]:
    """Choose thresholds by label for the highest F1, with a small penalty for missed characters.

    sweep (Sweep): pipeline and development set.
    default (float): threshold of labels that are not in the result.
    choices (Sequence[float]): other thresholds to try.
    RETURNS (dict[str, float]): label → threshold, for labels that differ from the default.
    """
    others = [choice for choice in choices if choice != default]
    base, table = _vary(sweep, {"default": default, "labels": {}}, dict.fromkeys(sweep.ner.labels, others))
    tp, fp, fn = base[:3]
    f1 = 2 * tp / max(1, 2 * tp + fp + fn)
    return _choose(base, table, partial(_worth, f1))


def cheapest_recall(
    sweep: Sweep, point: Point, choices: Mapping[str, Sequence[float]], precision: float
) -> dict[str, float]:
    """Choose thresholds by label for the highest character recall at a minimum precision.

    sweep (Sweep): pipeline and development set.
    point (Mapping): thresholds to start from.
    choices (Mapping[str, Sequence[float]]): other thresholds to try for each label, in decreasing order.
    precision (float): minimum character precision.
    RETURNS (dict[str, float]): label → threshold, for labels that differ from the point; empty if no choice reaches
        the precision.
    """
    base, table = _vary(sweep, point, choices)
    best: dict[str, float] = {}
    low, high = 0.0, 2.0  # price of a letter or digit covered for nothing, in missed ones
    for _ in range(_STEPS):
        price = (low + high) / 2
        labels = _choose(base, table, partial(_saved, price))
        counts = _totals(sweep, point, labels)
        if counts[3] >= precision * (counts[3] + counts[4]):
            best, high = labels, price
        else:
            low = price
    return best


def _worth(f1: float, total: Totals) -> float:
    """Value of a point above a given F1, in entities, minus the penalty for missed characters."""
    tp, fp, fn, _, _, missed, *_ = total
    return float(2 * tp - f1 * (2 * tp + fp + fn) - _LETTER * missed)


def _saved(price: float, total: Totals) -> float:
    """Value of a point: minus the missed characters, minus the price of the falsely covered ones."""
    return float(-total[5] - price * total[4])


def _totals(sweep: Sweep, point: Point, labels: Mapping[str, float]) -> Totals:
    """Sum the counts of all documents at a point with some thresholds replaced."""
    counts: Counts = sweep.count({"default": point["default"], "labels": {**point["labels"], **labels}})
    return np.asarray(counts.total.sum(axis=0))


def _vary(
    sweep: Sweep, point: Point, choices: Mapping[str, Sequence[float]]
) -> tuple[Totals, dict[str, dict[float, Totals]]]:
    """Return the totals at a point, and with one label at a time at each other threshold."""
    others = {
        label: {c: _totals(sweep, point, {label: c}) for c in values} for label, values in choices.items() if values
    }
    return _totals(sweep, point, {}), others


def _choose(
    base: Totals, table: Mapping[str, Mapping[float, Totals]], value: Callable[[Totals], float]
) -> dict[str, float]:
    """Choose for each label the threshold of the highest value, if it clearly exceeds that of the base point."""
    chosen = {}
    for label, totals in table.items():
        best = max(totals, key=lambda choice: value(totals[choice]))
        if value(totals[best]) >= value(base) + _LEAST_GAIN:
            chosen[label] = best
    return chosen


def operating_curve(table: Table) -> list[dict[str, Any]]:
    """Return one row per threshold, for JSON and plots.

    table (Table): a sweep.
    RETURNS (list[dict]): "threshold", the figures of `sweep.summarize`, and "labels" with the "character_recall" of
        the gold entities of each label, whatever the predicted label.
    """
    return [
        {"threshold": threshold, **summarize(counts), "labels": _label_recall(table, counts.labels.sum(axis=0))}
        for threshold, counts in zip(table.thresholds, table.counts, strict=True)
    ]


def _label_recall(table: Table, totals: Any) -> dict[str, dict[str, float]]:
    """Return the character recall of each label of the scheme, summing canonical labels with the same name."""
    sums: dict[str, list[int]] = {}
    for label, (due, missed, *_) in zip(table.sweep.labels, totals.tolist(), strict=True):
        entry = sums.setdefault(table.sweep.label_name(label), [0, 0])
        entry[0] += due
        entry[1] += missed
    return {
        name: {"character_recall": round((due - missed) / due, 5)}
        for name, (due, missed) in sorted(sums.items())
        if due
    }


def write_operating_curve(
    folder: Path, rows: Sequence[Mapping[str, Any]], points: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Write the curve and the points as JSON.

    folder (Path): created if missing.
    rows (Sequence[Mapping]): rows of `operating_curve`.
    points (Mapping): name → "default", "labels", "figures".
    RETURNS (Path): the file, curves.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "curves.json"
    write_text(path, json.dumps({"points": points, "rows": rows}, ensure_ascii=False, indent=2) + "\n")
    return path
