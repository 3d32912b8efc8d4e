"""OCR of whole pages, pictures and small regions, at any rotation."""

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
from .geometry import Box, Glyph, Run, bounding_box, overlaps, page_to_rotated, rotate_upright, rotated_size
from .image_analysis import deskew, estimate_line_angle, estimate_skew, grey_if_colourless
from .layout import make_runs
from .page_text import PageContent
from .tesseract import OcrWord, check_tesseract, detect_rotation, read_words

POOR = 55.0  # mean confidence below which a page may be rotated, and a person should check it
MOST = 4.0  # largest skew corrected by deskewing, in degrees
ORIGIN = Box(0, 0, 0, 0)
Result = TypeVar("Result")


def read_page(
    image: Image.Image, scale: float, dpi: int, settings: ReadSettings, name: str, number: int
) -> PageContent:
    """Read a page by OCR. Rotation and skew are corrected.

    image (Image): greyscale or RGB image.
    scale (float): pixels per unit of the page.
    dpi (int): resolution of the image.
    settings (ReadSettings): OCR settings.
    name (str): file name, for error messages.
    number (int): page number, starting at 1.
    RETURNS (PageContent): the words.
    RAISES: InputError (D718) if Tesseract fails or exceeds the time limit.
    """
    try:
        if abs((estimate_line_angle(image) + 45) % 90 - 45) > MOST:
            turned, words = _read_at_best_rotation(image, settings, dpi, sparse=False)
            return PageContent(
                [words_to_runs(words, scale, turned)], ocr=True, warnings=_quality_warnings(words, number)
            )
        turn, skew = 0, estimate_skew(image)
        words = read_words(deskew(image, skew), settings, dpi)
        if _looks_rotated(words) and (turn := detect_rotation(image, settings, dpi)):
            skew = estimate_skew(rotate_upright(image, turn))
            words = read_words(rotate_upright(deskew(image, skew), turn), settings, dpi)
    except subprocess.SubprocessError as error:
        raise _ocr_error(error, settings, name, number) from None
    return PageContent(
        [words_to_runs(words, scale, turn)], ocr=True, skew=skew, warnings=_quality_warnings(words, number)
    )


def read_picture(
    image: Image.Image,
    corner: Box,
    page: tuple[float, float],
    scale: float,
    settings: ReadSettings,
    name: str,
    number: int,
) -> list[Run]:
    """Read a picture on a page by OCR, at any rotation.

    image (Image): the picture in greyscale or RGB.
    corner (Box): its position on the page.
    page (tuple[float, float]): width and height of the page.
    scale, settings, name, number: as in `read_page`.
    RETURNS (list[Run]): the words, in the coordinates of their turn.
    RAISES: InputError (D718).
    """
    try:
        turn, words = _read_at_best_rotation(image, settings, settings.dpi, sparse=True)
    except subprocess.SubprocessError as error:
        raise _ocr_error(error, settings, name, number) from None
    # the rotated picture and the rotated page have parallel axes and share the centre of the picture
    size = image.width / scale, image.height / scale
    middle = corner.x0 + size[0] / 2, corner.y0 + size[1] / 2
    x, y, _, _ = page_to_rotated(Box(*middle, *middle), turn, *page)
    wide, high = rotated_size(turn, *size)
    return words_to_runs(words, scale, turn, Box(x - wide / 2, y - high / 2, x, y))


def _read_at_best_rotation(
    image: Image.Image, settings: ReadSettings, dpi: int, sparse: bool
) -> tuple[float, list[OcrWord]]:
    """Read an image along its text lines, then upside down, then in the other directions, until the text is legible.

    RETURNS (tuple[float, list[OcrWord]]): the best turn, and the words in its coordinates.
    """
    direction = estimate_line_angle(image) or -estimate_skew(image)
    turns = [direction, direction + 180]
    turns += [
        turn
        for turn in (0.0, 180.0, 90.0, 270.0)
        if all(abs((turn - other + 180) % 360 - 180) > MOST for other in turns)
    ]
    best: tuple[float, float, list[OcrWord]] = (-1.0, 0.0, [])
    for turn in turns:
        words = read_words(rotate_upright(image, turn), settings, dpi, sparse)
        if words and not _looks_rotated(words):
            return turn % 360, words
        certain = sum((word.confidence / 100) ** 2 * len(word.text) for word in words)
        best = max(best, (certain, turn % 360, words), key=lambda found: found[0])
    return best[1], best[2]


def _quality_warnings(words: list[OcrWord], number: int) -> list[str]:
    """Return a warning if the confidence of the words is low."""
    return [f"page {number}: hard to read"] if words and _confidence(words) < POOR else []


def _ocr_error(error: Exception, settings: ReadSettings, name: str, number: int) -> InputError:
    """Return the error for a page on which Tesseract failed."""
    slow = isinstance(error, subprocess.TimeoutExpired)
    reason = f"OCR took longer than {settings.page_seconds} s" if slow else "OCR failed"
    return InputError(Errors.D718.format(path=name, page=number, reason=reason))


def _looks_rotated(words: list[OcrWord]) -> bool:
    """Whether a page may be rotated: the confidence is low, or words are higher than wide."""
    long = [word.box for word in words if len(word.text) > 3]
    high = sum(box.y1 - box.y0 > box.x1 - box.x0 for box in long)
    return _confidence(words) < POOR or high > 0.5 * len(long)


