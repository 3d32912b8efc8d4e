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
from .frames import frame_size, to_frame, upright
from .glyphs import Box, Glyph, Run
from .reading import Reading
from .runs import make_runs
from .skew import find_direction, find_skew, level
from .tesseract import OcrWord, find_turn, read_words

__all__ = ["in_order", "read_page", "read_picture", "runs_of"]

POOR = 55.0  # mean confidence below which a page may stand turned, and a person should look
MOST = 4.0  # degrees of the largest inclination that a page is levelled for
ORIGIN = Box(0, 0, 0, 0)
Result = TypeVar("Result")


def read_page(image: Image.Image, scale: float, dpi: int, settings: ReadSettings, name: str, number: int) -> Reading:
    """Read a page, turned and inclined as it may be.

    image (Image): in grey or RGB.
    scale (float): pixels of it to one unit of the page.
    dpi (int): its resolution.
    settings (ReadSettings): how OCR is done.
    name, number: the file and the page, for errors.
    RETURNS (Reading): its words.
    RAISES: InputError (D718) if Tesseract fails or takes too long.
    """
    try:
        if abs(_beyond_quarter(find_direction(image))) > MOST:
            turned, words = _read_any_way(image, settings, dpi, sparse=False)
            return Reading([runs_of(words, scale, turned)], ocr=True, warnings=_doubts(words, number))
        turn, skew = 0, find_skew(image)
        words = read_words(level(image, skew), settings, dpi)
        if _looks_turned(words) and (turn := find_turn(image, settings, dpi)):
            skew = find_skew(upright(image, turn))
            words = read_words(upright(level(image, skew), turn), settings, dpi)
    except subprocess.SubprocessError as error:
        raise _failed(error, settings, name, number) from None
    return Reading([runs_of(words, scale, turn)], ocr=True, skew=skew, warnings=_doubts(words, number))


def read_picture(
    image: Image.Image,
    corner: Box,
    page: tuple[float, float],
    scale: float,
    settings: ReadSettings,
    name: str,
    number: int,
) -> list[Run]:
    """Read a picture on a page, turned and inclined as it may be.

    image (Image): the picture, in grey or RGB.
    corner (Box): where it is on the page.
    page (tuple[float, float]): width and height of the page.
    scale, settings, name, number: as in `read_page`.
    RETURNS (list[Run]): its words, in the frame of their turn.
    RAISES: InputError (D718).
    """
    try:
        turn, words = _read_any_way(image, settings, settings.dpi, sparse=True)
    except subprocess.SubprocessError as error:
        raise _failed(error, settings, name, number) from None
    # the frame of the picture lies in that of the page: the two have one direction, and share the picture's centre
    size = image.width / scale, image.height / scale
    middle = corner.x0 + size[0] / 2, corner.y0 + size[1] / 2
    x, y, _, _ = to_frame(Box(*middle, *middle), turn, *page)
    wide, high = frame_size(turn, *size)
    return runs_of(words, scale, turn, Box(x - wide / 2, y - high / 2, x, y))


def _read_any_way(image: Image.Image, settings: ReadSettings, dpi: int, sparse: bool) -> tuple[float, list[OcrWord]]:
    """Read an image in the direction of its lines, then upside down, then in the other quarters.

    RETURNS (tuple[float, list[OcrWord]]): the turn in which it reads best, and the words in its frame.
    """
    direction = find_direction(image) or -find_skew(image)
    turns = [direction, direction + 180]
    turns += [turn for turn in (0.0, 180.0, 90.0, 270.0) if all(_apart(turn, other) > MOST for other in turns)]
    best: tuple[float, float, list[OcrWord]] = (-1.0, 0.0, [])
    for turn in turns:
        words = read_words(upright(image, turn), settings, dpi, sparse)
        if words and not _looks_turned(words):
            return turn % 360, words
        certain = sum((word.confidence / 100) ** 2 * len(word.text) for word in words)
        best = max(best, (certain, turn % 360, words), key=lambda found: found[0])
    return best[1], best[2]


def _apart(turn: float, other: float) -> float:
    """The degrees between two turns."""
    return abs((turn - other + 180) % 360 - 180)


def _beyond_quarter(turn: float) -> float:
    """The degrees from the nearest quarter to a turn."""
    return (turn + 45) % 90 - 45


def _doubts(words: list[OcrWord], number: int) -> list[str]:
    """A warning if a page is hard to read."""
    return [f"page {number}: hard to read"] if words and _confidence(words) < POOR else []


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


def runs_of(words: list[OcrWord], scale: float, turn: float, corner: Box = ORIGIN) -> list[Run]:
    """Make runs of words. A word is one glyph, and all words of a line are as high as the line.

    words (list[OcrWord]): in pixels, line by line.
    scale (float): pixels to one unit of the page.
    turn (float): as in `Run`.
    corner (Box): its upper left corner is where the picture lies on the page.
    RETURNS (list[Run]): on the page.
    """
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
