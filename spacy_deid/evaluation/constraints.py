"""Choose operating points that satisfy a constraint on a development set.

A constraint is a minimum recall, or a bound on what is missed. The highest threshold that satisfies it is chosen, for
all labels or for each label. Thresholds of several labels interact, so the constraint is checked again on the complete
point; a constraint that cannot be satisfied is an error. The bound uses conformal risk control. For a loss between 0
and B that decreases with λ, and n documents, the smallest λ with

    n / (n + 1) · R̂(λ) + B / (n + 1) ≤ α,    R̂(λ) the mean loss of the n documents,

has an expected loss of at most α on a new document from the same distribution. The expectation includes the choice of
the n documents: the bound is on the mean, not on each note, and it does not cover notes of another kind.

Source: Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal Risk Control", 2022, arXiv:2208.02814, theorem 1.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from ..errors import ConfigError, Errors
from .metrics import Floats, ratio
from .operating_points import Loss, Record, Table, make_record, missed_shares
from .sweep import Counts

_ROUNDING = 1e-9


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
        bound = float(bounded_risk(missed_shares(counts.total, loss)[None])[0])
        if bound > alpha + _ROUNDING:
            raise _unreached(table, kind, alpha, bound)
    record["figures"] |= {"risk": alpha, "loss": loss, "risk_bound": round(bound, 5)}
    return record


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
