"""TODO."""

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

COARSE_DPI = 100  # resolution at which a page is searched for places that may hold a code
CELL = 4  # pixels of such a picture that are taken together
WINDOW = 4  # cells along an edge of the smallest code that is looked for, about 4 mm
FAR = 4  # how much smaller the picture is made for codes of large modules
INK = (0.3, 0.85)  # share of a code that is ink; lines of text have less than 0.27
HALF = (0.35, 0.65)  # share of ink in a code that is believed though it cannot be decoded
WORDS = re.compile(r"[a-zß-ÿ]{3}.*[a-zß-ÿ]{3}", re.DOTALL)
WORD_INK = 0.4  # share of black from which a line of words may be a bar code font
MANY = 6  # places from which a page is decoded as a whole
SPREAD = 0.3  # its least standard deviation, of the steps from black to white: photographs are grey
RANGE = 30  # steps of grey from the lightest to the darkest pixel of a code
APART = 2  # windows from one part of a code to the next at most, and the quiet zone around it
LARGE = 4_000_000  # pixels from which a picture is not enlarged
SCALES = (1.0, 2.0, 3.0, 0.5)
ROUNDS = 5  # what is found is covered and the rest searched again, so many times
MARGIN = 0.06  # share of a code's size that is covered around it
INCLINED = math.radians(2)  # angle from which a picture is levelled
AROUND = 4  # pixels around a bar code that tell the direction of its bars
PARTS = 6  # parts of a bar code that are followed to the ends of their bars, because it may be inclined
SAMPLES = 60  # pixels that are compared along a line across the bars of a part
SAME = 0.6  # correlation from which two such lines show the same bars
LOST = 3  # lines without the bars after which they have ended
_ALL_LINEAR: Any = zxingcpp.BarcodeFormat.AllLinear
_LINEAR = {str(code) for code in zxingcpp.barcode_formats_list(_ALL_LINEAR)}


def downscale(image: Image.Image, dpi: float) -> Image.Image:
    """A picture at the resolution at which places are searched for, or its own if that is lower."""
    scale = min(1.0, COARSE_DPI / dpi)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return image.resize(size, Image.Resampling.BOX) if size != image.size else image


def find_codes(
    small: Image.Image, fine: Callable[[], Image.Image], sure: bool = False, words: Sequence[Box] = ()
) -> list[Quad]:
    """Find the codes of a page. Only places that are dense enough for one are decoded, which is what takes time.

    Each place is searched at several sizes and thresholds and in all directions. A page with many such places, as a
    scan of dense text has, is decoded as a whole.

    small (Image): the page in grey or RGB at `COARSE_DPI`, as `coarse` gives it.
    fine (Callable): () → the page in grey or RGB at the resolution at which codes are decoded. Called only
        if there is such a place.
    sure (bool): only codes that can be decoded. Otherwise also those that have the marks of their kind, but of which a
        part is covered or blurred.
    words (Sequence[Box]): where plain words stand on `small`. They are not searched, unless they have as much ink as a
        code.
    RETURNS (list[Quad]): what is to be covered for each code, in pixels of `small`.
    """
    boxes = [box for view in grey_views(_without_words(small, words), COARSE_DPI) for box in _suspects(view)]
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
            found += [tuple(((x + left) / wide, (y + top) / high) for x, y in quad) for quad in _decode(view, sure)]
    return found


def check_no_codes(
    small: Image.Image, fine: Callable[[], Image.Image], number: int, words: Sequence[Box] = ()
) -> None:
    """Make sure that a page of a copy shows no bar code or matrix code that can be decoded.

    small, fine, words: as in `find_codes`.
    number (int): the page, from 1.
    RAISES: DeidError (D727).
    """
    if find_codes(small, fine, sure=True, words=words):
        raise DeidError(Errors.D727.format(page=number))


def is_words(line: str) -> bool:
    """Whether a line of text holds plain words. Fonts that draw bar codes write few such characters."""
    return WORDS.search(line) is not None


def _without_words(small: Image.Image, words: Sequence[Box]) -> Image.Image:
    """A page without the lines of words that have less ink than a code."""
    if not words:
        return small
    page, values = small.copy(), np.asarray(small.convert("L"))
    for box in words:
        x0, y0, x1, y1 = math.floor(box.x0), math.floor(box.y0), math.ceil(box.x1), math.ceil(box.y1)
        if y1 - y0 > CELL * WINDOW + 4:  # higher than the smallest code, which its average ink would not show
            continue
        inside = values[max(y0, 0) : y1, max(x0, 0) : x1]
        if inside.size and int(inside.max()) - float(inside.mean()) < WORD_INK * 255:
            paper: Any = page.getpixel((min(max(x0, 0), page.width - 1), min(max(y0, 0), page.height - 1)))
            page.paste(paper, (x0, y0, x1, y1))
    return page


