"""Define the boxes, glyphs, runs and lines of a page, and convert between coordinates of the page and of rotated text.

Coordinates start at the upper left corner of the page as displayed; y increases downwards. A *turn* is a rotation of
text in degrees clockwise. The *coordinates of a turn* are those of the page after a rotation that makes text of this
turn horizontal. If a turn is not a multiple of 90 degrees, the page is first rotated by the nearest multiple, then
about its centre by the remaining angle, and enlarged so that nothing is cut off.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from PIL import Image

Quad = tuple[tuple[float, float], ...]  # consecutive corners of a rectangle at any angle


class Box(NamedTuple):
    """A rectangle with horizontal and vertical sides: left, top, right, bottom. y increases downwards."""

    x0: float
    y0: float
    x1: float
    y1: float


def bounding_box(boxes: Sequence[Box]) -> Box:
    """Return the smallest box that contains all boxes; there must be at least one."""
    left, top = min(box.x0 for box in boxes), min(box.y0 for box in boxes)
    return Box(left, top, max(box.x1 for box in boxes), max(box.y1 for box in boxes))


def overlaps(first: Box, second: Box) -> bool:
    """Whether two boxes overlap."""
    return first.x0 < second.x1 and second.x0 < first.x1 and first.y0 < second.y1 and second.y0 < first.y1


class Glyph(NamedTuple):
    """A unit of text on a page: a character, a ligature, or a whole word recognized by OCR.

    text (str): its characters.
    box (Box): the area it covers, in coordinates in which the text is horizontal (see the module).
    base (float): y coordinate of its baseline.
    em (float): font size.
    space (bool): whether white space precedes it.
    """

    text: str
    box: Box
    base: float
    em: float
    space: bool


@dataclass(slots=True)
class Run:
    """Consecutive glyphs of a line without a wide gap between them, such as a table cell or a line of a column.

    glyphs (list[Glyph]): the glyphs from left to right; at least one.
    turn (float): their rotation in degrees clockwise.
    box (Box): the area they cover, in coordinates in which the text is horizontal (see the module).
    """

    glyphs: list[Glyph]
    turn: float
    box: Box = field(init=False)

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Set the box to the area of the glyphs; call it after changing them."""
        self.box = bounding_box([glyph.box for glyph in self.glyphs])

    @property
    def text(self) -> str:
        """The characters of the glyphs and the white space between them."""
        return "".join(" " * glyph.space + glyph.text for glyph in self.glyphs)

    @property
    def base(self) -> float:
        """The y coordinate of the line on which the first glyph stands."""
        return self.glyphs[0].base

    @property
    def em(self) -> float:
        """The largest font size of the glyphs."""
        return max(glyph.em for glyph in self.glyphs)


@dataclass(slots=True)
class LineSegment:
    """A part of a line on a page, and the offsets of each of its glyphs in the text of the document.

    If one of its glyphs is removed, the whole segment is painted again.

    turn (float): rotation in degrees clockwise.
    top, bottom (float): vertical extent, in coordinates in which the text is horizontal (see the module).
    em (float): font size.
    room (float): x coordinate up to which the edited line may extend.
    texts (list[str]): characters of each glyph.
    left, right (array): x coordinates of the edges of each glyph.
    start, end (array): offsets of each glyph in the text; equal for a removed hyphen at the end of a line.
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
    """What is needed to write the redacted copy of a page: its size, its lines, and the areas to paint over.

    width, height (float): size as displayed, in points, or in pixels for an image.
    segments (list[LineSegment]): its lines, in the order of the text.
    ocr (bool): whether the text was read by OCR.
    skew (float): degrees clockwise by which the page is rotated first, so that lines are horizontal.
    blanks (list[Box]): areas to paint over in any case.
    codes (list[Quad]): barcodes and matrix codes, on the page before deskewing; painted over in any case.
    unread (list[Box]): areas that look like text and could not be read; painted over if the settings say so.
    """

    width: float
    height: float
    segments: list[LineSegment]
    ocr: bool = False
    skew: float = 0.0
    blanks: list[Box] = field(default_factory=list)
    codes: list[Quad] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)


_TURNS = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}
Move = Callable[[float, float], tuple[float, float]]


def nearest_quarter(turn: float) -> int:
    """Round a rotation of text, in degrees, to the nearest multiple of 90: 0, 90, 180 or 270."""
    return round(turn / 90) * 90 % 360


def _beyond_quarter(turn: float) -> float:
    """Return the difference between a rotation in degrees and the nearest multiple of 90 degrees, in radians."""
    return math.radians(turn - round(turn / 90) * 90)


def rotated_size(turn: float, width: float, height: float) -> tuple[float, float]:
    """Return width and height of a page after it is rotated so that text with the rotation `turn` is horizontal."""
    wide, high = (height, width) if nearest_quarter(turn) in (90, 270) else (width, height)
    cos, sin = math.cos(_beyond_quarter(turn)), abs(math.sin(_beyond_quarter(turn)))
    return wide * cos + high * sin, wide * sin + high * cos


def page_to_rotated(box: Box, turn: float, width: float, height: float) -> Box:
    """Convert a rectangle from page coordinates to those of the page rotated so that text of a turn is horizontal.

    box (Box): the rectangle, in page coordinates.
    turn (float): rotation of the text in degrees clockwise.
    width, height (float): size of the page.
    RETURNS (Box): the bounding box of the rectangle on the rotated page.
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
    if not _beyond_quarter(turn):
        return box
    move = _to_rotated(turn, width, height)
    return _hull(tuple(move(x, y) for x, y in _corners(box)))


