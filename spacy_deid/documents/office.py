"""TODO."""

import io
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from PIL import Image, ImageOps

from ..errors import DeidError, Errors, InputError
from ..offsets import Edit, apply_edits
from .document import Document, ExtractedText, ReadSettings, WriteSettings
from .image import FORMAT, picture_codes
from .markup import parse, texts_and_attributes
from .pages.barcodes import cover_codes
from .pages.tesseract import check_tesseract
from .placed_text import PlacedText, join_paragraphs

_READ = ("PNG", "JPEG", "TIFF")
_CONVERTED = ("GIF", "BMP")
BLANK = (16, 16)


class EmbeddedPicture(NamedTuple):
    """A place of the text in a picture.

    key (str): which picture of the file.
    """

    key: str


def add_picture(
    data: bytes, key: str, name: str, settings: ReadSettings, text: PlacedText, inner: dict[str, Document]
) -> str:
    """Read a picture as far as the settings say.

    data (bytes): the picture.
    key (str): its key in the file.
    name (str): name of the file, for errors.
    settings (ReadSettings): what becomes of pictures.
    text (PlacedText): gets the text of the picture.
    inner (dict[str, Document]): gets the picture as a document of its own, if it was read.
    RETURNS (str): a warning, "" if there is nothing to say.
    RAISES: InputError (D716, D717) if no picture can be read here.
    """
    if settings.pictures != "ocr":
        return "pictures are removed" if settings.pictures == "remove" else "pictures are kept and were not read"
    check_tesseract(settings.languages, name)
    try:
        document = FORMAT.read(_readable(data, settings), name, settings)
    except InputError:
        return "pictures that cannot be read are removed"
    inner[key] = document
    text.gap("\n\n")
    text.add(document.text, EmbeddedPicture(key))
    text.gap("\n\n")
    return ""


def write_picture(
    data: bytes, inner: Document | None, edits: Sequence[Edit], read: ReadSettings, settings: WriteSettings
) -> bytes:
    """Write a picture.

    data (bytes): the picture in the original.
    inner (Document | None): what was read in it, None if it was not.
    edits (Sequence[Edit]): edits of that.
    read (ReadSettings): how the file was read.
    settings (WriteSettings): how it is written.
    RETURNS (bytes): the picture painted over; a blank one if it was not read; its pixels if pictures are kept.
    """
    if inner is not None:
        return FORMAT.write(inner, edits, settings)
    return (_bare(data, read) if read.pictures == "keep" else b"") or blank_picture(data)


def blank_picture(data: bytes) -> bytes:
    """A white picture, as large as another one and in its format if that is known, else a PNG."""
    kind, size = "PNG", BLANK
    try:
        with _opened(data) as image:
            kind = image.format if image.format in _READ else "PNG"
            scale = max(1, max(image.size) // 1000)
            size = (max(1, image.width // scale), max(1, image.height // scale))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        pass
    out = io.BytesIO()
    Image.new("L", size, 255).save(out, kind)
    return out.getvalue()


def picture_write_settings(settings: WriteSettings, read: bool) -> WriteSettings:
    """How a picture of the copy is verified: by OCR if it was read by OCR."""
    return replace(settings, ocr_pages=(1,) if read else ())


def _bare(data: bytes, settings: ReadSettings) -> bytes:
    """The pixels of a picture in its format, without what is written beside them: where it was taken, by whom."""
    readable = _readable(data, settings)
    if not readable:
        return b""
    out = io.BytesIO()
    try:
        with _opened(readable) as image:
            if image.width * image.height > settings.max_pixels:
                return b""
            pixels = ImageOps.exif_transpose(image).copy()
            pixels.info = {key: value for key, value in pixels.info.items() if key == "transparency"}
            if settings.codes == "remove":
                pixels = _without_codes(pixels)
            pixels.save(out, image.format, quality=95)
    except (OSError, ValueError, TypeError, SyntaxError, Image.DecompressionBombError):
        return b""
    return out.getvalue()


def _without_codes(image: Image.Image) -> Image.Image:
    """A picture with its bar codes and matrix codes painted over; the same picture if it has none."""
    plain = image.convert("RGB")
    codes = picture_codes(plain)
    if not codes:
        return image
    cover_codes(plain, codes)
    return plain


def _readable(data: bytes, settings: ReadSettings) -> bytes:
    """A picture in a format that is read: some others become PNG."""
    try:
        with _opened(data) as image:
            if image.format in _READ:
                return data
            if image.width * image.height > settings.max_pixels:
                return b""
            out = io.BytesIO()
            image.convert("RGB").save(out, "PNG")
            return out.getvalue()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return b""


def _opened(data: bytes) -> Image.Image:
    """Open a picture of any known format."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Image.open(io.BytesIO(data), formats=_READ + _CONVERTED)


LEAST_ATTRIBUTE = 5  # letters of the shortest string that attributes are searched for
_LEAST_JOINED = 6
_LEAST_NUMBER = 8  # digits of the shortest number that is searched for in numbers: sizes of drawings have seven


class OfficeParts(NamedTuple):
    """What is needed to write a file: the original, how it was read, and its pictures as documents."""

    data: bytes
    settings: ReadSettings
    pictures: dict[str, Document]

    def __repr__(self) -> str:
        return f"OfficeParts({len(self.pictures)} pictures)"


def edit_in_place(
    document: Document, text: PlacedText, edits: Sequence[Edit], paragraphs: Container[str], properties: str = ""
) -> dict[str, list[Edit]]:
    """Make edits in the places that a text stands in.

    document (Document): what was read; its parts are `OfficeParts`.
    text (PlacedText): the text of the original, opened once more, without its pictures.
    edits (Sequence[Edit]): in order.
    paragraphs, properties: as in `join_paragraphs`.
    RETURNS (dict[str, list[Edit]]): the edits that pictures get, by picture.
    RAISES: DeidError (D715) if it reads otherwise than before.
    """
    parts: OfficeParts = document.parts
    for key, inner in parts.pictures.items():
        text.gap("\n\n")
        text.add(inner.text, EmbeddedPicture(key))
        text.gap("\n\n")
    if text.text != document.text:
        raise DeidError(Errors.D715.format(path=document.name, reason="reads otherwise than before"))
    painted: dict[str, list[Edit]] = {}
    for piece, local in text.edits_by_piece(edits):
        if isinstance(piece.place, EmbeddedPicture):
            painted[piece.place.key] = local
        else:
            piece.place.set(apply_edits(piece.place.get(), local))
    join_paragraphs(text, edits, paragraphs, properties)
    return painted


def search_xml(content: bytes, member: str, is_own: Callable[[str, str], bool]) -> Iterator[ExtractedText]:
    """Every text and attribute of a part, and all text in one piece.

    content (bytes): the part.
    member (str): its name.
    is_own (Callable[[str, str], bool]): takes the local name of an attribute and its value. Says whether the value is
        a word of the format, which is not searched.
    YIELDS (Found): texts. A value that stands in several attributes of one name comes once.
    RAISES: InputError (D715) if it is not XML that can be read.
    """
    root = parse(content, "copy")
    yield ExtractedText(member, "".join(root.itertext()), _LEAST_JOINED)
    seen = set()
    for attribute, value in texts_and_attributes(root):
        if not attribute:
            yield ExtractedText(member, value)
        elif (attribute, value) not in seen:
            seen.add((attribute, value))
            if not is_own(attribute, value):
                number = not any(char.isalpha() and char not in "ABCDEF" for char in value)
                yield ExtractedText(f"{member}, {attribute}", value, _LEAST_NUMBER if number else LEAST_ATTRIBUTE)
