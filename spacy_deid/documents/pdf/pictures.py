"""Pictures on the pages of a PDF: where they are."""

import ctypes
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2.raw as raw

from ..pages.glyphs import Box
from .glyphs import View

__all__ = ["Picture", "find_pictures", "share"]

SMALL = 5.0  # points; nothing can be read in a smaller picture
DEPTH = 12  # drawings within drawings
Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


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
    for item, matrix in _placed(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, IDENTITY, 0):
        # a picture is the unit square of its coordinates (ISO 32000-1, 8.9.5)
        points = [view.point(*_point(matrix, x, y)) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        box = Box(max(min(xs), 0), max(min(ys), 0), min(max(xs), width), min(max(ys), height))
        if box.x1 > box.x0 and box.y1 > box.y0:
            found.append(Picture(box, _dots(item, matrix)))
    return [one for one in _united(found) if min(one.box.x1 - one.box.x0, one.box.y1 - one.box.y0) >= SMALL]


def share(pictures: list[Picture], view: View) -> float:
    """What share of a page is covered, by pictures that do not overlap."""
    width, height = view.size
    return sum((box.x1 - box.x0) * (box.y1 - box.y0) for box, _ in pictures) / (width * height)


def _placed(holder: Any, count: Any, get: Any, matrix: Matrix, depth: int) -> Iterator[tuple[Any, Matrix]]:
    """Every picture of a page or drawing, and how its unit square lies in the file's coordinates."""
    for i in range(count(holder)):
        item = get(holder, i)
        kind = raw.FPDFPageObj_GetType(item)
        if kind not in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM):
            continue
        own = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(item, ctypes.byref(own))
        placed = _times((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
        if kind == raw.FPDF_PAGEOBJ_IMAGE:
            yield item, placed
        elif depth < DEPTH:
            yield from _placed(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, placed, depth + 1)


def _dots(item: Any, matrix: Matrix) -> float:
    """The dots an inch of a picture."""
    wide, high = ctypes.c_uint(), ctypes.c_uint()
    raw.FPDFImageObj_GetImagePixelSize(item, ctypes.byref(wide), ctypes.byref(high))
    a, b, c, d, _, _ = matrix
    return 72 * max(wide.value / (math.hypot(a, b) or 1.0), high.value / (math.hypot(c, d) or 1.0))


def _times(first: Matrix, second: Matrix) -> Matrix:
    """One transformation after the other."""
    a, b, c, d, e, f = first
    x, y = _point(second, e, f)
    p, q, r, s, _, _ = second
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, x, y


def _point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


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
