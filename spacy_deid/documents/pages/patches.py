"""Patches of a page that look like text and are in no text layer: read by OCR, level, turned, aslant or in a ring."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image, ImageDraw, ImageOps

from ..document import ReadSettings
from .bent import Straight, count_letters, glyphs_of, straightened
from .colours import without_colour
from .glyphs import Box, Glyph, Run
from .ocr import runs_of
from .tesseract import OcrWord, read_words

__all__ = ["PatchesRead", "read_patches"]

SURE, LEAST = 60.0, 30.0  # confidence of a word that was read, and of one that detectors shall see
READ = 0.6  # share of the letters of a patch that must be read
FEW = 2  # so few letters are read in anything
LETTERS = 2  # a patch of fewer letters is a sign
TURNED = 12  # patches of a page that are turned to be read; more are a drawing
ROUNDS = 3  # texts of different angles in one patch
MARGIN = 4.0  # points around a patch


@dataclass(slots=True)
class PatchesRead:
    """What was read in the patches of a page.

    runs (list[Run]): level words.
    slanted (list[Glyph]): letters of all others, in the order of their words.
    unread (list[Box]): patches that look like text and could not be read with confidence.
    """

    runs: list[Run] = field(default_factory=list)
    slanted: list[Glyph] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)


def read_patches(image: Image.Image, patches: Sequence[Box], scale: float, settings: ReadSettings) -> PatchesRead:
    """Read the patches of a page.

    image (Image): the page without what was read elsewhere, in RGB.
    patches (Sequence[Box]): on the page.
    scale (float): pixels to one unit of the page.
    settings (ReadSettings): how OCR is done. After `page_seconds`, what is left is unread.
    RETURNS (PatchesRead): what was read.
    RAISES: subprocess.SubprocessError if Tesseract fails, or takes too long for all patches at once.
    """
    found = PatchesRead()
    crops = {box: _crop(image, box, scale) for box in patches}
    texts = [box for box in patches if count_letters(crops[box]) >= LETTERS]
    if not texts:
        return found
    words = _read_level(image, texts, scale, settings)
    level: list[OcrWord] = []
    until = time.monotonic() + settings.page_seconds
    turned = 0
    for box in _joined(texts, words, scale):
        own = [word for word in words if _is_in(word, box, scale)]
        crop = crops.get(box) or _crop(image, box, scale)
        wanted = READ * count_letters(crop)
        if _letters(own) < wanted and turned < TURNED and time.monotonic() < until:
            turned += 1
            bent, read = _read_turned(crop, _corner(box), scale, settings)
            if read > _letters(own):
                found.slanted += bent
                own = []
        else:
            read = 0
        level += own
        if max(read, _letters(own)) < wanted:
            found.unread.append(box)
    found.runs = runs_of(level, scale, 0)
    return found


def _corner(box: Box) -> tuple[float, float]:
    return max(box.x0 - MARGIN, 0.0), max(box.y0 - MARGIN, 0.0)


def _crop(image: Image.Image, box: Box, scale: float) -> Image.Image:
    """A part of a page with a margin, in its full contrast."""
    left, top = _corner(box)
    right, bottom = min((box.x1 + MARGIN) * scale, image.width), min((box.y1 + MARGIN) * scale, image.height)
    part = image.crop((round(left * scale), round(top * scale), round(right), round(bottom)))
    return ImageOps.autocontrast(without_colour(part))


def _read_level(image: Image.Image, patches: Sequence[Box], scale: float, settings: ReadSettings) -> list[OcrWord]:
    """Read all patches at once, since starting Tesseract takes longer than a few words do."""
    lows, highs = zip(*(((box.x0, box.y0), (box.x1, box.y1)) for box in patches), strict=True)
    around = Box(*map(min, zip(*lows, strict=True)), *map(max, zip(*highs, strict=True)))
    left, top = (round(value * scale) for value in _corner(around))
    words = read_words(_crop(image, around, scale), settings, round(72 * scale), sparse=True)
    moved = []
    for word in words:
        if word.confidence >= LEAST:
            boxes = [Box(b.x0 + left, b.y0 + top, b.x1 + left, b.y1 + top) for b in (word.box, word.line_box)]
            moved.append(word._replace(box=boxes[0], line_box=boxes[1]))
    return moved


def _joined(patches: Sequence[Box], words: Sequence[OcrWord], scale: float) -> list[Box]:
    """Patches, with those that one word reaches over taken as one."""
    joined = list(patches)
    for word in words:
        over = Box(*(value / scale for value in word.box))
        touched = [box for box in joined if _touch(box, over)]
        if word.confidence >= SURE and len(touched) > 1:
            lows, highs = [box[:2] for box in touched], [box[2:] for box in touched]
            around = Box(*map(min, zip(*lows, strict=True)), *map(max, zip(*highs, strict=True)))
            joined = [*(box for box in joined if box not in touched), around]
    return joined


def _touch(first: Box, second: Box) -> bool:
    return first.x0 < second.x1 and second.x0 < first.x1 and first.y0 < second.y1 and second.y0 < first.y1


def _is_in(word: OcrWord, patch: Box, scale: float) -> bool:
    """Whether the middle of a word lies in a patch."""
    x, y = (word.box.x0 + word.box.x1) / 2 / scale, (word.box.y0 + word.box.y1) / 2 / scale
    return patch.x0 <= x <= patch.x1 and patch.y0 <= y <= patch.y1


def _letters(words: Sequence[OcrWord]) -> int:
    """How many letters and digits were read with confidence."""
    return sum(char.isalnum() for word in words if word.confidence >= SURE for char in word.text)


def _read_turned(
    crop: Image.Image, corner: tuple[float, float], scale: float, settings: ReadSettings
) -> tuple[list[Glyph], int]:
    """Read a patch in every way in which its text may stand; then what is left of it, which may stand otherwise.

    RETURNS (tuple[list[Glyph], int]): its letters on the page, and how many were read with confidence.
    """
    found: list[Glyph] = []
    read = 0
    left = crop.copy()
    for _ in range(ROUNDS):
        best: tuple[list[OcrWord], Straight] | None = None
        for straight in straightened(left):
            try:
                words = read_words(straight.image, settings, round(72 * scale), sparse=True)
            except subprocess.SubprocessError:
                continue  # it stays unread
            if _letters(words) > (_letters(best[0]) if best else FEW):
                best = words, straight
            if _letters(words) >= READ * count_letters(left):
                break
        if best is None:
            break
        words = [word for word in best[0] if word.confidence >= LEAST]
        glyphs = glyphs_of(words, best[1], scale, corner)
        found += glyphs
        read += _letters(words)
        _erase(left, glyphs, scale, corner)
    return found, read


def _erase(image: Image.Image, glyphs: Sequence[Glyph], scale: float, corner: tuple[float, float]) -> None:
    """Paint over letters that were read."""
    draw = ImageDraw.Draw(image)
    paper: Any = max(image.getcolors(image.width * image.height) or [(0, 0)])[1]
    for glyph in glyphs:
        x0, y0, x1, y1 = glyph.box
        spot = [(x0 - corner[0]) * scale, (y0 - corner[1]) * scale, (x1 - corner[0]) * scale, (y1 - corner[1]) * scale]
        draw.rectangle(spot, fill=paper)
