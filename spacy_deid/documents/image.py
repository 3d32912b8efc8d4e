"""PNG, JPEG and TIFF images: read by OCR and redacted by painting over pixels."""

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
    """Read an image by OCR. RAISES: InputError (D718) if OCR of a page fails."""
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
    """Yield one OCR task per page and append the page sizes, in pixels, to `sizes`."""
    for number, page in enumerate(_pages(image, name, settings), 1):
        sizes.append(page.size)
        yield partial(_read_page, grey_if_colourless(page), settings, name, number)


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
    """Find the barcodes and matrix codes in an image of unknown resolution.

    image (Image): greyscale or RGB image.
    RETURNS (list[Quad]): the corners of each region to cover, in pixels.
    """
    small = downscale(image, max(image.size) / PAGE_INCHES)
    scale = image.width / small.width
    return [tuple((x * scale, y * scale) for x, y in quad) for quad in find_codes(small, image.copy)]


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Paint over removed text and save only the pixels, without EXIF or other metadata. RAISES: DeidError (D719)."""
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
    """Return the redacted pixels of a page as a new image without metadata."""
    painted, _ = paint_page(page, part, editor, number, settings)
    bare = Image.new(painted.mode, painted.size)
    bare.paste(painted)
    return bare


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the metadata of an image and the text that OCR reads in it."""
    with _opened(data, "copy", settings.read) as image:
        values = [*image.info.values(), *image.getexif().values()]
        # numbers are sizes and offsets of strips, which contain any short number by coincidence
        yield ExtractedText("metadata", " ".join(str(value) for value in values if isinstance(value, str | bytes)))
        if settings.read.codes == "remove":
            for number, page in enumerate(_pages(image, "copy", settings.read), 1):
                check_no_codes(downscale(page, max(page.size) / PAGE_INCHES), page.copy, number)
        numbered = enumerate(_pages(image, "copy", settings.read), 1)
        pages = ((number, grey_if_colourless(page)) for number, page in numbered if needs_ocr_check(number, settings))
        yield from ocr_copy_pages(pages, settings)


@contextmanager
def _opened(data: bytes, name: str, settings: ReadSettings) -> Iterator[Image.Image]:
    """Open an image and check its size before decompressing it.

    RAISES: InputError (D715).
    """
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
    count = _count(image, name)
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


def _count(image: Image.Image, name: str) -> int:
    """Return the number of pages. For formats other than TIFF only the first frame is read and written."""
    try:
        return getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    except Exception:  # as in `_opened`
        raise InputError(Errors.D715.format(path=name, reason="the image cannot be read")) from None


def _plain(image: Image.Image) -> Image.Image:
    """Convert an image to greyscale or RGB."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (*WHITE, 255)), image).convert("RGB")
    if image.mode.startswith("I") or image.mode == "F":
        return _scaled(image)
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _scaled(image: Image.Image) -> Image.Image:
    """Convert an image with more than 8 bits per pixel to greyscale, scaled from its darkest to its lightest pixel."""
    values = np.nan_to_num(np.asarray(image).astype(np.float32), copy=False)
    values -= values.min()
    values *= 255 / (float(values.max()) or 1.0)
    return Image.fromarray(values.astype(np.uint8))


FORMAT = Format(read, write, extract)
