"""Which stretches touch a given one, without looking at all of them: a note may have tens of thousands."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

__all__ = ["Stretch", "Touching"]


class Stretch(Protocol):
    """Anything that begins and ends somewhere in a text."""

    @property
    def start(self) -> int:
        """Its first character."""

    @property
    def end(self) -> int:
        """The character behind its last."""


S = TypeVar("S", bound=Stretch)


class Touching(Generic[S]):
    """Stretches of a text, found by place.

    items (Iterable[Stretch]): the stretches, in any order; they may overlap.
    """

    def __init__(self, items: Iterable[S]) -> None:
        self._items = sorted(items, key=lambda item: (item.start, -item.end))
        self._starts = [item.start for item in self._items]
        self._reach = list(accumulate((item.end for item in self._items), max))

    def __call__(self, start: int, end: int) -> list[S]:
        """Find what shares a character with a stretch.

        start, end (int): characters, end exclusive.
        RETURNS (list[Stretch]): in the order of the text, of those that begin together the longest first.
        """
        found = []
        at = bisect_left(self._starts, end)
        while at and self._reach[at - 1] > start:
            at -= 1
            if self._items[at].end > start:
                found.append(self._items[at])
        return found[::-1]
