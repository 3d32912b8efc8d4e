"""TODO."""

from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from .geometry import Box

Mask = np.ndarray[Any, np.dtype[np.bool_]]
# pixels, at 100 dots an inch
STRAIGHT = 40  # a straight level or upright line that no letter has
FLAT = 3  # a mark that is no higher is a dash
LARGEST = 150  # height of letters
LONG = 300  # a longer mark is a word only if it is dense
FRAME = 3  # a line around a box is so wide at most
CLOSED = 0.85  # share of a side that such a line covers; that of a letter covers less

FAINT = 8  # steps of a channel from which an edge is looked at
DENSE, DENSER = 0.1, 0.3  # share of a letter's box that its edges cover; a curve in a chart covers less
LETTERS = 1.2  # letters, or what is as wide, that may be a text: two that touch are not twice as wide


def edge_strength(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Measure by how much each pixel differs from the one to its right or the one below.

    values (ndarray): height × width, or height × width × channels, of bytes.
    RETURNS (ndarray): height × width; of several channels the largest difference.
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
    """Take level and upright lines out of a mask: rules, frames, the edges of boxes.

    mask (Mask): height × width.
    length (int): pixels from which a straight run is a line.
    RETURNS (Mask): what is left.
    """
    if not mask.any():
        return mask
    return mask & ~_runs(mask, length) & ~_runs(mask.T, length).T


def _runs(mask: Mask, length: int) -> Mask:
    """The pixels of a mask that stand in a level run of a length or more."""
    if mask.shape[1] < length:
        return np.zeros_like(mask)
    sums = np.cumsum(np.pad(mask, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    starts = sums[:, length:] - sums[:, :-length] == length
    if not starts.any():
        return np.zeros_like(mask)
    # a pixel is in a run if a run starts at it, or up to length - 1 pixels before it
    padded = np.pad(starts, ((0, 0), (length, length - 1)))
    sums = np.cumsum(padded, axis=1, dtype=np.int32)
    return sums[:, length:] - sums[:, :-length] > 0


def connected_components(mask: Mask) -> list[Box]:
    """Find the connected pieces of a mask; pixels that touch at a corner are connected.

    mask (Mask): height × width.
    RETURNS (list[Box]): what each piece covers, in pixels, from the top.
    """
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

    above = 0  # the first run of the row above that may touch
    for i, (row, start, end) in enumerate(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)):
        while above < i and (rows[above] < row - 1 or (rows[above] == row - 1 and ends[above] < start)):
            above += 1
        j = above
        while j < i and rows[j] == row - 1 and starts[j] <= end:
            parent[root(j)] = root(i)
            j += 1
    return _boxes(rows, starts, ends, [root(i) for i in range(len(rows))])


def _boxes(rows: Any, starts: Any, ends: Any, roots: list[int]) -> list[Box]:
    """What the runs of each piece cover."""
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
    """Marks that stand close together and look like text.

    box (Box): what they cover, in pixels.
    letters (list[Box]): the marks that are as large as letters.
    """

    box: Box
    letters: list[Box]


def detect_text_patches(values: "np.ndarray[Any, Any]") -> list[TextPatch]:
    """Find what looks like text in a picture of 100 dots an inch.

    Rules, frames, filled boxes, check boxes, single dots and long curves do not.

    values (ndarray): height × width × channels, of bytes.
    RETURNS (list[Patch]): from the top.
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
        if sum(map(_width, inside)) >= LETTERS and any(min(_size(box)) > FLAT for box in inside):
            patches.append(TextPatch(around, inside))
    return patches


def _size(box: Box) -> tuple[float, float]:
    return box.x1 - box.x0, box.y1 - box.y0


def _width(box: Box) -> float:
    """How many letters a mark is: a word whose letters touch is one mark."""
    wide, high = _size(box)
    return max(1.0, wide / high, high / wide)


def _is_letter(box: Box, mask: Mask) -> bool:
    """Whether a mark has the size of a letter and is neither a frame nor a thin curve."""
    x0, y0, x1, y1 = (int(value) for value in box)
    wide, high = x1 - x0, y1 - y0
    if high <= FLAT or min(wide, high) > LARGEST:
        return False
    part = mask[y0:y1, x0:x1]
    if part.mean() < (DENSER if max(wide, high) > LONG else DENSE):
        return False
    return min(wide, high) <= 2 * FRAME or not _is_frame(part)


def _is_frame(part: Mask) -> bool:
    """Whether a mark is a line around nothing, as a check box is."""
    sides = (part[:FRAME], part[-FRAME:], part[:, :FRAME].T, part[:, -FRAME:].T)
    return all(side.any(axis=0).mean() > CLOSED for side in sides) and not part[FRAME:-FRAME, FRAME:-FRAME].any()


COLOUR = 24  # difference between the channels of a pixel from which it has a colour
LOOKED_AT = 100  # dots an inch at which channels are compared
STRONG = 40  # steps of a channel that the edge of a letter has
CLEARER = 2  # how much stronger an edge must be in a channel than in grey
MIN_EDGE_PIXELS = 40  # pixels of such edges: about one letter


def grey_if_colourless(image: Image.Image) -> Image.Image:
    """Turn an image grey if nothing on it has a colour.

    image (Image): in grey or RGB.
    RETURNS (Image): in grey, or the image itself.
    """
    if image.mode == "L":
        return image
    red, green, blue = image.split()
    apart = ImageChops.lighter(ImageChops.difference(red, green), ImageChops.difference(green, blue))
    return image if any(apart.histogram()[COLOUR:]) else image.convert("L")


def grey_views(image: Image.Image, dpi: int) -> list[Image.Image]:
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


HEIGHT = 800  # pixels that the page is made small to
STEPS = np.arange(-4.0, 4.01, 0.1)  # degrees that are tried
MIN_SKEW = 0.25  # a smaller inclination hurts nobody
GAIN = 1.05  # how much sharper the lines must become
CLEAR = 1.2  # the same for lines of any direction, which other things than text have, too
COARSE, FINE = np.arange(-90.0, 90.0, 1.0), np.arange(-1.0, 1.01, 0.1)
STROKE = 15  # pixels that no stroke of a letter is wide
FEW = 200  # pixels of ink, at least
BORDER = 0.02  # share of a picture at each edge that is not looked at: frames and shadows


def estimate_skew(image: Image.Image) -> float:
    """Find the turn that makes lines level: rows of pixels are then full of ink or empty.

    image (Image): in grey or RGB.
    RETURNS (float): degrees clockwise, 4 at most; 0.0 if the page is level or no lines are seen.
    """
    xs, ys = _ink(image, image.height // HEIGHT, 40_000)
    if len(ys) < FEW:
        return 0.0
    scores = [_sharpness(ys + xs * np.tan(np.radians(angle))) for angle in STEPS]
    best = int(np.argmax(scores))
    angle = float(STEPS[best])
    return angle if abs(angle) >= MIN_SKEW and scores[best] > GAIN * scores[len(STEPS) // 2] else 0.0


def estimate_line_angle(image: Image.Image) -> float:
    """Find in which direction the lines of an image run, whatever it is.

    image (Image): in grey or RGB.
    RETURNS (float): degrees clockwise from level, above -90 and at most 90, so text may also stand on its head; 0.0 if
        the lines are level or none are seen.
    """
    wide, high = round(BORDER * image.width), round(BORDER * image.height)
    inner = image.crop((wide, high, image.width - wide, image.height - high))
    xs, ys = _ink(inner, max(inner.size) // HEIGHT, 10_000)
    if len(ys) < FEW:
        return 0.0
    # points on a grid lie in rows at 45 degrees too, so they are moved within their pixels
    xs, ys = np.array((xs, ys)) + np.random.default_rng(0).uniform(-0.5, 0.5, (2, len(xs)))

    def score(angle: float) -> float:
        return _sharpness(ys * np.cos(np.radians(angle)) - xs * np.sin(np.radians(angle)))

    best = max(COARSE, key=score)
    best = max(best + FINE, key=score)
    return float(best) if abs(best) >= MIN_SKEW and score(best) > CLEAR * score(0.0) else 0.0


def deskew(image: Image.Image, skew: float) -> Image.Image:
    """An image turned clockwise by some degrees, on white."""
    if not skew:
        return image
    white = 255 if image.mode == "L" else (255, 255, 255)
    return image.rotate(-skew, Image.Resampling.BICUBIC, fillcolor=white)


def _ink(image: Image.Image, factor: int, most: int) -> tuple["np.ndarray", "np.ndarray"]:
    """The dark pixels of a picture made smaller, about `most` of them, counted from its centre.

    Of an area that is wider than a stroke only the edges count, as of the coloured ground that text stands on.
    """
    small = image.convert("L").reduce(max(1, factor))
    values = np.asarray(small)
    dark = values < 0.5 * (int(values.min()) + int(np.median(values)))
    inside = np.asarray(Image.fromarray(dark.astype(np.uint8)).filter(ImageFilter.MinFilter(STROKE)))
    ys, xs = np.nonzero(dark & (inside == 0))
    step = max(1, len(ys) // most)
    return xs[::step] - small.width // 2, ys[::step] - small.height // 2


def _sharpness(rows: "np.ndarray") -> float:
    """How much neighbouring rows differ in ink."""
    rows = np.floor(rows).astype(int)
    counts = np.bincount(rows - rows.min())
    return float(np.square(np.diff(counts)).sum())
