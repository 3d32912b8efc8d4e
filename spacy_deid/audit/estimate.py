"""From counts to leak rates: what was found, less what chance alone would find, with intervals.

A note is searched for its own patient's identifiers (share of notes with a hit: O) and for those of other patients
drawn at random (share of searches with a hit: M). If a note leaks with probability L, and its other words hold a given
patient's identifier by chance with probability c,

    O = L + (1 - L) c        M = c + (1 - c) L f

where f is the share of patients who have the leaked identifier as well (a common surname, a large town): they hit the
leak itself. f is seen in the notes with a hit, as the share of other patients who hit the same place. So

    L = (O - M) / (1 - M - (1 - O) f)

With f = 0 this is Abbott's formula (Abbott 1925, Journal of Economic Entomology 18:265). Chance hits among the hits
make f, and with it L, rather too large.

Two intervals of 95 %: Wilson's (1927, JASA 22:209) for O as if notes were independent, carried through the formula;
and percentiles of a bootstrap that draws patients with all their notes, as notes of one patient are not independent.
Where nothing was hit, or everything, or of one patient alone, all replicates are the same: there is no bootstrap, and
Wilson's interval is the one to read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluation.bootstrap import Floats, interval, ratio, resample
from .search import Facet, Tally

_Z = 1.959963984540054  # of the normal distribution, for 95 %


@dataclass(frozen=True, slots=True)
class Rate:
    """A leak rate.

    notes, hits (int): notes that could leak, and those with a hit. patients (int): of these notes.
    observed (float): hits / notes. expected (Optional[float]): share of hits by chance, None if nobody was drawn.
    leak_rate (float): the estimate, not below 0.
    wilson, bootstrap (list[float] | None): intervals of the estimate; no bootstrap where it is mute.
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
        """Plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def estimate(counts: NDArray[np.int64], replicates: int = 1000, seed: int = 0, patients: int | None = None) -> Rate:
    """Estimate a leak rate.

    counts (NDArray): one row a patient, columns as `facets.Tally`.
    replicates (int): bootstrap replicates; 0 for no interval.
    seed (int): seed of the draws.
    patients (Optional[int]): how many there are, if a row is of several.
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
    """The estimates of bootstrap replicates; NaN where a replicate has no note."""
    notes, hits, draws, others, hit_draws, shared = totals.T
    chance, alike = np.nan_to_num(ratio(others, draws)), np.nan_to_num(ratio(shared, hit_draws))
    return _correct(ratio(hits, notes), chance, alike)


def _correct(observed: Floats, chance: Floats | float, shared: Floats | float) -> Floats:
    """Take chance hits off. Where everybody has what was hit, leak and chance look alike, and nothing is taken off."""
    below = np.broadcast_to(1 - chance - (1 - observed) * shared, np.shape(observed))
    told = below > 1e-9
    rates = np.divide(observed - chance, below, out=np.array(observed, dtype=float), where=told)
    clipped: Floats = np.clip(rates, 0.0, 1.0)
    return clipped


def wilson(hits: int, notes: int) -> tuple[float, float]:
    """Wilson's interval of a share.

    hits, notes (int): how many of how many.
    RETURNS (tuple[float, float]): lower and upper end of the 95 % interval.
    """
    share = hits / notes
    middle = share + _Z * _Z / (2 * notes)
    half = _Z * sqrt(share * (1 - share) / notes + _Z * _Z / (4 * notes * notes))
    below = 1 + _Z * _Z / notes
    # Rounding may not push an end over the share itself.
    return min(share, (middle - half) / below) if hits else 0.0, max(share, (middle + half) / below)


_UNITS = 10_000  # rows of counts; the patients of a larger audit share them, and a bootstrap draws rows


class Totals:
    """Counts by facet.

    patients (int): how many there are.
    """

    def __init__(self, patients: int) -> None:
        self._patients = patients
        # By lot: neighbours, such as relatives, would make rows more alike or less than chance does.
        self._rows = np.random.default_rng(0).permutation(patients) % _UNITS
        self._counts: dict[Facet, np.ndarray[tuple[int, int], np.dtype[np.int64]]] = {}
        self._seen: dict[Facet, bytearray] = {}

    def __len__(self) -> int:
        """The number of facets."""
        return len(self._counts)

    def add(self, patient: int, counts: Mapping[Facet, Tally]) -> None:
        """Add a note.

        patient (int): whose it is, from 0.
        counts (Mapping[Facet, Tally]): of the note.
        """
        for facet, tally in counts.items():
            if facet not in self._counts:
                rows = min(self._patients, _UNITS)
                self._counts[facet] = np.zeros((rows, len(tally)), dtype=np.int64)
                self._seen[facet] = bytearray(self._patients)
            self._counts[facet][self._rows[patient]] += tally
            self._seen[facet][patient] = 1

    def rates(self, replicates: int, seed: int) -> dict[Facet, Rate]:
        """The rate of each facet.

        replicates, seed (int): as `estimate`.
        RETURNS (dict[Facet, Rate]): rates.
        """
        return {
            facet: estimate(counts[counts[:, 0] > 0], replicates, seed, sum(self._seen[facet]))
            for facet, counts in self._counts.items()
        }
