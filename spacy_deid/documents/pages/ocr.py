"""TODO."""

import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from PIL import Image, ImageDraw, ImageOps

from ...errors import Errors, InputError
from ..document import ExtractedText, ReadSettings, WriteSettings
from .curved_text import StraightenedImage, count_letters, place_glyphs, straighten_text
from .geometry import Box, Glyph, Run, page_to_rotated, rotate_upright, rotated_size
from .image_analysis import deskew, estimate_line_angle, estimate_skew, grey_if_colourless
from .layout import make_runs
from .page_text import PageContent
from .tesseract import OcrWord, check_tesseract, detect_rotation, read_words

POOR = 55.0  # mean confidence below which a page may stand turned, and a person should look
MOST = 4.0  # degrees of the largest inclination that a page is levelled for
ORIGIN = Box(0, 0, 0, 0)
Result = TypeVar("Result")


def read_page(
    image: Image.Image, scale: float, dpi: int, settings: ReadSettings, name: str, number: int
) -> PageContent:
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
        if abs(_beyond_quarter(estimate_line_angle(image))) > MOST:
            turned, words = _read_any_way(image, settings, dpi, sparse=False)
            return PageContent([words_to_runs(words, scale, turned)], ocr=True, warnings=_doubts(words, number))
        turn, skew = 0, estimate_skew(image)
        words = read_words(deskew(image, skew), settings, dpi)
        if _looks_turned(words) and (turn := detect_rotation(image, settings, dpi)):
            skew = estimate_skew(rotate_upright(image, turn))
            words = read_words(rotate_upright(deskew(image, skew), turn), settings, dpi)
    except subprocess.SubprocessError as error:
        raise _failed(error, settings, name, number) from None
    return PageContent([words_to_runs(words, scale, turn)], ocr=True, skew=skew, warnings=_doubts(words, number))


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
    x, y, _, _ = page_to_rotated(Box(*middle, *middle), turn, *page)
    wide, high = rotated_size(turn, *size)
    return words_to_runs(words, scale, turn, Box(x - wide / 2, y - high / 2, x, y))


def _read_any_way(image: Image.Image, settings: ReadSettings, dpi: int, sparse: bool) -> tuple[float, list[OcrWord]]:
    """Read an image in the direction of its lines, then upside down, then in the other quarters.

    RETURNS (tuple[float, list[OcrWord]]): the turn in which it reads best, and the words in its frame.
    """
    direction = estimate_line_angle(image) or -estimate_skew(image)
    turns = [direction, direction + 180]
    turns += [turn for turn in (0.0, 180.0, 90.0, 270.0) if all(_apart(turn, other) > MOST for other in turns)]
    best: tuple[float, float, list[OcrWord]] = (-1.0, 0.0, [])
    for turn in turns:
        words = read_words(rotate_upright(image, turn), settings, dpi, sparse)
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


def words_to_runs(words: list[OcrWord], scale: float, turn: float, corner: Box = ORIGIN) -> list[Run]:
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


def run_in_order(jobs: Iterable[Callable[[], Result]], processes: int) -> Iterator[Result]:
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


CONFIDENT, MIN_CONFIDENCE = 60.0, 30.0  # confidence of a word that was read, and of one that detectors shall see
READ = 0.6  # share of the letters of a patch that must be read
FEW = 2  # so few letters are read in anything
LETTERS = 2  # a patch of fewer letters is a sign
TURNED = 12  # patches of a page that are turned to be read; more are a drawing
ROUNDS = 3  # texts of different angles in one patch
MARGIN = 4.0  # points around a patch


@dataclass(slots=True)
class PatchText:
    """What was read in the patches of a page.

    runs (list[Run]): level words.
    slanted (list[Glyph]): letters of all others, in the order of their words.
    unread (list[Box]): patches that look like text and could not be read with confidence.
    """

    runs: list[Run] = field(default_factory=list)
    rotated_glyphs: list[Glyph] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)


