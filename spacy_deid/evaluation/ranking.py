"""Evaluate a score that ranks tokens: figures at a threshold, choice of thresholds, areas under curves.

A higher score means that a token is more likely PHI. A token is found if its score is at least the threshold. With the
counts tp, fp, fn and tn,

    accuracy = (tp + tn) / (tp + fp + fn + tn)    precision = tp / (tp + fp)    recall = tp / (tp + fn)
    F1 = 2 tp / (2 tp + fp + fn)

- **PR-AUC** is average precision, Σ (Rₙ - Rₙ₋₁) Pₙ over decreasing thresholds. Linear interpolation between points of
    a
  precision-recall curve would be too optimistic (Davis and Goadrich 2006, doi:10.1145/1143844.1143874). Equal scores
  are one threshold. Myntti (2025, section 5.3.4) uses the same definition.
- **ROC-AUC** is the probability that a PHI token scores higher than another token, with ties counting one half: the
  rank statistic of Mann and Whitney (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747),
  (Σ r - n(n + 1) / 2) / nm, where r are the mean ranks of the n PHI tokens among all n + m tokens.

Plus infinity is replaced by the largest finite number, so that every threshold is finite. Minus infinity means "never
found": such a token is below every threshold. Figures with denominator 0 are undefined and None.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError, Errors, InputError
from .files import read_text, write_text
from .metrics import plain, ratio

FIGURES = ("accuracy", "f1", "recall", "precision", "pr_auc", "roc_auc")
HIGHEST = sys.float_info.max  # stands for infinity, which JSON cannot say

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Counts at every distinct threshold, in decreasing order.

    thresholds (Floats): distinct finite scores, shape (thresholds,).
    tp, fp (Counts): true and false positives at each threshold.
    gold (int): number of PHI tokens.
    total (int): number of tokens.
    """

    thresholds: Floats
    tp: Counts
    fp: Counts
    gold: int
    total: int

    def figures(self) -> dict[str, Floats]:
        """Return accuracy, F1, recall and precision at each threshold; NaN where undefined."""
        fn = self.gold - self.tp
        right = self.total - self.fp - fn
        return {
            "accuracy": ratio(right, np.full_like(right, self.total)),
            "f1": ratio(2 * self.tp, 2 * self.tp + self.fp + fn),
            "recall": ratio(self.tp, np.full_like(self.tp, self.gold)),
            "precision": ratio(self.tp, self.tp + self.fp),
        }


def sweep(gold: ArrayLike, scores: ArrayLike) -> Sweep:
    """Count true and false positives at every threshold.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    RETURNS (Sweep): one entry for each distinct score except minus infinity.
    RAISES: InputError (D830) if a score is NaN or the lengths differ.
    """
    golds, values = _check(gold, scores)
    levels, place = np.unique(-values, return_inverse=True)  # from the highest down
    tp = np.cumsum(np.bincount(place, golds, len(levels)).astype(np.int64))
    fp = np.cumsum(np.bincount(place, ~golds, len(levels)).astype(np.int64))
    reached = levels < np.inf
    return Sweep(-levels[reached], tp[reached], fp[reached], int(golds.sum()), len(golds))


def figures_at(gold: ArrayLike, scores: ArrayLike, threshold: float) -> dict[str, float | None]:
    """Compute the figures at a threshold.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    threshold (float): minimum score of a found token.
    RETURNS (dict[str, float | None]): "accuracy", "f1", "recall" and "precision"; None if undefined.
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    found = values >= min(threshold, HIGHEST)
    tp, fp = np.array([(golds & found).sum()]), np.array([(~golds & found).sum()])
    one = Sweep(np.array([threshold]), tp, fp, int(golds.sum()), len(golds))
    return {name: plain(value[0]) for name, value in one.figures().items()}


def best_f1_threshold(gold: ArrayLike, scores: ArrayLike) -> float:
    """Find the highest threshold with the best F1.

    The threshold is halfway between two scores, so that rounding errors on another machine do not change what is
    found.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    RETURNS (float): a finite threshold.
    RAISES: InputError (D830) as `sweep`; (D831) if no token is PHI or none has a score.
    """
    steps = _require(sweep(gold, scores))
    return _halfway(steps, int(np.argmax(steps.figures()["f1"])))


def recall_threshold(gold: ArrayLike, scores: ArrayLike, recall: float) -> float:
    """Find the highest threshold that reaches a recall, halfway between two scores.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    recall (float): minimum recall, above 0 and at most 1.
    RETURNS (float): a finite threshold.
    RAISES: InputError (D830) as `sweep`; (D831) if no token is PHI; (D832) if no threshold reaches the recall, because
        some PHI tokens have no score.
    """
    steps = _require(sweep(gold, scores))
    reached = steps.figures()["recall"]
    if reached[-1] < recall:
        raise InputError(Errors.D832.format(wanted=recall, reached=round(float(reached[-1]), 5)))
    return _halfway(steps, int(np.argmax(reached >= recall)))


def _halfway(steps: Sweep, i: int) -> float:
    """Return a threshold between the score of an entry and the next lower score."""
    score = float(steps.thresholds[i])
    if i + 1 < len(steps.thresholds):
        middle = score / 2 + float(steps.thresholds[i + 1]) / 2
        return middle if middle < score else score
    return score - max(1.0, abs(score)) * 1e-6


def average_precision(gold: ArrayLike, scores: ArrayLike) -> float | None:
    """Compute PR-AUC. Tokens with score minus infinity come last, as a single step.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    RETURNS (float | None): between 0 and 1, the share of PHI for a random score; None if no token is PHI.
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    steps = sweep(golds, np.maximum(values, -HIGHEST))
    if not steps.gold:
        return None
    gained = np.diff(steps.tp, prepend=0)
    return float((gained * steps.tp / (steps.tp + steps.fp)).sum() / steps.gold)


