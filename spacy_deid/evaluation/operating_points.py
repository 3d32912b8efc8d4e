"""Choose operating points on a development set: named points, and points that satisfy a constraint.

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

A constraint is a minimum recall, or a bound on what is missed. The highest threshold that satisfies it is chosen, for
all labels or for each label. Thresholds of several labels interact, so the constraint is checked again on the complete
point; a constraint that cannot be satisfied is an error. The bound uses conformal risk control. For a loss between 0
and B that decreases with λ, and n documents, the smallest λ with

    n / (n + 1) · R̂(λ) + B / (n + 1) ≤ α,    R̂(λ) the mean loss of the n documents,

has an expected loss of at most α on a new document from the same distribution. The expectation includes the choice of
the n documents: the bound is on the mean, not on each note, and it does not cover notes of another kind.

Source: Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal Risk Control", 2022, arXiv:2208.02814, theorem 1.
"""

import json
import math
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
_ROUNDING = 1e-9


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
        return np.stack([_missed_shares(counts.total, loss) for counts in self.counts])


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


# ---------------------------------------------------------------- constraints


def needed_documents(alpha: float, bound: float = 1.0) -> int:
    """Return the smallest number of documents that can satisfy a bound if nothing is missed: B / (n + 1) ≤ α.

    alpha (float): bound on the expected loss, between 0 and 1.
    bound (float): B, the maximum loss of a document.
    RETURNS (int): n.
    RAISES: ConfigError (D345) if alpha is not between 0 and 1.
    """
    if not 0.0 < alpha < 1.0:
        raise ConfigError(Errors.D345.format(name="the bound on the risk", value=alpha))
    return max(1, math.ceil(bound / alpha - 1 - _ROUNDING))


def check_documents(documents: int, alpha: float, bound: float = 1.0) -> None:
    """Check that there are enough documents for a bound on the expected loss.

    documents (int): number of documents.
    alpha, bound (float): as for `needed_documents`.
    RAISES: ConfigError (D343) if there are too few; the message says how many are needed.
    """
    needed = needed_documents(alpha, bound)
    if documents < needed:
        raise ConfigError(Errors.D343.format(documents=documents, alpha=alpha, needed=needed))


def bounded_risk(losses: Floats, bound: float = 1.0) -> Floats:
    """Compute an upper bound of the expected loss on a new document, for each setting of the thresholds.

    The bound is the left side of the inequality in the docstring of this module. λ numbers the settings; the
    higher it is, the lower are the thresholds and the loss.

    losses (NDArray): loss of each document at each setting of λ, shape (settings, documents), by increasing λ.
    bound (float): B, the maximum loss of a document.
    RETURNS (NDArray): the bounds, shape (settings,), non-increasing.
    """
    # a loss that is not monotone counts as the maximum of it and all later ones
    monotone = np.maximum.accumulate(losses[::-1], axis=0)[::-1]
    return np.asarray((monotone.sum(axis=1) + bound) / (losses.shape[1] + 1))


def control_risk(losses: Floats, alpha: float, bound: float = 1.0) -> int | None:
    """Find the first setting of the thresholds at which the expected loss on a new document is at most alpha.

    λ numbers the settings; the higher it is, the lower are the thresholds and the loss. See the docstring of this
    module.

    losses (NDArray): loss of each document at each setting of λ, shape (settings, documents), by increasing λ; values
        between 0 and `bound`.
    alpha (float): bound on the expected loss.
    bound (float): B, the maximum loss of a document.
    RETURNS (Optional[int]): index of the setting; None if no setting satisfies the bound.
    RAISES: ConfigError (D343) if there are too few documents.
    """
    check_documents(losses.shape[1], alpha, bound)
    kept = np.flatnonzero(bounded_risk(losses, bound) <= alpha + _ROUNDING)
    return int(kept[0]) if len(kept) else None


def recall_point(table: Table, recall: float, *, per_label: bool = False) -> Record:
    """Find the point with the highest thresholds that reaches a character recall on the development set.

    table (Table): sweep over the development set.
    recall (float): minimum recall, between 0 and 1.
    per_label (bool): whether the gold entities of each label must reach the recall, too.
    RETURNS (dict): "default", "labels" and "figures".
    RAISES: ConfigError if no threshold reaches it (D344), a label cannot reach it (D350), or the value is not between
        0 and 1 (D345).
    """
    if not 0.0 < recall < 1.0:
        raise ConfigError(Errors.D345.format(name="the wanted recall", value=recall))
    values = [_recall(counts) for counts in table.counts]
    kept = [i for i, value in enumerate(values) if value >= recall]
    if not kept:
        raise _unreached(table, "character recall", recall, max(values))
    if not per_label:
        return make_record(table.thresholds[kept[0]], {}, table.counts[kept[0]])

    def failing(counts: Counts) -> list[str]:
        due, missed = counts.labels[:, :, 0].sum(axis=0), counts.labels[:, :, 1].sum(axis=0)
        return [name for name, d, m in zip(table.sweep.labels, due, missed, strict=True) if d and 1 - m / d < recall]

    short = [failing(counts) for counts in table.counts]
    first = {label: next((i for i, k in enumerate(short) if label not in k), None) for label in table.sweep.labels}
    record, counts = _lower_labels(table, kept[0], _reachable(first, "character recall", recall), failing)
    _reachable(dict.fromkeys(failing(counts)), "character recall", recall)
    if _recall(counts) < recall:
        raise _unreached(table, "character recall", recall, _recall(counts))
    return record


def _recall(counts: Counts) -> float:
    """Return the character recall over all documents, or NaN if there are no gold entities."""
    hits, missed = counts.total[:, 3].sum(), counts.total[:, 5].sum()
    return float(ratio(hits, hits + missed))


