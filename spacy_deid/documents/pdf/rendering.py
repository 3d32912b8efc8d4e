"""The pictures of pages."""

import math
from typing import Any

from PIL import Image, ImageChops

__all__ = ["render", "without_colour"]

COLOUR = 24  # difference between the parts of a pixel from which it has a colour


def render(page: Any, width: float, height: float, dpi: int, max_pixels: int, grey: bool = False) -> Image.Image:
    """The picture of a page as it is shown; a huge page at a lower resolution.

    page (PdfPage): the page, flattened.
    width, height (float): of the page, in points.
    dpi (int): pixels an inch.
    max_pixels (int): no more than so many pixels.
    grey (bool): without colour.
    RETURNS (Image): in grey or RGB.
    """
    scale = min(dpi / 72, math.sqrt(max_pixels / (width * height)))
    image: Image.Image = page.render(scale=scale, grayscale=grey, rev_byteorder=True).to_pil()
    mode = "L" if grey else "RGB"
    return image if image.mode == mode else image.convert(mode)


def without_colour(image: Image.Image) -> Image.Image:
    """An image in grey if nothing on it has a colour."""
    if image.mode == "L":
        return image
    red, green, blue = image.split()
    apart = ImageChops.lighter(ImageChops.difference(red, green), ImageChops.difference(green, blue))
    return image if any(apart.histogram()[COLOUR:]) else image.convert("L")
