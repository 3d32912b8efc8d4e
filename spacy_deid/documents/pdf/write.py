"""PDF out: every page as a picture, painted over, in a new file with a text layer of what is released.

Nothing of the old file is carried over, so nothing need be searched in it: no metadata, forms, scripts, attachments,
bookmarks, hidden layers, earlier revisions.
"""

from collections.abc import Sequence
from typing import Any

from PIL import Image

from ...offsets import Edit
from ..document import Document, ReadSettings, WriteSettings
from ..pages.colours import without_colour
from ..pages.glyphs import PageParts
from ..pages.paint import paint_page
from ..pages.released import Release
from .layer import PictureWriter
from .opening import flat_page, open_pdf
from .rendering import render

__all__ = ["write"]


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a PDF.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order.
    settings (WriteSettings): resolution and looks.
    RETURNS (bytes): the file.
    RAISES: DeidError (D719).
    """
    data, pages = document.parts
    release = Release(document.text, edits)
    writer = PictureWriter()
    with open_pdf(data, document.name, ReadSettings(max_pages=len(pages))) as pdf:
        for index, parts in enumerate(pages):
            with flat_page(pdf, index, document.name) as page:
                image = without_colour(render(page, parts.width, parts.height, settings.dpi, settings.read.max_pixels))
            writer.add(*_painted(image, parts, release, index + 1, settings))
    return writer.save()


def _painted(
    image: Image.Image, parts: PageParts, release: Release, number: int, settings: WriteSettings
) -> tuple[Image.Image, PageParts, list[Any]]:
    """A page painted over, with what the writer needs."""
    painted, lines = paint_page(image, parts, release, number, settings)
    return painted, parts, lines
