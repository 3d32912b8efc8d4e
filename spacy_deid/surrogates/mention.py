"""What a replacer of a kind of values is given: one mention of a note, and what stands around it."""

from typing import NamedTuple

__all__ = ["AROUND", "Mention"]

AROUND = 60
"""Characters of the note on each side that a mention carries, at most."""


class Mention(NamedTuple):
    """One mention of a value.

    text (str): as written in the note, line breaks included.
    label (str): canonical label.
    before (str): up to `AROUND` characters of the note before it.
    after (str): up to `AROUND` characters after it.
    variant (int): 0 for the surrogate that all mentions of a value share; another number for one drawn apart, which
        a strategy that breaks consistency asks for. It is part of every draw's context.
    """

    text: str
    label: str
    before: str = ""
    after: str = ""
    variant: int = 0

    def __repr__(self) -> str:
        """The label and the length; never the text of a note."""
        return f"Mention(label={self.label!r}, length={len(self.text)}, variant={self.variant})"
