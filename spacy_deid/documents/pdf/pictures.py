"""Pictures on the pages of a PDF: where they are."""

import ctypes
from collections.abc import Iterator
from typing import Any

import pypdfium2.raw as raw

from ..pages.glyphs import Box
from .glyphs import View

__all__ = ["find_pictures", "share"]

SMALL = 5.0  # points; nothing can be read in a smaller picture
DEPTH = 12  # drawings within drawings
Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def find_pictures(page: Any, view: View) -> list[Box]:
    """Find the pictures of a page. Those that touch are taken as one: scanners cut pages into stripes.

    page (PdfPage): the page, flattened.
    view (View): how it is shown.
    RETURNS (list[Box]): on the page.
    """
    width, height = view.size
    found: list[Box] = []
    for corners in _corners(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, IDENTITY, 0):
        points = [view.point(x, y) for x, y in corners]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        box = Box(max(min(xs), 0), max(min(ys), 0), min(max(xs), width), min(max(ys), height))
        if box.x1 > box.x0 and box.y1 > box.y0:
            found.append(box)
    return [box for box in _united(found) if min(box.x1 - box.x0, box.y1 - box.y0) >= SMALL]


def share(boxes: list[Box], view: View) -> float:
    """What share of a page is covered, by boxes that do not overlap."""
    width, height = view.size
    return sum((box.x1 - box.x0) * (box.y1 - box.y0) for box in boxes) / (width * height)


def _corners(holder: Any, count: Any, get: Any, matrix: Matrix, depth: int) -> Iterator[list[tuple[float, float]]]:
    """The corners of every picture of a page or drawing, in the file's coordinates."""
    for i in range(count(holder)):
        item = get(holder, i)
        kind = raw.FPDFPageObj_GetType(item)
        if kind not in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM):
            continue
        own = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(item, ctypes.byref(own))
        placed = _times((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
        if kind == raw.FPDF_PAGEOBJ_IMAGE:
            # a picture is the unit square of its coordinates (ISO 32000-1, 8.9.5)
            yield [_point(placed, x, y) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
        elif depth < DEPTH:
            yield from _corners(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, placed, depth + 1)


def _times(first: Matrix, second: Matrix) -> Matrix:
    """One transformation after the other."""
    a, b, c, d, e, f = first
    x, y = _point(second, e, f)
    p, q, r, s, _, _ = second
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, x, y


def _point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _united(boxes: list[Box]) -> list[Box]:
    """Boxes that touch as one around them."""
    united: list[Box] = []
    for box in boxes:
        while touching := [o for o in united if _touch(o, box)]:
            united = [o for o in united if o not in touching]
            lows = [min(o[i] for o in [box, *touching]) for i in (0, 1)]
            box = Box(*lows, *(max(o[i] for o in [box, *touching]) for i in (2, 3)))
        united.append(box)
    return united


def _touch(first: Box, second: Box) -> bool:
    apart = (
        first.x1 + 1 < second.x0 or second.x1 + 1 < first.x0 or first.y1 + 1 < second.y0 or second.y1 + 1 < first.y0
    )
    return not apart
