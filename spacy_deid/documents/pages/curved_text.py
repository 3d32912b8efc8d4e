"""Straighten text at any angle or around a circle for OCR, and map the recognized words back to the page."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from .geometry import Box, Glyph
from .image_analysis import connected_components
from .tesseract import OcrWord

TRIALS = 400  # RANSAC iterations
FEWEST = 6  # fewest letters on a circle or a line
NEAR = 0.6  # largest distance of a letter from its circle, in letter sizes
REACH = 1.2  # half the height of an unrolled ring, in letter sizes
GROW = 0.15  # margin around a letter, in letter sizes
WIDE = 2  # a component with this aspect ratio is several letters …
THIN = 0.5  # … unless its relative width is less than this, as of l or i
RINGS = 3  # most concentric texts in a stamp
INK = 0.4  # share of the strongest contrast that makes a pixel ink
SPREAD = 3  # largest ratio of median to letter size; dots and accents are smaller
LARGE = 4  # letter sizes from which a component is a drawing, as the ring of a stamp
Point = tuple[float, float]


class StraightenedImage(NamedTuple):
    """An image in which text is horizontal, with the mapping to the original image.

    image (Image): the straightened text.
    back (Callable): (x, y) in `image` → point in the original image, in pixels.
    """

    image: Image.Image
    back: Callable[[float, float], Point]


def count_letters(image: Image.Image) -> float:
    """Estimate the number of letters in an image from its connected components. Touching letters are counted by width.

    image (Image): part of a page in greyscale or RGB.
    RETURNS (float): the estimated number.
    """
    sides = [sorted((box.x1 - box.x0, box.y1 - box.y0)) for box in _letter_boxes(image)]
    thin = THIN * float(np.median([short for short, _ in sides])) if sides else 0.0
    return sum(long / short if long > WIDE * short and short > thin else 1.0 for short, long in sides)


def straighten_text(image: Image.Image) -> list[StraightenedImage]:
    """Straighten a text in every way it could be oriented.

    image (Image): part of a page that contains only the text, in greyscale or RGB.
    RETURNS (list[StraightenedImage]): the image rotated by the likeliest angle and by the three angles perpendicular
        to it, and each circle of letters unrolled clockwise and counterclockwise. Empty if no letters are found.
    """
    letters = _letter_boxes(image)
    if not len(letters):
        return []
    middles = np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for box in letters])
    size = _letter_size(letters)
    angle = _text_angle(middles, size)
    found = [_rotate(image, angle + turn) for turn in (0, 90, 180, 270)]
    for circle in _fit_circles(middles, size):
        found += [_unroll_ring(image, circle, size, middles, clockwise) for clockwise in (True, False)]
    return found


def place_glyphs(words: Sequence[OcrWord], straight: StraightenedImage, scale: float, corner: Point) -> list[Glyph]:
    """Map recognized words back to the page, letter by letter, because boxes of whole words would cover their
    neighbours.

    words (Sequence[OcrWord]): words recognized in the straightened image.
    straight (StraightenedImage): that image.
    scale (float): pixels per unit of the page.
    corner (Point): position of the original image on the page.
    RETURNS (list[Glyph]): letters in the order of the words.
    """
    glyphs = []
    for word in words:
        x0, y0, x1, y1 = word.box
        step = (x1 - x0) / len(word.text)
        grow = GROW * (y1 - y0)
        for i, char in enumerate(word.text):
            left, right = x0 + i * step - grow, x0 + (i + 1) * step + grow
            points = [straight.back(x, y) for x in (left, right) for y in (y0 - grow, y1 + grow)]
            xs, ys = [corner[0] + x / scale for x, _ in points], [corner[1] + y / scale for _, y in points]
            em = (y1 - y0) / scale
            glyphs.append(Glyph(char, Box(min(xs), min(ys), max(xs), max(ys)), max(ys), em, i == 0))
    return glyphs


def _letter_boxes(image: Image.Image) -> list[Box]:
    """Return the boxes of connected components of letter size, without dots and large shapes."""
    values = np.asarray(image.convert("RGB")).astype(np.int16)
    apart = np.abs(values - np.median(values.reshape(-1, 3), axis=0)).max(axis=2)
    if not apart.max():
        return []
    marks = [
        box for box in connected_components(apart > INK * apart.max()) if max(box.x1 - box.x0, box.y1 - box.y0) > 4
    ]
    limit = LARGE * _letter_size(marks) if marks else 0
    return [box for box in marks if limit / LARGE / SPREAD <= max(box.x1 - box.x0, box.y1 - box.y0) <= limit]


def _letter_size(letters: Sequence[Box]) -> float:
    """Return the median size of the letters."""
    return float(np.median([max(box.x1 - box.x0, box.y1 - box.y0) for box in letters]))


def _text_angle(middles: "np.ndarray[Any, Any]", size: float) -> float:
    """Return the angle of the text lines in degrees clockwise: the one at which most letters share a row."""
    if len(middles) < FEWEST:
        return 0.0
    scores = []
    angles = range(-90, 90)
    for degrees in angles:
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        across = np.sort(middles[:, 1] * c - middles[:, 0] * s)
        # number of pairs of letters that share a row
        scores.append(int((np.searchsorted(across, across + 0.5 * size) - np.arange(len(across))).sum()))
    best = [angle for angle, score in zip(angles, scores, strict=True) if score == max(scores)]
    level = min(best, key=abs)
    near = [angle for angle in best if abs(angle - level) < 20]
    return sum(near) / len(near)


def _rotate(image: Image.Image, degrees: float) -> StraightenedImage:
    """Rotate an image counterclockwise and enlarge it so that nothing is cut off."""
    turned = image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=_background_colour(image))
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    (w, h), (old_w, old_h) = turned.size, image.size

    def back(x: float, y: float) -> Point:
        dx, dy = x - w / 2, y - h / 2
        return old_w / 2 + dx * c - dy * s, old_h / 2 + dx * s + dy * c

    return StraightenedImage(turned, back)


def _background_colour(image: Image.Image) -> tuple[int, ...] | int:
    """Return the median colour of an image."""
    values = np.asarray(image)
    middle = np.median(values.reshape(-1, *values.shape[2:]), axis=0)
    return int(middle) if values.ndim == 2 else tuple(int(value) for value in middle)


def _fit_circles(middles: "np.ndarray[Any, Any]", size: float) -> list[tuple[float, float, float]]:
    """Return circles (x, y, radius) on which letters lie, such that each letter belongs to at most one."""
    found: list[tuple[float, float, float]] = []
    rng = np.random.default_rng(0)
    left = middles
    while len(found) < RINGS and len(left) >= FEWEST:
        circle, on = _fit_best_circle(left, size, rng)
        if circle is None or on.sum() < FEWEST:
            break
        found.append(circle)
        left = left[~on]
    return found


def _fit_best_circle(points: "np.ndarray[Any, Any]", size: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Fit a circle to points by RANSAC, refined by least squares. Returns the circle or None, and the mask of its
    points.
    """
    best: Any = None
    most = np.zeros(len(points), bool)
    for _ in range(TRIALS):
        circle = _circle_through(points[rng.choice(len(points), 3, replace=False)])
        if circle is None or not 1.5 * size < circle[2] < 100 * size:
            continue
        on = np.abs(np.hypot(points[:, 0] - circle[0], points[:, 1] - circle[1]) - circle[2]) < NEAR * size
        if on.sum() > most.sum():
            best, most = circle, on
    if best is None or most.sum() < FEWEST:
        return None, most
    x, y = points[most].T
    (a, b, c), *_ = np.linalg.lstsq(np.stack([x, y, np.ones_like(x)], axis=1), x**2 + y**2, rcond=None)
    best = (a / 2, b / 2, math.sqrt(max(c + a**2 / 4 + b**2 / 4, 1.0)))
    return best, most


