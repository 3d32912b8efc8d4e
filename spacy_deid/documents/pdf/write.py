"""PDF out: every page as a picture, painted over, in a new file with a text layer of what is released.

Nothing of the old file is carried over, so nothing need be searched in it: no metadata, forms, scripts, attachments,
bookmarks, hidden layers, earlier revisions.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from ...offsets import Edit
from ..document import Document, ReadSettings, WriteSettings
from ..pages.glyphs import PageParts
from ..pages.paint import paint_page
from ..pages.released import Release
from .layer import PictureWriter
from .opening import flat_page, open_pdf

__all__ = ["render", "write"]

COLOUR = 24  # difference between the parts of a pixel from which it has a colour


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a PDF.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order.
    settings (WriteSettings): resolution and looks.
    RETURNS (bytes): the file.
    RAISES: DeidError (D719).
    """
    data, pages = document.parts
    release = Release(document.text, edits)
    writer = PictureWriter()
    with open_pdf(data, document.name, ReadSettings(max_pages=len(pages))) as pdf:
        for index, parts in enumerate(pages):
            with flat_page(pdf, index, document.name) as page:
                image = without_colour(render(page, parts, settings.dpi, settings.read.max_pixels))
            writer.add(*_painted(image, parts, release, index + 1, settings))
    return writer.save()


def _painted(
    image: Image.Image, parts: PageParts, release: Release, number: int, settings: WriteSettings
) -> tuple[Image.Image, PageParts, list[Any]]:
    """A page painted over, with what the writer needs."""
    painted, lines = paint_page(image, parts, release, number, settings)
    return painted, parts, lines


def render(page: Any, parts: PageParts, dpi: int, max_pixels: int, grey: bool = False) -> Image.Image:
    """The picture of a page as it is shown; a huge page at a lower resolution.

    page (PdfPage): the page, flattened.
    parts (PageParts): has its size, and by how much it is turned so that lines run level.
    dpi (int): pixels an inch.
    max_pixels (int): no more than so many pixels.
    grey (bool): without colour.
    RETURNS (Image): in grey or RGB.
    """
    scale = min(dpi / 72, math.sqrt(max_pixels / (parts.width * parts.height)))
    image = page.render(scale=scale, grayscale=grey, rev_byteorder=True).to_pil()
    image = image if image.mode in ("L", "RGB") else image.convert("L" if grey else "RGB")
    return level(image, parts.skew)


def level(image: Image.Image, skew: float) -> Image.Image:
    """An image turned clockwise by some degrees, on white."""
    if not skew:
        return image
    white = 255 if image.mode == "L" else (255, 255, 255)
    return image.rotate(-skew, Image.Resampling.BICUBIC, fillcolor=white)


def without_colour(image: Image.Image) -> Image.Image:
    """An image in grey if nothing on it has a colour."""
    if image.mode == "L":
        return image
    values = np.asarray(image).astype(np.int16)
    spread = np.abs(values[..., 0] - values[..., 1]).max(), np.abs(values[..., 1] - values[..., 2]).max()
    return image.convert("L") if max(spread) < COLOUR else image
