"""Estimate leak rates from the observed hits, corrected for hits by chance and missed forms, with 95 % intervals.

A note is searched for its own patient's identifiers (O: share of notes with a hit) and for those of randomly drawn
other patients (M: share of searches with a hit). If a note leaks with probability L, and the rest of its words contain
an identifier of a given patient by chance with probability c,

    O = L + (1 - L) c        M = c + (1 - c) L f

where f is the share of patients who share the leaked identifier (a common surname, a large town), so that a search for
them hits the leak too. f is estimated from the notes with a hit, as the share of other patients that hit the same
place:

    L = (O - M) / (1 - M - (1 - O) f)

With f = 0 this is Abbott's formula (Abbott 1925, Journal of Economic Entomology 18:265). Chance hits among the hits
bias f, and with it L, slightly upwards.

Some misspelt names are not found. The audit plants misspelt names in the notes and counts how many its own search
finds, the sensitivity s. A note whose only hits are misspelt names counts 1 / s times in O and in M (Horvitz and
Thompson 1952, JASA 47:663).

The interval is Wilson's (1927, JASA 22:209) for O, with the effective number of notes (Korn and Graubard 1998, Survey
Methodology 24:193), carried through the formula. The number of notes is divided by the design effect: the variance of
L, divided by that for the same number of independent notes and known M, f and s. The variance of L is that of its
linearisation (Binder 1983, International Statistical Review 51:279): each patient, with all notes of the patient and
all searches in them, contributes one deviation. It contains the variances of O, M, f and s and their covariances,
because the notes of a patient are not independent, and a common name occurs in both O and M.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .search import Facet, Tally

_Z = 1.959963984540054  # 97.5 % quantile of the standard normal distribution


@dataclass(frozen=True, slots=True)
class Rate:
    """The estimated share of notes that still contain an identifier of their patient.

    notes, hits (int): number of searched notes, and of those in which an identifier of their patient was found.
    patients (int): number of patients of the searched notes.
    observed (float): hits / notes.
    expected (Optional[float]): share of hits expected by chance; None if no other patients were searched for.
    sensitivity (Optional[float]): share of planted misspelt names that were found; None if none were planted.
    leak_rate (float): the estimate, at least 0.
    design_effect (float): variance of the estimate, divided by that of independent notes.
    interval (list[float]): lower and upper end of the 95 % interval of the estimate.
    """

    notes: int
    hits: int
    patients: int
    observed: float
    expected: float | None
    sensitivity: float | None
    leak_rate: float
    design_effect: float
    interval: list[float]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


class _Shares(NamedTuple):
    """The figures of the formula: O, M, f and s; see the module."""

    observed: float
    chance: float
    shared: float
    sensitivity: float

    def correct(self, observed: float) -> float:
        """Return the leak rate for an observed share of hits. If leaks and chance hits cannot be told apart, because
        every patient has the identifier, return the observed share.
        """
        below = 1 - self.chance - (1 - observed) * self.shared
        rate = (observed - self.chance) / below if below > _LEAST else observed
        return min(1.0, max(0.0, rate))


_LEAST = 1e-9


def estimate(counts: NDArray[np.int64], patients: int | None = None) -> Rate:
    """Estimate a leak rate, corrected for hits by chance and for missed forms, with its 95 % interval.

    counts (NDArray): counts of each patient, with the columns of `Tally`. Shape (patients, 10).
    patients (Optional[int]): number of patients, if a row contains several; None for one patient per row.
    RETURNS (Rate): the estimate.
    """
    total = Tally(*(int(count) for count in counts.sum(axis=0)))
    patients = len(counts) if patients is None else patients
    shares = _find_shares(total)
    effect, quantile = _find_design_effect(counts, total, shares, patients)
    low, high = wilson(min(1.0, shares.observed) * total.notes, total.notes, effect, quantile)
    return Rate(
        notes=total.notes,
        hits=total.hits,
        patients=patients,
        observed=total.hits / total.notes,
        expected=total.others / total.draws if total.draws else None,
        sensitivity=total.found / total.planted if total.planted else None,
        leak_rate=shares.correct(shares.observed),
        design_effect=effect,
        interval=[shares.correct(low), shares.correct(high)],
    )


def _find_shares(total: Tally) -> _Shares:
    """Compute O, M, f and s. Hits of misspelt names are divided by s, which is never 0."""
    found = (total.found + 0.5) / (total.planted + 0.5)  # 1 if nothing was planted
    observed = (total.hits - total.near + total.near / found) / total.notes
    chance = (total.others - total.others_near + total.others_near / found) / total.draws if total.draws else 0.0
    return _Shares(observed, min(1.0, chance), total.shared / total.hit_draws if total.hit_draws else 0.0, found)


def _find_design_effect(
    counts: NDArray[np.int64], total: Tally, shares: _Shares, patients: int
) -> tuple[float, float]:
    """Divide the variance of the leak rate by that of as many independent notes with the same observed share.

    Without any hit, and with hits in all notes, the variance cannot be estimated; the notes of a patient are then
    taken to be all alike (Kish 1965, Survey Sampling, chapter 8.2).

    RETURNS (tuple[float, float]): the design effect, at least 1, and the 97.5 % quantile of the standardised error,
        which is greater than the normal one if the variance was estimated from a few patients.
    """
    notes, rows = counts[:, 0].astype(float), len(counts)
    share = shares.observed
    if total.hits in (0, total.notes) or share >= 1 or rows < 2:
        return float((notes**2).sum() / notes.sum()) if patients == rows else total.notes / patients, _Z
    deviations = _linearise(Tally(*counts.T.astype(float)), total, shares)
    variance = rows / (rows - 1) * float(deviations @ deviations)
    return max(1.0, variance / (share * (1 - share) / total.notes)), _quantile(rows - 1)


def _linearise(rows: Tally, total: Tally, shares: _Shares) -> NDArray[np.float64]:
    """Compute the deviation of each row in the linearised leak rate, divided by the derivative with respect to O.

    rows (Tally): the counts of the n rows, one array of shape (n,) per field.
    total (Tally): their sums.
    shares (_Shares): the figures of the formula.
    RETURNS (NDArray): deviations, whose squares add up to the variance on the scale of O. Shape (n,).
    """
    observed, chance, shared, found = shares
    hits = rows.hits - rows.near + rows.near / found
    others = rows.others - rows.others_near + rows.others_near / found
    deviations = np.asarray((hits - observed * rows.notes) / total.notes, dtype=np.float64)
    below = 1 - chance - (1 - observed) * shared
    slope = (1 - chance) * (1 - shared)  # derivative with respect to O, times the square of `below`
    if slope <= _LEAST or below <= _LEAST:
        return deviations
    by_chance = (observed - chance - below) / slope
    if total.draws:
        deviations += by_chance * (others - chance * rows.draws) / total.draws
    if total.hit_draws:
        by_shared = (observed - chance) * (1 - observed) / slope
        deviations += by_shared * (rows.shared - shared * rows.hit_draws) / total.hit_draws
    if total.planted:
        per_draw = total.others_near / total.draws if total.draws else 0.0
        by_found = -(total.near / total.notes + by_chance * per_draw) / found**2
        deviations += by_found * (rows.found - found * rows.planted) / total.planted
    return deviations


def _quantile(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution (expansion in Abramowitz and Stegun 1964, 26.7.5)."""
    terms = ((_Z**3 + _Z) / 4, (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96, (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3) / 384)
    return _Z + float(sum(term / degrees**i for i, term in enumerate(terms, start=1)))


def wilson(hits: float, notes: float, effect: float = 1.0, quantile: float = _Z) -> tuple[float, float]:
    """Compute Wilson's interval of the share of hits among notes.

    hits, notes (float): the counts; hits may be weighted.
    effect (float): design effect by which the number of notes is divided.
    quantile (float): quantile of the standardised error; by default for 95 %.
    RETURNS (tuple[float, float]): lower and upper end.
    """
    share, square, notes = hits / notes, quantile * quantile, notes / effect
    middle = share + square / (2 * notes)
    half = quantile * sqrt(share * (1 - share) / notes + square / (4 * notes * notes))
    below = 1 + square / notes
    # Rounding must not move an end beyond the share itself.
    return min(share, (middle - half) / below) if hits else 0.0, max(share, (middle + half) / below)


# maximum number of rows of counts; in a larger audit several patients share a row
_UNITS = 10_000


class FacetTotals:
    """Sums the counts of an audit by facet (a subset of the hits, see `Facet`) and patient, in bounded memory.

    With more than 10,000 patients, several of them share a row of counts.

    patients (int): number of patients.
    """

    def __init__(self, patients: int) -> None:
        self._patients = patients
        # Random, because neighbouring patients, such as relatives, are not independent.
        self._rows = np.random.default_rng(0).permutation(patients) % _UNITS
        self._counts: dict[Facet, np.ndarray[tuple[int, int], np.dtype[np.int64]]] = {}
        self._seen: dict[Facet, bytearray] = {}

    def __len__(self) -> int:
        """Return the number of facets that have counts."""
        return len(self._counts)

    def add(self, patient: int, counts: Mapping[Facet, Tally]) -> None:
        """Add the counts of a note to those of its patient.

        patient (int): number of the patient, from 0.
        counts (Mapping[Facet, Tally]): counts of the note by facet.
        """
        for facet, tally in counts.items():
            if facet not in self._counts:
                rows = min(self._patients, _UNITS)
                self._counts[facet] = np.zeros((rows, len(tally)), dtype=np.int64)
                self._seen[facet] = bytearray(self._patients)
            self._counts[facet][self._rows[patient]] += tally
            self._seen[facet][patient] = 1

    def rates(self) -> dict[Facet, Rate]:
        """Estimate the leak rate of each facet.

        RETURNS (dict[Facet, Rate]): rates by facet.
        """
        return {
            facet: estimate(counts[counts[:, 0] > 0], sum(self._seen[facet])) for facet, counts in self._counts.items()
        }
