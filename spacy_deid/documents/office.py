"""Shared by DOCX and ODT: edits in place, embedded pictures, and extraction of text from XML for verification."""

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
from .markup import join_paragraphs, parse, texts_and_attributes
from .pages.barcodes import cover_codes
from .pages.tesseract import check_tesseract
from .placed_text import PlacedText

_READ = ("PNG", "JPEG", "TIFF")
_CONVERTED = ("GIF", "BMP")
BLANK = (16, 16)


class EmbeddedPicture(NamedTuple):
    """The place of a text that was read from an embedded picture.

    key (str): identifies the picture in the file.
    """

    key: str


def add_picture(
    data: bytes, key: str, name: str, settings: ReadSettings, text: PlacedText, inner: dict[str, Document]
) -> str:
    """Read an embedded picture according to the settings.

    data (bytes): the picture.
    key (str): identifies the picture in the file.
    name (str): file name, for error messages.
    settings (ReadSettings): `pictures` decides whether it is read.
    text (PlacedText): the text of the picture is appended to it.
    inner (dict[str, Document]): the picture is added to it as a document under `key`, if it was read.
    RETURNS (str): a warning, or "".
    RAISES: InputError if Tesseract (D716) or a language (D717) is not installed.
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
    """Write an embedded picture.

    data (bytes): the original picture.
    inner (Document | None): the picture as a document; None if it was not read.
    edits (Sequence[Edit]): edits of that document.
    read (ReadSettings): how the file was read.
    settings (WriteSettings): how the copy is written.
    RETURNS (bytes): the redacted picture; if it was not read, its bare pixels if pictures are kept, else a blank
        picture.
    """
    if inner is not None:
        return FORMAT.write(inner, edits, settings)
    return (_bare_pixels(data, read) if read.pictures == "keep" else b"") or blank_picture(data)


def blank_picture(data: bytes) -> bytes:
    """Return a white picture with the proportions and format of another; a small PNG if that one cannot be opened."""
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
    """Return the settings to verify a picture in a copy: by OCR if the original was read by OCR."""
    return replace(settings, ocr_pages=(1,) if read else ())


def _bare_pixels(data: bytes, settings: ReadSettings) -> bytes:
    """Return the pixels of a picture in its format without metadata such as location and author; b"" if unreadable."""
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
    """Return a picture with its barcodes and matrix codes blanked; the same picture if it has none."""
    plain = image.convert("RGB")
    codes = picture_codes(plain)
    if not codes:
        return image
    cover_codes(plain, codes)
    return plain


def _readable(data: bytes, settings: ReadSettings) -> bytes:
    """Return a picture in a supported format: GIF and BMP are converted to PNG. Returns b"" if unreadable."""
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


LEAST_ATTRIBUTE = 5  # minimum length of strings searched for in attributes
_LEAST_JOINED = 6
_LEAST_NUMBER = 8  # minimum length of digits searched for in numbers: sizes of drawings have seven


class OfficeParts(NamedTuple):
    """What is needed to write a document: the original file, its read settings, and its pictures as documents."""

    data: bytes
    settings: ReadSettings
    pictures: dict[str, Document]

    def __repr__(self) -> str:
        return f"OfficeParts({len(self.pictures)} pictures)"


def edit_in_place(
    document: Document, text: PlacedText, edits: Sequence[Edit], paragraphs: Container[str], properties: str = ""
) -> dict[str, list[Edit]]:
    """Apply edits to the elements that contain the text.

    document (Document): the document; its `parts` are `OfficeParts`.
    text (PlacedText): the text of the original, read again, without the text of pictures.
    edits (Sequence[Edit]): edits in the order of the text.
    paragraphs, properties: as in `join_paragraphs`.
    RETURNS (dict[str, list[Edit]]): the edits for each picture, by its key.
    RAISES: DeidError (D715) if the text differs from that of the document.
    """
    parts: OfficeParts = document.parts
    for key, inner in parts.pictures.items():
        text.gap("\n\n")
        text.add(inner.text, EmbeddedPicture(key))
        text.gap("\n\n")
    if text.text != document.text:
        raise DeidError(Errors.D715.format(path=document.name, reason="its text changed since it was read"))
    painted: dict[str, list[Edit]] = {}
    for piece, local in text.edits_by_piece(edits):
        if isinstance(piece.place, EmbeddedPicture):
            painted[piece.place.key] = local
        else:
            piece.place.set(apply_edits(piece.place.get(), local))
    join_paragraphs(text, edits, paragraphs, properties)
    return painted


def search_xml(content: bytes, member: str, is_own: Callable[[str, str], bool]) -> Iterator[ExtractedText]:
    """Yield every text and attribute of an XML part, and all of its text as one string.

    content (bytes): the XML part.
    member (str): name of the part.
    is_own (Callable[[str, str], bool]): (local name of an attribute, value) → whether the value belongs to the
        vocabulary of the format. Such values are not searched.
    YIELDS (ExtractedText): texts. Equal values of attributes with the same name are yielded once.
    RAISES: InputError (D715) if the XML cannot be parsed.
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
