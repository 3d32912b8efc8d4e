"""Open PDF files with pdfium, and list, locate and render the objects of their pages."""

import ctypes
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from PIL import Image

from ...errors import Errors, InputError
from ..document import ReadSettings
from ..pages.geometry import Box, bounding_box

DEPTH = 40  # nesting depth of forms, the limit of pdfium
LARGE = 40.0  # font size in points from which text can be hidden in a glyph
PATTERN = 0xBF  # value of each colour channel that pdfium reports for a coloured tiling pattern
Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class PageView(NamedTuple):
    """How a page is displayed: its visible box in file coordinates, and its rotation in degrees clockwise."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the page as displayed, in points."""
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.rotation in (90, 270) else (width, height)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Convert a point from file coordinates to page coordinates, which start at the upper left corner."""
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Convert a rectangle from file coordinates to page coordinates."""
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


class PageObject(NamedTuple):
    """An object of a page: pdfium's handle, its type, and the matrix from its coordinates to those of the file."""

    item: Any
    kind: int
    matrix: Matrix


def page_objects(page: Any) -> Iterator[PageObject]:
    """Yield every object of a page in drawing order, including those in nested forms, but not the forms themselves."""
    yield from _walk_objects(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, IDENTITY, 0)


def _walk_objects(holder: Any, count: Any, get: Any, matrix: Matrix, depth: int) -> Iterator[PageObject]:
    """Yield the objects of a page or form recursively. `matrix` maps the form's coordinates to those of the file."""
    for i in range(count(holder)):
        item = get(holder, i)
        kind = raw.FPDFPageObj_GetType(item)
        own = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(item, ctypes.byref(own))
        p, q, r, s, _, _ = matrix
        x, y = transform_point(matrix, own.e, own.f)
        turned = own.a * p + own.b * r, own.a * q + own.b * s, own.c * p + own.d * r, own.c * q + own.d * s
        placed = (*turned, x, y)  # the object is placed by its own matrix, then by that of the form
        if kind != raw.FPDF_PAGEOBJ_FORM:
            yield PageObject(item, kind, placed)
        elif depth < DEPTH:
            yield from _walk_objects(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, placed, depth + 1)


@contextmanager
def hide_objects(items: Iterable[Any]) -> Iterator[None]:
    """Hide objects of a page while the context is active, so that `render` leaves them out."""
    hidden = list(items)
    for item in hidden:
        raw.FPDFPageObj_SetIsActive(item, False)
    try:
        yield
    finally:
        for item in hidden:
            raw.FPDFPageObj_SetIsActive(item, True)


def has_unreliable_shape(item: Any) -> bool:
    """Whether a text object may look different from the characters that the file gives for it.

    A glyph of a Type 3 font is a drawing and can show whole words. A pattern can fill glyphs with text; pdfium reports
    some patterns only as grey and others not at all, so large glyphs are unreliable as well.

    item (Any): pdfium's handle of a text object.
    RETURNS (bool): whether only the rendered page shows what can be read.
    """
    font = raw.FPDFTextObj_GetFont(item)
    size = ctypes.c_size_t()
    known = raw.FPDFFont_GetFontData(font, None, 0, ctypes.byref(size))
    colour, em, matrix = [ctypes.c_uint() for _ in range(4)], ctypes.c_float(), raw.FS_MATRIX()
    raw.FPDFPageObj_GetFillColor(item, *map(ctypes.byref, colour))
    raw.FPDFTextObj_GetFontSize(item, ctypes.byref(em))
    raw.FPDFPageObj_GetMatrix(item, ctypes.byref(matrix))
    size_shown = abs(em.value) * max(abs(value) for value in (matrix.a, matrix.b, matrix.c, matrix.d))
    # only Type 3 fonts are embedded without a font program
    type3 = raw.FPDFFont_GetIsEmbedded(font) == 1 and not (known and size.value)
    return type3 or size_shown >= LARGE or all(part.value == PATTERN for part in colour[:3])


def transform_point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Apply a PDF transformation matrix to a point, and return the new point."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


# error codes of pdfium for files that it cannot open
_REASONS = {raw.FPDF_ERR_PASSWORD: "encrypted. Remove the password first", raw.FPDF_ERR_SECURITY: "encrypted"}


