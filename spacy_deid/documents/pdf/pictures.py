"""Pictures on the pages of a PDF: where they are."""

import ctypes
import math
from typing import Any, NamedTuple

import pypdfium2.raw as raw

from ..pages.glyphs import Box
from .glyphs import View
from .objects import Matrix, objects, point

__all__ = ["Picture", "find_pictures", "most_pixels", "share"]

SMALL = 5.0  # points; nothing can be read in a smaller picture


class Picture(NamedTuple):
    """A picture on a page: what it covers, and its dots an inch."""

    box: Box
    dpi: float


def find_pictures(page: Any, view: View) -> list[Picture]:
    """Find the pictures of a page. Those that touch are taken as one: scanners cut pages into stripes.

    page (PdfPage): the page, flattened.
    view (View): how it is shown.
    RETURNS (list[Picture]): on the page; of several taken as one the dots of the finest.
    """
    width, height = view.size
    found: list[Picture] = []
    for item, kind, matrix in objects(page):
        if kind != raw.FPDF_PAGEOBJ_IMAGE:
            continue
        # a picture is the unit square of its coordinates (ISO 32000-1, 8.9.5)
        points = [view.point(*point(matrix, x, y)) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        box = Box(max(min(xs), 0), max(min(ys), 0), min(max(xs), width), min(max(ys), height))
        if not all(map(math.isfinite, (*xs, *ys, *matrix))):  # it could be anywhere
            box, matrix = Box(0, 0, width, height), (width, 0.0, 0.0, height, 0.0, 0.0)
        if box.x1 > box.x0 and box.y1 > box.y0:
            found.append(Picture(box, _dots(item, matrix)))
    return [one for one in _united(found) if min(one.box.x1 - one.box.x0, one.box.y1 - one.box.y0) >= SMALL]


def share(pictures: list[Picture], view: View) -> float:
    """What share of a page is covered, by pictures that do not overlap."""
    width, height = view.size
    return sum((box.x1 - box.x0) * (box.y1 - box.y0) for box, _ in pictures) / (width * height)


def _dots(item: Any, matrix: Matrix) -> float:
    """The dots an inch of a picture."""
    wide, high = _pixels(item)
    a, b, c, d, _, _ = matrix
    return 72 * max(wide / (math.hypot(a, b) or 1.0), high / (math.hypot(c, d) or 1.0))


def _pixels(item: Any) -> tuple[int, int]:
    """Width and height of a picture as the file says them, before it is unpacked."""
    wide, high = ctypes.c_uint(), ctypes.c_uint()
    raw.FPDFImageObj_GetImagePixelSize(item, ctypes.byref(wide), ctypes.byref(high))
    return wide.value, high.value


def most_pixels(page: Any) -> int:
    """How many pixels the largest picture of a page has. Nothing is unpacked for it.

    page (PdfPage): the page.
    RETURNS (int): width times height, 0 without pictures.
    """
    pictures = (_pixels(item) for item, kind, _ in objects(page) if kind == raw.FPDF_PAGEOBJ_IMAGE)
    return max((wide * high for wide, high in pictures), default=0)


def _united(pictures: list[Picture]) -> list[Picture]:
    """Pictures that touch as one around them."""
    united: list[Picture] = []
    for picture in pictures:
        while touching := [other for other in united if _touch(other.box, picture.box)]:
            united = [other for other in united if other not in touching]
            boxes = [picture.box, *(other.box for other in touching)]
            lows = [min(box[i] for box in boxes) for i in (0, 1)]
            around = Box(*lows, *(max(box[i] for box in boxes) for i in (2, 3)))
            picture = Picture(around, max(picture.dpi, *(other.dpi for other in touching)))
        united.append(picture)
    return united


def _touch(first: Box, second: Box) -> bool:
    apart = (
        first.x1 + 1 < second.x0 or second.x1 + 1 < first.x0 or first.y1 + 1 < second.y0 or second.y1 + 1 < first.y0
    )
    return not apart