def read_patches(image: Image.Image, patches: Sequence[Box], scale: float, settings: ReadSettings) -> PatchText:
    """Read the patches of a page.

    image (Image): the page without what was read elsewhere, in RGB.
    patches (Sequence[Box]): on the page.
    scale (float): pixels to one unit of the page.
    settings (ReadSettings): how OCR is done. After `page_seconds`, what is left is unread.
    RETURNS (PatchesRead): what was read.
    RAISES: subprocess.SubprocessError if Tesseract fails, or takes too long for all patches at once.
    """
    found = PatchText()
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
                found.rotated_glyphs += bent
                own = []
        else:
            read = 0
        level += own
        if max(read, _letters(own)) < wanted:
            found.unread.append(box)
    found.runs = words_to_runs(level, scale, 0)
    return found


def _corner(box: Box) -> tuple[float, float]:
    return max(box.x0 - MARGIN, 0.0), max(box.y0 - MARGIN, 0.0)


def _crop(image: Image.Image, box: Box, scale: float) -> Image.Image:
    """A part of a page with a margin, in its full contrast."""
    left, top = _corner(box)
    right, bottom = min((box.x1 + MARGIN) * scale, image.width), min((box.y1 + MARGIN) * scale, image.height)
    part = image.crop((round(left * scale), round(top * scale), round(right), round(bottom)))
    return ImageOps.autocontrast(grey_if_colourless(part))


def _read_level(image: Image.Image, patches: Sequence[Box], scale: float, settings: ReadSettings) -> list[OcrWord]:
    """Read all patches at once, since starting Tesseract takes longer than a few words do."""
    lows, highs = zip(*(((box.x0, box.y0), (box.x1, box.y1)) for box in patches), strict=True)
    around = Box(*map(min, zip(*lows, strict=True)), *map(max, zip(*highs, strict=True)))
    left, top = (round(value * scale) for value in _corner(around))
    words = read_words(_crop(image, around, scale), settings, round(72 * scale), sparse=True)
    moved = []
    for word in words:
        if word.confidence >= MIN_CONFIDENCE:
            boxes = [Box(b.x0 + left, b.y0 + top, b.x1 + left, b.y1 + top) for b in (word.box, word.line_box)]
            moved.append(word._replace(box=boxes[0], line_box=boxes[1]))
    return moved


def _joined(patches: Sequence[Box], words: Sequence[OcrWord], scale: float) -> list[Box]:
    """Patches, with those that one word reaches over taken as one."""
    joined = list(patches)
    for word in words:
        over = Box(*(value / scale for value in word.box))
        touched = [box for box in joined if _touch(box, over)]
        if word.confidence >= CONFIDENT and len(touched) > 1:
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
    return sum(char.isalnum() for word in words if word.confidence >= CONFIDENT for char in word.text)


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
        best: tuple[list[OcrWord], StraightenedImage] | None = None
        for straight in straighten_text(left):
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
        words = [word for word in best[0] if word.confidence >= MIN_CONFIDENCE]
        glyphs = place_glyphs(words, best[1], scale, corner)
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


MIN_VERIFIED_LETTERS = 5  # letters of the shortest string that is looked for: OCR makes short ones out of anything


def needs_ocr_check(number: int, settings: WriteSettings) -> bool:
    """Whether a page is to be read.

    number (int): the page, from 1.
    settings (WriteSettings): says which.
    """
    return settings.verify_ocr == "all" or (settings.verify_ocr == "ocr" and number in settings.ocr_pages)


def ocr_copy_pages(pages: Iterable[tuple[int, Image.Image]], settings: WriteSettings) -> Iterator[ExtractedText]:
    """Read pages.

    pages (Iterable): numbers and pictures, in grey or RGB.
    settings (WriteSettings): how they are read.
    YIELDS (Found): their text.
    RAISES: InputError (D716, D717, D718).
    """

    def read(number: int, image: Image.Image) -> ExtractedText:
        reading = read_page(image, 1.0, settings.dpi, settings.read, "copy", number)
        words = [glyph.text for block in reading.blocks for run in block for glyph in run.glyphs]
        return ExtractedText(f"the picture of page {number}", " ".join(words), MIN_VERIFIED_LETTERS)

    def jobs() -> Iterator[partial[ExtractedText]]:
        for number, image in pages:
            check_tesseract(settings.read.languages, "copy")
            yield partial(read, number, image)

    yield from run_in_order(jobs(), settings.read.processes)