def rotated_to_page(box: Box, turn: float, width: float, height: float) -> Box:
    """Convert a rectangle from the coordinates of a rotated page back to those of the page.

    This is the inverse of `page_to_rotated`, with the same arguments. The bounding box on the page is returned, so
    it is exact only for multiples of 90 degrees.
    """
    return _hull(rotated_corners(box, turn, width, height))


def rotated_corners(box: Box, turn: float, width: float, height: float) -> Quad:
    """Return the corners on the page of a rectangle in the coordinates of a rotated page; see `page_to_rotated`."""
    quad = _corners(box)
    if _beyond_quarter(turn):
        back = _from_rotated(turn, width, height)
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
    """Whether the centre of a box is inside one of the quadrilaterals."""
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    for quad in quads:
        edges = zip(quad, (*quad[1:], quad[0]), strict=True)
        sides = [(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) for (x0, y0), (x1, y1) in edges]
        if min(sides) >= 0 or max(sides) <= 0:
            return True
    return False


def holds_centre(outer: Box, inner: Box) -> bool:
    """Whether the centre of `inner` is inside `outer`."""
    x, y = (inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2
    return outer.x0 <= x <= outer.x1 and outer.y0 <= y <= outer.y1


def rotate_upright(image: Image.Image, turn: float) -> Image.Image:
    """Rotate the image of a page so that text of the given turn is horizontal. New areas are white."""
    size = image.size
    image = image.transpose(_TURNS[nearest_quarter(turn)]) if nearest_quarter(turn) else image
    return _resampled(image, rotated_size(turn, *size), _from_rotated(turn, *size)) if _beyond_quarter(turn) else image


def rotate_back(image: Image.Image, turn: float, size: tuple[int, int]) -> Image.Image:
    """Undo `rotate_upright`. `size` is the size in pixels that the image had before."""
    if _beyond_quarter(turn):
        flat = (size[1], size[0]) if nearest_quarter(turn) in (90, 270) else size
        image = _resampled(image, flat, _to_rotated(turn, *size))
    return image.transpose(_TURNS[-nearest_quarter(turn) % 360]) if nearest_quarter(turn) else image


def _resampled(image: Image.Image, size: tuple[float, float], source: Move) -> Image.Image:
    """Transform an image to the given size; `source` maps points of the result to points of the image."""
    (x, y), (xx, yx), (xy, yy) = source(0, 0), source(1, 0), source(0, 1)
    matrix = (xx - x, xy - x, x, yx - y, yy - y, y)
    white = 255 if image.mode == "L" else (255, 255, 255)
    pixels = math.ceil(size[0]), math.ceil(size[1])
    return image.transform(pixels, Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC, fillcolor=white)


def _to_rotated(turn: float, width: float, height: float) -> Move:
    """Return a function that maps points to the coordinates of a turn from the page rotated by its nearest quarter."""
    flat = rotated_size(nearest_quarter(turn), width, height)
    return rotation_about_centre(-_beyond_quarter(turn), flat, rotated_size(turn, width, height))


def _from_rotated(turn: float, width: float, height: float) -> Move:
    """Return the inverse of the function that `_to_rotated` returns."""
    flat = rotated_size(nearest_quarter(turn), width, height)
    return rotation_about_centre(_beyond_quarter(turn), rotated_size(turn, width, height), flat)


def rotation_about_centre(angle: float, size: tuple[float, float], other: tuple[float, float]) -> Move:
    """Return the function that rotates points about the centre of a rectangle and moves them to that of another.

    angle (float): clockwise angle in radians.
    size, other (tuple[float, float]): width and height of the two rectangles, each of which starts at the origin.
    RETURNS (Callable): (x, y) in the first rectangle → point in the other.
    """
    cos, sin = math.cos(angle), math.sin(angle)

    def move(x: float, y: float) -> tuple[float, float]:
        x, y = x - size[0] / 2, y - size[1] / 2
        return cos * x - sin * y + other[0] / 2, sin * x + cos * y + other[1] / 2

    return move


def _corners(box: Box) -> Quad:
    """Return the corners of a rectangle, clockwise from the upper left one."""
    return (box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)


def _hull(quad: Quad) -> Box:
    """Return the smallest upright rectangle that contains the given points."""
    xs, ys = [x for x, _ in quad], [y for _, y in quad]
    return Box(min(xs), min(ys), max(xs), max(ys))
