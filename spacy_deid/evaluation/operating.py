"""Named operating points found on a development set.

======================  ===============================================================
``balanced``            the best F1 of entity and label
``high_recall``         the most documents with nothing missed, at a character precision of .95 or more
``max_recall``          the highest character recall, at a character precision of .90 or more
======================  ===============================================================

None is surer than .5, for any label, because above it spans of the classifier's own best path would be taken away; and
none is surer for any label than the one above it. `balanced` is, of all that are less than .001 below the best F1, the
one with the most documents with nothing missed. Where two thresholds do equally well the surer one is taken. All
figures are those of the whole pipeline on the development set, so they flatter a little what was chosen on it.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors, Warnings
from .bootstrap import ratio
from .by_label import cheapest_recall, highest_f1
from .sweep import THRESHOLDS, Counts, Sweep, summarize

__all__ = [
    "FLOORS",
    "Loss",
    "PointWarning",
    "Record",
    "Table",
    "fit_points",
    "label_shares",
    "make_record",
    "measure",
    "shares",
]

Floats = NDArray[np.float64]
Loss = Literal["entity", "character"]
Record = dict[str, Any]


class PointWarning(UserWarning):
    """A point is not what its name promises."""


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
_TOTAL = {"entity": (8, 9), "character": (3, 5)}
_LABEL = {"entity": (2, 3), "character": (0, 1)}


@dataclass(frozen=True, slots=True)
class Table:
    """A sweep over one threshold for all labels.

    sweep (Sweep): the pipeline and its corpus.
    thresholds (Sequence[float]): from sure to sensitive.
    counts (list[Counts]): one a threshold.
    """

    sweep: Sweep
    thresholds: Sequence[float]
    counts: list[Counts]

    def losses(self, loss: Loss) -> Floats:
        """Share of each document that is missed, shape (thresholds, documents); 0 where nothing is due."""
        return np.stack([shares(counts.total, loss) for counts in self.counts])

    def label_losses(self, loss: Loss) -> dict[str, Floats]:
        """The same for the gold entities of each label, on the documents that have any."""
        cubes = np.stack([label_shares(counts.labels, loss) for counts in self.counts])
        return {label: cubes[:, ~np.isnan(cubes[0, :, k]), k] for k, label in enumerate(self.sweep.labels)}


def shares(total: NDArray[np.int64], loss: Loss) -> Floats:
    """Share of each document that is missed."""
    due, missed = (total[:, column] for column in _TOTAL[loss])
    due = due + missed if loss == "character" else due
    return np.nan_to_num(ratio(missed, due))


def label_shares(labels: NDArray[np.int64], loss: Loss) -> Floats:
    """Share of each label of each document that is missed, NaN where it has none."""
    due, missed = (labels[:, :, column] for column in _LABEL[loss])
    return ratio(missed, due)


def measure(sweep: Sweep, thresholds: Sequence[float] = THRESHOLDS) -> Table:
    """Sweep over one threshold for all labels, until more than half of what is covered is no PHI.

    It never ends above .5: what patterns cover and incomplete gold lacks must not leave the sure thresholds alone.

    sweep (Sweep): the pipeline and its corpus.
    thresholds (Sequence[float]): in any order.
    RETURNS (Table): from sure to sensitive.
    """
    done: dict[float, Counts] = {}
    for threshold in sorted(thresholds, reverse=True):
        done[threshold] = sweep.count({"default": threshold, "labels": {}})
        if threshold <= _EVEN and _precision(summarize(done[threshold])) < _USELESS:
            break
    return Table(sweep, list(done), list(done.values()))


def fit_points(table: Table) -> dict[str, Record]:
    """Find the named points.

    table (Table): a sweep over the development set.
    RETURNS (dict[str, dict]): name → "default" (threshold), "labels" (label → its own threshold) and "figures".
    RAISES: ConfigError (D351) if at .5 more than half of what is covered is no PHI by the gold.
    WARNS: PointWarning (DW341) if a point does not reach its precision; it then is the point above it.
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
    """The points of the sweep that are no surer than .5; if it has none, .5."""
    pairs = zip(table.thresholds, table.counts, strict=True)
    rows = [make_record(threshold, {}, counts) for threshold, counts in pairs if threshold <= _EVEN]
    return rows or [_count(table.sweep, _EVEN, {})]


def _balanced(records: Sequence[Record]) -> Record:
    """The best F1, less what is worth no document; of those the most documents with nothing missed."""
    best = max(_figure(record, "strict_f1") for record in records)
    near = [record for record in records if best - _figure(record, "strict_f1") < _TINY]
    return max(near, key=lambda record: (_figure(record, "clean"), _figure(record, "strict_f1")))


def _best_labels(sweep: Sweep) -> Record:
    """The highest F1 with thresholds by label."""
    return _count(sweep, _EVEN, highest_f1(sweep, _EVEN, _BELOW_EVEN))


def _most(table: Table, above: Record, name: str, figure: str) -> Record:
    """The point with the highest figure at its precision, among those no surer for any label than the point above."""
    records = [above, *_under(table, above)]
    allowed = [record for record in records if _precision(record["figures"]) >= FLOORS[name]]
    if not allowed:
        best = max(_precision(record["figures"]) for record in records)
        warnings.warn(Warnings.DW341.format(point=name, floor=FLOORS[name], best=best), PointWarning, stacklevel=3)
    return max(allowed or [above], key=lambda record: _figure(record, figure))


def _under(table: Table, above: Record) -> Iterator[Record]:
    """One threshold for all labels, each label held at its threshold in the point above; from sure to sensitive."""
    for row in _even_rows(table):
        threshold = row["default"]
        if threshold >= max([above["default"], *above["labels"].values()]):
            continue
        default = min(threshold, above["default"])
        labels = {label: min(threshold, value) for label, value in above["labels"].items()}
        labels = {label: value for label, value in labels.items() if value != default}
        yield _count(table.sweep, default, labels) if labels or default != threshold else row


def _saving_labels(sweep: Sweep, point: Record, above: Record) -> Record:
    """A point with thresholds by label, none surer than in the point above, if it is better than one for all."""
    choices = {}
    for label in sweep.ner.labels:
        own, most = (record["labels"].get(label, record["default"]) for record in (point, above))
        factors = (float(f"{own * factor:.2g}") for factor in _FACTORS)
        choices[label] = sorted({most, *(min(most, value) for value in factors)} - {own}, reverse=True)
    floor = FLOORS["high_recall"] + _MARGIN
    found = _count(sweep, point["default"], point["labels"] | cheapest_recall(sweep, point, choices, floor))
    return max(point, found, key=lambda record: (_figure(record, "clean"), _figure(record, "character_recall")))


def _count(sweep: Sweep, default: float, labels: Mapping[str, float]) -> Record:
    """A point with its figures."""
    return make_record(default, labels, sweep.count({"default": default, "labels": dict(labels)}))


def make_record(default: float, labels: Mapping[str, float], counts: Counts) -> Record:
    """A point as it is saved: "default", "labels" and "figures"."""
    return {"default": default, "labels": dict(labels), "figures": dict(summarize(counts))}


def _figure(record: Record, name: str) -> float:
    """A figure of a point, 0 where it is not defined."""
    return float(record["figures"][name] or 0.0)


def _precision(figures: Mapping[str, Any]) -> float:
    """Character precision; where nothing is covered nothing is covered for nothing."""
    value = figures["character_precision"]
    return 1.0 if value is None else float(value)