@contextmanager
def open_pdf(data: bytes, name: str, settings: ReadSettings) -> Iterator[Any]:
    """Context manager that opens a PDF and closes it at the end.

    RAISES: InputError (D715) if the file is encrypted or damaged, has no pages or more than `max_pages`, or has pages
        that only an XFA engine can generate.
    """
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        reason = _REASONS.get(getattr(error, "err_code", None), "not a readable PDF: truncated or malformed")
        raise InputError(Errors.D715.format(path=name, reason=reason)) from None
    try:
        reason = ""
        if not len(pdf):
            reason = "it has no pages"
        elif len(pdf) > settings.max_pages:
            reason = f"{len(pdf)} pages, more than the allowed {settings.max_pages}"
        elif pdf.get_formtype() == raw.FORMTYPE_XFA_FULL:
            reason = "an XFA form, which only Adobe software can display. Print it to a PDF first"
        if reason:
            raise InputError(Errors.D715.format(path=name, reason=reason))
        pdf.init_forms()
        yield pdf
    finally:
        pdf.close()


@contextmanager
def open_flattened_page(pdf: Any, index: int, name: str) -> Iterator[Any]:
    """Open a page with its form fields and annotations drawn on it, so that their content is ordinary text.

    pdf (PdfDocument): the document.
    index (int): page index, starting at 0.
    name (str): file name, for error messages.
    YIELDS (PdfPage): the page, closed on exit.
    RAISES: InputError (D718) if it cannot be read.
    """
    try:
        page = pdf.get_page(index)
        drawn = raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
        if drawn == raw.FLATTEN_SUCCESS:
            page.close()
            page = pdf.get_page(index)
    except pdfium.PdfiumError:
        drawn = raw.FLATTEN_FAIL
    if drawn == raw.FLATTEN_FAIL:
        raise InputError(Errors.D718.format(path=name, page=index + 1, reason="cannot be read")) from None
    try:
        yield page
    finally:
        page.close()


def render(page: Any, width: float, height: float, dpi: int, max_pixels: int) -> Image.Image:
    """Render a flattened page of the given size in points as displayed, in RGB. Very large pages get a lower
    resolution.
    """
    scale = min(dpi / 72, math.sqrt(max_pixels / (width * height)))
    image: Image.Image = page.render(scale=scale, rev_byteorder=True).to_pil()
    return image if image.mode == "RGB" else image.convert("RGB")


SMALL = 5.0  # points; smaller pictures contain no legible text


class PagePicture(NamedTuple):
    """A picture on a page: the area it covers, and its resolution in dots per inch."""

    box: Box
    dpi: float


def find_pictures(page: Any, view: PageView) -> list[PagePicture]:
    """Find the pictures of a flattened page, in page coordinates. Those that touch are merged, because scanners split
    pages into strips; they get the highest resolution of their parts.
    """
    width, height = view.size
    found: list[PagePicture] = []
    for item, kind, matrix in page_objects(page):
        if kind != raw.FPDF_PAGEOBJ_IMAGE:
            continue
        # a picture is the unit square in its coordinates (ISO 32000-1, 8.9.5)
        points = [view.point(*transform_point(matrix, x, y)) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        box = Box(max(min(xs), 0), max(min(ys), 0), min(max(xs), width), min(max(ys), height))
        if not all(map(math.isfinite, (*xs, *ys, *matrix))):  # its position is unknown
            box, matrix = Box(0, 0, width, height), (width, 0.0, 0.0, height, 0.0, 0.0)
        if box.x1 <= box.x0 or box.y1 <= box.y0:
            continue
        (wide, high), (a, b, c, d, _, _) = _pixels(item), matrix
        dpi = 72 * max(wide / (math.hypot(a, b) or 1.0), high / (math.hypot(c, d) or 1.0))
        # merge it with all pictures that are at most one point apart
        while touching := [other for other in found if _touch(other.box, box)]:
            found = [other for other in found if other not in touching]
            box = bounding_box([box, *(other.box for other in touching)])
            dpi = max(dpi, *(other.dpi for other in touching))
        found.append(PagePicture(box, dpi))
    return [one for one in found if min(one.box.x1 - one.box.x0, one.box.y1 - one.box.y0) >= SMALL]


def _touch(first: Box, second: Box) -> bool:
    """Whether two boxes overlap or are at most one point apart."""
    wide = first.x0 <= second.x1 + 1 and second.x0 <= first.x1 + 1
    return wide and first.y0 <= second.y1 + 1 and second.y0 <= first.y1 + 1


def _pixels(item: Any) -> tuple[int, int]:
    """Return width and height of a picture as declared in the file, without decompressing it."""
    wide, high = ctypes.c_uint(), ctypes.c_uint()
    raw.FPDFImageObj_GetImagePixelSize(item, ctypes.byref(wide), ctypes.byref(high))
    return wide.value, high.value


def largest_picture_pixels(page: Any) -> int:
    """Return the number of pixels of the largest picture on a page, 0 if there is none, without decompressing it."""
    pictures = (_pixels(item) for item, kind, _ in page_objects(page) if kind == raw.FPDF_PAGEOBJ_IMAGE)
    return max((wide * high for wide, high in pictures), default=0)
