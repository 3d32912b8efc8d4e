"""Functions for both DOCX and ODT: create a document, apply edits in place, and read and redact embedded pictures."""

import io
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from PIL import Image, ImageOps

from ..errors import DeidError, Errors, InputError
from ..offsets import Edit, apply_edits
from .document import Document, ExtractedText, PlacedText, ReadSettings, WriteSettings
from .image import FORMAT, picture_codes
from .markup import join_paragraphs
from .pages.barcodes import cover_codes
from .pages.ocr import check_tesseract

_READ = ("PNG", "JPEG", "TIFF")
_CONVERTED = ("GIF", "BMP")
BLANK = (16, 16)


class EmbeddedPicture(NamedTuple):
    """The place of a piece of text that was read from an embedded picture. The key identifies the picture."""

    key: str


def make_document(
    file: tuple[bytes, str, str],
    settings: ReadSettings,
    text: PlacedText,
    pictures: Mapping[str, bytes],
    notes: list[str],
) -> Document:
    """Create the `Document` of an office file. Embedded pictures are read by OCR if the settings demand it.

    file (tuple[bytes, str, str]): the file, its name and its format.
    settings (ReadSettings): `pictures` decides whether pictures are read.
    text (PlacedText): the text; that of the pictures is appended to it.
    pictures (Mapping[str, bytes]): embedded pictures by the keys that identify them in the file.
    notes (list[str]): warnings.
    RETURNS (Document): the document; its `parts` are `OfficeParts`.
    RAISES: InputError if Tesseract (D716) or a language (D717) is not installed.
    """
    data, name, kind = file
    read: dict[str, Document] = {}
    for key, picture in pictures.items():
        if settings.pictures != "ocr":
            removed = settings.pictures == "remove"
            notes.append("pictures are removed" if removed else "pictures are kept and were not read")
            continue
        check_tesseract(settings.languages, name)
        try:
            read[key] = FORMAT.read(_readable(picture, settings), name, settings)
        except InputError:
            notes.append("pictures that cannot be read are removed")
    _add_picture_texts(read, text)
    return Document(name, kind, text.text, (), tuple(dict.fromkeys(notes)), OfficeParts(data, settings, read))


def _add_picture_texts(pictures: Mapping[str, Document], text: PlacedText) -> None:
    """Append the texts of embedded pictures to a text, each as a paragraph whose place is the picture."""
    for key, document in pictures.items():
        text.gap("\n\n")
        text.add(document.text, EmbeddedPicture(key))
        text.gap("\n\n")


def write_picture(
    data: bytes, inner: Document | None, edits: Sequence[Edit], read: ReadSettings, settings: WriteSettings
) -> bytes:
    """Write the redacted version of an embedded picture.

    data (bytes): the original picture.
    inner (Document | None): the picture as a document; None if it was not read.
    edits (Sequence[Edit]): edits of that document.
    read (ReadSettings): how the file was read.
    settings (WriteSettings): how the copy is written.
    RETURNS (bytes): the redacted picture. If it was not read, its bare pixels if pictures are kept, else a white
        picture with its proportions and format, or a small PNG if it cannot be opened.
    """
    if inner is not None:
        return FORMAT.write(inner, edits, settings)
    if read.pictures == "keep" and (bare := _bare_pixels(data, read)):
        return bare
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


def extract_picture(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the metadata and text of an embedded picture of a copy, for verification. OCR is only run if the pictures
    of the original were read.
    """
    is_read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
    yield from FORMAT.extract(data, replace(settings, ocr_pages=(1,) if is_read else ()))


def _bare_pixels(data: bytes, settings: ReadSettings) -> bytes:
    """Return a picture without metadata and, if the settings demand it, with codes covered; b"" if unreadable."""
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
            if settings.codes == "remove" and (codes := picture_codes(plain := pixels.convert("RGB"))):
                cover_codes(plain, codes)
                pixels = plain
            pixels.save(out, image.format, quality=95)
    except (OSError, ValueError, TypeError, SyntaxError, Image.DecompressionBombError):
        return b""
    return out.getvalue()


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
    """Open a PNG, JPEG, TIFF, GIF or BMP without the warnings of Pillow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Image.open(io.BytesIO(data), formats=_READ + _CONVERTED)


class OfficeParts(NamedTuple):
    """What is needed to write a DOCX or ODT: the original file, its read settings, and its pictures as documents."""

    data: bytes
    settings: ReadSettings
    pictures: dict[str, Document]

    def __repr__(self) -> str:
        return f"OfficeParts({len(self.pictures)} pictures)"


def edit_in_place(
    document: Document, text: PlacedText, edits: Sequence[Edit], paragraphs: Container[str], properties: str = ""
) -> dict[str, list[Edit]]:
    """Apply edits to the XML elements that contain the text. Edits in pictures are only returned.

    document (Document): the document; its `parts` are `OfficeParts`.
    text (PlacedText): the text of the original, read again, without the text of pictures.
    edits (Sequence[Edit]): edits in the order of the text.
    paragraphs, properties: as in `join_paragraphs`.
    RETURNS (dict[str, list[Edit]]): edits in the texts of pictures, by the key of the picture.
    RAISES: DeidError (D715) if the text differs from that of the document.
    """
    parts: OfficeParts = document.parts
    _add_picture_texts(parts.pictures, text)
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
