"""A small combination of columns: logistic regression with the neighbours of a word and products of columns.

    P(identifier) = 1 / (1 + exp(−(b + Σ w_i z_i)))

z are standardised columns, those of the word before and after, and products of two of the word's own. Fitted by Newton
steps on the penalised likelihood (iteratively reweighted least squares; Hastie, Tibshirani and Friedman, The Elements
of Statistical Learning, 4.4.1), so its values are calibrated on the notes that it was fitted on.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .columns import Columns, add_neighbours

__all__ = ["Combination", "fit_combination"]

LIMIT = 40.0  # nats; what is more surprising is not more suspicious
STEPS = 30
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Combination:
    """A fitted combination.

    columns (list[str]): columns that it reads.
    means, scales (list[float]): of the columns.
    weights (list[float]): of the standardised columns, their neighbours and their products.
    bias (float): b.
    """

    columns: list[str]
    means: list[float]
    scales: list[float]
    weights: list[float]
    bias: float

    def predict(self, columns: Columns) -> Values:
        """The probability of each word.

        columns (Columns): columns of one note, in the order of its words, (words,) each.
        RETURNS (NDArray): probabilities, (words,).
        RAISES: ConfigError if a column is missing (D810).
        """
        if missing := [name for name in self.columns if name not in columns]:
            raise ConfigError(Errors.D810.format(columns=", ".join(missing)))
        if not len(columns[self.columns[0]]):
            return np.zeros(0)
        design = expand(columns, self.columns, np.array(self.means), np.array(self.scales))
        return _logistic(design @ np.array(self.weights) + self.bias)

    def to_file(self, path: Path) -> None:
        """Write as JSON.

        path (Path): the file.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        rounded = {key: _rounded(value) for key, value in asdict(self).items()}
        srsly.write_json(path, rounded, indent=0)

    @classmethod
    def from_file(cls, path: Path) -> "Combination":
        """Read a file.

        path (Path): the file.
        RETURNS (Combination): the combination.
        RAISES: ConfigError if it is none (D809).
        """
        try:
            return cls(**srsly.read_json(path))
        except (ValueError, TypeError):
            raise ConfigError(Errors.D809.format(source=path)) from None


def fit_combination(
    notes: Sequence[Columns], gold: Sequence[Values], columns: Sequence[str], penalty: float = 10.0
) -> Combination:
    """Fit a combination.

    notes (Sequence[Columns]): columns of notes.
    gold (Sequence[NDArray]): 1 where a word is part of an identifier, (words,) each.
    columns (Sequence[str]): columns that are used.
    penalty (float): weight of the squared weights, against a sum over words.
    RETURNS (Combination): the combination.
    """
    names = list(columns)
    stacked = np.concatenate([np.stack([_limited(note[name]) for name in names], axis=1) for note in notes])
    means, scales = stacked.mean(axis=0), np.maximum(stacked.std(axis=0), 1e-6)
    design = np.concatenate([expand(note, names, means, scales) for note in notes])
    design = np.concatenate([design, np.ones((len(design), 1))], axis=1)
    truth, weights = np.concatenate(list(gold)).astype(float), np.zeros(design.shape[1])
    ridge = np.full(len(weights), penalty)
    ridge[-1] = 0.0
    for _ in range(STEPS):
        probability = _logistic(design @ weights)
        gradient = design.T @ (truth - probability) - ridge * weights
        curvature = (design * (probability * (1 - probability))[:, None]).T @ design + np.diag(ridge + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        weights += step / max(1.0, float(np.abs(step).max()) / 5)
        if np.abs(step).max() < 1e-6:
            break
    return Combination(names, means.tolist(), scales.tolist(), weights[:-1].tolist(), float(weights[-1]))


def expand(columns: Columns, names: Sequence[str], means: Values, scales: Values) -> Values:
    """Standardised columns, their neighbours, and the products of two columns, (words, features)."""
    standard = {
        name: (_limited(columns[name]) - mean) / scale for name, mean, scale in zip(names, means, scales, strict=True)
    }
    beside = add_neighbours(standard, names)
    products = (standard[one] * standard[other] for one, other in combinations(names, 2))
    squares = (standard[name] ** 2 for name in names)
    return np.stack([*beside.values(), *products, *squares], axis=1)


def _limited(values: Values) -> Values:
    """Values within a range that leaves room for others."""
    return np.clip(values, -LIMIT, LIMIT)


def _logistic(values: Values) -> Values:
    """1 / (1 + exp(−x)), without overflow."""
    return 1.0 / (1.0 + np.exp(-np.clip(values, -60, 60)))


def _rounded(value: object) -> object:
    """Numbers with six digits: what ships should be no longer than it needs to be."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
