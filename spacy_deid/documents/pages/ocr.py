"""Read pages and pictures at any rotation by OCR with Tesseract, and check copies for text that is still legible.

Tesseract is run through pipes, so that no image of a page is written to disk.
"""

import csv
import io
import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import groupby
from typing import NamedTuple, TypeVar

from PIL import Image

from ...errors import Errors, InputError
from ..document import ExtractedText, ReadSettings, WriteSettings
from .geometry import Box, Glyph, Run, holds_centre, page_to_rotated, rotate_upright, rotated_size
from .image_analysis import deskew, estimate_line_angle, estimate_skew, grey_views
from .layout import PageContent, make_runs

PAGE, SPARSE, ORIENTATION = 3, 11, 0  # page segmentation modes of Tesseract
SURE = 1.0  # least orientation confidence


class OcrWord(NamedTuple):
    """A word that Tesseract recognized in an image.

    text (str): the word.
    box (Box): its position, in pixels.
    line (tuple[int, ...]): identifies the greyscale view and the line that it belongs to.
    line_box (Box): position of that line.
    confidence (float): 0 to 100.
    """

    text: str
    box: Box
    line: tuple[int, ...]
    line_box: Box
    confidence: float


def check_tesseract(languages: Sequence[str], name: str) -> None:
    """Check that Tesseract and its data for languages are installed.

    languages (Sequence[str]): Tesseract's codes of the languages.
    name (str): name of the document, for the error message.
    RAISES: InputError if Tesseract is not installed (D716), a language is not, or no language is given (D717).
    """
    if not shutil.which("tesseract"):
        raise InputError(Errors.D716.format(path=name))
    known = _languages()
    missing = [language for language in languages if language not in known]
    if missing or not languages:
        raise InputError(Errors.D717.format(path=name, missing=" ".join(missing) or "''", known=" ".join(known)))


def read_words(image: Image.Image, settings: ReadSettings, dpi: int, sparse: bool = False) -> list[OcrWord]:
    """Recognize the words in an image, in greyscale and in each colour channel that shows additional text.

    image (Image): greyscale or RGB image.
    settings (ReadSettings): languages and time limit.
    dpi (int): its resolution.
    sparse (bool): whether the text is scattered, as in a logo, rather than in paragraphs.
    RETURNS (list[OcrWord]): words in Tesseract's order.
    RAISES: subprocess.SubprocessError if Tesseract fails or exceeds the time limit.
    """
    found: list[OcrWord] = []
    for number, view in enumerate(grey_views(image, dpi)):
        mode = SPARSE if sparse else PAGE
        out = _run_tesseract(view, "+".join(settings.languages), mode, dpi, settings.page_seconds, "tsv")
        before, line_box = list(found), Box(0, 0, 0, 0)
        for row in csv.reader(io.StringIO(out), delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(row) != 12 or not row[0].isdigit():
                continue
            left, top, width, height = map(float, row[6:10])
            box = Box(left, top, left + width, top + height)
            if row[0] == "4":
                line_box = box
            is_word = row[0] == "5" and row[11].strip() and float(row[10]) >= 0
            if is_word and not any(holds_centre(box, word.box) or holds_centre(word.box, box) for word in before):
                line = (number, *map(int, row[2:5]))
                found.append(OcrWord(row[11].strip(), box, line, line_box, float(row[10])))
    return found


def detect_rotation(image: Image.Image, settings: ReadSettings, dpi: int) -> int:
    """Return by how many degrees clockwise a page is rotated: 0, 90, 180 or 270, and 0 if Tesseract cannot tell."""
    try:
        out = _run_tesseract(image, "osd", ORIENTATION, dpi, settings.page_seconds)
    except subprocess.SubprocessError:
        return 0
    found = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
    sure = float(found.get("Orientation confidence", 0)) >= SURE
    return -int(found.get("Rotate", 0)) % 360 if sure else 0


@lru_cache(maxsize=1)
def _languages() -> tuple[str, ...]:
    """Return the Tesseract codes of the installed languages."""
    done = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False)
    return tuple(done.stdout.split("\n")[1:-1])


@lru_cache(maxsize=1)
def _kill_with_parent() -> tuple[str, ...]:
    """Return a command prefix with which a child process ends with this one (setpriv of util-linux 2.33), or ()."""
    path = shutil.which("setpriv")
    if sys.platform != "linux" or path is None:
        return ()
    command = (path, "--pdeathsig", "KILL")
    return () if subprocess.run([*command, "true"], capture_output=True, check=False).returncode else command


