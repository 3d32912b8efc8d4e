"""PDF in: the text that its pages show, page by page, by OCR where a page has none that can be used."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...errors import Errors, InputError
from ..document import Document, Page, ReadSettings
from ..pages.glyphs import Box, PageParts, Run
from ..pages.joining import TextBuilder
from ..pages.ocr import in_order, read_page, read_picture
from ..pages.reading import Reading, add_reading
from ..pages.runs import make_runs
from ..pages.tesseract import check_tesseract
from .glyphs import PageGlyphs, View, read_glyphs
from .opening import flat_page, open_pdf
from .pictures import Picture, find_pictures, most_pixels, share
from .rendering import render

__all__ = ["read"]

UNMAPPED = 0.3  # share of characters without meaning from which a text layer cannot be used
COVERED = 0.5  # share of a page that a picture must cover for the page to be a scan
FEW = 200  # characters that a scan may have beside, as a stamp of the fax
SCANNED = 0.9  # share of a page that a scan covers, so that nothing beside it needs more dots
COARSE = 200  # dots an inch that are always taken
LARGEST = 14_400  # points along an edge, the most that a page may have (ISO 32000-1, annex C)
Job = Callable[[], Reading]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a PDF.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): limits, and how OCR is done.
    RETURNS (Document): its text. Parts are the file and the parts of its pages.
    RAISES: InputError (D715, D716, D717, D718).
    """
    builder = TextBuilder()
    pages: list[Page] = []
    parts: list[PageParts] = []
    warnings: list[str] = []
    with open_pdf(data, name, settings) as pdf:
        sizes: list[tuple[float, float]] = []
        for reading in in_order(_jobs(pdf, name, settings, sizes), settings.processes):
            start = builder.length
            parts.append(add_reading(builder, reading, *sizes[len(parts)]))
            pages.append(Page(len(parts), min(start, builder.length), builder.length, reading.ocr))
            warnings += reading.warnings
    return Document(name, "pdf", builder.text, tuple(pages), tuple(warnings), (data, parts))


def _jobs(pdf: Any, name: str, settings: ReadSettings, sizes: list[tuple[float, float]]) -> Iterator[Job]:
    """What is to be done for each page. Only this thread asks pdfium, which knows no threads."""
    for index in range(len(pdf)):
        with flat_page(pdf, index, name) as page:
            left, bottom, right, top = page.get_bbox()
            view = View(left, bottom, right, top, page.get_rotation())
            sizes.append(view.size)
            _check_size(page, view, settings, name, index + 1)
            found, pictures = read_glyphs(page, view, settings.max_pixels), find_pictures(page, view)
            if settings.ocr == "always" or _is_scan(found, share(pictures, view)):
                yield _page_job(page, view, pictures, settings, name, index + 1)
            elif pictures:
                boxes = [picture.box for picture in pictures]
                yield _pictures_job(page, view, found, boxes, settings, name, index + 1)
            else:
                yield partial(_text_page, found)


def _check_size(page: Any, view: View, settings: ReadSettings, name: str, number: int) -> None:
    """Refuse a page that cannot be shown, before it is drawn.

    RAISES: InputError (D718).
    """
    reason = ""
    if min(view.size) <= 0:
        reason = "nothing of it is shown: its boxes do not meet"
    elif max(view.size) > LARGEST:
        reason = f"larger than {LARGEST} points"
    elif most_pixels(page) > settings.max_pixels:
        reason = f"has a picture of more than {settings.max_pixels} pixels"
    if reason:
        raise InputError(Errors.D718.format(path=name, page=number, reason=reason))


def _is_scan(found: PageGlyphs, covered: float) -> bool:
    """Whether a page must be read as it looks: its text is in its picture, or has no meaning, or false places."""
    unusable = found.loose or found.unmapped > UNMAPPED * max(found.count, 1)
    return unusable or not found.count or (covered >= COVERED and found.count < FEW)


def _text_page(found: PageGlyphs) -> Reading:
    """A page from its text layer, the text of the commonest turn first."""
    turns = sorted(found.turns.items(), key=lambda item: -len(item[1]))
    return Reading([make_runs(glyphs, turn) for turn, glyphs in turns], found.slanted, blanks=found.hidden)


def _page_job(page: Any, view: View, pictures: list[Picture], settings: ReadSettings, name: str, number: int) -> Job:
    """Read a page by OCR, unless there is nothing on it. More dots than a scan has cost time and show nothing."""
    finest = max((picture.dpi for picture in pictures), default=0.0)
    dpi = settings.dpi if share(pictures, view) < SCANNED else min(settings.dpi, max(COARSE, math.ceil(finest)))
    image = render(page, *view.size, dpi, settings.max_pixels, grey=True)
    low, high = image.getextrema()
    if low == high:
        return partial(Reading, [])
    check_tesseract(settings.languages, name)
    scale = image.width / view.size[0]
    return partial(read_page, image, scale, round(72 * scale), settings, name, number)


def _pictures_job(
    page: Any, view: View, found: PageGlyphs, pictures: list[Box], settings: ReadSettings, name: str, number: int
) -> Job:
    """Read the text of a page, and what is to be done with its pictures."""
    if settings.pictures != "ocr":
        blanks = pictures if settings.pictures == "remove" else []
        return partial(_with_pictures, found, [], blanks, number)
    check_tesseract(settings.languages, name)
    image = render(page, *view.size, settings.dpi, settings.max_pixels, grey=True)
    scale = image.width / view.size[0]
    jobs: list[Callable[[], list[Run]]] = []
    for box in pictures:
        left, top, right, bottom = (round(value * scale) for value in box)
        crop = image.crop((left, top, right, bottom))
        jobs.append(partial(read_picture, crop, box, scale, settings, name, number))
    return partial(_with_pictures, found, jobs, [], number)


def _with_pictures(found: PageGlyphs, jobs: list[Callable[[], list[Run]]], blanks: list[Box], number: int) -> Reading:
    """A page from its text layer and its pictures. What is text already is not read again in a picture behind it."""
    reading = _text_page(found)
    reading.blanks = [*reading.blanks, *blanks]
    printed = [run for block in reading.blocks for run in block if run.turn == 0]
    for job in jobs:
        reading.blocks.append([run for run in job() if not any(_covers(other.box, run.box) for other in printed)])
    if not blanks:
        reading.warnings.append(f"page {number}: has pictures")
    return reading


def _covers(text: Box, run: Box) -> bool:
    """Whether the middle of a run lies on a text."""
    x, y = (run.x0 + run.x1) / 2, (run.y0 + run.y1) / 2
    return text.x0 <= x <= text.x1 and text.y0 <= y <= text.y1
