"""Operating points found on a development set: named ones, for a wanted recall, or for a bound on what is missed.

======================  ===============================================================
``balanced``            the best F1 of entity and label
``high_recall``         the most documents with nothing missed, at a character precision of .95 or more
``max_recall``          the highest character recall, at a character precision of .90 or more
======================  ===============================================================

Each is no surer than the one above it, and where two thresholds do equally well the surer one is taken. If no
threshold has the precision, the point is that of the row above. All figures are those of the whole pipeline on the
development set, so they flatter a little what was chosen on it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .bootstrap import ratio
from .by_label import cheapest_recall, highest_f1
from .conformal import bounded_risk, control_risk, needed_documents
from .sweep import THRESHOLDS, Counts, Sweep, summarize

__all__ = ["FLOORS", "Loss", "Table", "control_point", "fit_points", "measure", "recall_point"]

Floats = NDArray[np.float64]
Loss = Literal["entity", "character"]
Record = dict[str, Any]

# least character precision
FLOORS = {"high_recall": 0.95, "max_recall": 0.90}
_USELESS = 0.5
_ENOUGH = 100  # documents from which on labels get thresholds of their own
_MARGIN = 0.002  # by which the precision is kept above its floor where many thresholds are fitted at once
_EVEN, _AROUND_EVEN = 0.5, (0.95, 0.85, 0.7, 0.35, 0.2, 0.1)
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
        return np.stack([_share(counts.total, loss) for counts in self.counts])

    def label_losses(self, loss: Loss) -> dict[str, Floats]:
        """The same for the gold entities of each label, on the documents that have any."""
        cubes = np.stack([_label_shares(counts.labels, loss) for counts in self.counts])
        return {label: cubes[:, ~np.isnan(cubes[0, :, k]), k] for k, label in enumerate(self.sweep.labels)}


def _share(total: NDArray[np.int64], loss: Loss) -> Floats:
    """Share of each document that is missed."""
    due, missed = (total[:, column] for column in _TOTAL[loss])
    due = due + missed if loss == "character" else due
    return np.nan_to_num(ratio(missed, due))


def _label_shares(labels: NDArray[np.int64], loss: Loss) -> Floats:
    """Share of each label of each document that is missed, NaN where it has none."""
    due, missed = (labels[:, :, column] for column in _LABEL[loss])
    return ratio(missed, due)


def measure(sweep: Sweep, thresholds: Sequence[float] = THRESHOLDS) -> Table:
    """Sweep over one threshold for all labels, until more than half of what is covered is no PHI.

    sweep (Sweep): the pipeline and its corpus.
    thresholds (Sequence[float]): in any order.
    RETURNS (Table): from sure to sensitive.
    """
    done: dict[float, Counts] = {}
    for threshold in sorted(thresholds, reverse=True):
        done[threshold] = sweep.count({"default": threshold, "labels": {}})
        if (summarize(done[threshold])["character_precision"] or 1.0) < _USELESS:
            break
    return Table(sweep, list(done), list(done.values()))


def fit_points(table: Table) -> dict[str, Record]:
    """Find the named points.

    table (Table): a sweep over the development set.
    RETURNS (dict[str, dict]): name → "default" (threshold), "labels" (label → its own threshold) and "figures".
    """
    rows = [summarize(counts) for counts in table.counts]
    first = _best(rows, range(len(rows)), "strict_f1")
    chosen = {"balanced": first}
    for name, figure in (("high_recall", "clean"), ("max_recall", "character_recall")):
        allowed = [i for i in range(first, len(rows)) if (rows[i]["character_precision"] or 0.0) >= FLOORS[name]]
        first = _best(rows, allowed, figure) if allowed else first
        chosen[name] = first
    points = {name: _record(table.thresholds[i], {}, rows[i]) for name, i in chosen.items()}
    return points if len(table.sweep.gold) < _ENOUGH else points | _fit_labels(table.sweep, points)


def _fit_labels(sweep: Sweep, points: Mapping[str, Record]) -> dict[str, Record]:
    """The first two points with thresholds by label, where these do better."""
    base = points["high_recall"]["default"]
    floor = FLOORS["high_recall"] + _MARGIN
    found = {
        "balanced": (_EVEN, highest_f1(sweep, _EVEN, _AROUND_EVEN)),
        "high_recall": (base, cheapest_recall(sweep, base, [min(0.95, base * factor) for factor in _FACTORS], floor)),
    }
    records = {
        name: _record(default, labels, summarize(sweep.count({"default": default, "labels": labels})))
        for name, (default, labels) in found.items()
    }
    better = {"balanced": "strict_f1", "high_recall": "character_recall"}
    return {
        name: record
        for name, record in records.items()
        if record["figures"][better[name]] >= points[name]["figures"][better[name]]
    }


def _best(rows: Sequence[Mapping[str, Any]], among: Sequence[int], figure: str) -> int:
    """The row with the highest figure, of equals the first and so the surest."""
    return max(among, key=lambda i: (rows[i][figure] or 0.0, -i))


def _record(default: float, labels: Mapping[str, float], figures: Mapping[str, Any]) -> Record:
    """A point as it is saved."""
    return {"default": default, "labels": dict(labels), "figures": dict(figures)}


def recall_point(table: Table, recall: float, *, per_label: bool = False) -> Record:
    """The surest point with a wanted character recall on the development set.

    table (Table): a sweep over the development set.
    recall (float): above 0 and below 1.
    per_label (bool): whether the gold of each label has to reach it.
    RETURNS (dict): "default", "labels" and "figures".
    RAISES: ConfigError if no threshold reaches it (D344) or it is no such number (D345).
    """
    if not 0.0 < recall < 1.0:
        raise ConfigError(Errors.D345.format(name="the wanted recall", value=recall))

    def reached(counts: Counts) -> float:
        hits, missed = counts.total[:, 3].sum(), counts.total[:, 5].sum()
        return float(ratio(hits, hits + missed))

    def failing(counts: Counts) -> list[str]:
        due, missed = counts.labels[:, :, 0].sum(axis=0), counts.labels[:, :, 1].sum(axis=0)
        return [name for name, d, m in zip(table.sweep.labels, due, missed, strict=True) if d and 1 - m / d < recall]

    values = [reached(counts) for counts in table.counts]
    kept = [i for i, value in enumerate(values) if value >= recall]
    if not kept:
        what = {"kind": "character recall", "wanted": recall, "best": max(values), "documents": len(table.sweep.gold)}
        raise ConfigError(Errors.D344.format(**what))
    if not per_label:
        return _record(table.thresholds[kept[0]], {}, summarize(table.counts[kept[0]]))
    short = [failing(counts) for counts in table.counts]
    first = {label: next((i for i, k in enumerate(short) if label not in k), None) for label in table.sweep.labels}
    return _refine(table, kept[0], _reachable(first, "character recall", recall), failing)


def _reachable(first: Mapping[str, int | None], kind: str, wanted: float) -> dict[str, int]:
    """Make sure that each label has a threshold that is enough. RAISES: ConfigError (D350)."""
    out = {label: i for label, i in first.items() if i is not None}
    if len(out) < len(first):
        labels = ", ".join(sorted(first.keys() - out.keys()))
        raise ConfigError(Errors.D350.format(kind=kind, wanted=wanted, labels=labels))
    return out


def control_point(table: Table, alpha: float, *, loss: Loss = "entity", per_label: bool = False) -> Record:
    """The surest point that keeps a bound on what is missed; see `conformal`.

    With `per_label` the inequality holds for the gold of each label as well, over the documents that have the label. A
    label with too few documents takes the threshold for all labels. As the thresholds of labels are then fitted
    together, the theorem is a guide there; it holds to the letter for one threshold for all labels.

    table (Table): a sweep over the development set.
    alpha (float): bound on the expected share of a document's entities of which something is missed.
    loss (str): "entity", or "character" for the share of its letters and digits.
    per_label (bool): whether the bound has to hold for each label.
    RETURNS (dict): "default", "labels" and "figures"; the latter with "risk", "loss" and "risk_bound".
    RAISES: ConfigError if there are too few documents (D343), no threshold keeps the bound (D344), or it is no number
        above 0 and below 1 (D345).
    """
    losses = table.losses(loss)
    i = control_risk(losses, alpha)
    if i is None:
        best = float(bounded_risk(losses).min())
        what = {"kind": f"bound on missed {loss} shares", "wanted": alpha, "best": best, "documents": losses.shape[1]}
        raise ConfigError(Errors.D344.format(**what))
    record = _record(table.thresholds[i], {}, summarize(table.counts[i]))
    if per_label:
        needed = needed_documents(alpha)
        large = {label: cube for label, cube in table.label_losses(loss).items() if cube.shape[1] >= needed}
        found = {label: control_risk(cube, alpha) for label, cube in large.items()}
        first = _reachable(found, f"bound on missed {loss} shares", alpha)

        def failing(counts: Counts) -> list[str]:
            shares = _label_shares(counts.labels, loss)
            columns = {label: shares[:, k] for k, label in enumerate(table.sweep.labels) if label in large}
            dense = {label: column[~np.isnan(column)] for label, column in columns.items()}
            return [label for label, row in dense.items() if bounded_risk(row[None])[0] > alpha + 1e-9]

        record = _refine(table, i, first, failing)
    record["figures"] |= {"risk": alpha, "loss": loss}
    return record


def _refine(table: Table, default: int, first: Mapping[str, int], failing: Callable[[Counts], list[str]]) -> Record:
    """Thresholds by label that keep a demand together.

    Each label starts at the surest threshold that is enough for its gold if all labels have it. Some of its gold may
    lie under another label in the classifier's eyes, whose threshold is surer. So as long as the gold of a label falls
    short, the surer thresholds that keep pieces of it out go down a step. That ends, because with all of them at its
    own the demand is met.
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
            return _record(table.thresholds[default], labels, summarize(counts))
        at = {label: i + wanted.get(label, 0) for label, i in at.items()}
