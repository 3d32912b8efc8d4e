"""Estimate leak rates from the observed hits, corrected for hits by chance, with confidence intervals.

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

There are two 95 % intervals: Wilson's interval (1927, JASA 22:209) for O, which treats notes as independent, carried
through the formula; and percentiles of a bootstrap that resamples patients with all their notes, because the notes of
a patient are not independent. If no note, every note, or only one patient was hit, all replicates are equal; there is
no bootstrap interval then and Wilson's interval applies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluation.metrics import Floats, interval, ratio, resample
from .search import Facet, Tally

_Z = 1.959963984540054  # 97.5 % quantile of the standard normal distribution


@dataclass(frozen=True, slots=True)
class Rate:
    """The estimated share of notes that still contain an identifier of their patient.

    notes, hits (int): number of searched notes, and of those in which an identifier of their patient was found.
    patients (int): number of patients of the searched notes.
    observed (float): hits / notes.
    expected (Optional[float]): share of hits expected by chance; None if no other patients were searched for.
    leak_rate (float): the estimate, at least 0.
    wilson (list[float]): Wilson's interval of the estimate.
    bootstrap (list[float] | None): bootstrap interval of the estimate; None if it is not defined.
    """

    notes: int
    hits: int
    patients: int
    observed: float
    expected: float | None
    leak_rate: float
    wilson: list[float]
    bootstrap: list[float] | None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def estimate(counts: NDArray[np.int64], replicates: int = 1000, seed: int = 0, patients: int | None = None) -> Rate:
    """Estimate a leak rate, corrected for hits by chance, with its confidence intervals.

    counts (NDArray): counts of each patient, with the columns of `Tally`, shape (patients, 6).
    replicates (int): number of bootstrap replicates; 0 for no interval.
    seed (int): random seed of the bootstrap.
    patients (Optional[int]): number of patients, if a row contains several; None for one patient per row.
    RETURNS (Rate): the estimate.
    """
    total = Tally(*(int(count) for count in counts.sum(axis=0)))
    chance = total.others / total.draws if total.draws else 0.0
    shared = total.shared / total.hit_draws if total.hit_draws else 0.0
    ends = _correct(np.array([total.hits / total.notes, *wilson(total.hits, total.notes)]), chance, shared)
    mute = total.hits in (0, total.notes) or len(counts) == 1
    drawn = np.array([]) if mute or not replicates else _rates(resample(counts, replicates, seed))
    return Rate(
        notes=total.notes,
        hits=total.hits,
        patients=len(counts) if patients is None else patients,
        observed=total.hits / total.notes,
        expected=chance if total.draws else None,
        leak_rate=float(ends[0]),
        wilson=[float(end) for end in ends[1:]],
        bootstrap=interval(drawn),
    )


def _rates(totals: NDArray[np.int64]) -> Floats:
    """Estimate the rate in each bootstrap replicate; NaN for a replicate without notes."""
    notes, hits, draws, others, hit_draws, shared = totals.T
    chance, alike = np.nan_to_num(ratio(others, draws)), np.nan_to_num(ratio(shared, hit_draws))
    return _correct(ratio(hits, notes), chance, alike)


def _correct(observed: Floats, chance: Floats | float, shared: Floats | float) -> Floats:
    """Correct observed shares of hits for hits by chance. If leaks and chance hits cannot be told apart, because every
    patient has the identifier, the observed share is returned.
    """
    below = np.broadcast_to(1 - chance - (1 - observed) * shared, np.shape(observed))
    told = below > 1e-9
    rates = np.divide(observed - chance, below, out=np.array(observed, dtype=float), where=told)
    clipped: Floats = np.clip(rates, 0.0, 1.0)
    return clipped


def wilson(hits: int, notes: int) -> tuple[float, float]:
    """Compute Wilson's 95 % interval of the share of hits among notes: lower and upper end."""
    share = hits / notes
    middle = share + _Z * _Z / (2 * notes)
    half = _Z * sqrt(share * (1 - share) / notes + _Z * _Z / (4 * notes * notes))
    below = 1 + _Z * _Z / notes
    # Rounding must not move an end beyond the share itself.
    return min(share, (middle - half) / below) if hits else 0.0, max(share, (middle + half) / below)


# maximum number of rows of counts; in a larger audit several patients share a row, and the bootstrap resamples rows
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

    def rates(self, replicates: int, seed: int) -> dict[Facet, Rate]:
        """Estimate the leak rate of each facet.

        replicates, seed (int): see `estimate`.
        RETURNS (dict[Facet, Rate]): rates by facet.
        """
        return {
            facet: estimate(counts[counts[:, 0] > 0], replicates, seed, sum(self._seen[facet]))
            for facet, counts in self._counts.items()
        }
