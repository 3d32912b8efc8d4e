"""Read text that a page shows but its text layer lacks, such as stamps: horizontal, at any angle, or around a circle.

Rotated and curved text is straightened for OCR, and the recognized words are mapped back to the page.
"""

import math
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageOps

from ..document import ReadSettings
from .geometry import Box, Glyph, Run, bounding_box, holds_centre, overlaps, rotation_about_centre
from .image_analysis import background_colour, connected_components, grey_if_colourless
from .ocr import OcrWord, read_words, words_to_runs

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
    """Estimate the number of letters in an image. Touching letters are counted by the width of the connected
    component.
    """
    sides = [sorted((box.x1 - box.x0, box.y1 - box.y0)) for box in _letter_boxes(image)]
    thin = THIN * float(np.median([short for short, _ in sides])) if sides else 0.0
    return sum(long / short if long > WIDE * short and short > thin else 1.0 for short, long in sides)


def straighten_text(image: Image.Image) -> list[StraightenedImage]:
    """Return versions of an image that shows only text, each of which makes one possible orientation horizontal.

    RETURNS (list[StraightenedImage]): the image rotated by the likeliest angle and by the three angles perpendicular
        to it, and each circle of letters unrolled clockwise and counterclockwise. Empty if no letters are found.
    """
    letters = _letter_boxes(image)
    if not len(letters):
        return []
    middles = np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for box in letters])
    size = _letter_size(letters)
    angle, paper = _text_angle(middles, size), background_colour(image)
    found = []
    for quarter in (0, 90, 180, 270):
        degrees = angle + quarter
        turned = image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=paper)
        back = rotation_about_centre(math.radians(degrees), turned.size, image.size)
        found.append(StraightenedImage(turned, back))
    rng = np.random.default_rng(0)
    left = middles  # each letter belongs to at most one circle
    for _ in range(RINGS):
        circle, on = _fit_best_circle(left, size, rng) if len(left) >= FEWEST else (None, left)
        if circle is None:
            break
        found += [_unroll_ring(image, circle, size, middles, clockwise) for clockwise in (True, False)]
        left = left[~on]
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
    """Return the boxes, in pixels, of the shapes in an image that have the size of letters, unlike dots and frames."""
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
    """Return the median of the longer sides of boxes of letters, in pixels."""
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


def _fit_best_circle(points: "np.ndarray[Any, Any]", size: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Fit the circle on which most points lie by RANSAC, refined by least squares.

    points (NDArray): centres of the letters, shape (points, 2).
    size (float): typical size of a letter in pixels. It limits the radius, and how far a point may be from the circle.
    rng (Generator): source of random numbers.
    RETURNS (tuple): (x, y, radius) of the circle, or None if fewer than `FEWEST` points lie on one; and the boolean
        mask of the points on it.
    """
    best: Any = None
    most = np.zeros(len(points), bool)
    for _ in range(TRIALS):
        # the circle through three points, unless they are collinear
        (ax, ay), (bx, by), (cx, cy) = points[rng.choice(len(points), 3, replace=False)].tolist()
        d = 2 * (ax * (by - cy) + bx * (cy - ay) + cx * (ay - by))
        if abs(d) < 1e-6:
            continue
        a, b, c = ax**2 + ay**2, bx**2 + by**2, cx**2 + cy**2
        x, y = (a * (by - cy) + b * (cy - ay) + c * (ay - by)) / d, (a * (cx - bx) + b * (ax - cx) + c * (bx - ax)) / d
        radius = math.hypot(ax - x, ay - y)
        if not 1.5 * size < radius < 100 * size:
            continue
        on = np.abs(np.hypot(points[:, 0] - x, points[:, 1] - y) - radius) < NEAR * size
        if on.sum() > most.sum():
            best, most = (x, y, radius), on
    if best is None or most.sum() < FEWEST:
        return None, most
    xs, ys = points[most].T
    (a, b, c), *_ = np.linalg.lstsq(np.stack([xs, ys, np.ones_like(xs)], axis=1), xs**2 + ys**2, rcond=None)
    return (a / 2, b / 2, math.sqrt(max(c + a**2 / 4 + b**2 / 4, 1.0))), most


def _unroll_ring(
    image: Image.Image,
    circle: tuple[float, float, float],
    size: float,
    middles: "np.ndarray[Any, Any]",
    clockwise: bool,
) -> StraightenedImage:
    """Unroll a ring of letters to a horizontal strip that starts in the widest gap between them. The feet of the
    letters point to the centre if the text runs `clockwise`, else their heads.
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


CONFIDENT, MIN_CONFIDENCE = 60.0, 30.0  # confidence of words that count as read, and of words passed to detectors
READ = 0.6  # share of the letters of a patch that must be read
FEW = 2  # letters that OCR finds in anything
LETTERS = 2  # patches with fewer letters are symbols
TURNED = 12  # most patches to rotate per page; more are a drawing
ROUNDS = 3  # most texts at different angles in one patch
MARGIN = 4.0  # points around a patch


@dataclass(slots=True)
class PatchText:
    """Text read in the patches of a page, which are regions that look like text.

    runs (list[Run]): horizontal words.
    rotated_glyphs (list[Glyph]): letters of all other words, in the order of the words.
    unread (list[Box]): patches that look like text and could not be read with confidence.
    """

    runs: list[Run] = field(default_factory=list)
    rotated_glyphs: list[Glyph] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)


