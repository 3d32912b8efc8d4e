"""By how much the lines of a scanned page or picture are inclined."""

import numpy as np
from PIL import Image, ImageFilter

__all__ = ["find_direction", "find_skew", "level"]

HEIGHT = 800  # pixels that the page is made small to
STEPS = np.arange(-4.0, 4.01, 0.1)  # degrees that are tried
LEAST = 0.25  # a smaller inclination hurts nobody
GAIN = 1.05  # how much sharper the lines must become
CLEAR = 1.2  # the same for lines of any direction, which other things than text have, too
COARSE, FINE = np.arange(-90.0, 90.0, 1.0), np.arange(-1.0, 1.01, 0.1)
STROKE = 15  # pixels that no stroke of a letter is wide
FEW = 200  # pixels of ink, at least
BORDER = 0.02  # share of a picture at each edge that is not looked at: frames and shadows


def find_skew(image: Image.Image) -> float:
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
    return angle if abs(angle) >= LEAST and scores[best] > GAIN * scores[len(STEPS) // 2] else 0.0


def find_direction(image: Image.Image) -> float:
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
    return float(best) if abs(best) >= LEAST and score(best) > CLEAR * score(0.0) else 0.0


def level(image: Image.Image, skew: float) -> Image.Image:
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
