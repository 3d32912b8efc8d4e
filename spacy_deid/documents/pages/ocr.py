"""Pages read from their picture."""

import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from typing import TypeVar

from PIL import Image

from ...errors import Errors, InputError
from ..document import ReadSettings
from .glyphs import Box, Glyph, Run, upright
from .reading import Reading
from .runs import make_runs
from .skew import find_skew, level
from .tesseract import OcrWord, find_turn, read_words

__all__ = ["in_order", "read_page", "read_picture"]

POOR = 55.0  # mean confidence below which a page may stand turned, and a person should look
ORIGIN = Box(0, 0, 0, 0)
Result = TypeVar("Result")


def read_page(image: Image.Image, scale: float, dpi: int, settings: ReadSettings, name: str, number: int) -> Reading:
    """Read a page, turned and inclined as it may be.

    image (Image): in grey.
    scale (float): pixels of it to one unit of the page.
    dpi (int): its resolution.
    settings (ReadSettings): how OCR is done.
    name, number: the file and the page, for errors.
    RETURNS (Reading): its words.
    RAISES: InputError (D718) if Tesseract fails or takes too long.
    """
    try:
        turn, skew = 0, find_skew(image)
        words = read_words(level(image, skew), settings, dpi)
        if _looks_turned(words) and (turn := find_turn(image, settings, dpi)):
            skew = find_skew(upright(image, turn))
            words = read_words(upright(level(image, skew), turn), settings, dpi)
    except subprocess.SubprocessError as error:
        raise _failed(error, settings, name, number) from None
    warnings = [f"page {number}: hard to read"] if words and _confidence(words) < POOR else []
    return Reading([_runs(words, scale, turn)], ocr=True, skew=skew, warnings=warnings)


def read_picture(
    image: Image.Image, corner: Box, scale: float, settings: ReadSettings, name: str, number: int
) -> list[Run]:
    """Read a picture on a page.

    image (Image): the picture, in grey.
    corner (Box): where it is on the page.
    scale, settings, name, number: as in `read_page`.
    RETURNS (list[Run]): its words, on the page.
    RAISES: InputError (D718).
    """
    try:
        words = read_words(image, settings, settings.dpi, sparse=True)
    except subprocess.SubprocessError as error:
        raise _failed(error, settings, name, number) from None
    return _runs(words, scale, 0, corner)


def _failed(error: Exception, settings: ReadSettings, name: str, number: int) -> InputError:
    """The error for a page that Tesseract could not read."""
    slow = isinstance(error, subprocess.TimeoutExpired)
    reason = f"OCR took longer than {settings.page_seconds} s" if slow else "OCR failed"
    return InputError(Errors.D718.format(path=name, page=number, reason=reason))


def _looks_turned(words: list[OcrWord]) -> bool:
    """Whether a page may not stand upright: words are hard to read, or higher than wide."""
    long = [word.box for word in words if len(word.text) > 3]
    high = sum(box.y1 - box.y0 > box.x1 - box.x0 for box in long)
    return _confidence(words) < POOR or high > 0.5 * len(long)


def _confidence(words: list[OcrWord]) -> float:
    """How sure Tesseract is of its words; long ones count more."""
    letters = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / letters if letters else 0.0


def _runs(words: list[OcrWord], scale: float, turn: int, corner: Box = ORIGIN) -> list[Run]:
    """Words as glyphs that cannot be taken apart. All words of a line are as high as the line."""
    glyphs = []
    for _, group in groupby(words, key=lambda word: word.line):
        line = list(group)
        top, bottom = min(word.box.y0 for word in line) / scale, max(word.box.y1 for word in line) / scale
        em = bottom - top
        lefts = [word.box.x0 / scale for word in line]
        rights = [word.box.x1 / scale for word in line]
        for i, word in enumerate(line):
            left = lefts[i] - _margin(lefts[i] - rights[i - 1] if i else em, em)
            right = rights[i] + _margin(lefts[i + 1] - rights[i] if i + 1 < len(line) else em, em)
            box = Box(max(left, 0) + corner.x0, top + corner.y0, right + corner.x0, bottom + corner.y0)
            glyphs.append(Glyph(word.text, box, box.y1 - 0.2 * em, em, True))
    return make_runs(glyphs, turn) if glyphs else []


def _margin(gap: float, em: float) -> float:
    """By how much a word is widened, because Tesseract cuts letters; not further than half way to the next word."""
    return max(0.0, min(0.15 * em, gap / 2))


def in_order(jobs: Iterable[Callable[[], Result]], processes: int) -> Iterator[Result]:
    """Do jobs side by side, give their results in order, and have no more of them waiting than are needed for that.

    jobs (Iterable[Callable]): made one after the other in this thread.
    processes (int): how many are done at once.
    YIELDS (Result): the results.
    """
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(max(processes, 1))
    try:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) > processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
