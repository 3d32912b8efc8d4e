"""Read the visible text of a PDF: from the text layer, by OCR on pages without a usable one, and from drawings.

Drawings are vector outlines, patterns, masks and Type 3 fonts that show text which the text layer lacks. The page is
rendered without its readable text and its pictures, and what looks like text in the result is read by OCR.
"""

import difflib
import math
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pypdfium2.raw as raw
from PIL import Image

from ...errors import Errors, InputError
from ..document import Document, Page, ReadSettings
from ..pages.barcodes import COARSE_DPI, cover_codes, find_codes, is_words
from ..pages.drawn_text import PatchText, read_patches
from ..pages.geometry import (
    Box,
    Glyph,
    PageLayout,
    Quad,
    Run,
    is_inside_any,
    nearest_quarter,
    rotated_corners,
    rotated_to_page,
)
from ..pages.image_analysis import detect_text_patches, grey_if_colourless
from ..pages.layout import PageContent, TextBuilder, add_page_content, join_runs, make_runs
from ..pages.ocr import check_tesseract, ocr_error, read_page, read_picture, run_in_order
from .glyphs import PageGlyphs, read_glyphs
from .pdfium import (
    PagePicture,
    PageView,
    find_pictures,
    has_unreliable_shape,
    hide_objects,
    largest_picture_pixels,
    open_flattened_page,
    open_pdf,
    page_objects,
    render,
)