def _confidence(words: list[OcrWord]) -> float:
    """Return the mean confidence of words, weighted by their length."""
    letters = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / letters if letters else 0.0


def words_to_runs(words: list[OcrWord], scale: float, turn: float, corner: Box = ORIGIN) -> list[Run]:
    """Convert OCR words to runs. Each word is one glyph with the height of its line.

    words (list[OcrWord]): words with boxes in pixels, line by line.
    scale (float): pixels per unit of the page.
    turn (float): rotation in degrees clockwise.
    corner (Box): its upper left corner is the position of the image on the page.
    RETURNS (list[Run]): runs in page units.
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
    """Return by how much to widen a word, because Tesseract cuts off letters: at most half of the gap to the next
    word.
    """
    return max(0.0, min(0.15 * em, gap / 2))


def run_in_order(jobs: Iterable[Callable[[], Result]], processes: int) -> Iterator[Result]:
    """Run jobs in parallel threads and yield their results in order. Few jobs are created ahead of time, to limit
    memory.

    jobs (Iterable[Callable]): evaluated lazily in the calling thread.
    processes (int): number of jobs to run at the same time.
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


CONFIDENT, MIN_CONFIDENCE = 60.0, 30.0  # confidence of words that count as read, and of words passed to detectors
READ = 0.6  # share of the letters of a patch that must be read
FEW = 2  # letters that OCR finds in anything
LETTERS = 2  # patches with fewer letters are symbols
TURNED = 12  # most patches to rotate per page; more are a drawing
ROUNDS = 3  # most texts at different angles in one patch
MARGIN = 4.0  # points around a patch


@dataclass(slots=True)
class PatchText:
    """Text read in the patches of a page.

    runs (list[Run]): horizontal words.
    rotated_glyphs (list[Glyph]): letters of all other words, in the order of the words.
    unread (list[Box]): patches that look like text and could not be read with confidence.
    """

    runs: list[Run] = field(default_factory=list)
    rotated_glyphs: list[Glyph] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)


def read_patches(image: Image.Image, patches: Sequence[Box], scale: float, settings: ReadSettings) -> PatchText:
    """Read patches of a page that look like text and are not in its text layer: horizontal, rotated or in a circle.

    image (Image): the page without what is read otherwise, in RGB.
    patches (Sequence[Box]): patches, in page units.
    scale (float): pixels per unit of the page.
    settings (ReadSettings): OCR settings. Patches that are left after `page_seconds` stay unread.
    RETURNS (PatchText): the text.
    RAISES: subprocess.SubprocessError if Tesseract fails or exceeds the time limit for all patches together.
    """
    found = PatchText()
    crops = {box: _crop(image, box, scale) for box in patches}
    texts = [box for box in patches if count_letters(crops[box]) >= LETTERS]
    if not texts:
        return found
    words = _read_level_patches(image, texts, scale, settings)
    level: list[OcrWord] = []
    until = time.monotonic() + settings.page_seconds
    turned = 0
    for box in _join_patches(texts, words, scale):
        own = [word for word in words if _is_in(word, box, scale)]
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


def _read_level_patches(
    image: Image.Image, patches: Sequence[Box], scale: float, settings: ReadSettings
) -> list[OcrWord]:
    """Read all patches in one call, since starting Tesseract takes longer than reading a few words."""
    around = bounding_box(patches)
    left, top = (round(value * scale) for value in _corner(around))
    words = read_words(_crop(image, around, scale), settings, round(72 * scale), sparse=True)
    moved = []
    for word in words:
        if word.confidence >= MIN_CONFIDENCE:
            boxes = [Box(b.x0 + left, b.y0 + top, b.x1 + left, b.y1 + top) for b in (word.box, word.line_box)]
            moved.append(word._replace(box=boxes[0], line_box=boxes[1]))
    return moved


def _join_patches(patches: Sequence[Box], words: Sequence[OcrWord], scale: float) -> list[Box]:
    """Join patches that are spanned by one word."""
    joined = list(patches)
    for word in words:
        over = Box(*(value / scale for value in word.box))
        touched = [box for box in joined if overlaps(box, over)]
        if word.confidence >= CONFIDENT and len(touched) > 1:
            joined = [*(box for box in joined if box not in touched), bounding_box(touched)]
    return joined


def _is_in(word: OcrWord, patch: Box, scale: float) -> bool:
    """Whether the centre of a word is inside a patch."""
    x, y = (word.box.x0 + word.box.x1) / 2 / scale, (word.box.y0 + word.box.y1) / 2 / scale
    return patch.x0 <= x <= patch.x1 and patch.y0 <= y <= patch.y1


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


MIN_VERIFIED_LETTERS = 5  # shortest string to search for; OCR finds shorter ones in anything


def needs_ocr_check(number: int, settings: WriteSettings) -> bool:
    """Whether a page of a copy must be checked by OCR. `number` starts at 1."""
    return settings.verify_ocr == "all" or (settings.verify_ocr == "ocr" and number in settings.ocr_pages)


def ocr_copy_pages(pages: Iterable[tuple[int, Image.Image]], settings: WriteSettings) -> Iterator[ExtractedText]:
    """Read pages of a copy by OCR for verification.

    pages (Iterable): page numbers with images in greyscale or RGB.
    settings (WriteSettings): OCR settings.
    YIELDS (ExtractedText): the text of each page.
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