def cover_codes(image: Image.Image, codes: list[Quad], scale: float = 1.0) -> None:
    """Paint over codes in the colour of the paper around them.

    image (Image): in grey or colours.
    codes (list[Quad]): what to cover.
    scale (float): pixels of the image to one unit of the corners.
    """
    draw = ImageDraw.Draw(image)
    for quad in codes:
        points = [(x * scale, y * scale) for x, y in quad]
        draw.polygon(points, fill=_paper(image, points))


def _paper(image: Image.Image, corners: list[tuple[float, float]]) -> Any:
    """The lightest colour at the corners of a code, where its quiet zone is."""
    inside = [(min(max(round(x), 0), image.width - 1), min(max(round(y), 0), image.height - 1)) for x, y in corners]
    seen: list[Any] = [image.getpixel(point) for point in inside]
    return max(seen, key=lambda colour: sum(colour) if isinstance(colour, tuple) else colour)


def _suspects(image: Image.Image) -> Iterator[Box]:
    """Find where a picture is dense enough for a code, with the quiet zone around each place."""
    values = np.asarray(image)
    blocks = _dense(values, None)
    far = image.reduce(FAR)
    for y, x in _dense(np.asarray(far), int(values.min())):
        blocks |= set(product(range(FAR * y, FAR * y + FAR), range(FAR * x, FAR * x + FAR)))
    edge = CELL * WINDOW
    for group in _groups(blocks):
        ys, xs = [y for y, _ in group], [x for _, x in group]
        x0, y0 = max((min(xs) - APART) * edge, 0), max((min(ys) - APART) * edge, 0)
        x1, y1 = (max(xs) + APART + 2) * edge, (max(ys) + APART + 2) * edge
        yield Box(x0, y0, min(x1, image.width), min(y1, image.height))


