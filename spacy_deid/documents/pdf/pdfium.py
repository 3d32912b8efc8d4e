"""TODO."""

import ctypes
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from PIL import Image

from ...errors import Errors, InputError
from ..document import ReadSettings
from ..pages.geometry import Box

DEPTH = 40  # drawings within drawings; pdfium itself goes no deeper
LARGE = 40.0  # points of a glyph in which text can be read
PATTERN = 0xBF  # red, green and blue that pdfium gives for a tiling pattern in colours
Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class PageView(NamedTuple):
    """How a page is shown: its box in the file's coordinates, and its rotation.

    left, bottom, right, top (float): the part that is shown.
    rotation (int): degrees clockwise.
    """

    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height as shown."""
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.rotation in (90, 270) else (width, height)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the file is shown, from the upper left corner."""
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Where a rectangle of the file is shown."""
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


class PageObject(NamedTuple):
    """An object of a page: pdfium's handle, its kind, and how its own coordinates lie in the file's."""

    item: Any
    kind: int
    matrix: Matrix


def page_objects(page: Any) -> Iterator[PageObject]:
    """Every object of a page that is no drawing itself.

    page (PdfPage): the page.
    YIELDS (Placed): objects in the order in which they are drawn.
    """
    yield from _placed(page.raw, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, IDENTITY, 0)


def _placed(holder: Any, count: Any, get: Any, matrix: Matrix, depth: int) -> Iterator[PageObject]:
    for i in range(count(holder)):
        item = get(holder, i)
        kind = raw.FPDFPageObj_GetType(item)
        own = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(item, ctypes.byref(own))
        placed = _times((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
        if kind != raw.FPDF_PAGEOBJ_FORM:
            yield PageObject(item, kind, placed)
        elif depth < DEPTH:
            yield from _placed(item, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, placed, depth + 1)


def has_unreliable_shape(item: Any) -> bool:
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
    x, y = transform_point(second, e, f)
    p, q, r, s, _, _ = second
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, x, y


def transform_point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Where a transformation takes a point."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


# what pdfium says of a file that it cannot open
_REASONS = {raw.FPDF_ERR_PASSWORD: "encrypted. Take the password off first", raw.FPDF_ERR_SECURITY: "encrypted"}


@contextmanager
def open_pdf(data: bytes, name: str, settings: ReadSettings) -> Iterator[Any]:
    """Open a PDF.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): has the largest number of pages.
    YIELDS (PdfDocument): the document, closed behind the block.
    RAISES: InputError (D715) if it is encrypted, broken, without pages, has too many, or is an XFA form.
    """
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        reason = _REASONS.get(getattr(error, "err_code", None), "no PDF that can be opened: truncated or malformed")
        raise InputError(Errors.D715.format(path=name, reason=reason)) from None
    try:
        _check(pdf, name, settings)
        pdf.init_forms()
        yield pdf
    finally:
        pdf.close()


def _check(pdf: Any, name: str, settings: ReadSettings) -> None:
    """Refuse what has no pages, too many, or pages that an XFA program would make first."""
    pages = len(pdf)
    reason = None
    if not pages:
        reason = "no page"
    elif pages > settings.max_pages:
        reason = f"{pages} pages, more than the {settings.max_pages} that are allowed"
    elif pdf.get_formtype() == raw.FORMTYPE_XFA_FULL:
        reason = "an XFA form, whose pages only Adobe's programs can make. Print it to a PDF first"
    if reason:
        raise InputError(Errors.D715.format(path=name, reason=reason))


@contextmanager
def open_flattened_page(pdf: Any, index: int, name: str) -> Iterator[Any]:
    """A page with its form fields and annotations drawn on it, so that what they show is text like any other.

    pdf (PdfDocument): the document.
    index (int): from 0.
    name (str): name of the file, for errors.
    YIELDS (PdfPage): the page, closed behind the block.
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
    """Draw a page as it is shown, a huge one at a lower resolution.

    page (PdfPage): the page, flattened.
    width, height (float): of the page, in points.
    dpi (int): pixels an inch.
    max_pixels (int): no more than so many pixels.
    RETURNS (Image): in RGB.
    """
    scale = min(dpi / 72, math.sqrt(max_pixels / (width * height)))
    image: Image.Image = page.render(scale=scale, rev_byteorder=True).to_pil()
    return image if image.mode == "RGB" else image.convert("RGB")


SMALL = 5.0  # points; nothing can be read in a smaller picture


class PagePicture(NamedTuple):
    """A picture on a page: what it covers, and its dots an inch."""

    box: Box
    dpi: float


def find_pictures(page: Any, view: PageView) -> list[PagePicture]:
    """Find the pictures of a page. Those that touch are taken as one: scanners cut pages into stripes.

    page (PdfPage): the page, flattened.
    view (View): how it is shown.
    RETURNS (list[Picture]): on the page; of several taken as one the dots of the finest.
    """
    width, height = view.size
    found: list[PagePicture] = []
    for item, kind, matrix in page_objects(page):
        if kind != raw.FPDF_PAGEOBJ_IMAGE:
            continue
        # a picture is the unit square of its coordinates (ISO 32000-1, 8.9.5)
        points = [view.point(*transform_point(matrix, x, y)) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        box = Box(max(min(xs), 0), max(min(ys), 0), min(max(xs), width), min(max(ys), height))
        if not all(map(math.isfinite, (*xs, *ys, *matrix))):  # it could be anywhere
            box, matrix = Box(0, 0, width, height), (width, 0.0, 0.0, height, 0.0, 0.0)
        if box.x1 > box.x0 and box.y1 > box.y0:
            found.append(PagePicture(box, _dots(item, matrix)))
    return [one for one in _united(found) if min(one.box.x1 - one.box.x0, one.box.y1 - one.box.y0) >= SMALL]


def covered_share(pictures: list[PagePicture], view: PageView) -> float:
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


def largest_picture_pixels(page: Any) -> int:
    """How many pixels the largest picture of a page has. Nothing is unpacked for it.

    page (PdfPage): the page.
    RETURNS (int): width times height, 0 without pictures.
    """
    pictures = (_pixels(item) for item, kind, _ in page_objects(page) if kind == raw.FPDF_PAGEOBJ_IMAGE)
    return max((wide * high for wide, high in pictures), default=0)


def _united(pictures: list[PagePicture]) -> list[PagePicture]:
    """Pictures that touch as one around them."""
    united: list[PagePicture] = []
    for picture in pictures:
        while touching := [other for other in united if _touch(other.box, picture.box)]:
            united = [other for other in united if other not in touching]
            boxes = [picture.box, *(other.box for other in touching)]
            lows = [min(box[i] for box in boxes) for i in (0, 1)]
            around = Box(*lows, *(max(box[i] for box in boxes) for i in (2, 3)))
            picture = PagePicture(around, max(picture.dpi, *(other.dpi for other in touching)))
        united.append(picture)
    return united


def _touch(first: Box, second: Box) -> bool:
    apart = (
        first.x1 + 1 < second.x0 or second.x1 + 1 < first.x0 or first.y1 + 1 < second.y0 or second.y1 + 1 < first.y0
    )
    return not apart
