"""TODO."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from .geometry import Box, Glyph
from .image_analysis import connected_components
from .tesseract import OcrWord

TRIALS = 400  # circles that are tried
FEWEST = 6  # letters on a circle, or on the line whose angle is looked for
NEAR = 0.6  # sizes of a letter that letters may lie beside their circle
REACH = 1.2  # sizes of a letter that a ring is taken to both sides of its circle
GROW = 0.15  # sizes of a letter by which the box of a letter is widened
WIDE = 2  # a mark that is so many times as long as wide is several letters
THIN = 0.5  # unless it is so much thinner than most, as an l or an i
RINGS = 3  # texts around each other in a stamp
INK = 0.4  # share of the strongest contrast from which a pixel is ink
SPREAD = 3  # how much smaller than most a letter may be; dots and accents are smaller
LARGE = 4  # sizes of a letter from which a mark is a drawing, as the ring around a stamp
Point = tuple[float, float]


class StraightenedImage(NamedTuple):
    """An image in which text runs level, and where its points come from.

    image (Image): the text.
    back (Callable): a point of it → the point of the original image.
    """

    image: Image.Image
    back: Callable[[float, float], Point]


def count_letters(image: Image.Image) -> float:
    """Estimate how many letters an image shows: its marks, or what is as wide where letters touch.

    image (Image): a part of a page, in grey or RGB.
    RETURNS (float): the number.
    """
    sides = [sorted((box.x1 - box.x0, box.y1 - box.y0)) for box in _letters(image)]
    thin = THIN * float(np.median([short for short, _ in sides])) if sides else 0.0
    return sum(long / short if long > WIDE * short and short > thin else 1.0 for short, long in sides)


def straighten_text(image: Image.Image) -> list[StraightenedImage]:
    """Pull a text straight in every way in which it may stand.

    image (Image): a part of a page with nothing but the text, in grey or RGB.
    RETURNS (list[Straight]): the likeliest angle and the three at right angles to it; each ring that letters lie on,
        read clockwise and counterclockwise. Empty if there are no marks of the size of letters.
    """
    letters = _letters(image)
    if not len(letters):
        return []
    middles, size = _middles(letters), _size(letters)
    angle = _angle(middles, size)
    found = [_turned(image, angle + turn) for turn in (0, 90, 180, 270)]
    for circle in _circles(middles, size):
        found += [_unrolled(image, circle, size, middles, clockwise) for clockwise in (True, False)]
    return found


def place_glyphs(words: Sequence[OcrWord], straight: StraightenedImage, scale: float, corner: Point) -> list[Glyph]:
    """Put words back to where they stand, letter by letter, because their boxes would cover what is beside them.

    words (Sequence[OcrWord]): as read in the straightened image.
    straight (Straight): that image.
    scale (float): pixels to one unit of the page.
    corner (Point): where the original image lies on the page.
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


def _letters(image: Image.Image) -> list[Box]:
    """The marks of an image, without dots and without what is much larger than most."""
    values = np.asarray(image.convert("RGB")).astype(np.int16)
    apart = np.abs(values - np.median(values.reshape(-1, 3), axis=0)).max(axis=2)
    if not apart.max():
        return []
    marks = [
        box for box in connected_components(apart > INK * apart.max()) if max(box.x1 - box.x0, box.y1 - box.y0) > 4
    ]
    limit = LARGE * _size(marks) if marks else 0
    return [box for box in marks if limit / LARGE / SPREAD <= max(box.x1 - box.x0, box.y1 - box.y0) <= limit]


def _middles(letters: Sequence[Box]) -> "np.ndarray[Any, Any]":
    return np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for box in letters])


def _size(letters: Sequence[Box]) -> float:
    """The size of most letters."""
    return float(np.median([max(box.x1 - box.x0, box.y1 - box.y0) for box in letters]))


def _angle(middles: "np.ndarray[Any, Any]", size: float) -> float:
    """The degrees clockwise by which lines run down: those at which letters stand in the fewest and fullest rows."""
    if len(middles) < FEWEST:
        return 0.0
    scores = []
    angles = range(-90, 90)
    for degrees in angles:
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        across = np.sort(middles[:, 1] * c - middles[:, 0] * s)
        # how many pairs of letters share a row
        scores.append(int((np.searchsorted(across, across + 0.5 * size) - np.arange(len(across))).sum()))
    best = [angle for angle, score in zip(angles, scores, strict=True) if score == max(scores)]
    level = min(best, key=abs)
    near = [angle for angle in best if abs(angle - level) < 20]
    return sum(near) / len(near)


def _turned(image: Image.Image, degrees: float) -> StraightenedImage:
    """An image turned counterclockwise, as large as it must be to hold all of it."""
    turned = image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=_paper(image))
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    (w, h), (old_w, old_h) = turned.size, image.size

    def back(x: float, y: float) -> Point:
        dx, dy = x - w / 2, y - h / 2
        return old_w / 2 + dx * c - dy * s, old_h / 2 + dx * s + dy * c

    return StraightenedImage(turned, back)


def _paper(image: Image.Image) -> tuple[int, ...] | int:
    """The colour of most of an image."""
    values = np.asarray(image)
    middle = np.median(values.reshape(-1, *values.shape[2:]), axis=0)
    return int(middle) if values.ndim == 2 else tuple(int(value) for value in middle)


def _circles(middles: "np.ndarray[Any, Any]", size: float) -> list[tuple[float, float, float]]:
    """Circles that letters lie on: middle and radius. Each letter is on one."""
    found: list[tuple[float, float, float]] = []
    chance = np.random.default_rng(0)
    left = middles
    while len(found) < RINGS and len(left) >= FEWEST:
        circle, on = _best_circle(left, size, chance)
        if circle is None or on.sum() < FEWEST:
            break
        found.append(circle)
        left = left[~on]
    return found


def _best_circle(points: "np.ndarray[Any, Any]", size: float, chance: np.random.Generator) -> tuple[Any, Any]:
    """The circle through three of some points that most others are near."""
    best: Any = None
    most = np.zeros(len(points), bool)
    for _ in range(TRIALS):
        circle = _circle_through(points[chance.choice(len(points), 3, replace=False)])
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
    """Middle and radius of the circle through three points; None if they lie on a line."""
    (ax, ay), (bx, by), (cx, cy) = points.tolist()
    d = 2 * (ax * (by - cy) + bx * (cy - ay) + cx * (ay - by))
    if abs(d) < 1e-6:
        return None
    a, b, c = ax**2 + ay**2, bx**2 + by**2, cx**2 + cy**2
    x, y = (a * (by - cy) + b * (cy - ay) + c * (ay - by)) / d, (a * (cx - bx) + b * (ax - cx) + c * (bx - ax)) / d
    return x, y, math.hypot(ax - x, ay - y)


def _unrolled(
    image: Image.Image,
    circle: tuple[float, float, float],
    size: float,
    middles: "np.ndarray[Any, Any]",
    clockwise: bool,
) -> StraightenedImage:
    """A ring as a level strip that begins in the widest gap between its letters.

    clockwise (bool): whether letters have their feet to the middle and run clockwise; else the other way.
    """
    x0, y0, radius = circle
    on = np.abs(np.hypot(middles[:, 0] - x0, middles[:, 1] - y0) - radius) < NEAR * size
    turns = np.sort(np.arctan2(middles[on, 1] - y0, middles[on, 0] - x0))
    gaps = np.diff(np.append(turns, turns[0] + 2 * math.pi))
    widest = int(np.argmax(gaps))
    start = turns[widest] + gaps[widest] / 2  # clockwise, since y counts downwards
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
