"""Conformal risk control: the operating point that keeps a wanted bound on what is missed.

For a loss of a document between 0 and B that falls as λ rises, and n documents of a development set, the smallest λ
with

    n / (n + 1) · R̂(λ) + B / (n + 1) ≤ α,    R̂(λ) the mean loss of the n documents,

has an expected loss of at most α on a new document that is drawn as they were. The expectation is over the development
set as well: it is a bound on the mean, not on every single note, and notes of another kind are not covered.

Source: Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal Risk Control", 2022, arXiv:2208.02814, theorem 1.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors

__all__ = ["bounded_risk", "control_risk", "needed_documents"]

Floats = NDArray[np.float64]
_ROUNDING = 1e-9


def needed_documents(alpha: float, bound: float = 1.0) -> int:
    """The fewest documents that can keep a bound at all, with nothing missed in any: B / (n + 1) ≤ α.

    alpha (float): wanted bound on the expected loss, above 0 and below 1.
    bound (float): B, the largest loss of a document.
    RETURNS (int): n.
    RAISES: ConfigError (D345) for another alpha.
    """
    if not 0.0 < alpha < 1.0:
        raise ConfigError(Errors.D345.format(name="the bound on the risk", value=alpha))
    return max(1, math.ceil(bound / alpha - 1 - _ROUNDING))


def bounded_risk(losses: Floats, bound: float = 1.0) -> Floats:
    """The left side of the inequality.

    losses (NDArray): shape (settings, documents), in the order of rising λ.
    bound (float): B, the largest loss of a document.
    RETURNS (NDArray): one figure a setting; it never rises from one to the next.
    """
    # A loss that is not monotone counts as the largest that it has from there on.
    monotone = np.maximum.accumulate(losses[::-1], axis=0)[::-1]
    return np.asarray((monotone.sum(axis=1) + bound) / (losses.shape[1] + 1))


def control_risk(losses: Floats, alpha: float, bound: float = 1.0) -> int | None:
    """Find the smallest λ that keeps the bound.

    losses (NDArray): shape (settings, documents), in the order of rising λ, each 0 to `bound`.
    alpha (float): wanted bound on the expected loss.
    bound (float): B, the largest loss of a document.
    RETURNS (Optional[int]): number of the setting; None if none keeps the bound.
    RAISES: ConfigError (D343) if there are too few documents for it, naming how many are needed.
    """
    needed, documents = needed_documents(alpha, bound), losses.shape[1]
    if documents < needed:
        raise ConfigError(Errors.D343.format(documents=documents, alpha=alpha, needed=needed))
    kept = np.flatnonzero(bounded_risk(losses, bound) <= alpha + _ROUNDING)
    return int(kept[0]) if len(kept) else None
