"""What stands on a page: glyphs in runs, runs in strips, and frames in which they stand upright.

Coordinates count from the upper left corner of the page as it is shown, y downwards. Text that is turned is handled
in the *frame of its turn*: the page turned so that the text stands upright.
"""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from PIL import Image

__all__ = ["Box", "Glyph", "PageParts", "Run", "Strip", "to_frame", "to_page", "upright"]

_TURNS = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}


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
    turn (int): degrees by which they are turned clockwise: 0, 90, 180 or 270.
    box (Box): what they cover.
    """

    glyphs: list[Glyph]
    turn: int
    box: Box = field(init=False)

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Take the box from the glyphs."""
        boxes = [glyph.box for glyph in self.glyphs]
        left, top = min(box.x0 for box in boxes), min(box.y0 for box in boxes)
        self.box = Box(left, top, max(box.x1 for box in boxes), max(box.y1 for box in boxes))

    @property
    def em(self) -> float:
        """The size of its largest font."""
        return max(glyph.em for glyph in self.glyphs)


@dataclass(slots=True)
class Strip:
    """A run whose glyphs know their characters in the document's text; what is painted anew if one is removed.

    turn (int): as in `Run`.
    top, bottom (float): what it covers in its frame.
    em (float): size of its font.
    room (float): how far to the right it may reach.
    texts (list[str]): characters of each glyph.
    left, right (array): edges of each glyph.
    start, end (array): characters of each glyph in the text. Empty for a hyphen at the end of a line.
    """

    turn: int
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
    """

    width: float
    height: float
    strips: list[Strip]
    ocr: bool = False
    skew: float = 0.0
    blanks: list[Box] = field(default_factory=list)


def to_frame(box: Box, turn: int, width: float, height: float) -> Box:
    """Carry a rectangle from the page to the frame of a turn.

    box (Box): on the page.
    turn (int): the turn.
    width, height (float): of the page.
    RETURNS (Box): in the frame.
    """
    x0, y0, x1, y1 = box
    if turn == 90:
        return Box(y0, width - x1, y1, width - x0)
    if turn == 180:
        return Box(width - x1, height - y1, width - x0, height - y0)
    if turn == 270:
        return Box(height - y1, x0, height - y0, x1)
    return box


def to_page(box: Box, turn: int, width: float, height: float) -> Box:
    """Carry a rectangle from the frame of a turn back to the page. `width` and `height` are the page's."""
    x0, y0, x1, y1 = box
    if turn == 90:
        return Box(width - y1, x0, width - y0, x1)
    if turn == 180:
        return Box(width - x1, height - y1, width - x0, height - y0)
    if turn == 270:
        return Box(y0, height - x1, y1, height - x0)
    return box


def upright(image: Image.Image, turn: int) -> Image.Image:
    """An image of a page in the frame of a turn."""
    return image.transpose(_TURNS[turn]) if turn else image
