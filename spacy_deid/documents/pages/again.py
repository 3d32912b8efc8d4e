"""Pages of a copy read by OCR once more, and searched for codes, for verifying."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from PIL import Image

from ...errors import DeidError, Errors
from ..document import Found, WriteSettings
from .codes import find_codes
from .glyphs import Box
from .ocr import in_order, read_page
from .tesseract import check_tesseract

__all__ = ["is_read_again", "read_again", "refuse_codes"]

LEAST = 5  # letters of the shortest string that is looked for: OCR makes short ones out of anything


def is_read_again(number: int, settings: WriteSettings) -> bool:
    """Whether a page is to be read.

    number (int): the page, from 1.
    settings (WriteSettings): says which.
    """
    return settings.verify_ocr == "all" or (settings.verify_ocr == "ocr" and number in settings.ocr_pages)


def refuse_codes(small: Image.Image, fine: Callable[[], Image.Image], number: int, words: Sequence[Box] = ()) -> None:
    """Make sure that a page of a copy shows no bar code or matrix code that can be decoded.

    small, fine, words: as in `find_codes`.
    number (int): the page, from 1.
    RAISES: DeidError (D727).
    """
    if find_codes(small, fine, sure=True, words=words):
        raise DeidError(Errors.D727.format(page=number))


def read_again(pages: Iterable[tuple[int, Image.Image]], settings: WriteSettings) -> Iterator[Found]:
    """Read pages.

    pages (Iterable): numbers and pictures, in grey or RGB.
    settings (WriteSettings): how they are read.
    YIELDS (Found): their text.
    RAISES: InputError (D716, D717, D718).
    """

    def read(number: int, image: Image.Image) -> Found:
        reading = read_page(image, 1.0, settings.dpi, settings.read, "copy", number)
        words = [glyph.text for block in reading.blocks for run in block for glyph in run.glyphs]
        return Found(f"the picture of page {number}", " ".join(words), LEAST)

    def jobs() -> Iterator[partial[Found]]:
        for number, image in pages:
            check_tesseract(settings.read.languages, "copy")
            yield partial(read, number, image)

    yield from in_order(jobs(), settings.read.processes)
