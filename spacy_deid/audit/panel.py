"""The patients who stand for all others when it is asked what chance finds.

A note's other words hold the identifiers of those who live where its patient lives, are as old and are called alike
more often than those of others. So a note is searched for patients with notes of the same type, and of the same ward,
language or what else notes are told apart by: what chance finds of them is what it finds of its own.
"""

import heapq
from collections.abc import Hashable
from hashlib import blake2b
from random import Random

__all__ = ["Panels", "draw_others"]

_SIZE = 300  # patients of a panel: few enough to be kept in memory
_PANELS = 2_000  # panels; the groups that come later have the panel of all


class Panels:
    """For each group of notes some of its patients, the same ones in whatever order they come.

    seed (int): decides which.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._panels: dict[Hashable, _Panel] = {}
        self._all = _Panel()

    def add(self, group: Hashable, patient: str) -> None:
        """Offer a patient.

        group (Hashable): a group that the patient has a note in. patient (str): the id.
        """
        data = f"{self._seed}/{patient}".encode("utf-8", "surrogatepass")
        order = int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
        self._all.add(order, patient)
        if group in self._panels or len(self._panels) < _PANELS:
            self._panels.setdefault(group, _Panel()).add(order, patient)

    def draw(self, group: Hashable, own: str, count: int, rng: Random) -> tuple[str, ...]:
        """Draw other patients of a group, or of all if it has too few.

        group (Hashable): the group. own (str): the patient to leave out. count (int): how many. rng (Random): the
        chance.
        RETURNS (tuple[str, ...]): fewer if there are not so many at all.
        """
        panel = self._panels.get(group, self._all)
        return draw_others((panel if len(panel) > count else self._all).patients(), own, count, rng)


class _Panel:
    """The patients that come first in the order of the seed."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []  # the last one is on top
        self._known: set[str] = set()
        self._sorted: list[str] | None = None

    def __len__(self) -> int:
        """The number of patients."""
        return len(self._heap)

    def add(self, order: int, patient: str) -> None:
        """Keep a patient if it is among the first."""
        if patient in self._known:
            return
        self._sorted = None
        self._known.add(patient)
        if len(self._heap) < _SIZE:
            heapq.heappush(self._heap, (-order, patient))
        else:
            self._known.remove(heapq.heappushpop(self._heap, (-order, patient))[1])

    def patients(self) -> list[str]:
        """The patients, in order."""
        if self._sorted is None:
            self._sorted = sorted(patient for _, patient in self._heap)
        return self._sorted


def draw_others(patients: list[str], own: str, count: int, rng: Random) -> tuple[str, ...]:
    """Draw other patients, each at most once.

    patients (list[str]): all. own (str): the one to leave out. count (int): how many. rng (Random): the chance.
    RETURNS (tuple[str, ...]): fewer if there are not so many.
    """
    drawn = rng.sample(patients, min(count + 1, len(patients)))
    return tuple(patient for patient in drawn if patient != own)[:count]
