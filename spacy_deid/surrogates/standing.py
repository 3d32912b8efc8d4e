"""A name where it stands: what a strategy is told that asks what else could stand there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from .mention import Mention

__all__ = ["Standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A name in its text. Its repr shows nothing of it.

    text (str): the mention with what stands around it.
    places (Sequence[tuple[int, int]]): where the names of the mention start and end in it, rising.
    number (int): which of them it is.
    write (Callable[[str], str]): writes another name, a nominative, as this one is written.
    """

    text: str
    places: Sequence[tuple[int, int]]
    number: int
    write: Callable[[str], str]

    def __repr__(self) -> str:
        return f"Standing({self.number} of {len(self.places)})"

    @classmethod
    def of(cls, mention: Mention, places: Sequence[tuple[int, int]], number: int, write: Callable[[str], str]) -> Self:
        """Make one of a mention, the places being those in the mention."""
        shift = len(mention.before)
        text = mention.before + mention.text + mention.after
        return cls(text, [(shift + start, shift + end) for start, end in places], number, write)

    @property
    def start(self) -> int:
        """Where it starts."""
        return self.places[self.number][0]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.places[self.number][1]
