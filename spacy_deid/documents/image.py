"""Read PNG, JPEG and TIFF images by OCR, and redact them by painting over pixels."""

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
from .pages.layout import PageContent, TextBuilder, add_page_content
from .pages.ocr import check_tesseract, needs_ocr_check, ocr_copy_pages, read_page, run_in_order
from .pages.painting import LineEditor, paint_page

KINDS = ("PNG", "JPEG", "TIFF")
LONGEST = 20_000  # pixels along an edge
SHARP = 2200  # height in pixels that lower pages are enlarged to for OCR
ENLARGED = 3  # largest factor
PAGE_INCHES = 11.0  # assumed height of a page, to estimate the resolution
WHITE = (255, 255, 255)


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read an image by OCR. Each frame of a TIFF is a page. RAISES: InputError (D718) if OCR of a page fails."""
    builder = TextBuilder()
    pages: list[Page] = []
    parts: list[PageLayout] = []
    notes: list[str] = []
    sizes: list[tuple[int, int]] = []  # in pixels

    def jobs(image: Image.Image) -> Iterator[Callable[[], PageContent]]:
        for number, page in enumerate(_pages(image, name, settings), 1):
            sizes.append(page.size)
            yield partial(_read_page, grey_if_colourless(page), settings, name, number)

    with _opened(data, name, settings) as image:
        check_tesseract(settings.languages, name)
        for reading in run_in_order(jobs(image), settings.processes):
            start = builder.length
            parts.append(add_page_content(builder, reading, *sizes[len(parts)]))
            pages.append(Page(len(parts), min(start, builder.length), builder.length, True))
            notes += reading.warnings
    return Document(name, "image", builder.text, tuple(pages), tuple(notes), (data, parts))


def _read_page(image: Image.Image, settings: ReadSettings, name: str, number: int) -> PageContent:
    """Read a page by OCR. Barcodes are located and blanked first."""
    codes = picture_codes(image) if settings.codes == "remove" else []
    cover_codes(image, codes)
    scale = min(ENLARGED, max(1, round(SHARP / max(image.height, 1))))
    large = image.resize((image.width * scale, image.height * scale)) if scale > 1 else image
    dpi = min(600, max(70, round(max(large.size) / PAGE_INCHES)))
    reading = read_page(large, float(scale), dpi, settings, name, number)
    reading.add_codes(codes, number)
    return reading


def picture_codes(image: Image.Image) -> list[Quad]:
    """Find the barcodes and matrix codes in a greyscale or RGB image of unknown resolution.

    RETURNS (list[Quad]): the corners, in pixels, of the area to cover for each code.
    """
    small = downscale(image, max(image.size) / PAGE_INCHES)
    scale = image.width / small.width
    return [tuple((x * scale, y * scale) for x, y in quad) for quad in find_codes(small, image.copy)]


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write the image with removed text painted over, as pixels without EXIF or other metadata.

    RAISES: DeidError (D719) if anything is left of removed text.
    """
    data, parts = document.parts
    editor = LineEditor(document.text, edits)
    out = io.BytesIO()

    def painted(image: Image.Image) -> Iterator[Image.Image]:
        for number, page in enumerate(_pages(image, document.name, settings.read), 1):
            pixels, _ = paint_page(page, parts[number - 1], editor, number, settings)
            bare = Image.new(pixels.mode, pixels.size)  # without metadata
            bare.paste(pixels)
            yield bare

    with _opened(data, document.name, settings.read) as image:
        kind, pages = str(image.format), painted(image)
        if kind == "TIFF":
            next(pages).save(out, kind, compression="tiff_deflate", save_all=True, append_images=pages)
        else:
            next(pages).save(out, kind, quality=90)
    return out.getvalue()


def read_frame(data: bytes, name: str, number: int, settings: ReadSettings) -> Image.Image:
    """Read one page of an image, as displayed, in greyscale or RGB.

    number (int): number of the frame, starting at 1.
    RAISES: InputError if the image cannot be read (D715) or has no such page (D718).
    """
    with _opened(data, name, settings) as image:
        for found, page in enumerate(_pages(image, name, settings), 1):
            if found == number:
                return page.copy()
    raise InputError(Errors.D718.format(path=name, page=number, reason="there is no such page"))


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the metadata of a copy and, if the settings demand it, the text that OCR reads in it.

    RAISES: DeidError (D727) if a page shows a barcode or matrix code that should have been removed.
    """
    with _opened(data, "copy", settings.read) as image:
        values = [*image.info.values(), *image.getexif().values()]
        # numbers are sizes and offsets of segments, which contain any short number by coincidence
        yield ExtractedText("metadata", " ".join(str(value) for value in values if isinstance(value, str | bytes)))
        if settings.read.codes == "remove":
            for number, page in enumerate(_pages(image, "copy", settings.read), 1):
                check_no_codes(downscale(page, max(page.size) / PAGE_INCHES), page.copy, number)
        numbered = enumerate(_pages(image, "copy", settings.read), 1)
        pages = ((number, grey_if_colourless(page)) for number, page in numbered if needs_ocr_check(number, settings))
        yield from ocr_copy_pages(pages, settings)


@contextmanager
def _opened(data: bytes, name: str, settings: ReadSettings) -> Iterator[Image.Image]:
    """Open an image without decompressing it. RAISES: InputError (D715) if it cannot be read or is far too large."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about tags that it skips
        try:
            image = Image.open(io.BytesIO(data), formats=KINDS)
        except Image.DecompressionBombError:
            raise _refused(name, settings) from None
        except Exception:  # Pillow raises many types of exceptions for damaged files
            raise InputError(Errors.D715.format(path=name, reason="the image cannot be read")) from None
        with image:
            yield image


def _refused(name: str, settings: ReadSettings) -> InputError:
    """Return the error for an image that is too large."""
    reason = f"larger than {settings.max_pixels} pixels, or {LONGEST} along an edge"
    return InputError(Errors.D715.format(path=name, reason=reason))


def _pages(image: Image.Image, name: str, settings: ReadSettings) -> Iterator[Image.Image]:
    """Yield the pages of an image as displayed, in greyscale or RGB, with transparent areas on white."""
    try:  # of formats other than TIFF, only the first frame is read and written
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    except Exception:  # as in `_opened`
        raise InputError(Errors.D715.format(path=name, reason="the image cannot be read")) from None
    if count > settings.max_pages:
        reason = f"{count} pages, more than the allowed {settings.max_pages}"
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


def _plain(image: Image.Image) -> Image.Image:
    """Convert an image to 8-bit greyscale or RGB. Images with more bits are scaled to their range of values."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (*WHITE, 255)), image).convert("RGB")
    if image.mode.startswith("I") or image.mode == "F":
        values = np.nan_to_num(np.asarray(image).astype(np.float32), copy=False)
        values -= values.min()
        values *= 255 / (float(values.max()) or 1.0)
        return Image.fromarray(values.astype(np.uint8))
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


FORMAT = Format(read, write, extract)
