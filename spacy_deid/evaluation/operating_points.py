"""Choose operating points on a development set: the named points and their curve.

An operating point is a set of probability thresholds of the token classifier: a default and, for some labels, a
threshold of their own. A lower threshold finds more. There are three named points:

======================  ===============================================================
``balanced``            highest F1 of entities, comparing offsets and label; or highest character recall at a minimum
                        character precision, if one is given
``high_recall``         most documents in which all identifiers are covered, at a character precision of at least .90
``max_recall``          highest character recall, at a character precision of at least .80
======================  ===============================================================

Named points have thresholds of at most .5, because a higher threshold would remove spans of the classifier's best
path. For every label, each point has a threshold at most as high as the point above it in the table. `balanced` is,
among the points within .005 of the best F1, the one with the most fully covered documents. Of two equally good
thresholds the higher one is taken. All figures are those of the whole pipeline on the development set, so they are
optimistic for new documents.

Labels get thresholds of their own (`highest_f1`, `cheapest_recall`), because a doubtful phone number is usually right
and a doubtful relative is usually a common word. To first order the gain and cost of one label's threshold do not
depend on the other labels, so each is chosen independently at a common price: for the best F1 the price is the F1
reached (Dinkelbach 1967); for recall it is the number of falsely covered letters and digits accepted per missed one,
as high as the required precision allows.
"""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors, Warnings
from .documents import write_text
from .metrics import Floats, ratio
from .sweep import THRESHOLDS, Counts, Point, Sweep, summarize

Loss = Literal["entity", "character"]
Record = dict[str, Any]


class PointWarning(UserWarning):
    """Warns that an operating point does not reach its minimum precision."""


FLOORS = {"high_recall": 0.90, "max_recall": 0.80}  # minimum character precision
_USELESS = 0.5  # character precision below which the sweep ends
_EVEN = 0.5  # a higher threshold removes spans of the best path
_NEAR = 0.005  # a smaller gain in F1 does not outweigh more fully covered documents
_ENOUGH = 100  # minimum number of documents for thresholds by label
_MARGIN = 0.002  # added to the precision floor where many thresholds are fitted at once
_BELOW_EVEN = (0.35, 0.2, 0.1)
_FACTORS = (8.0, 4.0, 2.0, 0.5, 0.25, 0.125, 0.06)
_LEAST_GAIN = 3  # entities, or letters and digits, by which another threshold must be better than the default
_STEPS = 24  # of the bisection over the price
_LETTER = 0.025  # entities that a missed letter or digit costs: of two equal F1 the one that leaks less is taken


@dataclass(frozen=True, slots=True)
class Table:
    """The counts of a corpus at a series of thresholds, each used for all labels.

    sweep (Sweep): the pipeline and the corpus.
    thresholds (Sequence[float]): the thresholds in decreasing order.
    counts (list[Counts]): counts of true and false positives and misses at each threshold.
    """

    sweep: Sweep
    thresholds: Sequence[float]
    counts: list[Counts]

    def losses(self, loss: Loss) -> Floats:
        """Return the share of entities or characters missed in each document at each threshold.

        loss (str): "entity" or "character".
        RETURNS (Floats): shape (thresholds, documents); 0 for a document without identifiers.
        """
        return np.stack([missed_shares(counts.total, loss) for counts in self.counts])


def missed_shares(total: NDArray[np.int64], loss: Loss) -> Floats:
    """Compute the share of entities or characters missed in each document.

    total (NDArray): `Counts.total`, shape (documents, 10).
    loss (str): "entity" or "character".
    RETURNS (NDArray): shape (documents,); 0 for a document without identifiers.
    """
    missed = total[:, 9] if loss == "entity" else total[:, 5]
    return np.nan_to_num(ratio(missed, total[:, 8] if loss == "entity" else total[:, 3] + missed))


def measure(sweep: Sweep, thresholds: Sequence[float] = THRESHOLDS) -> Table:
    """Run a pipeline at each threshold and count hits and errors, until the character precision is below .5.

    Thresholds above .5 never end the sweep: where the gold is incomplete, correct matches of patterns count as false
    positives and lower the precision at any threshold.

    sweep (Sweep): pipeline and corpus.
    thresholds (Sequence[float]): thresholds in any order.
    RETURNS (Table): the counts at the thresholds that were reached.
    """
    done: dict[float, Counts] = {}
    for threshold in sorted(thresholds, reverse=True):
        done[threshold] = sweep.count({"default": threshold, "labels": {}})
        if threshold <= _EVEN and _precision(summarize(done[threshold])) < _USELESS:
            break
    return Table(sweep, list(done), list(done.values()))