def _run_tesseract(image: Image.Image, language: str, mode: int, dpi: int, seconds: int, *outputs: str) -> str:
    """Return the output of Tesseract for an image. It uses a single thread, since pages are read in parallel."""
    packed = io.BytesIO()
    image.save(packed, "PPM")
    options = ["-l", language, "--psm", str(mode), "--dpi", str(dpi), *outputs]
    done = subprocess.run(
        [*_kill_with_parent(), "tesseract", "stdin", "stdout", *options],
        input=packed.getvalue(),
        capture_output=True,
        check=True,
        timeout=seconds,
        env=os.environ | {"OMP_THREAD_LIMIT": "1"},
    )
    return done.stdout.decode("utf8", "replace")


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
    settings (ReadSettings): languages and time limit.
    name, number (str, int): file name and page number, for error messages and warnings.
    RETURNS (PageContent): the words and the skew of the page, with a warning if it is hard to read.
    RAISES: InputError (D718) if Tesseract fails or exceeds the time limit.
    """
    turn, skew = 0.0, 0.0
    try:
        if abs((estimate_line_angle(image) + 45) % 90 - 45) > MOST:
            turn, words = _read_at_best_rotation(image, settings, dpi, sparse=False)
        else:
            skew = estimate_skew(image)
            words = read_words(deskew(image, skew), settings, dpi)
            if _looks_rotated(words) and (turn := detect_rotation(image, settings, dpi)):
                skew = estimate_skew(rotate_upright(image, turn))
                words = read_words(rotate_upright(deskew(image, skew), turn), settings, dpi)
    except subprocess.SubprocessError as error:
        raise ocr_error(error, settings, name, number) from None
    warnings = [f"page {number}: hard to read"] if words and _confidence(words) < POOR else []
    return PageContent([words_to_runs(words, scale, turn)], ocr=True, skew=skew, warnings=warnings)


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
    corner (Box): its position on the page, in page units.
    page (tuple[float, float]): width and height of the page.
    scale, settings, name, number: as in `read_page`.
    RETURNS (list[Run]): the words, in coordinates in which they are horizontal (see `geometry`).
    RAISES: InputError (D718) if OCR fails or takes too long.
    """
    try:
        turn, words = _read_at_best_rotation(image, settings, settings.dpi, sparse=True)
    except subprocess.SubprocessError as error:
        raise ocr_error(error, settings, name, number) from None
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

    RETURNS (tuple[float, list[OcrWord]]): rotation of the text in degrees clockwise, and the words, with boxes in the
        image after it is rotated so that they are horizontal.
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


def ocr_error(error: Exception, settings: ReadSettings, name: str, number: int) -> InputError:
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
    """Convert OCR words to runs, groups of words on a line. Each word is one glyph with the height of its line.

    Words are widened, because Tesseract cuts off letters: at most by half of the gap to the next word.

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
        gaps = [em, *(left - right for left, right in zip(lefts[1:], rights, strict=False)), em]
        margins = [max(0.0, min(0.15 * em, gap / 2)) for gap in gaps]
        for i, word in enumerate(line):
            left, right = lefts[i] - margins[i], rights[i] + margins[i + 1]
            box = Box(max(left, 0) + corner.x0, top + corner.y0, right + corner.x0, bottom + corner.y0)
            glyphs.append(Glyph(word.text, box, box.y1 - 0.2 * em, em, True))
    return make_runs(glyphs, turn) if glyphs else []


def run_in_order(jobs: Iterable[Callable[[], Result]], processes: int) -> Iterator[Result]:
    """Run jobs in parallel threads and yield their results in the order of the jobs.

    jobs (Iterable[Callable]): the jobs. The iterable is consumed in the calling thread, and only a few jobs ahead of
        the results, to limit memory.
    processes (int): number of jobs to run at the same time.
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


MIN_VERIFIED_LETTERS = 5  # shortest string to search for; OCR finds shorter ones in anything


def needs_ocr_check(number: int, settings: WriteSettings) -> bool:
    """Whether the settings demand that page `number` (from 1) of a copy is checked by OCR."""
    return settings.verify_ocr == "all" or (settings.verify_ocr == "ocr" and number in settings.ocr_pages)


def ocr_copy_pages(pages: Iterable[tuple[int, Image.Image]], settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text that OCR reads on each page of a copy, for verification.

    pages (Iterable[tuple[int, Image]]): number and image of each page to check.
    settings (WriteSettings): resolution of the images, and OCR settings.
    RAISES: InputError if Tesseract (D716) or a language (D717) is not installed, or OCR fails (D718).
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
