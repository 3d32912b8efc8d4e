"""Analyse page images: find regions that look like text, colour channels with text that greyscale hides, and skew."""

from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageChops

from .geometry import Box

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Colour = int | tuple[int, ...]
# in pixels at 100 dots per inch
STRAIGHT = 40  # straight lines longer than in any letter
FLAT = 3  # largest height of a dash
LARGEST = 150  # largest letter
LONG = 300  # longer marks are words only if they are dense
FRAME = 3  # largest width of a frame line
CLOSED = 0.85  # least share of a side that a frame covers; letters cover less

FAINT = 8  # least edge strength in a channel
DENSE, DENSER = 0.1, 0.3  # least share of its box that the edges of a letter cover; curves of charts cover less
LETTERS = 1.2  # fewest letters of a text, estimated by width: two touching letters are less than twice as wide


def edge_strength(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Return for each pixel how much it differs from its right or lower neighbour, whichever differs more.

    values (ndarray): height × width or height × width × channels, uint8.
    RETURNS (ndarray): height × width, uint8; the maximum over the channels.
    """
    found = np.zeros(values.shape, np.uint8)
    across = np.maximum(values[:, 1:], values[:, :-1]) - np.minimum(values[:, 1:], values[:, :-1])
    down = np.maximum(values[1:], values[:-1]) - np.minimum(values[1:], values[:-1])
    found[:, :-1] = across
    np.maximum(found[:-1], down, out=found[:-1])
    if found.ndim == 2:
        return found
    merged = found[..., 0]
    for channel in range(1, found.shape[2]):
        merged = np.maximum(merged, found[..., channel])
    return merged


def remove_straight_lines(mask: Mask, length: int = STRAIGHT) -> Mask:
    """Remove horizontal and vertical lines of at least `length` pixels from a mask: rules, frames, edges of boxes."""
    if not mask.any():
        return mask
    return mask & ~_long_runs(mask, length) & ~_long_runs(mask.T, length).T


def _long_runs(mask: Mask, length: int) -> Mask:
    """Return the pixels of a mask that belong to a horizontal run of at least `length` pixels."""
    if mask.shape[1] < length:
        return np.zeros_like(mask)
    sums = np.cumsum(np.pad(mask, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    starts = sums[:, length:] - sums[:, :-length] == length
    if not starts.any():
        return np.zeros_like(mask)
    # a pixel is in a run if one starts there or up to length - 1 pixels before
    padded = np.pad(starts, ((0, 0), (length, length - 1)))
    sums = np.cumsum(padded, axis=1, dtype=np.int32)
    return sums[:, length:] - sums[:, :-length] > 0


def connected_components(mask: Mask) -> list[Box]:
    """Return the bounding boxes, in pixels and from top to bottom, of the 8-connected components of a mask."""
    padded = np.pad(mask, ((0, 0), (1, 1))).astype(np.int8)
    steps = np.diff(padded, axis=1)
    rows, starts = np.nonzero(steps == 1)
    _, ends = np.nonzero(steps == -1)
    parent = list(range(len(rows)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    above = 0  # first run of the row above that may touch
    for i, (row, start, end) in enumerate(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)):
        while above < i and (rows[above] < row - 1 or (rows[above] == row - 1 and ends[above] < start)):
            above += 1
        j = above
        while j < i and rows[j] == row - 1 and starts[j] <= end:
            parent[root(j)] = root(i)
            j += 1
    return _boxes(rows, starts, ends, [root(i) for i in range(len(rows))])


def _boxes(rows: Any, starts: Any, ends: Any, roots: list[int]) -> list[Box]:
    """Return the bounding box of each component from rows, starts, ends and component numbers of runs of pixels."""
    if not roots:
        return []
    names, labels = np.unique(roots, return_inverse=True)
    count = len(names)
    left, top = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).max)
    right, bottom = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.minimum.at(left, labels, starts)
    np.minimum.at(top, labels, rows)
    np.maximum.at(right, labels, ends)
    np.maximum.at(bottom, labels, rows + 1)
    boxes = [Box(*map(float, box)) for box in zip(left, top, right, bottom, strict=True)]
    return sorted(boxes, key=lambda box: (box.y0, box.x0))


class TextPatch(NamedTuple):
    """A region of an image that looks like text: its area in pixels, and the boxes of its letters."""

    box: Box
    letters: list[Box]


def detect_text_patches(values: "np.ndarray[Any, Any]") -> list[TextPatch]:
    """Find regions that look like text in an image with 100 dots per inch.

    Rules, frames, filled boxes, check boxes, single dots and long curves are ignored.

    values (ndarray): height × width × channels, uint8.
    RETURNS (list[TextPatch]): patches from top to bottom.
    """
    mask = remove_straight_lines(edge_strength(values) >= FAINT)
    if not mask.any():
        return []
    letters = [box for box in connected_components(mask) if _is_letter(box, mask)]
    near = np.zeros_like(mask)
    for box in letters:
        x0, y0, x1, y1 = (int(value) for value in box)
        room = max(3, (min(y1 - y0, x1 - x0) + 1) // 2)
        near[max(y0 - room, 0) : y1 + room, max(x0 - room, 0) : x1 + room] = True
    patches = []
    for around in connected_components(near):
        inside = [box for box in letters if around.x0 <= box.x0 < around.x1 and around.y0 <= box.y0 < around.y1]
        sides = [(box.x1 - box.x0, box.y1 - box.y0) for box in inside]
        count = sum(max(1.0, wide / high, high / wide) for wide, high in sides)  # touching letters form a single mark
        if count >= LETTERS and any(min(wide, high) > FLAT for wide, high in sides):
            patches.append(TextPatch(around, inside))
    return patches


def _is_letter(box: Box, mask: Mask) -> bool:
    """Whether a shape in a mask of edges has the size of a letter and is neither a frame nor a thin curve."""
    x0, y0, x1, y1 = (int(value) for value in box)
    wide, high = x1 - x0, y1 - y0
    if high <= FLAT or min(wide, high) > LARGEST:
        return False
    part = mask[y0:y1, x0:x1]
    if part.mean() < (DENSER if max(wide, high) > LONG else DENSE):
        return False
    sides = (part[:FRAME], part[-FRAME:], part[:, :FRAME].T, part[:, -FRAME:].T)
    is_frame = all(side.any(axis=0).mean() > CLOSED for side in sides) and not part[FRAME:-FRAME, FRAME:-FRAME].any()
    return min(wide, high) <= 2 * FRAME or not is_frame  # such as a check box


COLOUR = 24  # channel difference that makes a pixel coloured
LOOKED_AT = 100  # dots per inch at which channels are compared
STRONG = 40  # edge strength of a letter in a channel
CLEARER = 2  # required ratio of edge strengths in a channel and in greyscale
MIN_EDGE_PIXELS = 40  # pixels of such edges, about one letter


def grey_if_colourless(image: Image.Image) -> Image.Image:
    """Convert a greyscale or RGB image to greyscale if it has no colours."""
    if image.mode == "L":
        return image
    red, green, blue = image.split()
    apart = ImageChops.lighter(ImageChops.difference(red, green), ImageChops.difference(green, blue))
    return image if any(apart.histogram()[COLOUR:]) else image.convert("L")


def grey_views(image: Image.Image, dpi: int) -> list[Image.Image]:
    """Split an image into greyscale images that together show all of its text.

    Green text on red of the same luminance is invisible in greyscale. A channel is added if it has edges that are
    visible neither in greyscale nor in the channels added before.

    image (Image): greyscale or RGB image.
    dpi (int): its resolution.
    RETURNS (list[Image]): greyscale images; the first is the luminance.
    """
    if image.mode == "L":
        return [image]
    found = [image.convert("L")]
    factor = max(1, round(dpi / LOOKED_AT))
    small = image.reduce(factor)
    grey = edge_strength(np.asarray(small.convert("L")))
    channels = [edge_strength(np.asarray(channel)) for channel in small.split()]
    hidden = [(channel >= STRONG) & (channel >= CLEARER * grey) for channel in channels]
    hidden = [remove_straight_lines(mask) for mask in hidden]
    while True:
        counts = [int(mask.sum()) for mask in hidden]
        best = int(np.argmax(counts))
        if counts[best] < MIN_EDGE_PIXELS:
            return found
        found.append(image.getchannel(best))
        hidden = [mask & (channels[best] < STRONG) for mask in hidden]


HEIGHT = 800  # height in pixels that the page is reduced to
STEPS = np.arange(-4.0, 4.01, 0.1)  # candidate angles in degrees
MIN_SKEW = 0.25  # smaller angles do not affect OCR
GAIN = 1.05  # required gain in sharpness
CLEAR = 1.2  # the same for lines at any angle, which non-text has, too
COARSE, FINE = np.arange(-90.0, 90.0, 1.0), np.arange(-1.0, 1.01, 0.1)
STROKE = 15  # wider than any stroke of a letter, in pixels
FEW = 200  # fewest pixels of ink
BORDER = 0.02  # ignored margin, relative to the image: frames and shadows


def estimate_skew(image: Image.Image) -> float:
    """Estimate the rotation that makes text lines horizontal, by the sharpness of the horizontal projection profile.

    image (Image): greyscale or RGB image.
    RETURNS (float): degrees clockwise, at most 4; 0.0 if the lines are horizontal or none are found.
    """
    xs, ys = _ink_pixels(image, image.height // HEIGHT, 40_000)
    if len(ys) < FEW:
        return 0.0
    scores = [_sharpness(ys + xs * np.tan(np.radians(angle))) for angle in STEPS]
    best = int(np.argmax(scores))
    angle = float(STEPS[best])
    return angle if abs(angle) >= MIN_SKEW and scores[best] > GAIN * scores[len(STEPS) // 2] else 0.0


def estimate_line_angle(image: Image.Image) -> float:
    """Estimate the angle of the text lines in an image, over the full range.

    image (Image): greyscale or RGB image.
    RETURNS (float): degrees clockwise from horizontal, above -90 and at most 90, so the text may also be upside down;
        0.0 if the lines are horizontal or none are found.
    """
    wide, high = round(BORDER * image.width), round(BORDER * image.height)
    inner = image.crop((wide, high, image.width - wide, image.height - high))
    xs, ys = _ink_pixels(inner, max(inner.size) // HEIGHT, 10_000)
    if len(ys) < FEW:
        return 0.0
    # jitter, because points on a grid form rows at 45 degrees too
    xs, ys = np.array((xs, ys)) + np.random.default_rng(0).uniform(-0.5, 0.5, (2, len(xs)))

    def score(angle: float) -> float:
        return _sharpness(ys * np.cos(np.radians(angle)) - xs * np.sin(np.radians(angle)))

    best = max(COARSE, key=score)
    best = max(best + FINE, key=score)
    return float(best) if abs(best) >= MIN_SKEW and score(best) > CLEAR * score(0.0) else 0.0


def deskew(image: Image.Image, skew: float) -> Image.Image:
    """Rotate an image clockwise by `skew` degrees on a white background."""
    if not skew:
        return image
    white = 255 if image.mode == "L" else (255, 255, 255)
    return image.rotate(-skew, Image.Resampling.BICUBIC, fillcolor=white)


def _ink_pixels(image: Image.Image, factor: int, most: int) -> tuple["np.ndarray", "np.ndarray"]:
    """Reduce an image by `factor`, and return the x and y coordinates, from its centre, of about `most` dark pixels.

    Only the edges of areas wider than a stroke count, as of the coloured background of a text.
    """
    small = image.convert("L").reduce(max(1, factor))
    values = np.asarray(small)
    dark = values < 0.5 * (int(values.min()) + int(np.median(values)))
    ys, xs = np.nonzero(dark & ~_erode(dark, STROKE))
    step = max(1, len(ys) // most)
    return xs[::step] - small.width // 2, ys[::step] - small.height // 2


def _erode(mask: Mask, size: int) -> Mask:
    """Erode a mask by a square: a pixel stays if all pixels of the square around it are set. `size` is odd.

    At the border, the outermost pixels are repeated. The result is that of Pillow's `MinFilter`, which is much slower.
    """
    inside = np.pad(mask, size // 2, mode="edge")
    for _ in range(2):  # along the columns, then along the rows
        reach = 1  # number of rows that each row of `inside` stands for
        while reach < size:
            step = min(reach, size - reach)
            inside = inside[:-step] & inside[step:]
            reach += step
        inside = inside.T
    return inside


def _sharpness(rows: "np.ndarray") -> float:
    """Return how sharply lines are separated: the sum of squared differences of ink between neighbouring rows."""
    rows = np.floor(rows).astype(int)
    counts = np.bincount(rows - rows.min())
    return float(np.square(np.diff(counts)).sum())


def background_colour(image: Image.Image) -> Colour:
    """Return the background colour of an image: the median of its pixels, or white if it has none."""
    values = np.asarray(image)
    if not values.size:
        return 255 if values.ndim == 2 else (255,) * image.im.bands
    return median_colour(values.reshape(-1, *values.shape[2:]))


def median_colour(values: "np.ndarray") -> Colour:
    """Return the median of pixels, n or n × channels; white if there are none."""
    middle = np.median(values, axis=0) if values.size else np.full(values.shape[1:], 255)
    return int(middle) if values.ndim == 1 else tuple(int(value) for value in middle)
