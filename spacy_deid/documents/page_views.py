"""Show a page of a document to a reviewer: its picture, the areas of spans of the text, and the page after edits.

Only PDFs and pictures have pages with a known layout. The layout of a page can be stored as plain values
(`dump_layout`), so that a page can be drawn again without reading the document by OCR a second time.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from PIL import Image

from ..errors import Errors, InputError
from ..offsets import Edit
from .document import Document, WriteSettings
from .image import read_frame
from .pages.geometry import Box, LineSegment, PageLayout, Quad, rotated_corners
from .pages.image_analysis import deskew, grey_if_colourless
from .pages.painting import LineEditor, paint_page
from .pdf.write import render_page

KINDS = ("pdf", "image")
"""Kinds of documents whose pages can be shown."""
DPI = 110
WIDEST = 1_000  # pixels of a picture that is shown
DIGITS = 2  # of coordinates in stored layouts


def layouts_of(document: Document) -> list[PageLayout]:
    """Return the layouts of the pages of a document; none if its format has no pages with a layout."""
    return list(document.parts[1]) if document.kind in KINDS else []


def dump_layout(layout: PageLayout) -> dict[str, Any]:
    """Convert a layout to values that JSON can represent. It contains the text of the page."""
    plain = asdict(layout)
    for segment in plain["segments"]:
        for name in ("left", "right"):
            segment[name] = [round(value, DIGITS) for value in segment[name]]
        for name in ("start", "end"):
            segment[name] = list(segment[name])
    return plain


def load_layout(plain: dict[str, Any]) -> PageLayout:
    """Convert the output of `dump_layout` back to a layout."""
    segments = []
    for given in plain["segments"]:
        numbers = {name: array("d", given[name]) for name in ("left", "right")}
        numbers |= {name: array("q", given[name]) for name in ("start", "end")}
        segments.append(LineSegment(**{**given, **numbers}))
    boxes = {name: [Box(*box) for box in plain[name]] for name in ("blanks", "unread")}
    codes: list[Quad] = [tuple((x, y) for x, y in quad) for quad in plain["codes"]]
    return PageLayout(**{**plain, "segments": segments, "codes": codes, **boxes})


def span_areas(layout: PageLayout, spans: Sequence[tuple[int, int]]) -> list[list[Quad]]:
    """Find the areas that spans of the text cover on a page.

    layout (PageLayout): layout of the page.
    spans (Sequence[tuple[int, int]]): start and end of each span, in order and without overlap.
    RETURNS (list[list]): for each span the corners of an area per line, in the coordinates of the page; none if the
        span is on another page.
    """
    areas: list[list[Quad]] = [[] for _ in spans]
    for segment in layout.segments:
        if not len(segment.start):
            continue
        for number, (start, end) in enumerate(spans):
            if end <= segment.start[0] or segment.end[-1] <= start:
                continue
            covered = [i for i in range(len(segment.start)) if segment.start[i] < end and start < segment.end[i]]
            if covered:
                left, right = min(segment.left[i] for i in covered), max(segment.right[i] for i in covered)
                box = Box(left, segment.top, right, segment.bottom)
                areas[number].append(rotated_corners(box, segment.turn, layout.width, layout.height))
    return areas


def draw_page(
    data: bytes,
    kind: str,
    number: int,
    layout: PageLayout,
    edits: tuple[str, Iterable[Edit]] | None,
    settings: WriteSettings,
) -> Image.Image:
    """Draw a page as it was read, or as it is released with edits.

    data (bytes): the file.
    kind (str): one of `KINDS`.
    number (int): page number, starting at 1.
    layout (PageLayout): its layout.
    edits (Optional[tuple]): the text of the document, and its edits in order; None for the page as it was read.
    settings (WriteSettings): appearance of replacements, and limits for reading.
    RETURNS (Image): the page, at most `WIDEST` pixels wide.
    RAISES: InputError if the page cannot be read (D718) or its kind has no pages (D715); DeidError (D719) if anything
        is left of removed text.
    """
    if kind not in KINDS:
        raise InputError(Errors.D715.format(path="page", reason="documents of this type have no pages"))
    if kind == "pdf":
        image = grey_if_colourless(render_page(data, "page", number, layout, DPI, settings.read))
    else:
        image = read_frame(data, "page", number, settings.read)
    if edits is None:
        image = deskew(image, layout.skew)
    else:
        image, _ = paint_page(image, layout, LineEditor(*_on_page(layout, *edits)), number, settings)
    if image.width > WIDEST:
        image = image.resize((WIDEST, math.ceil(image.height * WIDEST / image.width)), Image.Resampling.LANCZOS)
    return image


def _on_page(layout: PageLayout, text: str, edits: Iterable[Edit]) -> tuple[str, list[Edit]]:
    """Return the text, and the edits that concern a page."""
    places = [(segment.start[0], segment.end[-1]) for segment in layout.segments if len(segment.start)]
    first, last = min((start for start, _ in places), default=0), max((end for _, end in places), default=0)
    return text, [edit for edit in edits if edit.start < last and first < edit.end]