def read_patches(image: Image.Image, patches: Sequence[Box], scale: float, settings: ReadSettings) -> PatchText:
    """Read by OCR the patches of a page, regions that look like text: horizontal, rotated or in a circle.

    image (Image): the page without what is read otherwise, in RGB.
    patches (Sequence[Box]): patches, in page units.
    scale (float): pixels per unit of the page.
    settings (ReadSettings): OCR settings. Patches that are left after `page_seconds` stay unread.
    RAISES: subprocess.SubprocessError if Tesseract fails or exceeds the time limit for all patches together.
    """
    found = PatchText()
    crops = {box: _crop(image, box, scale) for box in patches}
    texts = [box for box in patches if count_letters(crops[box]) >= LETTERS]
    if not texts:
        return found
    # all patches in one call, since starting Tesseract takes longer than reading a few words
    around = bounding_box(texts)
    left, top = (round(value * scale) for value in _corner(around))
    words = []
    for word in read_words(_crop(image, around, scale), settings, round(72 * scale), sparse=True):
        if word.confidence >= MIN_CONFIDENCE:
            boxes = [Box(b.x0 + left, b.y0 + top, b.x1 + left, b.y1 + top) for b in (word.box, word.line_box)]
            words.append(word._replace(box=boxes[0], line_box=boxes[1]))
    level: list[OcrWord] = []
    until = time.monotonic() + settings.page_seconds
    turned = 0
    for box in _join_patches(texts, words, scale):
        own = [word for word in words if holds_centre(box, Box(*(value / scale for value in word.box)))]
        crop = crops.get(box) or _crop(image, box, scale)
        wanted = READ * count_letters(crop)
        if _confident_letters(own) < wanted and turned < TURNED and time.monotonic() < until:
            turned += 1
            bent, read = _read_rotated_patch(crop, _corner(box), scale, settings)
            if read > _confident_letters(own):
                found.rotated_glyphs += bent
                own = []
        else:
            read = 0
        level += own
        if max(read, _confident_letters(own)) < wanted:
            found.unread.append(box)
    found.runs = words_to_runs(level, scale, 0)
    return found


def _corner(box: Box) -> tuple[float, float]:
    """Return the upper left corner of a patch with its margin."""
    return max(box.x0 - MARGIN, 0.0), max(box.y0 - MARGIN, 0.0)


def _crop(image: Image.Image, box: Box, scale: float) -> Image.Image:
    """Return the image of a patch with a margin and with its contrast maximized."""
    left, top = _corner(box)
    right, bottom = min((box.x1 + MARGIN) * scale, image.width), min((box.y1 + MARGIN) * scale, image.height)
    part = image.crop((round(left * scale), round(top * scale), round(right), round(bottom)))
    return ImageOps.autocontrast(grey_if_colourless(part))


def _join_patches(patches: Sequence[Box], words: Sequence[OcrWord], scale: float) -> list[Box]:
    """Join patches that the same confidently recognized word overlaps."""
    joined = list(patches)
    for word in words:
        over = Box(*(value / scale for value in word.box))
        touched = [box for box in joined if overlaps(box, over)]
        if word.confidence >= CONFIDENT and len(touched) > 1:
            joined = [*(box for box in joined if box not in touched), bounding_box(touched)]
    return joined


def _confident_letters(words: Sequence[OcrWord]) -> int:
    """Return the number of letters and digits in words of high confidence."""
    return sum(char.isalnum() for word in words if word.confidence >= CONFIDENT for char in word.text)


def _read_rotated_patch(
    crop: Image.Image, corner: tuple[float, float], scale: float, settings: ReadSettings
) -> tuple[list[Glyph], int]:
    """Read a patch in every way its text could be oriented. Text found is erased and the rest is read again.

    RETURNS (tuple[list[Glyph], int]): letters on the page, and the number of letters read with confidence.
    """
    found: list[Glyph] = []
    read = 0
    left = crop.copy()
    for _ in range(ROUNDS):
        best: tuple[list[OcrWord], StraightenedImage] | None = None
        for straight in straighten_text(left):
            try:
                words = read_words(straight.image, settings, round(72 * scale), sparse=True)
            except subprocess.SubprocessError:
                continue  # the patch stays unread
            if _confident_letters(words) > (_confident_letters(best[0]) if best else FEW):
                best = words, straight
            if _confident_letters(words) >= READ * count_letters(left):
                break
        if best is None:
            break
        words = [word for word in best[0] if word.confidence >= MIN_CONFIDENCE]
        glyphs = place_glyphs(words, best[1], scale, corner)
        found += glyphs
        read += _confident_letters(words)
        draw = ImageDraw.Draw(left)
        paper: Any = max(left.getcolors(left.width * left.height) or [(0, 0)])[1]
        for glyph in glyphs:  # paint over what was read
            (x0, y0, x1, y1), (x, y) = glyph.box, corner
            draw.rectangle([(x0 - x) * scale, (y0 - y) * scale, (x1 - x) * scale, (y1 - y) * scale], fill=paper)
    return found, read
