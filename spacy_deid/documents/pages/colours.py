"""The views of a page in which its text can be seen: grey, and the colour channels that show what grey does not."""

import numpy as np
from PIL import Image, ImageChops

from .strokes import edges, without_rules

__all__ = ["views", "without_colour"]

COLOUR = 24  # difference between the channels of a pixel from which it has a colour
LOOKED_AT = 100  # dots an inch at which channels are compared
STRONG = 40  # steps of a channel that the edge of a letter has
CLEARER = 2  # how much stronger an edge must be in a channel than in grey
LEAST = 40  # pixels of such edges: about one letter


def without_colour(image: Image.Image) -> Image.Image:
    """Turn an image grey if nothing on it has a colour.

    image (Image): in grey or RGB.
    RETURNS (Image): in grey, or the image itself.
    """
    if image.mode == "L":
        return image
    red, green, blue = image.split()
    apart = ImageChops.lighter(ImageChops.difference(red, green), ImageChops.difference(green, blue))
    return image if any(apart.histogram()[COLOUR:]) else image.convert("L")


def views(image: Image.Image, dpi: int) -> list[Image.Image]:
    """Split an image into the grey images that together show all of its text.

    Green on red of the same luminance is invisible in grey. Each channel with edges that are not in grey, and not in a
    channel that was taken before, is a view of its own.

    image (Image): in grey or RGB.
    dpi (int): its resolution.
    RETURNS (list[Image]): in grey; the first is the luminance.
    """
    if image.mode == "L":
        return [image]
    found = [image.convert("L")]
    factor = max(1, round(dpi / LOOKED_AT))
    small = image.reduce(factor)
    grey = edges(np.asarray(small.convert("L")))
    channels = [edges(np.asarray(channel)) for channel in small.split()]
    hidden = [(channel >= STRONG) & (channel >= CLEARER * grey) for channel in channels]
    hidden = [without_rules(mask) for mask in hidden]
    while True:
        counts = [int(mask.sum()) for mask in hidden]
        best = int(np.argmax(counts))
        if counts[best] < LEAST:
            return found
        found.append(image.getchannel(best))
        hidden = [mask & (channels[best] < STRONG) for mask in hidden]
