"""Pictures: PNG, JPEG and TIFF with one or more pages, read by OCR and painted over."""

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
from PIL import Image, ImageOps

from ..errors import Errors, InputError
from ..offsets import Edit
from .document import Document, ExtractedText, Format, Page, ReadSettings, WriteSettings
from .pages.barcodes import check_no_codes, cover_codes, downscale, find_codes
from .pages.geometry import PageLayout, Quad
from .pages.image_analysis import grey_if_colourless
from .pages.ocr import needs_ocr_check, ocr_copy_pages, read_page, run_in_order
from .pages.page_text import PageContent, TextBuilder, add_page_content
from .pages.painting import LineEditor, paint_page
from .pages.tesseract import check_tesseract

KINDS = ("PNG", "JPEG", "TIFF")
LONGEST = 20_000  # pixels of an edge
SHARP = 2200  # pixels of a page's height below which it is enlarged for reading
ENLARGED = 3  # at most so many times
PAGE_INCHES = 11.0  # a picture is taken for a page, which tells about how large its letters are
WHITE = (255, 255, 255)


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a picture by OCR.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): limits, and how OCR is done.
    RETURNS (Document): its text. Parts are the file and the parts of its pages.
    RAISES: InputError if it is damaged or too large (D715) or cannot be read (D716, D717, D718).
    """
    builder = TextBuilder()
    pages: list[Page] = []
    parts: list[PageLayout] = []
    notes: list[str] = []
    with _opened(data, name, settings) as image:
        check_tesseract(settings.languages, name)
        sizes: list[tuple[int, int]] = []
        for reading in run_in_order(_jobs(image, name, settings, sizes), settings.processes):
            start = builder.length
            parts.append(add_page_content(builder, reading, *sizes[len(parts)]))
            pages.append(Page(len(parts), min(start, builder.length), builder.length, True))
            notes += reading.warnings
    return Document(name, "image", builder.text, tuple(pages), tuple(notes), (data, parts))


def _jobs(
    image: Image.Image, name: str, settings: ReadSettings, sizes: list[tuple[int, int]]
) -> Iterator[Callable[[], PageContent]]:
    """What is to be done for each page of a picture."""
    for number, page in enumerate(_pages(image, name, settings), 1):
        sizes.append(page.size)
        yield partial(_read_page, grey_if_colourless(page), settings, name, number)


def _read_page(image: Image.Image, settings: ReadSettings, name: str, number: int) -> PageContent:
    """Read a page, and find its codes, which are no text."""
    codes = picture_codes(image) if settings.codes == "remove" else []
    cover_codes(image, codes)
    scale = min(ENLARGED, max(1, round(SHARP / max(image.height, 1))))
    large = image.resize((image.width * scale, image.height * scale)) if scale > 1 else image
    dpi = min(600, max(70, round(max(large.size) / PAGE_INCHES)))
    reading = read_page(large, float(scale), dpi, settings, name, number)
    reading.add_codes(codes, number)
    return reading


def picture_codes(image: Image.Image) -> list[Quad]:
    """Find the bar codes and matrix codes of a picture, whose resolution nobody knows.

    image (Image): in grey or RGB.
    RETURNS (list[Quad]): what they cover, in pixels.
    """
    small = downscale(image, max(image.size) / PAGE_INCHES)
    scale = image.width / small.width
    return [tuple((x * scale, y * scale) for x, y in quad) for quad in find_codes(small, image.copy)]


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Paint over what is removed and save the pixels alone, without EXIF or any other data.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order.
    settings (WriteSettings): how replacements look.
    RETURNS (bytes): a file of the same format.
    RAISES: DeidError (D719).
    """
    data, parts = document.parts
    editor = LineEditor(document.text, edits)
    out = io.BytesIO()
    with _opened(data, document.name, settings.read) as image:
        kind = str(image.format)
        pages = enumerate(_pages(image, document.name, settings.read), 1)
        painted = (_painted(page, parts[number - 1], editor, number, settings) for number, page in pages)
        first = next(painted)
        if kind == "TIFF":
            first.save(out, kind, compression="tiff_deflate", save_all=True, append_images=painted)
        else:
            first.save(out, kind, quality=90)
    return out.getvalue()


