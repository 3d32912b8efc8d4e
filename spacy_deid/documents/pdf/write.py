"""Write a redacted PDF, and extract all text from a copy to verify it.

A copy has one image per page, painted over, with an invisible text layer of the released text. Nothing else is copied:
no metadata, forms, scripts, attachments, bookmarks, hidden layers or earlier revisions.
"""

import io
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pikepdf
from PIL import Image

from ...errors import Errors, InputError
from ...offsets import Edit
from ..document import Document, ExtractedText, ReadSettings, WriteSettings
from ..pages.barcodes import COARSE_DPI, check_no_codes
from ..pages.geometry import (
    Box,
    LineSegment,
    PageLayout,
    nearest_quarter,
    page_to_rotated,
    rotate_upright,
    rotated_to_page,
)
from ..pages.image_analysis import grey_if_colourless
from ..pages.ocr import needs_ocr_check, ocr_copy_pages
from ..pages.painting import EditedLine, LineEditor, PlacedPiece, paint_page
from .pdfium import open_flattened_page, open_pdf, render

GLYPH = 0.5  # width of every glyph, in font sizes
SHADES = 0.12  # share of grey pixels from which a page is a photograph
QUALITY = 80
CMAP = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def /CMapType 2 def
1 begincodespacerange <0000> <FFFF> endcodespacerange
1 beginbfrange <0000> <FFFF> <0000> endbfrange
endcmap CMapName currentdict /CMap defineresource pop end end"""

GLYPHS = b"\0\1" * 65536  # every character maps to glyph 1


def font_program() -> bytes:
    """Return the TrueType file of the font for text layers, whose glyphs are invisible."""
    return (files("spacy_deid") / "resources" / "documents" / "glyphless.ttf").read_bytes()


OWN = {CMAP, GLYPHS, font_program()}  # streams in every copy


class Word(NamedTuple):
    """A word of the text layer: its text, its box in the coordinates of its turn (rotation), and whether white space
    follows.
    """

    text: str
    box: Box
    space: bool


class PageImageWriter:
    """Builds a PDF page by page. Each page is an image with an invisible text layer."""

    def __init__(self) -> None:
        self._pdf = pikepdf.new()
        self._font = self._pdf.make_indirect(self._make_font())

    def add(self, image: Image.Image, parts: PageLayout, lines: Sequence[EditedLine]) -> None:
        """Add a page with its painted image, and its edited lines as the text layer.

        If most lines are rotated, they are written horizontally and the page is rotated, because PDF readers support
        rotated text poorly.
        """
        turn = Counter(nearest_quarter(line.segment.turn) for line in lines).most_common(1)[0][0] if lines else 0
        width, height = (parts.height, parts.width) if turn in (90, 270) else (parts.width, parts.height)
        picture = self._pdf.make_indirect(self._make_picture(rotate_upright(image, turn)))
        content = f"q {width:.3f} 0 0 {height:.3f} 0 0 cm /Im0 Do Q\n".encode()
        content += b"BT 3 Tr\n" + b"".join(_text_operators(line, parts, turn, height) for line in lines) + b"ET\n"
        page = pikepdf.Dictionary(
            Type=pikepdf.Name.Page,
            MediaBox=[0, 0, round(width, 3), round(height, 3)],
            Rotate=turn,
            Resources=pikepdf.Dictionary(
                XObject=pikepdf.Dictionary(Im0=picture), Font=pikepdf.Dictionary(F0=self._font)
            ),
            Contents=self._pdf.make_stream(content),
        )
        self._pdf.pages.append(pikepdf.Page(self._pdf.make_indirect(page)))

    def save(self) -> bytes:
        """Return the finished PDF file."""
        out = io.BytesIO()
        self._pdf.save(out, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.generate)
        return out.getvalue()

    def _make_picture(self, image: Image.Image) -> pikepdf.Stream:
        """Return the image as a PDF object: black text on white with 4 bits per pixel, everything else as JPEG."""
        # a page that is black on white with soft edges, and not a photograph
        if image.mode == "L" and sum(image.histogram()[48:224]) < SHADES * image.width * image.height:
            shades = (np.asarray(image).astype(np.uint16) + 8) // 17
            shades = np.pad(shades, ((0, 0), (0, shades.shape[1] % 2)))
            packed = (shades[:, ::2] << 4 | shades[:, 1::2]).astype(np.uint8).tobytes()
            data, bits, encoding = zlib.compress(packed, 6), 4, pikepdf.Name.FlateDecode
        else:
            out = io.BytesIO()
            image.save(out, "JPEG", quality=QUALITY)
            data, bits, encoding = out.getvalue(), 8, pikepdf.Name.DCTDecode
        return self._pdf.make_stream(
            data,
            Type=pikepdf.Name.XObject,
            Subtype=pikepdf.Name.Image,
            Width=image.width,
            Height=image.height,
            ColorSpace=pikepdf.Name.DeviceGray if image.mode == "L" else pikepdf.Name.DeviceRGB,
            BitsPerComponent=bits,
            Filter=encoding,
        )

    def _make_font(self) -> pikepdf.Dictionary:
        """Return the invisible font. Its codes are UTF-16, so that any character can be written."""
        program = font_program()
        name = pikepdf.Name.Glyphless
        descriptor = pikepdf.Object.parse(
            b"<</Type /FontDescriptor /FontName /Glyphless /Flags 5 /FontBBox [0 -200 500 800] /ItalicAngle 0 "
            b"/Ascent 800 /Descent -200 /CapHeight 800 /StemV 80>>"
        )
        descriptor.FontFile2 = self._pdf.make_stream(program, Length1=len(program))
        cid = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.CIDFontType2,
            BaseFont=name,
            CIDSystemInfo=pikepdf.Dictionary(Registry=b"Adobe", Ordering=b"Identity", Supplement=0),
            FontDescriptor=self._pdf.make_indirect(descriptor),
            DW=500,
            CIDToGIDMap=self._pdf.make_stream(GLYPHS),
        )
        return pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type0,
            BaseFont=name,
            Encoding=pikepdf.Name("/Identity-H"),
            DescendantFonts=[self._pdf.make_indirect(cid)],
            ToUnicode=self._pdf.make_stream(CMAP),
        )


def _text_operators(line: EditedLine, parts: PageLayout, turn: int, height: float) -> bytes:
    """Return the PDF operators that write a line invisibly on a page with the given rotation and height."""
    out = []
    segment = line.segment
    angle = math.radians(segment.turn - turn)
    a, b = round(math.cos(angle), 5), -round(math.sin(angle), 5)
    size = max(segment.bottom - segment.top, 1.0)
    words = [word for place in line.placed for word in _words_of(line.segment, place)]
    for i, word in enumerate(words):
        behind = words[i + 1].box.x0 - word.box.x1 if i + 1 < len(words) else 0.0
        space = word.space or behind > 0.1 * segment.em
        # the baseline is a fifth of the height above the lower edge
        base = Box(word.box.x0, segment.bottom - 0.2 * size, word.box.x0, segment.bottom - 0.2 * size)
        shown = rotated_to_page(base, segment.turn, parts.width, parts.height)
        x, y, _, _ = page_to_rotated(shown, turn, parts.width, parts.height)
        units = word.text.encode("utf-16-be", "replace")
        stretch = 100 * max(word.box.x1 - word.box.x0, 0.1) / (GLYPH * size * len(units) / 2)
        code = (units + (b"\0 " if space else b"")).hex()
        place = f"{a} {b} {-b} {a} {x:.2f} {height - y:.2f} Tm"
        out.append(f"/F0 {size:.2f} Tf {stretch:.1f} Tz {place} <{code}> Tj\n")
    return "".join(out).encode()


def _words_of(segment: LineSegment, place: PlacedPiece) -> Iterator[Word]:
    """Yield the words of a kept or replaced piece of a line, with their new positions."""
    piece = place.piece
    if piece.text is not None:  # the width is divided in proportion to the length of the words
        words = piece.text.split()
        step = (place.right - place.left) / max(len(" ".join(words)), 1)
        at = place.left
        for i, word in enumerate(words):
            right = at + step * len(word)
            yield Word(word, Box(at, segment.top, right, segment.bottom), i + 1 < len(words))
            at = right + step
        return
    origin = min(segment.left[piece.first : piece.last])
    width = max(segment.right[piece.first : piece.last]) - origin
    scale = (place.right - place.left) / width if width else 1.0
    first = piece.first
    for i in range(first + 1, piece.last + 1):
        parted = i < piece.last and segment.start[i] > segment.end[i - 1]  # white space in the text
        if i < piece.last and not parted:
            continue
        left = place.left + (min(segment.left[first:i]) - origin) * scale
        right = place.left + (max(segment.right[first:i]) - origin) * scale
        text = "".join(segment.texts[first:i])
        yield Word(text, Box(left, segment.top, right, segment.bottom), parted)
        first = i


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a PDF of redacted page images with the edited text as text layer.

    RAISES: DeidError (D719) if anything is left of removed text on a page.
    """
    data, pages = document.parts
    editor = LineEditor(document.text, edits)
    writer = PageImageWriter()
    with open_pdf(data, document.name, ReadSettings(max_pages=len(pages))) as pdf:
        for index, parts in enumerate(pages):
            image = _render(pdf, index, document.name, parts, settings.dpi, settings.read)
            painted, lines = paint_page(grey_if_colourless(image), parts, editor, index + 1, settings)
            writer.add(painted, parts, lines)
    return writer.save()


