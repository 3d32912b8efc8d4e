"""Find text that a page displays but its text layer lacks: vector outlines, patterns, masks and Type 3 fonts.

The page is rendered without its readable text and its pictures. What looks like text in the result is read by OCR.
"""

import difflib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pypdfium2.raw as raw
from PIL import Image

from ...errors import Errors, InputError
from ..document import ReadSettings
from ..pages.barcodes import cover_codes
from ..pages.geometry import Box, Quad, Run, rotated_to_page
from ..pages.image_analysis import detect_text_patches
from ..pages.layout import join_runs
from ..pages.ocr import PatchText, read_patches
from ..pages.page_text import PageContent
from ..pages.tesseract import check_tesseract
from .glyphs import PageGlyphs
from .pdfium import PageView, has_unreliable_shape, page_objects, render

DPI = 100  # resolution for the search
ALIKE = 0.75  # least similarity of two readings of a word
ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "centre", "right")
Job = Callable[[], PageContent]


def add_vector_text(
    job: Job,
    page: Any,
    view: PageView,
    found: PageGlyphs,
    codes: list[Quad],
    settings: ReadSettings,
    name: str,
    number: int,
) -> Job:
    """Extend a job so that it also reads the text that a page draws as graphics.

    job (Callable): reads the page, using `found`.
    page (PdfPage): the page, flattened.
    view (PageView): how it is displayed.
    found (PageGlyphs): its glyphs. Unreliable glyphs are removed if OCR reads different text in their place.
    codes (list[Quad]): barcodes and matrix codes on the page, which are not text.
    settings (ReadSettings): OCR settings.
    name (str): file name, for error messages.
    number (int): page number, starting at 1.
    RETURNS (Callable): the extended job, or `job` if nothing looks like text.
    RAISES: InputError (D716, D717).
    """
    if not _has_drawings(page):
        return job
    with _hide_readable(page):
        image = render(page, *view.size, DPI, settings.max_pixels)
        scale = image.width / view.size[0]
        cover_codes(image, codes, scale)
        patches = [Box(*(value / scale for value in patch.box)) for patch in detect_text_patches(np.asarray(image))]
        if not patches:
            return job
        check_tesseract(settings.languages, name)
        image = render(page, *view.size, settings.dpi, settings.max_pixels)
    cover_codes(image, codes, image.width / view.size[0])
    return partial(_read, job, image, patches, view, found, settings, name, number)


def _has_drawings(page: Any) -> bool:
    """Whether a page has anything but readable text and pictures."""
    return any(not _is_read_elsewhere(item, kind) for item, kind, _ in page_objects(page))


def _is_read_elsewhere(item: Any, kind: int) -> bool:
    """Whether an object is a picture, which is read separately, or text with reliable shapes."""
    return kind == raw.FPDF_PAGEOBJ_IMAGE or (kind == raw.FPDF_PAGEOBJ_TEXT and not has_unreliable_shape(item))


@contextmanager
def _hide_readable(page: Any) -> Iterator[None]:
    """Hide readable text and pictures while the page is rendered."""
    explained = [item for item, kind, _ in page_objects(page) if _is_read_elsewhere(item, kind)]
    for item in explained:
        raw.FPDFPageObj_SetIsActive(item, False)
    try:
        yield
    finally:
        for item in explained:
            raw.FPDFPageObj_SetIsActive(item, True)


def _read(
    job: Job,
    image: Image.Image,
    patches: list[Box],
    view: PageView,
    found: PageGlyphs,
    settings: ReadSettings,
    name: str,
    number: int,
) -> PageContent:
    """Read the patches, then the page, and merge the results."""
    try:
        drawn = read_patches(image, patches, image.width / view.size[0], settings)
    except subprocess.SubprocessError as error:
        slow = isinstance(error, subprocess.TimeoutExpired)
        reason = f"OCR took longer than {settings.page_seconds} s" if slow else "OCR failed"
        raise InputError(Errors.D718.format(path=name, page=number, reason=reason)) from None
    _reconcile(found, drawn, view)
    reading = job()
    level = next((block for block in reading.blocks if block and block[0].turn == 0), None)
    if level is None:
        reading.blocks.append(drawn.runs)
    elif drawn.runs:
        level[:] = join_runs([*level, *drawn.runs])
    reading.rotated_glyphs = [*reading.rotated_glyphs, *drawn.rotated_glyphs]
    reading.unread = [*reading.unread, *drawn.unread]
    places = dict.fromkeys(_position_name(box, view) for box in drawn.unread)
    reading.warnings += [f"page {number}: what looks like text could not be read, {place}" for place in places]
    return reading


def _position_name(box: Box, view: PageView) -> str:
    """Return the position of a box on the page in words."""
    width, height = view.size
    column = min(int((box.x0 + box.x1) / 2 / width * 3), 2)
    row = min(int((box.y0 + box.y1) / 2 / height * 3), 2)
    return f"{ROWS[row]} {COLUMNS[column]}"


def _reconcile(found: PageGlyphs, drawn: PatchText, view: PageView) -> None:
    """Resolve conflicts between glyphs and OCR at the same place: keep the glyphs if the texts are similar, else
    OCR.
    """
    glyphs = [
        (glyph, rotated_to_page(glyph.box, turn, *view.size)) for turn, some in found.turns.items() for glyph in some
    ]
    glyphs += [(glyph, glyph.box) for glyph in found.rotated_glyphs]
    if not glyphs:
        return
    middles = np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for _, box in glyphs])
    refuted: set[int] = set()

    def stays(text: str, box: Box) -> bool:
        inside = (middles[:, 0] >= box.x0) & (middles[:, 0] <= box.x1)
        inside &= (middles[:, 1] >= box.y0) & (middles[:, 1] <= box.y1)
        under = [glyphs[i][0] for i in np.nonzero(inside)[0]]
        if _are_alike(text, "".join(glyph.text for glyph in under)):
            return False
        refuted.update(id(glyph) for glyph in under if id(glyph) in found.doubtful)
        return True

    for run in drawn.runs:
        run.glyphs = [glyph for glyph in run.glyphs if stays(glyph.text, glyph.box)]
    drawn.runs = [_measured(run) for run in drawn.runs if run.glyphs]
    for glyph in drawn.rotated_glyphs:
        stays(glyph.text, glyph.box)
    found.forget(refuted)


def _measured(run: Run) -> Run:
    """Return a run after recomputing its box."""
    run.measure()
    return run


def _are_alike(first: str, second: str) -> bool:
    """Whether two texts are readings of the same word."""
    left, right = ("".join(char for char in text.casefold() if char.isalnum()) for text in (first, second))
    if not left:
        return bool(second)
    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio() >= ALIKE