def _circle_through(points: "np.ndarray[Any, Any]") -> tuple[float, float, float] | None:
    """Return centre and radius of the circle through three points; None if they are collinear."""
    (ax, ay), (bx, by), (cx, cy) = points.tolist()
    d = 2 * (ax * (by - cy) + bx * (cy - ay) + cx * (ay - by))
    if abs(d) < 1e-6:
        return None
    a, b, c = ax**2 + ay**2, bx**2 + by**2, cx**2 + cy**2
    x, y = (a * (by - cy) + b * (cy - ay) + c * (ay - by)) / d, (a * (cx - bx) + b * (ax - cx) + c * (bx - ax)) / d
    return x, y, math.hypot(ax - x, ay - y)


def _unroll_ring(
    image: Image.Image,
    circle: tuple[float, float, float],
    size: float,
    middles: "np.ndarray[Any, Any]",
    clockwise: bool,
) -> StraightenedImage:
    """Unroll a ring of letters to a horizontal strip that starts in the widest gap between them.

    clockwise (bool): whether the text runs clockwise with the feet of its letters towards the centre, or the other way
        round.
    """
    x0, y0, radius = circle
    on = np.abs(np.hypot(middles[:, 0] - x0, middles[:, 1] - y0) - radius) < NEAR * size
    turns = np.sort(np.arctan2(middles[on, 1] - y0, middles[on, 0] - x0))
    gaps = np.diff(np.append(turns, turns[0] + 2 * math.pi))
    widest = int(np.argmax(gaps))
    start = turns[widest] + gaps[widest] / 2  # clockwise, since y increases downwards
    width, height = max(1, round(2 * math.pi * radius)), max(1, round(2 * REACH * size))
    sign = 1 if clockwise else -1

    def back(x: float, y: float) -> Point:
        turn, out = start + sign * x / radius, radius + sign * (height / 2 - y)
        return x0 + out * math.cos(turn), y0 + out * math.sin(turn)

    across, down = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    turn, out = start + sign * across / radius, radius + sign * (height / 2 - down)
    values = np.asarray(image)
    columns = np.clip((x0 + out * np.cos(turn)).astype(int), 0, image.width - 1)
    rows = np.clip((y0 + out * np.sin(turn)).astype(int), 0, image.height - 1)
    return StraightenedImage(Image.fromarray(values[rows, columns]), back)