def _painted(
    page: Image.Image, part: PageLayout, editor: LineEditor, number: int, settings: WriteSettings
) -> Image.Image:
    """The pixels of a page, painted over, and nothing else."""
    painted, _ = paint_page(page, part, editor, number, settings)
    bare = Image.new(painted.mode, painted.size)
    bare.paste(painted)
    return bare


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """What is written beside the pixels, and what OCR reads in them."""
    with _opened(data, "copy", settings.read) as image:
        values = [*image.info.values(), *image.getexif().values()]
        # the numbers are sizes and places of stripes, in which any short one stands by chance
        yield ExtractedText("metadata", " ".join(str(value) for value in values if isinstance(value, str | bytes)))
        if settings.read.codes == "remove":
            for number, page in enumerate(_pages(image, "copy", settings.read), 1):
                check_no_codes(downscale(page, max(page.size) / PAGE_INCHES), page.copy, number)
        numbered = enumerate(_pages(image, "copy", settings.read), 1)
        pages = ((number, grey_if_colourless(page)) for number, page in numbered if needs_ocr_check(number, settings))
        yield from ocr_copy_pages(pages, settings)


@contextmanager
def _opened(data: bytes, name: str, settings: ReadSettings) -> Iterator[Image.Image]:
    """Open a picture; its size is looked at before it is unpacked.

    RAISES: InputError (D715).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of tags that it skips
        try:
            image = Image.open(io.BytesIO(data), formats=KINDS)
        except Image.DecompressionBombError:
            raise _refused(name, settings) from None
        except Exception:  # a damaged file raises whatever comes to the parser that meets it
            raise InputError(Errors.D715.format(path=name, reason="no picture that can be read")) from None
        with image:
            yield image


def _refused(name: str, settings: ReadSettings) -> InputError:
    """The error for a picture that is too large."""
    reason = f"larger than {settings.max_pixels} pixels, or {LONGEST} along an edge"
    return InputError(Errors.D715.format(path=name, reason=reason))


def _pages(image: Image.Image, name: str, settings: ReadSettings) -> Iterator[Image.Image]:
    """The pages of a picture as they are shown, in grey or colours, without what is transparent."""
    count = _count(image, name)
    if count > settings.max_pages:
        reason = f"{count} pages, more than the {settings.max_pages} that are allowed"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    for index in range(count):
        try:
            image.seek(index)
            if image.width * image.height > settings.max_pixels or max(image.size) > LONGEST:
                raise _refused(name, settings)
            page = _plain(ImageOps.exif_transpose(image))
        except (InputError, MemoryError):
            raise
        except Image.DecompressionBombError:
            raise _refused(name, settings) from None
        except Exception:  # as in `_opened`
            raise InputError(Errors.D718.format(path=name, page=index + 1, reason="damaged or truncated")) from None
        yield page


def _count(image: Image.Image, name: str) -> int:
    """How many pages a picture has; of a moving one only the first picture is read and written."""
    try:
        return getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    except Exception:  # as in `_opened`
        raise InputError(Errors.D715.format(path=name, reason="no picture that can be read")) from None


def _plain(image: Image.Image) -> Image.Image:
    """A picture in grey or RGB."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (*WHITE, 255)), image).convert("RGB")
    if image.mode.startswith("I") or image.mode == "F":
        return _scaled(image)
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _scaled(image: Image.Image) -> Image.Image:
    """A picture of many shades in grey, from its darkest to its lightest: few use all shades that they could have."""
    values = np.nan_to_num(np.asarray(image).astype(np.float32), copy=False)
    values -= values.min()
    values *= 255 / (float(values.max()) or 1.0)
    return Image.fromarray(values.astype(np.uint8))


FORMAT = Format(read, write, extract)
