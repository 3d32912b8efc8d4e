"""How well a score tells what is PHI from what is not: figures at a threshold, thresholds, areas under curves.

A score says how surprising a token is, and higher is more likely PHI. What scores at or above the threshold is found.
With tp, fp, fn and tn counted so,

    accuracy = (tp + tn) / (tp + fp + fn + tn)    precision = tp / (tp + fp)    recall = tp / (tp + fn)
    F1 = 2 tp / (2 tp + fp + fn)

- **PR-AUC** is average precision, Σ (Rₙ - Rₙ₋₁) Pₙ over the thresholds from the highest down: a sum of steps, because
  a straight line between two points of a precision-recall curve promises what no threshold gives (Davis and Goadrich
  2006, doi:10.1145/1143844.1143874). Equal scores are one threshold. The thesis that the measures are compared with
  (Myntti 2025, section 5.3.4) has the same.
- **ROC-AUC** is the chance that a token that is PHI scores higher than one that is not, ties counting half: the rank
  statistic of Mann and Whitney (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747),
  (Σ r - n(n + 1) / 2) / nm, with r the mean ranks of the n tokens of PHI among all n + m.

Plus infinity is a score like others and counts as the largest number there is, so that every threshold is finite.
Minus infinity says "never found": such a token is below every threshold, whatever is asked for. With nothing to divide
by a figure is not defined, and None, as everywhere in this package.
"""

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Errors, InputError
from .bootstrap import plain, ratio

__all__ = [
    "FIGURES",
    "Sweep",
    "average_precision",
    "best_f1_threshold",
    "figures_at",
    "recall_threshold",
    "roc_auc",
    "summarize",
    "sweep",
]

FIGURES = ("accuracy", "f1", "recall", "precision", "pr_auc", "roc_auc")
HIGHEST = sys.float_info.max  # stands for infinity, which JSON cannot say

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """What is found at every threshold that makes a difference, from the highest down.

    thresholds (Floats): the different scores; finite.
    tp, fp (Counts): tokens found at each of them that are PHI, and that are not.
    gold (int): tokens that are PHI.
    total (int): tokens.
    """

    thresholds: Floats
    tp: Counts
    fp: Counts
    gold: int
    total: int

    def figures(self) -> dict[str, Floats]:
        """Accuracy, F1, recall and precision at each threshold; NaN where one is not defined."""
        fn = self.gold - self.tp
        right = self.total - self.fp - fn
        return {
            "accuracy": ratio(right, np.full_like(right, self.total)),
            "f1": ratio(2 * self.tp, 2 * self.tp + self.fp + fn),
            "recall": ratio(self.tp, np.full_like(self.tp, self.gold)),
            "precision": ratio(self.tp, self.tp + self.fp),
        }


def sweep(gold: ArrayLike, scores: ArrayLike) -> Sweep:
    """Count what every threshold finds.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    RETURNS (Sweep): one entry for each different score; none for minus infinity.
    RAISES: InputError (D830) for a score that is not a number, or for sides of different length.
    """
    golds, values = _check(gold, scores)
    levels, place = np.unique(-values, return_inverse=True)  # from the highest down
    tp = np.cumsum(np.bincount(place, golds, len(levels)).astype(np.int64))
    fp = np.cumsum(np.bincount(place, ~golds, len(levels)).astype(np.int64))
    reached = levels < np.inf
    return Sweep(-levels[reached], tp[reached], fp[reached], int(golds.sum()), len(golds))