def roc_auc(gold: ArrayLike, scores: ArrayLike) -> float | None:
    """Compute ROC-AUC.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    RETURNS (float | None): between 0 and 1, one half for a random score; None if all tokens are PHI, or none is.
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    n, m = int(golds.sum()), int((~golds).sum())
    return float((ranks[place][golds].sum() - n * (n + 1) / 2) / (n * m)) if n and m else None


def summarize(gold: ArrayLike, scores: ArrayLike, threshold: float) -> dict[str, float | int | None]:
    """Compute all figures of a score.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    threshold (float): minimum score of a found token.
    RETURNS (dict[str, float | int | None]): `FIGURES`, "gold" (number of PHI tokens) and "total".
    RAISES: InputError (D830) as `sweep`.
    """
    golds, values = _check(gold, scores)
    areas = {"pr_auc": average_precision(golds, values), "roc_auc": roc_auc(golds, values)}
    return {**figures_at(golds, values, threshold), **areas, "gold": int(golds.sum()), "total": len(golds)}


def _check(gold: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Convert both sides to arrays and check that they have the same length and no score is NaN."""
    golds, values = np.asarray(gold, dtype=np.bool_), np.asarray(scores, dtype=np.float64)
    if golds.ndim != 1 or golds.shape != values.shape:
        raise InputError(Errors.D830.format(reason=f"{values.shape} scores for {golds.shape} tokens"))
    if broken := int(np.isnan(values).sum()):
        first = int(np.argmax(np.isnan(values)))
        raise InputError(Errors.D830.format(reason=f"{broken} score(s) are not a number, the first at {first}"))
    return golds, np.minimum(values, HIGHEST)


def _require(steps: Sweep) -> Sweep:
    """Check that there is a PHI token and a score to choose a threshold from."""
    if not steps.gold or not len(steps.thresholds):
        raise InputError(Errors.D831.format(gold=steps.gold, scored=int((steps.tp + steps.fp)[-1:].sum())))
    return steps


_CURVE_ROWS = 200


def choose_threshold(gold: ArrayLike, scores: ArrayLike, by: str) -> float:
    """Choose a threshold.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    by (str): "f1" for the best F1, or "recall=R" for the highest threshold with recall R.
    RETURNS (float): the threshold.
    RAISES: ConfigError (D835) for any other criterion; InputError as `recall_threshold`.
    """
    name, _, wanted = by.partition("=")
    if by == "f1":
        return best_f1_threshold(gold, scores)
    try:
        recall = float(wanted) if name == "recall" else 0.0
    except ValueError:
        recall = 0.0
    if not 0.0 < recall <= 1.0:
        raise ConfigError(Errors.D835.format(value=by))
    return recall_threshold(gold, scores, recall)


def score_curve(gold: ArrayLike, scores: ArrayLike, threshold: float) -> list[dict[str, float | None]]:
    """Return rows for a plot: up to 400 thresholds, evenly spaced by score and by token, and the chosen one.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): score of each token.
    threshold (float): chosen threshold.
    RETURNS (list[dict]): "threshold", "accuracy", "f1", "recall", "precision" by decreasing threshold; None if
        undefined.
    """
    steps = sweep(gold, scores)
    levels = steps.thresholds
    drawn = without_outlier(levels)
    wanted = np.linspace(drawn[-1], drawn[0], _CURVE_ROWS) if len(drawn) else drawn
    by_score = len(levels) - 1 - np.searchsorted(levels[::-1], wanted).clip(max=len(levels) - 1)
    shares = np.linspace(0, steps.total, _CURVE_ROWS)
    by_token = np.searchsorted(steps.tp + steps.fp, shares).clip(max=len(levels) - 1)
    kept = np.unique(np.concatenate([by_score, by_token]))
    figures = {name: values[kept] for name, values in steps.figures().items()}
    rows = [
        {"threshold": float(level), **{name: plain(values[i]) for name, values in figures.items()}}
        for i, level in enumerate(levels[kept])
    ]
    if threshold not in levels[kept]:
        rows.append({"threshold": threshold, **figures_at(gold, scores, threshold)})
    return sorted(rows, key=lambda row: -(row["threshold"] or 0.0))


def without_outlier(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop the score of tokens that the model cannot read, which is far above all others, from thresholds."""
    levels = levels[levels < HIGHEST]
    far = len(levels) > 2 and levels[0] - levels[1] > levels[1] - levels[-1]
    return levels[int(far) :]


def write_score_curve(folder: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write the threshold and the curve as JSON.

    folder (Path): created if missing.
    about (Mapping): "threshold", and how it was chosen.
    rows (Sequence[Mapping]): rows of `score_curve`.
    RETURNS (Path): the file, curves.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "curves.json"
    write_text(path, json.dumps({**about, "rows": rows}, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return path


def read_threshold(path: Path) -> dict[str, Any]:
    """Read the file of `write_score_curve` without its rows.

    path (Path): curves.json, or its folder.
    RETURNS (dict): "threshold", and how it was chosen.
    RAISES: InputError if the file cannot be read (D303) or has no threshold (D836).
    """
    path = path / "curves.json" if path.is_dir() else path
    try:
        about: Any = json.loads(read_text(path))
        return {
            **{name: value for name, value in about.items() if name != "rows"},
            "threshold": float(about["threshold"]),
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Errors.D836.format(path=path, reason="holds no threshold of `surprisal tune`")) from None
