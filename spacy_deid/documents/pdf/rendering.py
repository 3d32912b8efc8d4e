"""The pictures of pages."""

import math
from typing import Any

from PIL import Image

__all__ = ["render"]


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
