"""A mention of a value in a note, with its context, and the occurrence of a name within a mention."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

AROUND = 60
"""Maximum number of characters of context on each side of a mention."""


class Mention(NamedTuple):
    """A mention of a value.

    text (str): as written in the note, including line breaks.
    label (str): canonical label.
    before (str): up to `AROUND` characters of the note before it.
    after (str): up to `AROUND` characters of the note after it.
    variant (int): 0 for the surrogate that all mentions of a value share; another number for a separate surrogate,
        which strategies that give up consistency ask for. It is part of the context of every draw.
    """

    text: str
    label: str
    before: str = ""
    after: str = ""
    variant: int = 0

    def __repr__(self) -> str:
        """Show label and length, never the text of a note."""
        return f"Mention(label={self.label!r}, length={len(self.text)}, variant={self.variant})"


def find_mentions(text: str, spans: Sequence[tuple[int, int, str]]) -> list[Mention]:
    """Cut the mentions out of a note.

    text (str): the note.
    spans (Sequence[tuple[int, int, str]]): start, end and canonical label, disjoint, in the order of the text.
    RETURNS (list[Mention]): the mentions with their context.
    """
    return [
        Mention(text[start:end], label, text[max(0, start - AROUND) : start], text[end : end + AROUND])
        for start, end, label in spans
    ]


@dataclass(frozen=True, slots=True)
class NameOccurrence:
    """A name within its context, for strategies that ask a language model for names that fit there.

    text (str): the mention with its context.
    places (Sequence[tuple[int, int]]): character offsets in `text` of the names of the mention, ascending.
    number (int): index in `places` of this name.
    write (Callable[[str], str]): writes another name, given in the nominative, in the form of this one.
    """

    text: str
    places: Sequence[tuple[int, int]]
    number: int
    write: Callable[[str], str]

    def __repr__(self) -> str:
        """Show the position, never the text of a note."""
        return f"NameOccurrence({self.number} of {len(self.places)})"

    @classmethod
    def of(cls, mention: Mention, places: Sequence[tuple[int, int]], number: int, write: Callable[[str], str]) -> Self:
        """Make the occurrence of a name in a mention. `places` are offsets in the mention; see the class."""
        shift = len(mention.before)
        text = mention.before + mention.text + mention.after
        return cls(text, [(shift + start, shift + end) for start, end in places], number, write)

    @property
    def start(self) -> int:
        """Character offset in `text` where the name starts."""
        return self.places[self.number][0]

    @property
    def end(self) -> int:
        """Character offset in `text` where the name ends."""
        return self.places[self.number][1]
