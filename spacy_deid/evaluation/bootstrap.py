"""Precision, recall, F1 and their bootstrap intervals from counts per document.

    precision = tp / (tp + fp)    recall = tp / (tp + fn)    F1 = 2 tp / (2 tp + fp + fn)

With nothing to divide by a figure is not defined, and None: no gold has no recall, no prediction no precision. The
official scripts print 0.0 there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVEL", "interval", "plain", "ratio", "resample", "score"]

LEVEL = 0.95

Floats = NDArray[np.float64]


def resample(counts: NDArray[np.int64], replicates: int, seed: int) -> NDArray[np.int64]:
    """Draw documents with replacement and add their counts up, again and again.

    Documents and not entities are drawn, because entities of one note are not independent (Efron and Tibshirani 1993,
    chapter 6).

    counts (NDArray): one row a document.
    replicates (int): how often to draw.
    seed (int): seed of the draws.
    RETURNS (NDArray): one row a replicate.
    """
    documents = len(counts)
    totals = np.zeros((replicates, *counts.shape[1:]), dtype=np.int64)
    if documents == 0:
        return totals
    generator = np.random.default_rng(seed)
    flat = counts.reshape(documents, -1).astype(np.float64)  # whole numbers stay exact, and BLAS multiplies
    for i in range(replicates):
        weights = np.bincount(generator.integers(documents, size=documents), minlength=documents)
        totals[i] = np.rint(weights @ flat).reshape(counts.shape[1:])
    return totals


def ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Divide, with NaN where there is nothing to divide by.

    above, below (NDArray): counts.
    RETURNS (Floats): their ratio.
    """
    out = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=out, where=np.asarray(below) != 0)
    return out


def interval(values: Floats) -> list[float] | None:
    """The percentile interval of replicates, among those where the figure is defined.

    values (Floats): one figure a replicate.
    RETURNS (list[float]): lower and upper end of the 95 % interval; None if it is defined nowhere.
    """
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    tail = (1 - LEVEL) / 2
    return [float(end) for end in np.quantile(defined, [tail, 1 - tail])]


def score(total: NDArray[np.int64], replicates: NDArray[np.int64]) -> dict[str, Any]:
    """Precision, recall and F1 of a triple, with intervals.

    total (NDArray): true positives, false positives, false negatives.
    replicates (NDArray): one such row a replicate; no rows for no intervals.
    RETURNS (dict): "tp", "fp", "fn", "precision", "recall", "f1", and "ci" by name of the figure.
    """
    figures = _figures(total[None])
    out: dict[str, Any] = dict(zip(("tp", "fp", "fn"), (int(count) for count in total), strict=True))
    out |= {name: plain(values[0]) for name, values in figures.items()}
    if len(replicates):
        out["ci"] = {name: interval(values) for name, values in _figures(replicates).items()}
    return out


def _figures(triples: NDArray[np.int64]) -> dict[str, Floats]:
    """Precision, recall and F1 of many triples."""
    tp, fp, fn = triples.T
    return {"precision": ratio(tp, tp + fp), "recall": ratio(tp, tp + fn), "f1": ratio(2 * tp, 2 * tp + fp + fn)}


def plain(value: float) -> float | None:
    """A figure for JSON: None where it is not defined."""
    return None if np.isnan(value) else float(value)
