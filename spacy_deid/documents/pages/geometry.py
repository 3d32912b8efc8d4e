"""TODO."""

import math
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from PIL import Image

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
class LineSegment:
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
class PageLayout:
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
    strips: list[LineSegment]
    ocr: bool = False
    skew: float = 0.0
    blanks: list[Box] = field(default_factory=list)
    codes: list[Quad] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)


_TURNS = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}
Move = Callable[[float, float], tuple[float, float]]


def nearest_quarter(turn: float) -> int:
    """The quarter nearest to a turn: 0, 90, 180 or 270."""
    return round(turn / 90) * 90 % 360


def _slant(turn: float) -> float:
    """What a turn has beyond its quarter, in radians."""
    return math.radians(turn - round(turn / 90) * 90)


def rotated_size(turn: float, width: float, height: float) -> tuple[float, float]:
    """Width and height of the frame of a turn. `width` and `height` are the page's."""
    wide, high = (height, width) if nearest_quarter(turn) in (90, 270) else (width, height)
    cos, sin = math.cos(_slant(turn)), abs(math.sin(_slant(turn)))
    return wide * cos + high * sin, wide * sin + high * cos


def page_to_rotated(box: Box, turn: float, width: float, height: float) -> Box:
    """Carry a rectangle from the page to the frame of a turn.

    box (Box): on the page.
    turn (float): the turn.
    width, height (float): of the page.
    RETURNS (Box): in the frame; the smallest around the rectangle if the turn is not a quarter.
    """
    if turn == 0:
        return box
    x0, y0, x1, y1 = box
    match nearest_quarter(turn):
        case 90:
            box = Box(y0, width - x1, y1, width - x0)
        case 180:
            box = Box(width - x1, height - y1, width - x0, height - y0)
        case 270:
            box = Box(height - y1, x0, height - y0, x1)
    return _hull(tuple(_into(turn, width, height)(x, y) for x, y in _corners(box))) if _slant(turn) else box


def rotated_to_page(box: Box, turn: float, width: float, height: float) -> Box:
    """Carry a rectangle from the frame of a turn back to the page.

    box, turn, width, height: as in `to_frame`.
    RETURNS (Box): on the page; the smallest around the rectangle if the turn is not a quarter.
    """
    return _hull(rotated_corners(box, turn, width, height))


def rotated_corners(box: Box, turn: float, width: float, height: float) -> Quad:
    """The corners on the page of a rectangle in the frame of a turn. `width` and `height` are the page's."""
    quad = _corners(box)
    if _slant(turn):
        back = _out_of(turn, width, height)
        quad = tuple(back(x, y) for x, y in quad)
    match nearest_quarter(turn):
        case 90:
            return tuple((width - y, x) for x, y in quad)
        case 180:
            return tuple((width - x, height - y) for x, y in quad)
        case 270:
            return tuple((y, height - x) for x, y in quad)
    return quad


def is_inside_any(box: Box, quads: Iterable[Quad]) -> bool:
    """Whether the middle of a box lies in one of some rectangles that may stand aslant."""
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    return any(_holds(quad, x, y) for quad in quads)


def _holds(quad: Quad, x: float, y: float) -> bool:
    """Whether a point lies on one side of all edges."""
    edges = zip(quad, (*quad[1:], quad[0]), strict=True)
    sides = [(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) for (x0, y0), (x1, y1) in edges]
    return min(sides) >= 0 or max(sides) <= 0


def rotate_upright(image: Image.Image, turn: float) -> Image.Image:
    """An image of a page in the frame of a turn, white where the page does not reach."""
    size = image.size
    image = image.transpose(_TURNS[nearest_quarter(turn)]) if nearest_quarter(turn) else image
    return _resampled(image, rotated_size(turn, *size), _out_of(turn, *size)) if _slant(turn) else image


def rotate_back(image: Image.Image, turn: float, size: tuple[int, int]) -> Image.Image:
    """An image in the frame of a turn as an image of the page. `size` is the page's in pixels."""
    if _slant(turn):
        flat = (size[1], size[0]) if nearest_quarter(turn) in (90, 270) else size
        image = _resampled(image, flat, _into(turn, *size))
    return image.transpose(_TURNS[-nearest_quarter(turn) % 360]) if nearest_quarter(turn) else image


def _resampled(image: Image.Image, size: tuple[float, float], source: Move) -> Image.Image:
    """An image of another size, whose points come from where `source` says."""
    (x, y), (xx, yx), (xy, yy) = source(0, 0), source(1, 0), source(0, 1)
    matrix = (xx - x, xy - x, x, yx - y, yy - y, y)
    white = 255 if image.mode == "L" else (255, 255, 255)
    pixels = math.ceil(size[0]), math.ceil(size[1])
    return image.transform(pixels, Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC, fillcolor=white)


def _into(turn: float, width: float, height: float) -> Move:
    """What carries a point of the page turned by its quarter to the frame."""
    return _moved(-_slant(turn), rotated_size(nearest_quarter(turn), width, height), rotated_size(turn, width, height))


def _out_of(turn: float, width: float, height: float) -> Move:
    """What carries a point of the frame to the page turned by its quarter."""
    return _moved(_slant(turn), rotated_size(turn, width, height), rotated_size(nearest_quarter(turn), width, height))


def _moved(angle: float, size: tuple[float, float], other: tuple[float, float]) -> Move:
    """A turn clockwise about the centre of one rectangle, which becomes that of another."""
    cos, sin = math.cos(angle), math.sin(angle)

    def move(x: float, y: float) -> tuple[float, float]:
        x, y = x - size[0] / 2, y - size[1] / 2
        return cos * x - sin * y + other[0] / 2, sin * x + cos * y + other[1] / 2

    return move


def _corners(box: Box) -> Quad:
    """The corners of a rectangle."""
    return (box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)


def _hull(quad: Quad) -> Box:
    """The smallest rectangle around some corners."""
    xs, ys = [x for x, _ in quad], [y for _, y in quad]
    return Box(min(xs), min(ys), max(xs), max(ys))
