"""Read the visible text of a PDF, by OCR on pages without a usable text layer."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...errors import Errors, InputError
from ..document import Document, Page, ReadSettings
from ..pages.barcodes import COARSE_DPI, cover_codes, find_codes, is_words
from ..pages.geometry import (
    Box,
    PageLayout,
    Quad,
    Run,
    is_inside_any,
    nearest_quarter,
    rotated_corners,
    rotated_to_page,
)
from ..pages.image_analysis import grey_if_colourless
from ..pages.layout import make_runs
from ..pages.ocr import read_page, read_picture, run_in_order
from ..pages.page_text import PageContent, TextBuilder, add_page_content
from ..pages.tesseract import check_tesseract
from .glyphs import PageGlyphs, read_glyphs
from .pdfium import (
    PagePicture,
    PageView,
    covered_share,
    find_pictures,
    largest_picture_pixels,
    open_flattened_page,
    open_pdf,
    render,
)
from .vector_text import add_vector_text

UNMAPPED = 0.3  # share of unmapped characters from which a text layer is unusable
COVERED = 0.5  # share of a page that the pictures of a scan cover
FEW = 200  # characters that a scan may have in addition, such as a fax header
SCANNED = 0.9  # share of a page covered by pictures from which their resolution suffices
CODE_DPI = 300  # resolution at which codes are decoded
COARSE = 200  # least resolution for OCR
LARGEST = 14_400  # largest page size in points (ISO 32000-1, annex C)
Job = Callable[[], PageContent]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a PDF.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): limits and OCR settings.
    RETURNS (Document): the document. `parts` contains the file and the layout of each page.
    RAISES: InputError (D715, D716, D717, D718).
    """
    builder = TextBuilder()
    pages: list[Page] = []
    parts: list[PageLayout] = []
    warnings: list[str] = []
    with open_pdf(data, name, settings) as pdf:
        sizes: list[tuple[float, float]] = []
        for reading in run_in_order(_jobs(pdf, name, settings, sizes), settings.processes):
            start = builder.length
            parts.append(add_page_content(builder, reading, *sizes[len(parts)]))
            pages.append(Page(len(parts), min(start, builder.length), builder.length, reading.ocr))
            warnings += reading.warnings
    return Document(name, "pdf", builder.text, tuple(pages), tuple(warnings), (data, parts))


def _jobs(pdf: Any, name: str, settings: ReadSettings, sizes: list[tuple[float, float]]) -> Iterator[Job]:
    """Yield a job for each page. All calls of pdfium happen in the calling thread, because pdfium is not
    thread-safe.
    """
    for index in range(len(pdf)):
        with open_flattened_page(pdf, index, name) as page:
            left, bottom, right, top = page.get_bbox()
            view = PageView(left, bottom, right, top, page.get_rotation())
            sizes.append(view.size)
            _check_size(page, view, settings, name, index + 1)
            found, pictures = read_glyphs(page, view, settings.max_pixels), find_pictures(page, view)
            codes = _find_codes(page, view, found, settings) if settings.codes == "remove" else []
            if settings.ocr == "always" or _is_scan(found, covered_share(pictures, view)):
                job = _page_job(page, view, pictures, codes, settings, name, index + 1)
            else:
                found, boxes = found.without(codes, view.size), [picture.box for picture in pictures]
                job = partial(_text_page, found)
                if boxes:
                    job = _pictures_job(page, view, found, boxes, codes, settings, name, index + 1)
                job = add_vector_text(job, page, view, found, codes, settings, name, index + 1)
            yield partial(_with_codes, job, codes, index + 1) if codes else job


def _find_codes(page: Any, view: PageView, found: PageGlyphs, settings: ReadSettings) -> list[Quad]:
    """Return the barcodes and matrix codes on a page, however they are drawn.

    page (PdfPage): the page, flattened.
    view (PageView): how it is displayed.
    found (PageGlyphs): its text; lines of words are skipped.
    settings (ReadSettings): limits.
    """
    width, height = view.size
    shown = partial(render, page, width, height, max_pixels=settings.max_pixels)
    small = grey_if_colourless(shown(dpi=COARSE_DPI))
    scale = width / small.width
    runs = [run for turn, glyphs in found.turns.items() if turn == 0 for run in make_runs(glyphs, turn)]
    words = [Box(*(edge / scale for edge in run.box)) for run in runs if is_words(run.text)]
    codes = find_codes(small, partial(shown, dpi=CODE_DPI), words=words)
    return [tuple((x * scale, y * scale) for x, y in quad) for quad in codes]


