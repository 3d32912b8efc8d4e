"""The objects that a page of a PDF is drawn with, those of drawings within drawings too."""

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2.raw as raw

__all__ = ["Matrix", "Placed", "is_doubtful", "objects", "point"]

DEPTH = 40  # drawings within drawings; pdfium itself goes no deeper
LARGE = 40.0  # points of a glyph in which text can be read
PATTERN = 0xBF  # red, green and blue that pdfium gives for a tiling pattern in colours
Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class Placed(NamedTuple):
    """An object of a page: pdfium's handle, its kind, and how its own coordinates lie in the file's."""

    item: Any
    kind: int
    matrix: Matrix


def objects(page: Any) -> Iterator[Placed]:
    """Every object of a page that is no drawing itself.

    page (PdfPage): the page.
    YIELDS (Placed): objects in the order in which they are drawn.
    """
    yield from _placed(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, IDENTITY, 0)


def _placed(holder: Any, count: Any, get: Any, matrix: Matrix, depth: int) -> Iterator[Placed]:
    for i in range(count(holder)):
        item = get(holder, i)
        kind = raw.FPDFPageObj_GetType(item)
        own = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(item, ctypes.byref(own))
        placed = _times((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
        if kind != raw.FPDF_PAGEOBJ_FORM:
            yield Placed(item, kind, placed)
        elif depth < DEPTH:
            yield from _placed(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, placed, depth + 1)


def is_doubtful(item: Any) -> bool:
    """Whether the shapes of a text object may be others than its characters.

    A glyph of a Type 3 font is a drawing, of whole words if the file likes. A pattern can fill glyphs with text; of
    some patterns pdfium tells only that they are grey, of others nothing, so large glyphs are doubtful as well.

    item (Any): pdfium's handle of a text object.
    RETURNS (bool): whether only its picture tells what it shows.
    """
    font = raw.FPDFTextObj_GetFont(item)
    size = ctypes.c_size_t()
    known = raw.FPDFFont_GetFontData(font, None, 0, ctypes.byref(size))
    colour, em, matrix = [ctypes.c_uint() for _ in range(4)], ctypes.c_float(), raw.FS_MATRIX()
    raw.FPDFPageObj_GetFillColor(item, *map(ctypes.byref, colour))
    raw.FPDFTextObj_GetFontSize(item, ctypes.byref(em))
    raw.FPDFPageObj_GetMatrix(item, ctypes.byref(matrix))
    size_shown = abs(em.value) * max(abs(value) for value in (matrix.a, matrix.b, matrix.c, matrix.d))
    # only Type 3 fonts are embedded and have no program
    type3 = raw.FPDFFont_GetIsEmbedded(font) == 1 and not (known and size.value)
    return type3 or size_shown >= LARGE or all(part.value == PATTERN for part in colour[:3])


def _times(first: Matrix, second: Matrix) -> Matrix:
    """One transformation after the other."""
    a, b, c, d, e, f = first
    x, y = point(second, e, f)
    p, q, r, s, _, _ = second
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, x, y


def point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Where a transformation takes a point."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f
