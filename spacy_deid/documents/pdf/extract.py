"""Extract everything from a PDF, to verify a copy."""

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import pikepdf
from PIL import Image

from ..document import ExtractedText, WriteSettings
from ..pages.barcodes import COARSE_DPI, check_no_codes
from ..pages.geometry import Box
from ..pages.image_analysis import grey_if_colourless
from ..pages.ocr import needs_ocr_check, ocr_copy_pages
from .pdfium import open_pdf, render
from .write import CMAP, GLYPHS, font_program

NAME = "copy"
OWN = {CMAP, GLYPHS, font_program()}  # streams in every copy


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text of pages, titles, metadata, and every string and stream of a PDF.

    data (bytes): the file.
    settings (WriteSettings): which pages to check by OCR.
    YIELDS (ExtractedText): texts and their places.
    """
    yield from _pages(data, settings)
    yield from _objects(data)
    _check_codes(data, settings)
    yield from _ocr_pages(data, settings)


def _check_codes(data: bytes, settings: WriteSettings) -> None:
    """Raise an error if a page shows a barcode or matrix code.

    RAISES: DeidError (D727).
    """
    if settings.read.codes != "remove":
        return
    with open_pdf(data, NAME, settings.read) as pdf:
        for index in range(len(pdf)):
            page = pdf.get_page(index)
            width, height = page.get_size()
            pixels = settings.read.max_pixels
            shown = partial(render, page, width, height, max_pixels=pixels)
            small = grey_if_colourless(shown(dpi=COARSE_DPI))
            words = list(_text_boxes(page, small.width / width, height))
            check_no_codes(small, partial(shown, dpi=settings.dpi), index + 1, words)
            page.close()


def _text_boxes(page: Any, scale: float, height: float) -> Iterator[Box]:
    """Yield the areas with text on a page of a copy, in pixels of its image. `height` is the page height in points."""
    textpage = page.get_textpage()
    for index in range(textpage.count_rects()):
        left, bottom, right, top = textpage.get_rect(index)
        yield Box(left * scale - 1, (height - top) * scale - 1, right * scale + 1, (height - bottom) * scale + 1)
    textpage.close()


def _ocr_pages(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text that OCR reads on the pages to check."""
    with open_pdf(data, NAME, settings.read) as pdf:
        yield from ocr_copy_pages(_render_pages(pdf, settings), settings)


def _render_pages(pdf: Any, settings: WriteSettings) -> Iterator[tuple[int, Image.Image]]:
    """Yield numbers and images of the pages to check."""
    for index in range(len(pdf)):
        if needs_ocr_check(index + 1, settings):
            page = pdf.get_page(index)
            width, height = page.get_size()
            image = render(page, width, height, settings.dpi, settings.read.max_pixels)
            yield index + 1, grey_if_colourless(image)
            page.close()


def _pages(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text layer of all pages as one text, since words and names can span pages; metadata; and bookmarks."""
    with open_pdf(data, NAME, settings.read) as pdf:
        texts = []
        for index in range(len(pdf)):
            page = pdf.get_page(index)
            textpage = page.get_textpage()
            texts.append(textpage.get_text_range())
            textpage.close()
            page.close()
        yield ExtractedText("text layer", "\n".join(texts))
        yield ExtractedText("metadata", "\n".join(map(str, pdf.get_metadata_dict().values())))
        yield ExtractedText("bookmarks", "\n".join(entry.get_title() or "" for entry in pdf.get_toc()))


def _objects(data: bytes) -> Iterator[ExtractedText]:
    """Yield every string and every stream that is not an image, decompressed and in two encodings."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        contents = {stream.objgen for page in pdf.pages for stream in _contents(page)}
        for number, item in enumerate(pdf.objects, 1):
            if isinstance(item, pikepdf.Stream) and item.get("/Type") in ("/XRef", "/ObjStm"):
                continue  # cross-reference and object streams, whose objects are listed separately
            place = f"object {number}"
            yield from _decoded_variants(place, list(_strings(item)))
            if not isinstance(item, pikepdf.Stream) or item.get("/Subtype") == "/Image":
                continue
            if item.objgen in contents:
                yield from _decoded_variants(place, [text for part in _operands(item) for text in _strings(part)])
            elif (raw := item.read_bytes()) not in OWN:
                yield from _decoded_variants(place, [pikepdf.String(raw)])


def _contents(page: pikepdf.Page) -> list[Any]:
    """Return the content streams of a page."""
    found: Any = page.obj.get("/Contents", [])
    return [found] if isinstance(found, pikepdf.Stream) else list(found)


def _operands(stream: Any) -> Iterator[Any]:
    """Yield the operands of a content stream."""
    for instruction in pikepdf.parse_content_stream(stream):
        yield from instruction.operands


def _decoded_variants(place: str, strings: list[pikepdf.String]) -> Iterator[ExtractedText]:
    """Yield strings in their declared encoding, and as UTF-16 without a byte-order mark."""
    if strings:
        yield ExtractedText(place, "".join(map(str, strings)))
        yield ExtractedText(place, b"".join(map(bytes, strings)).decode("utf-16-be", "replace"))


def _strings(item: Any, depth: int = 0) -> Iterator[pikepdf.String]:
    """Yield the strings in an object, without following indirect references."""
    if isinstance(item, pikepdf.String):
        yield item
    elif depth < 50 and isinstance(item, pikepdf.Array):
        for part in item:
            if not getattr(part, "is_indirect", False):
                yield from _strings(part, depth + 1)
    elif depth < 50 and isinstance(item, pikepdf.Dictionary | pikepdf.Stream):
        for _, part in item.items():
            if not getattr(part, "is_indirect", False):
                yield from _strings(part, depth + 1)
