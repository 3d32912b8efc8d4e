"""What was read on a page, and how it becomes part of a document's text."""

from dataclasses import dataclass, field

from .frames import frame_size
from .glyphs import Box, Glyph, PageParts, Quad, Run
from .joining import TextBuilder
from .order import reading_order

__all__ = ["Reading", "add_reading"]


@dataclass(slots=True)
class Reading:
    """What was read on a page.

    blocks (list[list[Run]]): runs that are put in order together, each list of one turn and in its frame.
    slanted (list[Glyph]): glyphs that stand neither level nor upright, in the order of the file.
    ocr (bool): whether the page was read from its picture.
    skew (float): as in `PageParts`.
    blanks (list[Box]): as in `PageParts`.
    codes (list[Quad]): as in `PageParts`.
    unread (list[Box]): as in `PageParts`.
    warnings (list[str]): what a person should look at.
    """

    blocks: list[list[Run]]
    slanted: list[Glyph] = field(default_factory=list)
    ocr: bool = False
    skew: float = 0.0
    blanks: list[Box] = field(default_factory=list)
    codes: list[Quad] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add_codes(self, codes: list[Quad], number: int) -> None:
        """Add the codes of the page, with a warning if there are any.

        codes (list[Quad]): what they cover.
        number (int): the page, from 1.
        """
        self.codes = codes
        if codes:
            self.warnings.append(f"page {number}: bar codes are removed")


def add_reading(builder: TextBuilder, reading: Reading, width: float, height: float) -> PageParts:
    """Add a page to the text of a document.

    builder (TextBuilder): the text so far.
    reading (Reading): what was read.
    width, height (float): of the page.
    RETURNS (PageParts): what is needed to write the page.
    """
    parts = PageParts(width, height, [], reading.ocr, reading.skew, reading.blanks, reading.codes)
    parts.unread = reading.unread
    for runs in reading.blocks:
        if runs:
            across, _ = frame_size(runs[0].turn, width, height)
            parts.strips += builder.add_page(reading_order(runs), across)
    parts.strips += builder.add_slanted(reading.slanted)
    return parts
