"""Locate and cover barcodes and matrix codes (QR, Data Matrix, PDF417, Aztec …) in the image of a page."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import zxingcpp
from PIL import Image, ImageDraw

from ...errors import DeidError, Errors
from .geometry import Box, Quad
from .image_analysis import grey_views

COARSE_DPI = 100  # resolution at which dense regions are searched for
CELL = 4  # pixels per cell at this resolution
WINDOW = 4  # cells along an edge of the smallest code, about 4 mm
FAR = 4  # reduction factor to find codes with large modules
INK = (0.3, 0.85)  # ink ratio of codes; lines of text have less than 0.27
HALF = (0.35, 0.65)  # ink ratio of undecodable codes that are accepted
WORDS = re.compile(r"[a-zß-ÿ]{3}.*[a-zß-ÿ]{3}", re.DOTALL)
WORD_INK = 0.4  # ink ratio from which a line of words may be a barcode font
MANY = 6  # regions from which a page is decoded as a whole
SPREAD = 0.3  # least standard deviation relative to the grey range; lower in photographs
RANGE = 30  # least range of grey levels in a code
APART = 2  # windows between parts of a code at most, and width of the quiet zone
LARGE = 4_000_000  # pixels from which an image is not enlarged
SCALES = (1.0, 2.0, 3.0, 0.5)
ROUNDS = 5  # decoding rounds; codes found are covered after each
MARGIN = 0.06  # margin to cover around a code, relative to its size
INCLINED = math.radians(2)  # angle from which an image is levelled
AROUND = 4  # pixels around a barcode used to estimate the direction of its bars
PARTS = 6  # parts of a barcode whose bar ends are searched for separately, because it may be inclined
SAMPLES = 60  # samples along a line across the bars of a part
SAME = 0.6  # correlation of lines that show the same bars
LOST = 3  # lines without the bars that end the search
_ALL_LINEAR: Any = zxingcpp.BarcodeFormat.AllLinear
_LINEAR = {str(code) for code in zxingcpp.barcode_formats_list(_ALL_LINEAR)}


def downscale(image: Image.Image, dpi: float) -> Image.Image:
    """Reduce an image to the resolution at which regions with codes are searched for, unless its own is lower."""
    scale = min(1.0, COARSE_DPI / dpi)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return image.resize(size, Image.Resampling.BOX) if size != image.size else image


def find_codes(
    small: Image.Image, fine: Callable[[], Image.Image], sure: bool = False, words: Sequence[Box] = ()
) -> list[Quad]:
    """Find the codes on a page. Only regions dense enough for a code are decoded, because decoding is slow.

    Each region is decoded at several scales, thresholds and angles. A page with many such regions, such as a scan of
    dense text, is decoded as a whole.

    small (Image): the page in greyscale or RGB at `COARSE_DPI`, from `downscale`.
    fine (Callable): () → the page in greyscale or RGB at the resolution for decoding. Only called if there is a dense
        region.
    sure (bool): whether to return only codes that can be decoded. Otherwise codes with finder patterns that are partly
        covered or blurred are included.
    words (Sequence[Box]): positions of plain words on `small`. They are skipped unless they have as much ink as a
        code.
    RETURNS (list[Quad]): the corners of the region to cover for each code, in pixels of `small`.
    """
    boxes = [box for view in grey_views(_without_words(small, words), COARSE_DPI) for box in _candidate_regions(view)]
    if not boxes:
        return []
    if len(boxes) > MANY:
        boxes = [Box(0, 0, small.width, small.height)]
    image, found = fine(), []
    wide, high = image.width / small.width, image.height / small.height
    for box in boxes:
        left, top = int(box.x0 * wide), int(box.y0 * high)
        crop = image.crop((left, top, math.ceil(box.x1 * wide), math.ceil(box.y1 * high)))
        for view in grey_views(crop, round(COARSE_DPI * wide)):
            for _ in range(ROUNDS):  # codes found are covered and the rest is decoded again
                quads = next((quads for quads in _decoding_attempts(view, sure) if quads), [])
                cover_codes(view, quads)
                found += [tuple(((x + left) / wide, (y + top) / high) for x, y in quad) for quad in quads]
                if not quads:
                    break
    return found


def check_no_codes(
    small: Image.Image, fine: Callable[[], Image.Image], number: int, words: Sequence[Box] = ()
) -> None:
    """Check that a page of a copy shows no bar code that can be decoded.

    small, fine, words: as in `find_codes`.
    number (int): number of the page, for the error message.
    RAISES: DeidError (D727) if the page shows such a code.
    """
    if find_codes(small, fine, sure=True, words=words):
        raise DeidError(Errors.D727.format(page=number))


def is_words(line: str) -> bool:
    """Whether a line of text contains plain words, unlike the characters of barcode fonts."""
    return WORDS.search(line) is not None


def _without_words(small: Image.Image, words: Sequence[Box]) -> Image.Image:
    """Return the page without the given lines of words, except those with as much ink as a code."""
    if not words:
        return small
    page, values = small.copy(), np.asarray(small.convert("L"))
    for box in words:
        x0, y0, x1, y1 = math.floor(box.x0), math.floor(box.y0), math.ceil(box.x1), math.ceil(box.y1)
        if y1 - y0 > CELL * WINDOW + 4:  # higher than the smallest code, whose ink the mean would hide
            continue
        inside = values[max(y0, 0) : y1, max(x0, 0) : x1]
        if inside.size and int(inside.max()) - float(inside.mean()) < WORD_INK * 255:
            paper: Any = page.getpixel((min(max(x0, 0), page.width - 1), min(max(y0, 0), page.height - 1)))
            page.paste(paper, (x0, y0, x1, y1))
    return page


def cover_codes(image: Image.Image, codes: list[Quad], scale: float = 1.0) -> None:
    """Paint over codes with the lightest colour at their corners, which are in their quiet zones.

    image (Image): image in greyscale or RGB, modified in place.
    codes (list[Quad]): regions to cover.
    scale (float): pixels of the image per unit of the corners.
    """
    draw = ImageDraw.Draw(image)
    for quad in codes:
        points = [(x * scale, y * scale) for x, y in quad]
        inside = [(min(max(round(x), 0), image.width - 1), min(max(round(y), 0), image.height - 1)) for x, y in points]
        seen: list[Any] = [image.getpixel(point) for point in inside]
        draw.polygon(points, fill=max(seen, key=lambda colour: sum(colour) if isinstance(colour, tuple) else colour))


def _candidate_regions(image: Image.Image) -> Iterator[Box]:
    """Yield the regions of an image that are dense enough for a code, including a quiet zone around each."""
    values = np.asarray(image)
    blocks = _dense_blocks(values, None)
    for y, x in _dense_blocks(np.asarray(image.reduce(FAR)), int(values.min())):
        blocks |= set(product(range(FAR * y, FAR * y + FAR), range(FAR * x, FAR * x + FAR)))
    edge = CELL * WINDOW
    reach = list(product(range(-APART, APART + 1), repeat=2))
    while blocks:
        group = [blocks.pop()]
        for y, x in group:  # which grows by its neighbours
            near = {(y + dy, x + dx) for dy, dx in reach} & blocks
            blocks -= near
            group += near
        ys, xs = [y for y, _ in group], [x for _, x in group]
        x0, y0 = max((min(xs) - APART) * edge, 0), max((min(ys) - APART) * edge, 0)
        x1, y1 = (max(xs) + APART + 2) * edge, (max(ys) + APART + 2) * edge
        yield Box(x0, y0, min(x1, image.width), min(y1, image.height))


def _dense_blocks(values: "np.ndarray", darkest: int | None) -> set[tuple[int, int]]:
    """Return the blocks of a grid, by row and column, in which a window starts that has as much ink as a code.

    values (ndarray): greyscale image, height × width.
    darkest (int | None): grey level of ink; None for the darkest pixel of each window.
    """
    if min(values.shape) < CELL * WINDOW:
        return {(0, 0)}
    rows, columns = values.shape[0] // CELL * CELL, values.shape[1] // CELL * CELL
    values = values[:rows, :columns]
    mean = _reduce_windows(values.astype(np.uint16), np.add) / (CELL * WINDOW) ** 2
    high = _reduce_windows(values, np.maximum).astype(np.float32)
    low = _reduce_windows(values, np.minimum) if darkest is None else darkest
    steps = high - low
    ink = (high - mean) / np.maximum(steps, 1)
    dense = (steps >= RANGE) & (ink > INK[0]) & (ink < INK[1])
    return {(int(y) // WINDOW, int(x) // WINDOW) for y, x in zip(*np.nonzero(dense), strict=True)}


def _reduce_windows(values: "np.ndarray", unite: Any) -> "np.ndarray":
    """Combine the pixels of each window to one value, such as their maximum, with the binary function `unite`. Windows
    overlap: one starts at each cell.
    """
    for _ in range(CELL.bit_length() - 1):
        values = unite(values[::2], values[1::2])
        values = unite(values[:, ::2], values[:, 1::2])
    step = 1
    while step < WINDOW:
        values = unite(values[:-step], values[step:])
        values = unite(values[:, :-step], values[:, step:])
        step *= 2
    return values


def _decoding_attempts(image: Image.Image, sure: bool) -> Iterator[list[Quad]]:
    """Yield the codes that each attempt finds: in the levelled image, then at each scale with each binarizer."""
    yield _decode_levelled(image, sure)
    for scale in SCALES:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        if scale > 1 and size[0] * size[1] > LARGE:
            continue
        scaled = image.resize(size, Image.Resampling.BICUBIC) if scale != 1 else image
        for binarizer in (zxingcpp.Binarizer.LocalAverage, zxingcpp.Binarizer.GlobalHistogram):
            found = _read_barcodes(scaled, binarizer, sure)
            yield [tuple((x / scale, y / scale) for x, y in quad) for quad in found]


def _decode_levelled(image: Image.Image, sure: bool) -> list[Quad]:
    """Return the corners of codes found after rotating the image so that its edges are horizontal, because decoders
    scan rows of pixels.
    """
    angle = _gradient_direction(np.asarray(image), 4)
    if abs(angle) < INCLINED:
        return []
    scale = 2 if 4 * image.width * image.height < LARGE else 1
    turned = image.resize((scale * image.width, scale * image.height), Image.Resampling.BICUBIC)
    turned = turned.rotate(math.degrees(angle), Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    cos, sin = math.cos(angle) / scale, math.sin(angle) / scale

    def back(x: float, y: float) -> tuple[float, float]:
        x, y = x - turned.width / 2, y - turned.height / 2
        return cos * x - sin * y + image.width / 2, sin * x + cos * y + image.height / 2

    found = _read_barcodes(turned, zxingcpp.Binarizer.LocalAverage, sure)
    return [tuple(back(x, y) for x, y in quad) for quad in found]


def _gradient_direction(values: "np.ndarray", fold: int) -> float:
    """Return the dominant gradient direction of an image, in radians clockwise from the rows.

    values (ndarray): greyscale image, height × width.
    fold (int): 2 to treat opposite directions as equal, 4 to treat perpendicular directions as equal too.
    """
    dy, dx = np.gradient(values.astype(np.float32))
    edges = (dx + 1j * dy) ** 2
    if fold == 4:
        edges = edges**2 / np.maximum(np.abs(edges), 1)
    return float(np.angle(edges.sum())) / fold


def _read_barcodes(image: Image.Image, binarizer: Any, sure: bool) -> list[Quad]:
    """Return the corners, with a margin, of codes that the decoder finds; undecodable ones only if not `sure`."""
    found: list[Quad] = []
    for code in zxingcpp.read_barcodes(image, binarizer=binarizer, return_errors=not sure):
        at = code.position
        quad: Quad = tuple((p.x, p.y) for p in (at.top_left, at.top_right, at.bottom_right, at.bottom_left))
        linear = str(code.format) in _LINEAR
        if not code.valid and (linear or not _is_half_ink(image, quad)):
            continue  # words and drawings can resemble finder patterns, but have less or more ink
        quad = _extend_to_bar_ends(quad, np.asarray(image)) if linear else quad
        middle = sum(x for x, _ in quad) / 4, sum(y for _, y in quad) / 4
        size = max(math.dist(quad[0], quad[2]), math.dist(quad[1], quad[3]), 1.0)
        out = 1 + 2 * max(MARGIN, 4 / size)
        found.append(tuple((middle[0] + (x - middle[0]) * out, middle[1] + (y - middle[1]) * out) for x, y in quad))
    return found


def _is_half_ink(image: Image.Image, quad: Quad) -> bool:
    """Whether about half of the area within a quadrilateral is ink, as in matrix codes, and not a smooth shade."""
    mask = Image.new("1", image.size)
    ImageDraw.Draw(mask).polygon(quad, fill=1)
    inside = np.asarray(image)[np.asarray(mask)].astype(np.float32)
    if not inside.size:
        return False
    low, high = float(inside.min()), float(inside.max())
    steps = max(high - low, 1.0)
    return HALF[0] < (high - float(inside.mean())) / steps < HALF[1] and float(inside.std()) > SPREAD * steps


def _extend_to_bar_ends(quad: Quad, values: "np.ndarray") -> Quad:
    """Extend the corners of a barcode to the full length of its bars: the decoder returns only the rows it has
    read.
    """
    corners = np.array(quad)
    left, right = (corners[0] + corners[3]) / 2, (corners[1] + corners[2]) / 2
    low, high = corners.min(0).astype(int) - AROUND, corners.max(0).astype(int) + AROUND
    angle = _gradient_direction(values[max(low[1], 0) : high[1], max(low[0], 0) : high[0]], 2)
    across, along = np.array((math.cos(angle), math.sin(angle))), np.array((-math.sin(angle), math.cos(angle)))
    line = left + np.linspace(0, 1, PARTS * SAMPLES)[:, None] * (right - left)
    reach = [_bar_extent(values, part, along) for part in np.split(line, PARTS)]
    first, last = min(low for low, _ in reach), max(high for _, high in reach)
    sides = [side @ across for side in (left, right)]
    frame = ((sides[0], first), (sides[1], first), (sides[1], last), (sides[0], last))
    return tuple((float(x), float(y)) for x, y in (s * across + t * along for s, t in frame))


def _bar_extent(values: "np.ndarray", line: "np.ndarray", along: "np.ndarray") -> tuple[float, float]:
    """Return where the bars that cross a line start and end, as positions along the direction of the bars.

    values (ndarray): greyscale image, height × width.
    line (ndarray): points on a line across the bars, n × 2.
    along (ndarray): unit vector along the bars.
    """
    bars, ends = _sample_pixels(values, line), []
    bars = bars - bars.mean()
    for sign in (-1, 1):
        end = step = 0
        while step - end <= LOST and step < max(values.shape):
            step += 1
            row = _sample_pixels(values, line + sign * step * along)
            row = row - row.mean()
            size = float(np.linalg.norm(bars) * np.linalg.norm(row))
            if size > 1 and float(bars @ row) / size > SAME:  # their correlation
                end = step
        ends.append(sign * (end + 1))
    places = line @ along
    return float(places.min()) + ends[0], float(places.max()) + ends[1]


def _sample_pixels(values: "np.ndarray", points: "np.ndarray") -> "np.ndarray":
    """Return the pixels at the given points (n × 2), white outside of the image."""
    xs, ys = np.rint(points).astype(int).T
    inside = (xs >= 0) & (ys >= 0) & (xs < values.shape[1]) & (ys < values.shape[0])
    found = np.full(len(points), 255.0)
    found[inside] = values[ys[inside], xs[inside]]
    return found
