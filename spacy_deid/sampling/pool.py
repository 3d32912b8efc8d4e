"""The notes that a group's part of the sample is chosen from, kept while a table streams by.

Notes stand in the order of the hash of their ids under the seed: a random one that does not depend on the order of the
table. A pool keeps the first notes of the first patients, so that distinct patients are there if the group has
them, and the first notes of all, to fill up from if it has not. Its size does not grow with the table.
"""

import heapq
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from ..notes import Key

__all__ = ["Candidate", "Pool", "draw_order"]


class Candidate(NamedTuple):
    """A note that may be drawn. Candidates sort in their random order.

    order (int): where it stands. patient (str): whose it is; a note of nobody is a patient of its own.
    known (bool): whether it has a patient. key (Key): how to find it. group (int): number of its group.
    """

    order: int
    patient: str
    known: bool
    key: Key
    group: int


def draw_order(seed: int, value: str) -> int:
    """Where something stands in the order of a seed.

    seed (int): the seed. value (str): an id.
    RETURNS (int): 64 bits.
    """
    data = f"{seed}/{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


class Pool:
    """The candidates of a group.

    size (int): how many patients, and how many notes of any, are kept.
    per_patient (int): how many notes of one patient are kept for the choice between them.
    """

    def __init__(self, size: int, per_patient: int) -> None:
        self._size, self._per_patient = size, per_patient
        self._patients: dict[int, list[Candidate]] = {}
        self._last: list[int] = []  # heap of the patients' orders, negative, so that the last one is on top
        self._notes: list[tuple[int, int, Candidate]] = []  # heap of notes, the last one on top

    def add(self, candidate: Candidate, patient_order: int) -> None:
        """Offer a note.

        candidate (Candidate): the note. patient_order (int): where its patient stands.
        """
        entry = (-candidate.order, -candidate.key.row, candidate)
        if len(self._notes) < self._size:
            heapq.heappush(self._notes, entry)
        else:
            heapq.heappushpop(self._notes, entry)
        self._add_patient(candidate, patient_order)

    def _add_patient(self, candidate: Candidate, order: int) -> None:
        """Keep a note if its patient is among the first."""
        kept = self._patients.get(order)
        if kept is None:
            if len(self._patients) == self._size:
                if order > -self._last[0]:
                    return
                del self._patients[-heapq.heappop(self._last)]
            heapq.heappush(self._last, -order)
            kept = self._patients[order] = []
        kept.append(candidate)
        if len(kept) > self._per_patient:
            kept.remove(max(kept, key=lambda c: (c.order, c.key.row)))

    def __iter__(self) -> Iterator[Candidate]:
        """The candidates, each once, in their order."""
        notes = {c.key.row: c for kept in self._patients.values() for c in kept}
        notes |= {candidate.key.row: candidate for _, _, candidate in self._notes}
        return iter(sorted(notes.values(), key=lambda c: (c.order, c.key.row)))