def fit_points(table: Table, precision: float | None = None) -> dict[str, Record]:
    """Choose the thresholds of the named points "balanced", "high_recall" and "max_recall".

    table (Table): sweep over the development set.
    precision (Optional[float]): minimum character precision of "balanced", whose threshold is lowered as far as it
        allows; None for the best F1 of entities.
    RETURNS (dict[str, dict]): name → "default" (threshold), "labels" (label → its own threshold) and "figures".
    RAISES: ConfigError (D351) if character precision at a threshold of .5 is below .5.
    WARNS: PointWarning (DW341) if a point does not reach its precision; it is then equal to the point above it.
    """
    sweep, rows = table.sweep, _even_rows(table)
    if (first := _precision(rows[0]["figures"])) < _USELESS:
        what = {"precision": first, "threshold": rows[0]["default"], "documents": len(sweep.gold)}
        raise ConfigError(Errors.D351.format(**what))
    by_label = len(sweep.gold) >= _ENOUGH
    records = [*rows, _record_at(sweep, _EVEN, highest_f1(sweep, _EVEN, _BELOW_EVEN))] if by_label else rows
    best = max(_figure(record, "strict_f1") for record in records)
    near = [record for record in records if best - _figure(record, "strict_f1") < _NEAR]
    balanced = max(near, key=lambda record: (_figure(record, "clean"), _figure(record, "strict_f1")))
    if precision is not None:
        balanced = _lowest_allowed(sweep, rows, precision) or balanced
    high = _best_below(table, balanced, "high_recall", "clean")
    if by_label and _precision(high["figures"]) >= FLOORS["high_recall"]:
        high = _refine_labels(sweep, high, balanced)
    return {
        "balanced": balanced,
        "high_recall": high,
        "max_recall": _best_below(table, high, "max_recall", "character_recall"),
    }


def _lowest_allowed(sweep: Sweep, rows: Sequence[Record], precision: float) -> Record | None:
    """Return the record of the lowest threshold for all labels at which a character precision is reached.

    sweep (Sweep): pipeline and development set.
    rows (Sequence[dict]): records of decreasing thresholds.
    precision (float): minimum character precision.
    RETURNS (Optional[dict]): the record, to within a tenth of the gap between two rows; None if no row reaches it.
    """
    allowed = [row for row in rows if _precision(row["figures"]) >= precision]
    if not allowed:
        return None
    found = allowed[-1]
    low = max((row["default"] for row in rows if row["default"] < found["default"]), default=found["default"])
    for _ in range(4):
        record = _record_at(sweep, float(f"{(low + found['default']) / 2:.2g}"), {})
        if _precision(record["figures"]) >= precision:
            found = record
        else:
            low = record["default"]
    return found


def _even_rows(table: Table) -> list[Record]:
    """Return a record (see `make_record`) for each measured threshold of at most .5; measure .5 if there is none."""
    pairs = zip(table.thresholds, table.counts, strict=True)
    rows = [make_record(threshold, {}, counts) for threshold, counts in pairs if threshold <= _EVEN]
    return rows or [_record_at(table.sweep, _EVEN, {})]


def _best_below(table: Table, above: Record, name: str, figure: str) -> Record:
    """Return the point with the highest `figure` among `above` and points with lower thresholds.

    Points that do not reach the minimum character precision of the named point `name` are left out.
    """
    records = [above]
    for row in _even_rows(table):
        threshold = row["default"]
        if threshold < max([above["default"], *above["labels"].values()]):
            default = min(threshold, above["default"])
            labels = {label: min(threshold, value) for label, value in above["labels"].items()}
            labels = {label: value for label, value in labels.items() if value != default}
            same = not labels and default == threshold
            records.append(row if same else _record_at(table.sweep, default, labels))
    allowed = [record for record in records if _precision(record["figures"]) >= FLOORS[name]]
    if not allowed:
        best = max(_precision(record["figures"]) for record in records)
        warnings.warn(Warnings.DW341.format(point=name, floor=FLOORS[name], best=best), PointWarning, stacklevel=3)
    return max(allowed or [above], key=lambda record: _figure(record, figure))


def _refine_labels(sweep: Sweep, point: Record, above: Record) -> Record:
    """Return `point`, or a better point with thresholds by label, none of them higher than in `above`."""
    choices = {}
    for label in sweep.ner.labels:
        own, most = (record["labels"].get(label, record["default"]) for record in (point, above))
        factors = (float(f"{own * factor:.2g}") for factor in _FACTORS)
        choices[label] = sorted({most, *(min(most, value) for value in factors)} - {own}, reverse=True)
    floor = FLOORS["high_recall"] + _MARGIN
    found = _record_at(sweep, point["default"], point["labels"] | cheapest_recall(sweep, point, choices, floor))
    return max(point, found, key=lambda record: (_figure(record, "clean"), _figure(record, "character_recall")))