def figures_at(gold: ArrayLike, scores: ArrayLike, threshold: float) -> dict[str, float | None]:
    """The figures of one threshold.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    threshold (float): what scores as high is found.
    RETURNS (dict[str, float | None]): "accuracy", "f1", "recall" and "precision"; None where one is not defined.
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    found = values >= min(threshold, HIGHEST)
    tp, fp = np.array([(golds & found).sum()]), np.array([(~golds & found).sum()])
    one = Sweep(np.array([threshold]), tp, fp, int(golds.sum()), len(golds))
    return {name: plain(value[0]) for name, value in one.figures().items()}


def best_f1_threshold(gold: ArrayLike, scores: ArrayLike) -> float:
    """A threshold with the best F1; of several the highest, which covers least.

    It lies halfway between two scores, so that it matters neither whether what equals it is found nor whether scores
    are the same to the last digit on another machine.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    RETURNS (float): a finite number.
    RAISES: InputError (D830) as `sweep`; (D831) if no token is PHI, or none has a score.
    """
    steps = _require(sweep(gold, scores))
    return _halfway(steps, int(np.argmax(steps.figures()["f1"])))


def recall_threshold(gold: ArrayLike, scores: ArrayLike, recall: float) -> float:
    """The highest threshold that reaches a recall, halfway between two scores.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    recall (float): what is wanted, above 0 and at most 1.
    RETURNS (float): a finite number.
    RAISES: InputError (D830) as `sweep`; (D831) if no token is PHI; (D832) if no threshold reaches it, because tokens
        of PHI have no score.
    """
    steps = _require(sweep(gold, scores))
    reached = steps.figures()["recall"]
    if reached[-1] < recall:
        raise InputError(Errors.D832.format(wanted=recall, reached=round(float(reached[-1]), 5)))
    return _halfway(steps, int(np.argmax(reached >= recall)))


def _halfway(steps: Sweep, i: int) -> float:
    """A threshold that finds what the entry of a sweep finds: between its score and the next lower one."""
    score = float(steps.thresholds[i])
    if i + 1 < len(steps.thresholds):
        middle = score / 2 + float(steps.thresholds[i + 1]) / 2
        return middle if middle < score else score
    return score - max(1.0, abs(score)) * 1e-6


def average_precision(gold: ArrayLike, scores: ArrayLike) -> float | None:
    """PR-AUC: the mean precision over the steps of recall. Tokens that are never found come last, and all at once.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    RETURNS (float | None): 0 to 1, the share of PHI by chance; None if no token is PHI.
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    steps = sweep(golds, np.maximum(values, -HIGHEST))
    if not steps.gold:
        return None
    gained = np.diff(steps.tp, prepend=0)
    return float((gained * steps.tp / (steps.tp + steps.fp)).sum() / steps.gold)


def roc_auc(gold: ArrayLike, scores: ArrayLike) -> float | None:
    """ROC-AUC: the chance that PHI scores higher than what is not, ties counting half.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    RETURNS (float | None): 0 to 1, a half by chance; None if all tokens are PHI, or none is.
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    n, m = int(golds.sum()), int((~golds).sum())
    return float((ranks[place][golds].sum() - n * (n + 1) / 2) / (n * m)) if n and m else None


def summarize(gold: ArrayLike, scores: ArrayLike, threshold: float) -> dict[str, float | int | None]:
    """All figures of a score.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    threshold (float): what scores as high is found.
    RETURNS (dict[str, float | int | None]): `FIGURES`, and how many are "gold" of how many in "total".
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    areas = {"pr_auc": average_precision(golds, values), "roc_auc": roc_auc(golds, values)}
    return {**figures_at(golds, values, threshold), **areas, "gold": int(golds.sum()), "total": len(golds)}


def _check(gold: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Both sides as arrays of one length, every score a number."""
    golds, values = np.asarray(gold, dtype=np.bool_), np.asarray(scores, dtype=np.float64)
    if golds.ndim != 1 or golds.shape != values.shape:
        raise InputError(Errors.D830.format(reason=f"{values.shape} scores for {golds.shape} tokens"))
    if broken := int(np.isnan(values).sum()):
        first = int(np.argmax(np.isnan(values)))
        raise InputError(Errors.D830.format(reason=f"{broken} score(s) are not a number, the first at {first}"))
    return golds, np.minimum(values, HIGHEST)


def _require(steps: Sweep) -> Sweep:
    """Make sure that a threshold can be chosen."""
    if not steps.gold or not len(steps.thresholds):
        raise InputError(Errors.D831.format(gold=steps.gold, scored=int((steps.tp + steps.fp)[-1:].sum())))
    return steps