def render_page(
    data: bytes, name: str, number: int, layout: PageLayout, dpi: int, settings: ReadSettings
) -> Image.Image:
    """Render one page of a PDF as it is displayed, in RGB.

    name (str): file name, for error messages.
    number (int): page number, starting at 1.
    layout (PageLayout): its layout.
    dpi (int): resolution in dots per inch.
    RAISES: InputError if the file (D715) or the page (D718) cannot be read.
    """
    with open_pdf(data, name, settings) as pdf:
        if not 1 <= number <= len(pdf):
            raise InputError(Errors.D718.format(path=name, page=number, reason="there is no such page"))
        return _render(pdf, number - 1, name, layout, dpi, settings)


def _render(pdf: Any, index: int, name: str, layout: PageLayout, dpi: int, settings: ReadSettings) -> Image.Image:
    """Render the page with an index, starting at 0, of an open PDF."""
    with open_flattened_page(pdf, index, name) as page:
        return render(page, layout.width, layout.height, dpi, settings.max_pixels)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text layer, metadata, bookmarks, and every string and stream of a copy, then what OCR reads.

    RAISES: DeidError (D727) if a page shows a barcode or matrix code.
    """
    with open_pdf(data, "copy", settings.read) as pdf:
        texts = []
        for index in range(len(pdf)):
            page = pdf.get_page(index)
            textpage = page.get_textpage()
            texts.append(textpage.get_text_range())
            textpage.close()
            page.close()
        yield ExtractedText("text layer", "\n".join(texts))  # as one text, since words and names can span pages
        yield ExtractedText("metadata", "\n".join(map(str, pdf.get_metadata_dict().values())))
        yield ExtractedText("bookmarks", "\n".join(entry.get_title() or "" for entry in pdf.get_toc()))
        yield from _objects(data)
        if settings.read.codes == "remove":
            _check_codes(pdf, settings)
        yield from ocr_copy_pages(_render_pages(pdf, settings), settings)


def _check_codes(pdf: Any, settings: WriteSettings) -> None:
    """Search all pages of a copy for codes. RAISES: DeidError (D727) if one shows a barcode or matrix code."""
    for index in range(len(pdf)):
        page = pdf.get_page(index)
        width, height = page.get_size()
        shown = partial(render, page, width, height, max_pixels=settings.read.max_pixels)
        small = grey_if_colourless(shown(dpi=COARSE_DPI))
        scale = small.width / width
        words = []  # areas with text, in pixels
        textpage = page.get_textpage()
        for i in range(textpage.count_rects()):
            left, bottom, right, top = textpage.get_rect(i)
            upper, lower = (height - top) * scale - 1, (height - bottom) * scale + 1
            words.append(Box(left * scale - 1, upper, right * scale + 1, lower))
        textpage.close()
        check_no_codes(small, partial(shown, dpi=settings.dpi), index + 1, words)
        page.close()


def _render_pages(pdf: Any, settings: WriteSettings) -> Iterator[tuple[int, Image.Image]]:
    """Yield number and image of each page that the settings say must be checked by OCR."""
    for index in range(len(pdf)):
        if needs_ocr_check(index + 1, settings):
            page = pdf.get_page(index)
            width, height = page.get_size()
            image = render(page, width, height, settings.dpi, settings.read.max_pixels)
            yield index + 1, grey_if_colourless(image)
            page.close()


def _objects(data: bytes) -> Iterator[ExtractedText]:
    """Yield every string of a PDF, and every stream that is not an image, decompressed and in two encodings."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        contents = set()  # ids of the content streams of pages
        for page in pdf.pages:
            streams: Any = page.obj.get("/Contents", [])
            contents |= {one.objgen for one in ([streams] if isinstance(streams, pikepdf.Stream) else list(streams))}
        for number, item in enumerate(pdf.objects, 1):
            if isinstance(item, pikepdf.Stream) and item.get("/Type") in ("/XRef", "/ObjStm"):
                continue  # cross-reference and object streams, whose objects are listed separately
            place = f"object {number}"
            yield from _decoded_variants(place, list(_strings(item)))
            if not isinstance(item, pikepdf.Stream) or item.get("/Subtype") == "/Image":
                continue
            if item.objgen in contents:
                operands = [
                    part for instruction in pikepdf.parse_content_stream(item) for part in instruction.operands
                ]
                yield from _decoded_variants(place, [text for part in operands for text in _strings(part)])
            elif (raw := item.read_bytes()) not in OWN:
                yield from _decoded_variants(place, [pikepdf.String(raw)])


def _decoded_variants(place: str, strings: list[pikepdf.String]) -> Iterator[ExtractedText]:
    """Yield the strings joined twice: in their declared encoding, and decoded as UTF-16 without a byte-order mark."""
    if strings:
        yield ExtractedText(place, "".join(map(str, strings)))
        yield ExtractedText(place, b"".join(map(bytes, strings)).decode("utf-16-be", "replace"))


def _strings(item: Any, depth: int = 0) -> Iterator[pikepdf.String]:
    """Yield the strings in a PDF object and the objects nested in it, without following indirect references."""
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