def _dense(values: "np.ndarray", darkest: int | None) -> set[tuple[int, int]]:
    """Blocks of a window's size that begin a window with as much ink as a code has.

    values (ndarray): a picture in grey.
    darkest (int | None): what ink is, None for the darkest pixel of each window.
    """
    if min(values.shape) < CELL * WINDOW:
        return {(0, 0)}
    rows, columns = values.shape[0] // CELL * CELL, values.shape[1] // CELL * CELL
    values = values[:rows, :columns]
    mean = _united(values.astype(np.uint16), np.add) / (CELL * WINDOW) ** 2
    high = _united(values, np.maximum).astype(np.float32)
    low = _united(values, np.minimum) if darkest is None else darkest
    steps = high - low
    ink = (high - mean) / np.maximum(steps, 1)
    dense = (steps >= RANGE) & (ink > INK[0]) & (ink < INK[1])
    return {(int(y) // WINDOW, int(x) // WINDOW) for y, x in zip(*np.nonzero(dense), strict=True)}


def _united(values: "np.ndarray", unite: Any) -> "np.ndarray":
    """The pixels of each window united: first those of cells, then the cells of windows that begin at each cell."""
    for _ in range(CELL.bit_length() - 1):
        values = unite(values[::2], values[1::2])
        values = unite(values[:, ::2], values[:, 1::2])
    step = 1
    while step < WINDOW:
        values = unite(values[:-step], values[step:])
        values = unite(values[:, :-step], values[:, step:])
        step *= 2
    return values


def _groups(blocks: set[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Blocks that are near one another."""
    reach = list(product(range(-APART, APART + 1), repeat=2))
    while blocks:
        group = [blocks.pop()]
        for y, x in group:
            near = {(y + dy, x + dx) for dy, dx in reach} & blocks
            blocks -= near
            group += near
        yield group


def _decode(image: Image.Image, sure: bool) -> list[Quad]:
    """The codes of a small picture. What is found is covered, and the rest is searched again."""
    found: list[Quad] = []
    for _ in range(ROUNDS):
        quads = next((quads for quads in _attempts(image, sure) if quads), [])
        cover_codes(image, quads)
        found += quads
        if not quads:
            break
    return found


def _attempts(image: Image.Image, sure: bool) -> Iterator[list[Quad]]:
    """What is found levelled, and at each size and threshold, one after the other."""
    yield _read_levelled(image, sure)
    for scale in SCALES:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        if scale > 1 and size[0] * size[1] > LARGE:
            continue
        scaled = image.resize(size, Image.Resampling.BICUBIC) if scale != 1 else image
        for binarizer in (zxingcpp.Binarizer.LocalAverage, zxingcpp.Binarizer.GlobalHistogram):
            found = _read(scaled, binarizer, sure)
            yield [tuple((x / scale, y / scale) for x, y in quad) for quad in found]


def _read_levelled(image: Image.Image, sure: bool) -> list[Quad]:
    """What is found if the picture is turned so that its edges run level: decoders follow rows of pixels."""
    angle = _direction(np.asarray(image), 4)
    if abs(angle) < INCLINED:
        return []
    scale = 2 if 4 * image.width * image.height < LARGE else 1
    turned = image.resize((scale * image.width, scale * image.height), Image.Resampling.BICUBIC)
    turned = turned.rotate(math.degrees(angle), Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    cos, sin = math.cos(angle) / scale, math.sin(angle) / scale

    def back(x: float, y: float) -> tuple[float, float]:
        x, y = x - turned.width / 2, y - turned.height / 2
        return cos * x - sin * y + image.width / 2, sin * x + cos * y + image.height / 2

    found = _read(turned, zxingcpp.Binarizer.LocalAverage, sure)
    return [tuple(back(x, y) for x, y in quad) for quad in found]


def _direction(values: "np.ndarray", fold: int) -> float:
    """The direction across most edges of a picture, in radians clockwise from the rows.

    values (ndarray): in grey.
    fold (int): 2 if opposite directions are one, 4 if those at right angles are one as well.
    """
    dy, dx = np.gradient(values.astype(np.float32))
    edges = (dx + 1j * dy) ** 2
    if fold == 4:
        edges = edges**2 / np.maximum(np.abs(edges), 1)
    return float(np.angle(edges.sum())) / fold


def _read(image: Image.Image, binarizer: Any, sure: bool) -> list[Quad]:
    """What the decoder finds, with those codes of which it only sees the marks."""
    found = []
    for code in zxingcpp.read_barcodes(image, binarizer=binarizer, return_errors=not sure):
        at = code.position
        quad: Quad = tuple((p.x, p.y) for p in (at.top_left, at.top_right, at.bottom_right, at.bottom_left))
        linear = str(code.format) in _LINEAR
        if not code.valid and (linear or not _is_half_ink(image, quad)):
            continue  # words and drawings have the marks of a code, too, but less or more ink
        found.append(_grown(_along_bars(quad, np.asarray(image)) if linear else quad))
    return found


def _is_half_ink(image: Image.Image, quad: Quad) -> bool:
    """Whether about half of what lies within some corners is ink."""
    mask = Image.new("1", image.size)
    ImageDraw.Draw(mask).polygon(quad, fill=1)
    inside = np.asarray(image)[np.asarray(mask)].astype(np.float32)
    if not inside.size:
        return False
    low, high = float(inside.min()), float(inside.max())
    steps = max(high - low, 1.0)
    return HALF[0] < (high - float(inside.mean())) / steps < HALF[1] and float(inside.std()) > SPREAD * steps


def _grown(quad: Quad) -> Quad:
    """Corners moved outwards by the margin, and by two pixels at least."""
    middle = sum(x for x, _ in quad) / 4, sum(y for _, y in quad) / 4
    size = max(math.dist(quad[0], quad[2]), math.dist(quad[1], quad[3]), 1.0)
    out = 1 + 2 * max(MARGIN, 4 / size)
    return tuple((middle[0] + (x - middle[0]) * out, middle[1] + (y - middle[1]) * out) for x, y in quad)


def _along_bars(quad: Quad, values: "np.ndarray") -> Quad:
    """The corners of a bar code over the full length of its bars: the decoder says only which rows it has read."""
    corners = np.array(quad)
    left, right = (corners[0] + corners[3]) / 2, (corners[1] + corners[2]) / 2
    low, high = corners.min(0).astype(int) - AROUND, corners.max(0).astype(int) + AROUND
    angle = _direction(values[max(low[1], 0) : high[1], max(low[0], 0) : high[0]], 2)
    across, along = np.array((math.cos(angle), math.sin(angle))), np.array((-math.sin(angle), math.cos(angle)))
    line = left + np.linspace(0, 1, PARTS * SAMPLES)[:, None] * (right - left)
    reach = [_reach(values, part, along) for part in np.split(line, PARTS)]
    first, last = min(low for low, _ in reach), max(high for _, high in reach)
    sides = [side @ across for side in (left, right)]
    frame = ((sides[0], first), (sides[1], first), (sides[1], last), (sides[0], last))
    return tuple((float(x), float(y)) for x, y in (s * across + t * along for s, t in frame))


def _reach(values: "np.ndarray", line: "np.ndarray", along: "np.ndarray") -> tuple[float, float]:
    """From where to where some bars reach, measured along them.

    line (ndarray): points on a line across the bars.
    """
    bars, ends = _sampled(values, line), []
    for sign in (-1, 1):
        end = step = 0
        while step - end <= LOST and step < max(values.shape):
            step += 1
            if _correlation(bars, _sampled(values, line + sign * step * along)) > SAME:
                end = step
        ends.append(sign * (end + 1))
    places = line @ along
    return float(places.min()) + ends[0], float(places.max()) + ends[1]


def _sampled(values: "np.ndarray", points: "np.ndarray") -> "np.ndarray":
    """The pixels at some points, white outside of the picture."""
    xs, ys = np.rint(points).astype(int).T
    inside = (xs >= 0) & (ys >= 0) & (xs < values.shape[1]) & (ys < values.shape[0])
    found = np.full(len(points), 255.0)
    found[inside] = values[ys[inside], xs[inside]]
    return found


def _correlation(first: "np.ndarray", second: "np.ndarray") -> float:
    """How alike two rows of pixels are, 0 if one is of one colour."""
    first, second = first - first.mean(), second - second.mean()
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / size if size > 1 else 0.0