def _with_codes(job: Job, codes: list[Quad], number: int) -> PageContent:
    """Run a job and add the codes of the page."""
    reading = job()
    reading.add_codes(codes, number)
    return reading


def _check_size(page: Any, view: PageView, settings: ReadSettings, name: str, number: int) -> None:
    """Refuse a page that cannot be displayed, before it is rendered.

    RAISES: InputError (D718).
    """
    reason = ""
    if min(view.size) <= 0:
        reason = "its visible area is empty: its boxes do not intersect"
    elif not max(view.size) <= LARGEST:  # also refuses NaN
        reason = f"it is larger than {LARGEST} points"
    elif largest_picture_pixels(page) > settings.max_pixels:
        reason = f"it has a picture of more than {settings.max_pixels} pixels"
    if reason:
        raise InputError(Errors.D718.format(path=name, page=number, reason=reason))


def _is_scan(found: PageGlyphs, covered: float) -> bool:
    """Whether a page must be read by OCR: it has no text, is a scan, or its text has no meaning or wrong positions."""
    unusable = found.loose or found.unmapped > UNMAPPED * max(found.count, 1)
    return unusable or not found.count or (covered >= COVERED and found.count < FEW)


def _text_page(found: PageGlyphs) -> PageContent:
    """Return the content of a page from its text layer: multiples of 90 degrees first, the commonest turn first."""
    turns = sorted(found.turns.items(), key=lambda item: (item[0] != nearest_quarter(item[0]), -len(item[1])))
    return PageContent([make_runs(glyphs, turn) for turn, glyphs in turns], found.rotated_glyphs, blanks=found.hidden)


def _page_job(
    page: Any,
    view: PageView,
    pictures: list[PagePicture],
    codes: list[Quad],
    settings: ReadSettings,
    name: str,
    number: int,
) -> Job:
    """Return a job that reads a page by OCR, unless it is blank. The resolution is limited to that of the scan."""
    finest = max((picture.dpi for picture in pictures), default=0.0)
    dpi = (
        settings.dpi if covered_share(pictures, view) < SCANNED else min(settings.dpi, max(COARSE, math.ceil(finest)))
    )
    image = grey_if_colourless(render(page, *view.size, dpi, settings.max_pixels))
    scale = image.width / view.size[0]
    cover_codes(image, codes, scale)
    if len(image.getcolors(2) or (0, 0)) < 2:
        return partial(PageContent, [])
    check_tesseract(settings.languages, name)
    return partial(read_page, image, scale, round(72 * scale), settings, name, number)


def _pictures_job(
    page: Any,
    view: PageView,
    found: PageGlyphs,
    pictures: list[Box],
    codes: list[Quad],
    settings: ReadSettings,
    name: str,
    number: int,
) -> Job:
    """Return a job that reads the text layer of a page and treats its pictures according to the settings."""
    if settings.pictures != "ocr":
        blanks = pictures if settings.pictures == "remove" else []
        return partial(_with_pictures, found, [], blanks, view.size, number)
    check_tesseract(settings.languages, name)
    image = grey_if_colourless(render(page, *view.size, settings.dpi, settings.max_pixels))
    scale = image.width / view.size[0]
    cover_codes(image, codes, scale)
    jobs: list[Callable[[], list[Run]]] = []
    for box in pictures:
        left, top, right, bottom = (round(value * scale) for value in box)
        crop = image.crop((left, top, right, bottom))
        jobs.append(partial(read_picture, crop, box, view.size, scale, settings, name, number))
    return partial(_with_pictures, found, jobs, [], view.size, number)


def _with_pictures(
    found: PageGlyphs,
    jobs: list[Callable[[], list[Run]]],
    blanks: list[Box],
    page: tuple[float, float],
    number: int,
) -> PageContent:
    """Return the text layer of a page with the text of its pictures. Text in both is kept once."""
    reading = _text_page(found)
    reading.blanks = [*reading.blanks, *blanks]
    printed = [rotated_corners(run.box, run.turn, *page) for block in reading.blocks for run in block]
    for job in jobs:
        runs = (
            (
                run.turn,
                [
                    glyph
                    for glyph in run.glyphs
                    if not is_inside_any(rotated_to_page(glyph.box, run.turn, *page), printed)
                ],
            )
            for run in job()
        )
        reading.blocks.append([Run(glyphs, turn) for turn, glyphs in runs if glyphs])
    if not blanks:
        reading.warnings.append(f"page {number}: has pictures")
    return reading
