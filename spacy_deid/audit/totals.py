"""The counts of all notes, by facet and patient, in bounded memory."""

from collections.abc import Mapping

import numpy as np

from .estimate import Rate, estimate
from .facets import Facet, Tally

__all__ = ["Totals"]

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
