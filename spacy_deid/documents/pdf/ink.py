"""What the text of a page adds to its picture: the page is drawn with its text and without it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pypdfium2.raw as raw

from ..pages.glyphs import Box
from .objects import objects
from .rendering import render

__all__ = ["SEEN", "Ink", "forget_spoken"]

DPI = 100  # resolution at which is looked
SEEN = 3  # steps of a colour channel that can be seen
STRONG = 40  # steps of a channel of a letter, and not of its soft edge
LOOSE = 60  # pixels of strong ink outside all characters: two letters, or the rings of two signs like "©"
EDGE = 2  # pixels that ink may stand outside a character's box


class Ink:
    """The pixels of a page, and which of them are text.

    page (PdfPage): the page.
    size (tuple[float, float]): width and height as shown, in points.
    max_pixels (int): no more pixels than that.
    """

    def __init__(self, page: Any, size: tuple[float, float], max_pixels: int) -> None:
        image = render(page, *size, DPI, max_pixels)
        self._scale = image.width / size[0]
        self._shown = np.asarray(image)
        texts = [placed.item for placed in objects(page) if placed.kind == raw.FPDF_PAGEOBJ_TEXT]
        _switch(texts, False)
        bare = np.asarray(render(page, *size, DPI, max_pixels))
        _switch(texts, True)
        self._text = _difference(self._shown, bare)

    def of(self, box: Box) -> int:
        """Steps that the text changes in a box, in the channel where it changes most.

        RETURNS (int): 0 to 255; 0 where the text is white, covered, clipped or switched off.
        """
        part = self._part(self._text, box, 1)
        return int(part.max()) if part.size else 0

    def contrast(self, box: Box) -> int:
        """Steps between the lightest and the darkest pixel of a box, in the channel where they are furthest apart."""
        part = self._part(self._shown, box, 1).reshape(-1, 3)
        return int((part.max(axis=0) - part.min(axis=0)).max()) if part.size else 0

    def is_within(self, boxes: Iterable[Box]) -> bool:
        """Whether all text stands in these boxes. If not, they cannot tell what must be painted over."""
        left = self._text >= STRONG
        for box in boxes:
            self._part(left, box, EDGE)[:] = False
        return int(left.sum()) <= LOOSE

    def _part(self, values: np.ndarray, box: Box, edge: int) -> np.ndarray:
        """The pixels of a box and some around it."""
        scale = self._scale
        x0, y0 = max(int(box.x0 * scale) - edge, 0), max(int(box.y0 * scale) - edge, 0)
        x1, y1 = max(int(box.x1 * scale) + 1 + edge, 0), max(int(box.y1 * scale) + 1 + edge, 0)
        return values[y0:y1, x0:x1]


def _difference(first: "np.ndarray", second: "np.ndarray") -> "np.ndarray":
    """The largest difference of each pixel over its channels: colours of one luminance differ in a channel only."""
    apart = np.maximum(first, second) - np.minimum(first, second)
    most: np.ndarray = np.maximum(np.maximum(apart[..., 0], apart[..., 1]), apart[..., 2])
    return most


def _switch(items: Iterable[Any], on: bool) -> None:
    """Draw objects or leave them out."""
    for item in items:
        raw.FPDFPageObj_SetIsActive(item, on)


def forget_spoken(page: Any) -> None:
    """Take away what the file would have read aloud in place of its characters (ISO 32000-1, 14.9.4, ActualText).

    pdfium gives it in their stead, with places that do not cover them; and it can be another text than is shown.

    page (PdfPage): the page, whose text was not asked for yet.
    """
    for item, kind, _ in objects(page):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            for i in range(raw.FPDFPageObj_CountMarks(item)):
                raw.FPDFPageObjMark_RemoveParam(item, raw.FPDFPageObj_GetMark(item, i), b"ActualText")
