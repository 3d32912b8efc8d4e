"""PDF in: the text that its pages show, page by page."""

from typing import Any

from ..document import Document, Page, ReadSettings
from ..pages.glyphs import PageParts
from ..pages.joining import TextBuilder
from ..pages.order import reading_order
from ..pages.runs import make_runs
from .glyphs import PageGlyphs, View, read_glyphs
from .opening import flat_page, open_pdf

__all__ = ["read"]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a PDF.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): limits, and how OCR is done.
    RETURNS (Document): its text. Parts are the file and the parts of its pages.
    RAISES: InputError (D715, D718).
    """
    builder = TextBuilder()
    pages, parts = [], []
    with open_pdf(data, name, settings) as pdf:
        for index in range(len(pdf)):
            start = builder.length
            with flat_page(pdf, index, name) as page:
                view = _view(page)
                found = read_glyphs(page, view)
            part = _text_page(found, view, builder)
            parts.append(part)
            pages.append(Page(index + 1, min(start, builder.length), builder.length, part.ocr))
    return Document(name, "pdf", builder.text, tuple(pages), (), (data, parts))


def _view(page: Any) -> View:
    """How a page is shown."""
    left, bottom, right, top = page.get_bbox()
    return View(left, bottom, right, top, page.get_rotation())


def _text_page(found: PageGlyphs, view: View, builder: TextBuilder) -> PageParts:
    """A page from its text layer: the text of the commonest turn first."""
    width, height = view.size
    part = PageParts(width, height, [], blanks=found.hidden)
    for turn, glyphs in sorted(found.turns.items(), key=lambda item: -len(item[1])):
        across = height if turn in (90, 270) else width
        part.strips += builder.add_page(reading_order(make_runs(glyphs, turn)), across)
    return part
