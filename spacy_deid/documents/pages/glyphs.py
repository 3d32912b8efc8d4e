"""What stands on a page: glyphs in runs, and runs in strips.

Coordinates count from the upper left corner of the page as it is shown, y downwards. Text that is turned is handled
in the *frame of its turn* (frames.py): the page turned so that the text stands upright.
"""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Box", "Glyph", "PageParts", "Quad", "Run", "Strip"]

Quad = tuple[tuple[float, float], ...]  # the corners of a rectangle that may be turned, one after the other


class Box(NamedTuple):
    """A rectangle: left, top, right, bottom."""

    x0: float
    y0: float
    x1: float
    y1: float


class Glyph(NamedTuple):
    """What a page shows as one: a character or ligature, or a whole word that OCR read.

    text (str): its characters.
    box (Box): what it covers, in the frame of its turn.
    base (float): height of the line that it stands on.
    em (float): size of its font.
    space (bool): whether white space stands before it.
    """

    text: str
    box: Box
    base: float
    em: float
    space: bool


@dataclass(slots=True)
class Run:
    """Glyphs on one line without a wide gap, left to right.

    glyphs (list[Glyph]): them.
    turn (float): degrees by which they are turned clockwise.
    box (Box): what they cover.
    """

    glyphs: list[Glyph]
    turn: float
    box: Box = field(init=False)

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Take the box from the glyphs."""
        boxes = [glyph.box for glyph in self.glyphs]
        left, top = min(box.x0 for box in boxes), min(box.y0 for box in boxes)
        self.box = Box(left, top, max(box.x1 for box in boxes), max(box.y1 for box in boxes))

    @property
    def text(self) -> str:
        """The characters of its glyphs, with the white space before them."""
        return "".join(" " * glyph.space + glyph.text for glyph in self.glyphs)

    @property
    def em(self) -> float:
        """The size of its largest font."""
        return max(glyph.em for glyph in self.glyphs)


@dataclass(slots=True)
class Strip:
    """A run whose glyphs know their characters in the document's text; what is painted anew if one is removed.

    turn (float): as in `Run`.
    top, bottom (float): what it covers in its frame.
    em (float): size of its font.
    room (float): how far to the right it may reach.
    texts (list[str]): characters of each glyph.
    left, right (array): edges of each glyph.
    start, end (array): characters of each glyph in the text. Empty for a hyphen at the end of a line.
    """

    turn: float
    top: float
    bottom: float
    em: float
    room: float
    texts: list[str]
    left: "array[float]"
    right: "array[float]"
    start: "array[int]"
    end: "array[int]"


@dataclass(slots=True)
class PageParts:
    """A page as it is needed to write it.

    width, height (float): as it is shown, in points or, for a picture, in pixels.
    strips (list[Strip]): in the order of the text.
    ocr (bool): whether its text was read from a picture.
    skew (float): degrees clockwise by which it is turned before anything else, so that lines run level.
    blanks (list[Box]): what is painted over whatever the edits are.
    codes (list[Quad]): bar codes and matrix codes, on the page before it is turned by `skew`. They are painted over
        whatever the edits are.
    unread (list[Box]): what looks like text and was not read; painted over if the settings say so.
    """

    width: float
    height: float
    strips: list[Strip]
    ocr: bool = False
    skew: float = 0.0
    blanks: list[Box] = field(default_factory=list)
    codes: list[Quad] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)
