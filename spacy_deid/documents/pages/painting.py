"""Redact page images: paint over removed text and write replacements in its place.

Removed text is blanked first, and it is checked that nothing of it is left. Only then is the rest of the line moved.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import reportlab
from PIL import Image, ImageDraw, ImageFont

from ...errors import DeidError, Errors
from ...offsets import Edit
from ..document import WriteSettings
from .barcodes import cover_codes
from .geometry import Box, LineSegment, PageLayout, Quad, nearest_quarter, rotate_back, rotate_upright, rotated_corners
from .image_analysis import Colour, background_colour, deskew, median_colour

_BREAKS = re.compile(r"\s*[\r\n]+\s*")  # line breaks of a name that is broken by a line end
SMALLEST = 0.6  # smallest scale of a replacement
GAP = 0.28  # white space between words, in font sizes


class LinePiece(NamedTuple):
    """Consecutive glyphs of a line segment that are kept, or replaced together.

    first, last (int): indices of the glyphs, end exclusive.
    text (str | None): the replacement; None if the glyphs are kept.
    gap (bool): whether white space that is kept precedes the piece.
    """

    first: int
    last: int
    text: str | None
    gap: bool


class PlacedPiece(NamedTuple):
    """A piece of a line, and the x coordinates of its edges after the edits, where the line is horizontal."""

    piece: LinePiece
    left: float
    right: float

    @property
    def is_kept(self) -> bool:
        """Whether the glyphs of the piece are kept rather than replaced."""
        return self.piece.text is None


class LineEditor:
    """Divides line segments into kept and replaced pieces according to edits. Segments must be passed in text order.

    A replacement is written once, at the first glyph that it replaces, even if other replaced glyphs are on another
    line or page.

    text (str): text of the document.
    edits (Sequence[Edit]): edits in the order of the text.
    """

    def __init__(self, text: str, edits: Sequence[Edit]) -> None:
        self.text = text
        self.edits = edits
        self._ends = [edit.end for edit in edits]
        self._written: set[int] = set()

    def pieces(self, segment: LineSegment) -> list[LinePiece]:
        """Split a line segment into kept and replaced pieces, from left to right. Each kept word is one piece."""
        pieces: list[LinePiece] = []
        first = 0
        count = len(segment.texts)
        touched = [self._touches(segment.start[i], segment.end[i]) for i in range(count)]
        for i in range(1, count + 1):
            parted = i < count and not touched[i] and segment.start[i] > segment.end[i - 1]
            if i < count and touched[i] == touched[first] and not parted:
                continue
            text = self._replacement_text(segment.start[first], segment.end[i - 1]) if touched[first] else None
            before, start = segment.end[first - 1] if first else 0, segment.start[first]
            gap = first > 0 and before < start and not self._touches(before, start)  # white space that is kept
            pieces.append(LinePiece(first, i, text, gap))
            first = i
        return pieces

    def labels(self, segment: LineSegment) -> list[str]:
        """Return the labels of the edits that change a line segment."""
        found = range(self._first(segment.start[0] - 1), len(self.edits))
        return [self.edits[i].label for i in found if self.edits[i].start < segment.end[-1]]

    def _first(self, offset: int) -> int:
        """Return the index of the first edit that ends after an offset of the text."""
        return bisect_right(self._ends, offset)

    def _touches(self, start: int, end: int) -> bool:
        """Whether an edit covers a character between two offsets.

        For an empty range, as of a hyphen added at the end of a line, the characters before and after it count.
        """
        if start == end:
            start, end = start - 1, end + 1
        i = self._first(start)
        if i < len(self.edits) and self.edits[i].start < end:
            return True
        # an insertion is written with the glyph after it
        return i > 0 and self.edits[i - 1].start == self.edits[i - 1].end == start

    def _replacement_text(self, start: int, end: int) -> str:
        """Return the text that replaces a span, with only those replacements that were not written before."""
        out, at = [], start
        for i in range(self._first(start - 1), len(self.edits)):
            edit = self.edits[i]
            if edit.start >= end and not edit.start == start == end:
                break
            if edit.end <= start and edit.start != start:
                continue
            out.append(self.text[at : max(at, edit.start)])
            if i not in self._written:
                self._written.add(i)
                out.append(_BREAKS.sub(" ", edit.replacement))  # it is written on one line
            at = max(at, edit.end)
        return "".join([*out, self.text[at:end]])


def place_pieces(
    segment: LineSegment, pieces: Sequence[LinePiece], measure: Callable[[str, float], float]
) -> list[PlacedPiece]:
    """Compute the positions of the pieces of a line segment, one after the other.

    If there is not enough room, replacements are made smaller, and if necessary all pieces are condensed. Text after a
    replacement moves, and all gaps get the same width, since the gaps of a justified line depend on its original
    words. Therefore the width of removed text cannot be measured.

    segment (LineSegment): the line segment.
    pieces (Sequence[LinePiece]): its pieces from left to right.
    measure (Callable): (text, font size) → width of the text, in page units.
    RETURNS (list[PlacedPiece]): the pieces with their positions.
    """
    origin = min(segment.left)
    room = max(segment.room - origin, 1e-3)
    places, at = _lay_in_row(segment, pieces, measure, 1.0)
    written = sum(measure(piece.text, segment.em) for piece in pieces if piece.text)
    if at - origin > room and written:
        places, at = _lay_in_row(segment, pieces, measure, max(SMALLEST, 1 - (at - origin - room) / written))
    squeeze = min(1.0, room / (at - origin)) if at > origin else 1.0
    return [
        PlacedPiece(piece, origin + (left - origin) * squeeze, origin + (right - origin) * squeeze)
        for piece, (left, right) in zip(pieces, places, strict=True)
    ]


def _lay_in_row(
    segment: LineSegment, pieces: Sequence[LinePiece], measure: Callable[[str, float], float], smaller: float
) -> tuple[list[tuple[float, float]], float]:
    """Return left and right edge of each piece if they are laid side by side, and the right edge of the last one. The
    widths of replacements are multiplied by `smaller`.
    """
    at = origin = min(segment.left)
    places: list[tuple[float, float]] = []
    for i, piece in enumerate(pieces):
        if piece.gap and i and at > origin:
            at += GAP * segment.em
        if piece.text is None:
            width = max(segment.right[piece.first : piece.last]) - min(segment.left[piece.first : piece.last])
        else:
            width = smaller * measure(piece.text, segment.em)
        places.append((at, at + width))
        at += width
    return places, at


# Bitstream Vera, shipped with reportlab under a free licence; covers western European languages
FONT = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
SIZE = 0.86  # Vera is larger than most fonts
EDGE = 1.5  # margin in pixels around rotated text
PAD = 0.15  # padding of a box, in font sizes


class EditedLine(NamedTuple):
    """A line segment and its pieces at their positions after the edits, from which a text layer can be written."""

    segment: LineSegment
    placed: list[PlacedPiece]


def paint_page(
    image: Image.Image, parts: PageLayout, editor: LineEditor, number: int, settings: WriteSettings
) -> tuple[Image.Image, list[EditedLine]]:
    """Return a page image with removed text, codes and other areas to remove painted over, and replacements written.

    image (Image): the page as it was read, in greyscale or RGB. The result is deskewed.
    parts (PageLayout): layout of the page.
    editor (LineEditor): the edits; pages must be processed in order.
    number (int): page number, starting at 1, for error messages.
    settings (WriteSettings): appearance of replacements.
    RETURNS (tuple[Image, list[EditedLine]]): the painted page and its lines.
    RAISES: DeidError (D719) if anything is left of removed text.
    """
    scale = image.width / parts.width
    cover_codes(image, parts.codes, scale)
    image = deskew(image, parts.skew)
    lines = []
    for segment in parts.segments:
        pieces = editor.pieces(segment)
        lines.append(EditedLine(segment, place_pieces(segment, pieces, measure)))
    blanks = [*parts.blanks, *(parts.unread if settings.unread == "remove" else ())]
    _blank(image, [(box, background_colour(_crop(image, _pixels(box, scale)))) for box in blanks], scale)
    if parts.ocr and settings.unread == "remove":
        bare = Image.new(image.mode, image.size, background_colour(image))
        bands = [_quad(_segment_box(segment), segment.turn, parts, scale) for segment in parts.segments]
        bare.paste(image, mask=_mask(image.size, bands))
        image = bare
    for turn in sorted({line.segment.turn for line in lines if _is_changed(line)}):
        changed = [line for line in lines if line.segment.turn == turn and _is_changed(line)]
        page = image.size
        if turn != nearest_quarter(turn):
            _blank_rotated_lines(image, changed, parts, scale)
        turned = rotate_upright(image, turn)
        _paint_lines(turned, changed, scale, number, editor, settings)
        back = rotate_back(turned, turn, page)
        if turn == nearest_quarter(turn):
            image = back
        else:
            extents = []  # of the lines before and after the edits
            for line in changed:
                band = _segment_box(line.segment)
                band = band._replace(x1=max(band.x1, *(place.right for place in line.placed)))
                extents.append(_quad(band, turn, parts, scale))
            image.paste(back, mask=_mask(page, extents))
    return image, lines


def _blank_rotated_lines(image: Image.Image, lines: list[EditedLine], parts: PageLayout, scale: float) -> None:
    """Blank removed text in rotated lines before the page is rotated, since resampling would blur it."""
    draw = ImageDraw.Draw(image)
    for line in lines:
        band = _quad(_segment_box(line.segment), line.segment.turn, parts, scale)
        colour = median_colour(np.asarray(image)[np.asarray(_mask(image.size, [band]))])
        for box in _removed_boxes(line):
            draw.polygon(_quad(box, line.segment.turn, parts, scale), fill=colour)


def _quad(box: Box, turn: float, parts: PageLayout, scale: float) -> Quad:
    """Return the corners, in pixels of the page, of a rectangle in the coordinates of rotated text, plus a margin."""
    edge = EDGE / scale
    wider = Box(box.x0 - edge, box.y0 - edge, box.x1 + edge, box.y1 + edge)
    return tuple((x * scale, y * scale) for x, y in rotated_corners(wider, turn, parts.width, parts.height))


def _mask(size: tuple[int, int], quads: Sequence[Quad]) -> Image.Image:
    """Return a mask of the given size in which the quadrilaterals are set."""
    mask = Image.new("1", size)
    draw = ImageDraw.Draw(mask)
    for quad in quads:
        draw.polygon(quad, fill=1)
    return mask


def measure(text: str, em: float) -> float:
    """Return the width of a replacement in a line with font size `em`, in the same unit."""
    return (_font(100).getlength(text) / 100 * SIZE + 2 * PAD) * em if text else 0.0


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT), size)


def _is_changed(line: EditedLine) -> bool:
    """Whether any piece of a line is replaced."""
    return not all(place.is_kept for place in line.placed)


def _pixels(box: Box, scale: float) -> Box:
    """Return the pixels that a rectangle touches, plus one on each side for blurred edges."""
    left, top = math.floor(box.x0 * scale) - 1, math.floor(box.y0 * scale) - 1
    return Box(max(left, 0), max(top, 0), math.ceil(box.x1 * scale) + 1, math.ceil(box.y1 * scale) + 1)


def _crop(image: Image.Image, pixels: Box) -> Image.Image:
    """Return the part of an image within a box in pixels, which may extend beyond the image."""
    left, top, right, bottom = map(int, pixels)
    return image.crop((left, top, min(right, image.width), min(bottom, image.height)))


def _blank(image: Image.Image, boxes: Sequence[tuple[Box, Colour]], scale: float) -> None:
    """Fill rectangles, given in page units with their colours, in place."""
    draw = ImageDraw.Draw(image)
    for box, colour in boxes:
        left, top, right, bottom = _pixels(box, scale)
        draw.rectangle((left, top, right - 1, bottom - 1), fill=colour)


def _paint_lines(
    image: Image.Image, lines: list[EditedLine], scale: float, number: int, editor: LineEditor, settings: WriteSettings
) -> None:
    """Blank removed text on all lines, check the result, and only then move the text that is kept."""
    colours = [background_colour(_crop(image, _pixels(_segment_box(line.segment), scale))) for line in lines]
    removed = [_removed_boxes(line) for line in lines]
    for boxes, colour in zip(removed, colours, strict=True):
        _blank(image, [(box, colour) for box in boxes], scale)
    for line, boxes in zip(lines, removed, strict=True):
        for box in boxes:
            # only background colours may be left, as in filled rectangles
            seen = _crop(image, _pixels(box, scale)).getcolors(len(set(colours)) + 1)
            if seen is None or not {colour for _, colour in seen} <= set(colours):
                label = next(iter(editor.labels(line.segment)), "")
                raise DeidError(Errors.D719.format(page=number, label=label))
    kept = [
        [_crop(image, _pixels(_piece_box(line.segment, place.piece), scale)) for place in line.placed if place.is_kept]
        for line in lines
    ]
    for line, colour in zip(lines, colours, strict=True):
        _blank(image, [(_segment_box(line.segment), colour)], scale)
    for line, pictures, colour in zip(lines, kept, colours, strict=True):
        _draw_line(image, line, pictures, colour, scale, settings)


def _segment_box(segment: LineSegment) -> Box:
    """Return the area that a whole line segment covers, in coordinates in which it is horizontal."""
    return Box(min(segment.left), segment.top, max(segment.right), segment.bottom)


def _removed_boxes(line: EditedLine) -> list[Box]:
    """Return the areas of the removed glyphs of a line, over its full height."""
    return [_piece_box(line.segment, place.piece) for place in line.placed if not place.is_kept]


def _piece_box(segment: LineSegment, piece: LinePiece) -> Box:
    """Return the area that a piece covers before the edits."""
    left, right = segment.left[piece.first : piece.last], segment.right[piece.first : piece.last]
    return Box(min(left), segment.top, max(right), segment.bottom)


def _draw_line(
    image: Image.Image,
    line: EditedLine,
    pictures: list[Image.Image],
    colour: Colour,
    scale: float,
    settings: WriteSettings,
) -> None:
    """Draw a blanked line: the pictures of kept pieces at their new positions, then the replacements."""
    left_over = iter(pictures)
    for place in line.placed:
        if place.is_kept:
            picture = next(left_over)
            was = _piece_box(line.segment, place.piece)
            width = picture.width if was.x1 - was.x0 <= place.right - place.left + 1e-3 else None
            width = width or max(1, round(picture.width * (place.right - place.left) / (was.x1 - was.x0)))
            left, top = math.floor(place.left * scale) - 1, int(_pixels(was, scale).y0)
            image.paste(picture.resize((width, picture.height)) if width != picture.width else picture, (left, top))
    for place in line.placed:
        if place.piece.text:
            band = Box(place.left, line.segment.top, place.right, line.segment.bottom)
            _draw_replacement(image, place.piece.text, band, line.segment.em, colour, scale, settings)


def _draw_replacement(
    image: Image.Image, text: str, band: Box, em: float, colour: Colour, scale: float, settings: WriteSettings
) -> None:
    """Draw a replacement in the area `band`, smaller or condensed if it is too wide, with the mark of the settings."""
    left, top, right, bottom = (int(value) for value in _pixels(band, scale))
    width, height = max(right - left, 1), max(bottom - top, 1)
    black: Colour = 0 if image.mode == "L" else (0,) * len(image.getbands())
    white: Colour = 255 if image.mode == "L" else (255,) * len(image.getbands())
    level = colour if isinstance(colour, int) else sum(colour) / len(colour)
    ink, paper = (white, black) if settings.mark == "black" else (black if level > 127 else white, colour)
    room = max(width - round(PAD * em * scale), 1)
    size = min(em * SIZE * scale, height * 1.05)
    font = _font(max(6, round(size)))
    natural = math.ceil(font.getlength(text)) + 2
    if natural > room:
        font = _font(max(6, int(size * max(SMALLEST, room / natural))))
        natural = math.ceil(font.getlength(text)) + 2
    label = Image.new(image.mode, (natural, height), paper)
    ImageDraw.Draw(label).text((1, height / 2), text, font=font, fill=ink, anchor="lm")
    label = label.resize((min(natural, room), height))
    draw = ImageDraw.Draw(image)
    outline = ink if settings.mark == "box" else None
    draw.rectangle((left, top, right - 1, bottom - 1), fill=paper, outline=outline)
    inner = label.crop((0, 1, label.width, label.height - 1)) if outline is not None and height > 4 else label
    image.paste(inner, (left + (width - label.width) // 2, top + (label.height - inner.height) // 2))
