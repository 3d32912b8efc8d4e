"""Operating points that keep a demand: a wanted recall, or a bound on what is missed.

The surest threshold that keeps it is taken, for all labels or for each. Thresholds by label are fitted together, so
the demand is checked again on the point that they make; what does not keep it is an error and never a point.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ..errors import ConfigError, Errors
from .bootstrap import ratio
from .conformal import bounded_risk, control_risk, needed_documents
from .operating import Loss, Record, Table, label_shares, make_record, shares
from .sweep import Counts

__all__ = ["control_point", "recall_point"]

_ROUNDING = 1e-9


def recall_point(table: Table, recall: float, *, per_label: bool = False) -> Record:
    """The surest point with a wanted character recall on the development set.

    table (Table): a sweep over the development set.
    recall (float): above 0 and below 1.
    per_label (bool): whether the gold of each label has to reach it.
    RETURNS (dict): "default", "labels" and "figures".
    RAISES: ConfigError if no threshold reaches it (D344), none does for a label (D350), or for no such number (D345).
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
    record, counts = _refine(table, kept[0], _reachable(first, "character recall", recall), failing)
    _reachable(dict.fromkeys(failing(counts)), "character recall", recall)
    if _recall(counts) < recall:
        raise _unreached(table, "character recall", recall, _recall(counts))
    return record


def _recall(counts: Counts) -> float:
    """Character recall; no number without gold."""
    hits, missed = counts.total[:, 3].sum(), counts.total[:, 5].sum()
    return float(ratio(hits, hits + missed))


def _unreached(table: Table, kind: str, wanted: float, best: float) -> ConfigError:
    """The error of a demand that no threshold keeps (D344)."""
    return ConfigError(Errors.D344.format(kind=kind, wanted=wanted, best=best, documents=len(table.sweep.gold)))


def _reachable(first: Mapping[str, int | None], kind: str, wanted: float) -> dict[str, int]:
    """Make sure that each label has a threshold that is enough. RAISES: ConfigError (D350)."""
    out = {label: i for label, i in first.items() if i is not None}
    if len(out) < len(first):
        labels = ", ".join(sorted(first.keys() - out.keys()))
        raise ConfigError(Errors.D350.format(kind=kind, wanted=wanted, labels=labels))
    return out


def control_point(table: Table, alpha: float, *, loss: Loss = "entity", per_label: bool = False) -> Record:
    """The surest point that keeps a bound on what is missed; see `conformal`.

    With `per_label` the inequality holds for the gold of each label as well, over the documents that have the label.
    No label is surer than the one threshold that keeps the bound for all of them; a label with too few documents takes
    that one. As the thresholds of labels are then fitted together, the theorem is a guide there; it holds to the
    letter for one threshold for all labels.

    table (Table): a sweep over documents that were used for nothing else: not to train, choose or calibrate.
    alpha (float): bound on the expected share of a document's entities of which something is missed.
    loss (str): "entity", or "character" for the share of its letters and digits.
    per_label (bool): whether the bound has to hold for each label.
    RETURNS (dict): "default", "labels" and "figures"; the latter with "risk", "loss" and "risk_bound", the left side
        of the inequality.
    RAISES: ConfigError if there are too few documents (D343), no threshold keeps the bound (D344) or none does for a
        label (D350), and for no number above 0 and below 1 (D345).
    """
    kind = f"bound on missed {loss} shares"
    losses = table.losses(loss)
    i = control_risk(losses, alpha)
    if i is None:
        raise _unreached(table, kind, alpha, float(bounded_risk(losses).min()))
    record, bound = make_record(table.thresholds[i], {}, table.counts[i]), float(bounded_risk(losses)[i])
    if per_label:
        record, counts = _control_labels(table, i, alpha, loss)
        bound = float(bounded_risk(shares(counts.total, loss)[None])[0])
        if bound > alpha + _ROUNDING:
            raise _unreached(table, kind, alpha, bound)
    record["figures"] |= {"risk": alpha, "loss": loss, "risk_bound": round(bound, 5)}
    return record


def _control_labels(table: Table, least: int, alpha: float, loss: Loss) -> tuple[Record, Counts]:
    """Keep the bound for each label with enough documents, none of them surer than the threshold for all."""
    kind, needed = f"bound on missed {loss} shares", needed_documents(alpha)
    large = {label: cube for label, cube in table.label_losses(loss).items() if cube.shape[1] >= needed}
    found = _reachable({label: control_risk(cube, alpha) for label, cube in large.items()}, kind, alpha)

    def failing(counts: Counts) -> list[str]:
        columns = label_shares(counts.labels, loss)
        rows = {label: columns[:, k] for k, label in enumerate(table.sweep.labels) if label in large}
        dense = {label: row[~np.isnan(row)] for label, row in rows.items()}
        return [label for label, row in dense.items() if bounded_risk(row[None])[0] > alpha + _ROUNDING]

    record, counts = _refine(table, least, {label: max(least, i) for label, i in found.items()}, failing)
    _reachable(dict.fromkeys(failing(counts)), kind, alpha)
    return record, counts


def _refine(
    table: Table, default: int, first: Mapping[str, int], failing: Callable[[Counts], list[str]]
) -> tuple[Record, Counts]:
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
            return make_record(table.thresholds[default], labels, counts), counts
        at = {label: i + wanted.get(label, 0) for label, i in at.items()}