def _unreached(table: Table, kind: str, wanted: float, best: float) -> ConfigError:
    """Create the error (D344) that reports the best value reached, for a constraint that no threshold satisfies."""
    return ConfigError(Errors.D344.format(kind=kind, wanted=wanted, best=best, documents=len(table.sweep.gold)))


def _reachable(first: Mapping[str, int | None], kind: str, wanted: float) -> dict[str, int]:
    """Return the threshold index of each label that satisfies a constraint. RAISES: ConfigError (D350) if a label
    has none.
    """
    out = {label: i for label, i in first.items() if i is not None}
    if len(out) < len(first):
        labels = ", ".join(sorted(first.keys() - out.keys()))
        raise ConfigError(Errors.D350.format(kind=kind, wanted=wanted, labels=labels))
    return out


def control_point(table: Table, alpha: float, *, loss: Loss = "entity", per_label: bool = False) -> Record:
    """Find the point with the highest thresholds at which the expected share of missed identifiers is bounded.

    With `per_label` the inequality also holds for the gold entities of each label, over the documents that have the
    label. No label gets a higher threshold than the single threshold that satisfies the bound for all labels together;
    a label with too few documents gets that one. As thresholds by label are fitted together, the theorem only holds
    exactly for a single threshold.

    table (Table): sweep over documents that were used for nothing else: not for training, selection or calibration.
    alpha (float): bound on the expected share of a document's entities with a missed letter or digit.
    loss (str): "entity", or "character" to bound the share of missed letters and digits.
    per_label (bool): whether the bound must hold for each label.
    RETURNS (dict): "default", "labels" and "figures"; the latter with "risk", "loss" and "risk_bound", the left side
        of the inequality.
    RAISES: ConfigError if there are too few documents (D343), no threshold satisfies the bound (D344) or a label
        cannot satisfy it (D350), or the value is not between 0 and 1 (D345).
    """
    kind = f"bound on missed {loss} shares"
    losses = table.losses(loss)
    i = control_risk(losses, alpha)
    if i is None:
        raise _unreached(table, kind, alpha, float(bounded_risk(losses).min()))
    record, bound = make_record(table.thresholds[i], {}, table.counts[i]), float(bounded_risk(losses)[i])
    if per_label:
        record, counts = _control_labels(table, i, alpha, loss)
        bound = float(bounded_risk(_missed_shares(counts.total, loss)[None])[0])
        if bound > alpha + _ROUNDING:
            raise _unreached(table, kind, alpha, bound)
    record["figures"] |= {"risk": alpha, "loss": loss, "risk_bound": round(bound, 5)}
    return record


def _missed_shares(total: NDArray[np.int64], loss: Loss) -> Floats:
    """Return the share of entities or characters missed in each document; 0 for one without identifiers."""
    missed = total[:, 9] if loss == "entity" else total[:, 5]
    return np.nan_to_num(ratio(missed, total[:, 8] if loss == "entity" else total[:, 3] + missed))


def _control_labels(table: Table, least: int, alpha: float, loss: Loss) -> tuple[Record, Counts]:
    """Find thresholds that satisfy the bound for each label with enough documents, none above that for all labels."""
    kind, needed = f"bound on missed {loss} shares", needed_documents(alpha)
    due, missed = (2, 3) if loss == "entity" else (0, 1)  # columns of `Counts.labels`

    def label_shares(counts: Counts) -> Floats:  # shape (documents, labels); NaN for a document without the label
        return ratio(counts.labels[:, :, missed], counts.labels[:, :, due])

    cubes = np.stack([label_shares(counts) for counts in table.counts])
    having = ~np.isnan(cubes[0])
    large = {label: k for k, label in enumerate(table.sweep.labels) if having[:, k].sum() >= needed}
    found = {label: control_risk(cubes[:, having[:, k], k], alpha) for label, k in large.items()}
    first = {label: max(least, i) for label, i in _reachable(found, kind, alpha).items()}

    def failing(counts: Counts) -> list[str]:
        columns = label_shares(counts)
        rows = {label: columns[having[:, k], k] for label, k in large.items()}
        return [label for label, row in rows.items() if bounded_risk(row[None])[0] > alpha + _ROUNDING]

    record, counts = _lower_labels(table, least, first, failing)
    _reachable(dict.fromkeys(failing(counts)), kind, alpha)
    return record, counts


def _lower_labels(
    table: Table, default: int, first: Mapping[str, int], failing: Callable[[Counts], list[str]]
) -> tuple[Record, Counts]:
    """Find thresholds for single labels such that all labels satisfy a constraint at the same time.

    Each label starts at the highest threshold that would be sufficient for its gold entities if all labels had it.
    Some of these entities may be predicted under another label with a higher threshold. While the gold entities of a
    label violate the constraint, the thresholds of the labels that exclude parts of them are lowered by one step. This
    terminates: with all thresholds at that of the label, its constraint is satisfied.
    """
    at = {label: first.get(label, default) for label in table.sweep.ner.labels}
    while True:
        labels = {label: table.thresholds[i] for label, i in at.items() if i != default}
        counts = table.sweep.count({"default": table.thresholds[default], "labels": labels})
        blame = counts.blame.sum(axis=0)
        wanted: dict[str, int] = {}
        for label in failing(counts):
            guilty = np.flatnonzero(blame[table.sweep.labels.index(label)])
            wanted |= {name: 1 for k in guilty if at[name := table.sweep.ner.labels[k]] < first.get(label, 0)}
        if not wanted:
            return make_record(table.thresholds[default], labels, counts), counts
        at = {label: i + wanted.get(label, 0) for label, i in at.items()}


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
