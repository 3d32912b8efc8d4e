"""TODO."""

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

DPI = 100  # resolution at which is looked for text
ALIKE = 0.75  # how alike two readings of one word are
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
    """Add what a page draws as text to what a job reads on it.

    job (Callable): reads the page, from `found` among others.
    page (PdfPage): the page, flattened.
    view (View): how it is shown.
    found (PageGlyphs): its glyphs. Those of fonts that cannot be believed are taken out if OCR reads others there.
    codes (list[Quad]): bar codes and matrix codes on the page, which are no text.
    settings (ReadSettings): how OCR is done.
    name, number: the file and the page, for errors.
    RETURNS (Callable): the job, or one that reads what is drawn as well.
    RAISES: InputError (D716, D717).
    """
    if not _has_drawings(page):
        return job
    with _only_drawn(page):
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
    return any(not _is_explained(item, kind) for item, kind, _ in page_objects(page))


def _is_explained(item: Any, kind: int) -> bool:
    """Whether an object is a picture, which is read by itself, or text that can be believed."""
    return kind == raw.FPDF_PAGEOBJ_IMAGE or (kind == raw.FPDF_PAGEOBJ_TEXT and not has_unreliable_shape(item))


@contextmanager
def _only_drawn(page: Any) -> Iterator[None]:
    """Leave readable text and pictures out of a page while it is drawn."""
    explained = [item for item, kind, _ in page_objects(page) if _is_explained(item, kind)]
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
    """Read the patches, then the page, and put both together."""
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
    places = dict.fromkeys(_place(box, view) for box in drawn.unread)
    reading.warnings += [f"page {number}: what looks like text could not be read, {place}" for place in places]
    return reading


def _place(box: Box, view: PageView) -> str:
    """Where on the page a box is, in words."""
    width, height = view.size
    column = min(int((box.x0 + box.x1) / 2 / width * 3), 2)
    row = min(int((box.y0 + box.y1) / 2 / height * 3), 2)
    return f"{ROWS[row]} {COLUMNS[column]}"


def _reconcile(found: PageGlyphs, drawn: PatchText, view: PageView) -> None:
    """Decide between glyphs and OCR where both have a text: for the file's if they are alike, else for the shapes."""
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
    run.measure()
    return run


def _are_alike(first: str, second: str) -> bool:
    """Whether two texts are readings of one word."""
    left, right = ("".join(char for char in text.casefold() if char.isalnum()) for text in (first, second))
    if not left:
        return bool(second)
    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio() >= ALIKE
