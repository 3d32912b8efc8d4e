"""By how much the lines of a scanned page are inclined."""

import numpy as np
from PIL import Image

__all__ = ["find_skew", "level"]

HEIGHT = 800  # pixels that the page is made small to
STEPS = np.arange(-4.0, 4.01, 0.1)  # degrees that are tried
LEAST = 0.25  # a smaller inclination hurts nobody
GAIN = 1.05  # how much sharper the lines must become


def find_skew(image: Image.Image) -> float:
    """Find the turn that makes lines level: rows of pixels are then full of ink or empty.

    image (Image): in grey.
    RETURNS (float): degrees clockwise; 0.0 if the page is level or no lines are seen.
    """
    small = image.reduce(max(1, image.height // HEIGHT))
    values = np.asarray(small)
    ys, xs = np.nonzero(values < 0.5 * (int(values.min()) + int(np.median(values))))
    if len(ys) < 200:
        return 0.0
    step = max(1, len(ys) // 40_000)
    ys, xs = ys[::step], xs[::step]
    beside = xs - small.width / 2
    scores = [_sharpness(ys + beside * np.tan(np.radians(angle)), small.height) for angle in STEPS]
    best = int(np.argmax(scores))
    angle = float(STEPS[best])
    return angle if abs(angle) >= LEAST and scores[best] > GAIN * scores[len(STEPS) // 2] else 0.0


def _sharpness(rows: "np.ndarray", height: int) -> float:
    """How much neighbouring rows differ in ink."""
    counts = np.bincount(np.clip(rows.astype(int), 0, height), minlength=height + 1)
    return float(np.square(np.diff(counts)).sum())


def level(image: Image.Image, skew: float) -> Image.Image:
    """An image turned clockwise by some degrees, on white."""
    if not skew:
        return image
    white = 255 if image.mode == "L" else (255, 255, 255)
    return image.rotate(-skew, Image.Resampling.BICUBIC, fillcolor=white)