def _record_at(sweep: Sweep, default: float, labels: Mapping[str, float]) -> Record:
    """Measure an operating point on the development set and return its record, see `make_record`."""
    return make_record(default, labels, sweep.count({"default": default, "labels": dict(labels)}))


def make_record(default: float, labels: Mapping[str, float], counts: Counts) -> Record:
    """Create the record of an operating point: its thresholds and figures, as a dict that can be saved as JSON.

    default (float): threshold of all labels without a threshold of their own.
    labels (Mapping[str, float]): label → threshold.
    counts (Counts): counts at the point.
    RETURNS (dict): "default", "labels", and "figures" as in `sweep.summarize`.
    """
    return {"default": default, "labels": dict(labels), "figures": dict(summarize(counts))}


def _figure(record: Record, name: str) -> float:
    """Return a figure of an operating point by name, or 0 if it is undefined."""
    return float(record["figures"][name] or 0.0)


def _precision(figures: Mapping[str, Any]) -> float:
    """Return the character precision of an operating point, or 1 if no character is covered."""
    value = figures["character_precision"]
    return 1.0 if value is None else float(value)


Totals = np.ndarray  # `Counts.total` summed over the documents


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

    def gain(total: Totals) -> float:
        tp, fp, fn, _, _, missed, *_ = total
        return float(2 * tp - f1 * (2 * tp + fp + fn) - _LETTER * missed)

    return _choose(base, table, gain)


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
    low, high = 0.0, 2.0  # price of a falsely covered letter or digit, in missed ones
    for _ in range(_STEPS):
        price = (low + high) / 2
        labels = _choose(base, table, lambda total, price=price: float(-total[5] - price * total[4]))  # type: ignore[misc]
        counts = _totals(sweep, point, labels)
        if counts[3] >= precision * (counts[3] + counts[4]):
            best, high = labels, price
        else:
            low = price
    return best


def _totals(sweep: Sweep, point: Point, labels: Mapping[str, float]) -> Totals:
    """Sum `Counts.total` over all documents at a point, with the thresholds of some labels replaced."""
    counts: Counts = sweep.count({"default": point["default"], "labels": {**point["labels"], **labels}})
    return np.asarray(counts.total.sum(axis=0))


def _vary(
    sweep: Sweep, point: Point, choices: Mapping[str, Sequence[float]]
) -> tuple[Totals, dict[str, dict[float, Totals]]]:
    """Return the summed counts at a point, and those with the threshold of one label at a time changed."""
    others = {
        label: {c: _totals(sweep, point, {label: c}) for c in values} for label, values in choices.items() if values
    }
    return _totals(sweep, point, {}), others


def _choose(
    base: Totals, table: Mapping[str, Mapping[float, Totals]], value: Callable[[Totals], float]
) -> dict[str, float]:
    """Choose for each label the threshold with the highest value, if it is clearly better than the base point."""
    chosen = {}
    for label, totals in table.items():
        best = max(totals, key=lambda choice: value(totals[choice]))
        if value(totals[best]) >= value(base) + _LEAST_GAIN:
            chosen[label] = best
    return chosen


def operating_curve(table: Table) -> list[dict[str, Any]]:
    """Return the figures at each threshold of a sweep, as rows for JSON and plots.

    table (Table): result of `measure`.
    RETURNS (list[dict]): "threshold", the figures of `sweep.summarize`, and "labels" with the "character_recall" of
        the gold entities of each label of the scheme, whatever the predicted label.
    """
    rows = []
    for threshold, counts in zip(table.thresholds, table.counts, strict=True):
        sums: dict[str, list[int]] = {}  # canonical labels with the same name in the scheme are added up
        for label, (due, missed, *_) in zip(table.sweep.labels, counts.labels.sum(axis=0).tolist(), strict=True):
            entry = sums.setdefault(table.sweep.label_name(label), [0, 0])
            entry[0] += due
            entry[1] += missed
        recalls = {name: round((due - missed) / due, 5) for name, (due, missed) in sorted(sums.items()) if due}
        labels = {name: {"character_recall": recall} for name, recall in recalls.items()}
        rows.append({"threshold": threshold, **summarize(counts), "labels": labels})
    return rows


def write_operating_curve(
    folder: Path, rows: Sequence[Mapping[str, Any]], points: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Write an operating curve and the chosen operating points to the file curves.json.

    folder (Path): folder to write to; created if missing.
    rows (Sequence[Mapping]): rows of `operating_curve`.
    points (Mapping): name of a point → "default", "labels" and "figures".
    RETURNS (Path): path of the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "curves.json"
    write_text(path, json.dumps({"points": points, "rows": rows}, ensure_ascii=False, indent=2) + "\n")
    return path