UNMAPPED = 0.3  # share of unmapped characters from which a text layer is unusable
COVERED = 0.5  # share of a page that the pictures of a scan cover
FEW = 200  # characters that a scan may have in addition, such as a fax header
SCANNED = 0.9  # share of a page covered by pictures from which their resolution suffices
CODE_DPI = 300  # resolution at which codes are decoded
COARSE = 200  # least resolution for OCR
DRAWING_DPI = 100  # resolution at which drawings are searched for text
LARGEST = 14_400  # largest page size in points (ISO 32000-1, annex C)
ALIKE = 0.75  # least similarity of two readings of a word
ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "centre", "right")
Job = Callable[[], PageContent]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read the visible text of a PDF, page by page. RAISES: InputError (D718) if a page cannot be read."""
    builder = TextBuilder()
    pages: list[Page] = []
    parts: list[PageLayout] = []
    warnings: list[str] = []
    sizes: list[tuple[float, float]] = []
    with open_pdf(data, name, settings) as pdf:
        for reading in run_in_order(_jobs(pdf, name, settings, sizes), settings.processes):
            start = builder.length
            parts.append(add_page_content(builder, reading, *sizes[len(parts)]))
            pages.append(Page(len(parts), min(start, builder.length), builder.length, reading.ocr))
            warnings += reading.warnings
    return Document(name, "pdf", builder.text, tuple(pages), tuple(warnings), (data, parts))


def _jobs(pdf: Any, name: str, settings: ReadSettings, sizes: list[tuple[float, float]]) -> Iterator[Job]:
    """Yield a function for each page that reads it. It can run in any thread, because all calls of pdfium, which is
    not thread-safe, are made before it is yielded.
    """
    for index in range(len(pdf)):
        with open_flattened_page(pdf, index, name) as page:
            left, bottom, right, top = page.get_bbox()
            view = PageView(left, bottom, right, top, page.get_rotation())
            sizes.append(view.size)
            reason = ""
            if min(view.size) <= 0:
                reason = "its visible area is empty: its boxes do not intersect"
            elif not max(view.size) <= LARGEST:  # also refuses NaN
                reason = f"it is larger than {LARGEST} points"
            elif largest_picture_pixels(page) > settings.max_pixels:
                reason = f"it has a picture of more than {settings.max_pixels} pixels"
            if reason:
                raise InputError(Errors.D718.format(path=name, page=index + 1, reason=reason))
            found, pictures = read_glyphs(page, view, settings.max_pixels), find_pictures(page, view)
            yield _PageReader(page, view, settings, name, index + 1, found, pictures, []).make_job()


@dataclass(slots=True)
class _PageReader:
    """Reads one page in two steps: `make_job` calls pdfium, and the job that it returns can run in another thread.

    page (PdfPage): the page, flattened. Only used while the job is made.
    view (PageView): how it is displayed.
    settings (ReadSettings): OCR settings and limits.
    name (str): file name, for error messages.
    number (int): page number, starting at 1.
    found (PageGlyphs): its visible characters.
    pictures (list[PagePicture]): its pictures.
    codes (list[Quad]): its barcodes and matrix codes, in page coordinates.
    """

    page: Any
    view: PageView
    settings: ReadSettings
    name: str
    number: int
    found: PageGlyphs
    pictures: list[PagePicture]
    codes: list[Quad]

    def make_job(self) -> Job:
        """Return a function that reads the page: by OCR if it is a scan or its text layer is unusable, else from
        the text layer, pictures and drawings.
        """
        if self.settings.codes == "remove":
            self._find_codes()
        found = self.found
        covered = sum((box.x1 - box.x0) * (box.y1 - box.y0) for box, _ in self.pictures) / math.prod(self.view.size)
        unusable = found.loose or found.unmapped > UNMAPPED * max(found.count, 1)
        is_scan = unusable or not found.count or (covered >= COVERED and found.count < FEW)
        if self.settings.ocr == "always" or is_scan:
            job = self._make_ocr_job(covered)
        else:
            self.found = found.without(self.codes, self.view.size)
            job = self._add_drawings(self._make_pictures_job() if self.pictures else self._read_text_layer)
        return partial(self._with_codes, job)

    def _find_codes(self) -> None:
        """Find the barcodes and matrix codes visible on the page and set `codes`. Lines of words are skipped."""
        width, height = self.view.size
        shown = partial(render, self.page, width, height, max_pixels=self.settings.max_pixels)
        small = grey_if_colourless(shown(dpi=COARSE_DPI))
        scale = width / small.width
        runs = make_runs(self.found.turns.get(0, ()), 0)
        words = [Box(*(edge / scale for edge in run.box)) for run in runs if is_words(run.text)]
        codes = find_codes(small, partial(shown, dpi=CODE_DPI), words=words)
        self.codes = [tuple((x * scale, y * scale) for x, y in quad) for quad in codes]

    def _with_codes(self, job: Job) -> PageContent:
        """Run a job that reads the page, and add the barcodes and matrix codes of the page to its result."""
        reading = job()
        reading.add_codes(self.codes, self.number)
        return reading

    def _render(self, dpi: int) -> tuple[Image.Image, float]:
        """Render the page at the given dots per inch. Returns the image and its pixels per point."""
        image = render(self.page, *self.view.size, dpi, self.settings.max_pixels)
        return image, image.width / self.view.size[0]

    def _make_ocr_job(self, covered: float) -> Job:
        """Return a job that reads the page by OCR, unless it is blank.

        covered (float): share of the page that pictures cover. The resolution is limited to that of a scan.
        """
        dpi = self.settings.dpi
        if covered >= SCANNED:
            dpi = min(dpi, max(COARSE, math.ceil(max(picture.dpi for picture in self.pictures))))
        image, scale = self._render(dpi)
        image = grey_if_colourless(image)
        cover_codes(image, self.codes, scale)
        if len(image.getcolors(2) or (0, 0)) < 2:
            return partial(PageContent, [])
        check_tesseract(self.settings.languages, self.name)
        return partial(read_page, image, scale, round(72 * scale), self.settings, self.name, self.number)

    def _read_text_layer(self) -> PageContent:
        """Return the text layer, grouped by the rotation of text: multiples of 90 degrees first, common ones first."""
        turns = self.found.turns.items()
        ordered = sorted(turns, key=lambda item: (item[0] != nearest_quarter(item[0]), -len(item[1])))
        blocks = [make_runs(glyphs, turn) for turn, glyphs in ordered]
        return PageContent(blocks, self.found.rotated_glyphs, blanks=self.found.hidden)

    def _make_pictures_job(self) -> Job:
        """Return a job that reads the text layer, and reads, blanks or keeps the pictures as the settings say."""
        if self.settings.pictures != "ocr":
            blanks = [picture.box for picture in self.pictures] if self.settings.pictures == "remove" else []
            return partial(self._read_with_pictures, [], blanks)
        check_tesseract(self.settings.languages, self.name)
        image, scale = self._render(self.settings.dpi)
        image = grey_if_colourless(image)
        cover_codes(image, self.codes, scale)
        jobs: list[Callable[[], list[Run]]] = []
        for box, _ in self.pictures:
            left, top, right, bottom = (round(value * scale) for value in box)
            crop = image.crop((left, top, right, bottom))
            jobs.append(partial(read_picture, crop, box, self.view.size, scale, self.settings, self.name, self.number))
        return partial(self._read_with_pictures, jobs, [])

    def _read_with_pictures(self, jobs: list[Callable[[], list[Run]]], blanks: list[Box]) -> PageContent:
        """Return the text layer with the text of pictures. Text in both is kept once.

        jobs (list[Callable]): functions that read one picture each.
        blanks (list[Box]): pictures to remove.
        """
        size = self.view.size
        reading = self._read_text_layer()
        reading.blanks = [*reading.blanks, *blanks]
        printed = [rotated_corners(run.box, run.turn, *size) for block in reading.blocks for run in block]
        for job in jobs:
            block = []
            for run in job():
                boxes = [rotated_to_page(glyph.box, run.turn, *size) for glyph in run.glyphs]
                pairs = zip(run.glyphs, boxes, strict=True)
                glyphs = [glyph for glyph, box in pairs if not is_inside_any(box, printed)]
                block += [Run(glyphs, run.turn)] if glyphs else []
            reading.blocks.append(block)
        if not blanks:
            reading.warnings.append(f"page {self.number}: has pictures")
        return reading

    def _add_drawings(self, job: Job) -> Job:
        """Extend a job so that it also reads the text that the page draws as graphics; `job` if nothing looks like
        text.
        """

        def is_read_elsewhere(item: Any, kind: int) -> bool:
            is_text = kind == raw.FPDF_PAGEOBJ_TEXT
            return kind == raw.FPDF_PAGEOBJ_IMAGE or (is_text and not has_unreliable_shape(item))

        objects = [(item, is_read_elsewhere(item, kind)) for item, kind, _ in page_objects(self.page)]
        if all(is_read for _, is_read in objects):
            return job
        with hide_objects([item for item, is_read in objects if is_read]):
            image, scale = self._render(DRAWING_DPI)
            cover_codes(image, self.codes, scale)
            marks = detect_text_patches(np.asarray(image))
            patches = [Box(*(value / scale for value in patch.box)) for patch in marks]
            if not patches:
                return job
            check_tesseract(self.settings.languages, self.name)
            image, scale = self._render(self.settings.dpi)
        cover_codes(image, self.codes, scale)
        return partial(self._read_with_drawings, job, image, patches)

    def _read_with_drawings(self, job: Job, image: Image.Image, patches: list[Box]) -> PageContent:
        """Read the regions of drawn text by OCR, then the page by `job`, and merge the results.

        job (Job): reads the rest of the page.
        image (Image): the page without what is read otherwise.
        patches (list[Box]): regions that look like text, in page coordinates.
        """
        width, height = self.view.size
        try:
            drawn = read_patches(image, patches, image.width / width, self.settings)
        except subprocess.SubprocessError as error:
            raise ocr_error(error, self.settings, self.name, self.number) from None
        _reconcile(self.found, drawn, self.view)
        reading = job()
        level = next((block for block in reading.blocks if block and block[0].turn == 0), None)
        if level is None:
            reading.blocks.append(drawn.runs)
        elif drawn.runs:
            level[:] = join_runs([*level, *drawn.runs])
        reading.rotated_glyphs = [*reading.rotated_glyphs, *drawn.rotated_glyphs]
        reading.unread = [*reading.unread, *drawn.unread]
        for x0, y0, x1, y1 in drawn.unread:
            row, column = min(int((y0 + y1) / 2 / height * 3), 2), min(int((x0 + x1) / 2 / width * 3), 2)
            place = f"{ROWS[row]} {COLUMNS[column]}"
            warning = f"page {self.number}: what looks like text could not be read, {place}"
            if warning not in reading.warnings:
                reading.warnings.append(warning)
        return reading


def _reconcile(found: PageGlyphs, drawn: PatchText, view: PageView) -> None:
    """Compare each OCR word with the glyphs at the same place, and change both in place. The word is removed if their
    texts are similar; if not, glyphs whose shape is unreliable are removed.
    """
    glyphs = [
        (glyph, rotated_to_page(glyph.box, turn, *view.size)) for turn, some in found.turns.items() for glyph in some
    ]
    glyphs += [(glyph, glyph.box) for glyph in found.rotated_glyphs]
    if not glyphs:
        return
    middles = np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for _, box in glyphs])
    refuted: set[int] = set()

    def stays(word: Glyph) -> bool:
        box = word.box
        inside = (middles[:, 0] >= box.x0) & (middles[:, 0] <= box.x1)
        inside &= (middles[:, 1] >= box.y0) & (middles[:, 1] <= box.y1)
        under = [glyphs[i][0] for i in np.nonzero(inside)[0]]
        texts = (word.text, "".join(glyph.text for glyph in under))
        left, right = ("".join(char for char in text.casefold() if char.isalnum()) for text in texts)
        is_same = bool(texts[1])
        if left:
            is_same = difflib.SequenceMatcher(None, left, right, autojunk=False).ratio() >= ALIKE
        if is_same:
            return False
        refuted.update(id(glyph) for glyph in under if id(glyph) in found.doubtful)
        return True

    for run in drawn.runs:
        run.glyphs = [glyph for glyph in run.glyphs if stays(glyph)]
    drawn.runs = [Run(run.glyphs, run.turn) for run in drawn.runs if run.glyphs]
    for glyph in drawn.rotated_glyphs:
        stays(glyph)
    found.forget(refuted)
