"""Read the visible glyphs (drawn characters) of a PDF page with their positions.

The page is rendered with and without its text; the difference shows which text is visible.
"""

import ctypes
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pypdfium2.raw as raw

from ..pages.geometry import Box, Glyph, Quad, is_inside_any, page_to_rotated, rotated_to_page
from .pdfium import PageView, has_unreliable_shape, hide_objects, page_objects, render

DPI = 100  # rendering resolution
SEEN = 3  # visible difference of a colour channel
STRONG = 40  # difference within a letter, excluding its soft edge
LOOSE = 60  # pixels of strong ink outside all boxes: two letters, or two signs like "©"
EDGE = 2  # pixels by which ink may exceed a character box


class Ink:
    """Measures the visibility of text by comparing renderings of a page with and without its text.

    page (PdfPage): the page, flattened.
    size (tuple[float, float]): its width and height in points.
    max_pixels (int): limit for the size of the renderings.
    """

    def __init__(self, page: Any, size: tuple[float, float], max_pixels: int) -> None:
        image = render(page, *size, DPI, max_pixels)
        self._scale = image.width / size[0]
        self._shown = np.asarray(image)
        with hide_objects([placed.item for placed in page_objects(page) if placed.kind == raw.FPDF_PAGEOBJ_TEXT]):
            bare = np.asarray(render(page, *size, DPI, max_pixels))
        # the maximum over the channels: colours of equal luminance differ only in a channel
        apart = np.maximum(self._shown, bare) - np.minimum(self._shown, bare)
        self._text = np.maximum(np.maximum(apart[..., 0], apart[..., 1]), apart[..., 2])

    def _part(self, values: np.ndarray, box: Box, edge: int) -> np.ndarray:
        """Return the values of the pixels in a box and in a margin of `edge` pixels around it."""
        scale = self._scale
        x0, y0 = max(int(box.x0 * scale) - edge, 0), max(int(box.y0 * scale) - edge, 0)
        x1, y1 = max(int(box.x1 * scale) + 1 + edge, 0), max(int(box.y1 * scale) + 1 + edge, 0)
        return values[y0:y1, x0:x1]

    def of(self, box: Box) -> int:
        """Return how visible the text in a box is: the largest change of a colour channel that it causes, 0 to 255.

        It is 0 where the text is white, covered, clipped or in a hidden layer.
        """
        part = self._part(self._text, box, 1)
        return int(part.max()) if part.size else 0

    def contrast(self, box: Box) -> int:
        """Return the largest difference within a colour channel between the pixels of a box, 0 to 255."""
        part = self._part(self._shown, box, 1).reshape(-1, 3)
        return int((part.max(axis=0) - part.min(axis=0)).max()) if part.size else 0

    def is_covered_by(self, boxes: Iterable[Box]) -> bool:
        """Whether all visible text is inside these boxes. If not, painting over the boxes would leave parts of it."""
        left = self._text >= STRONG
        for box in boxes:
            self._part(left, box, EDGE)[:] = False
        return int(left.sum()) <= LOOSE


def drop_actual_text(page: Any) -> None:
    """Remove replacement text for screen readers (ActualText; ISO 32000-1, 14.9.4) before the text of a page is
    requested.

    pdfium returns it instead of the displayed characters, with wrong positions, and it can differ from them.
    """
    for item, kind, _ in page_objects(page):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            for i in range(raw.FPDFPageObj_CountMarks(item)):
                raw.FPDFPageObjMark_RemoveParam(item, raw.FPDFPageObj_GetMark(item, i), b"ActualText")


SLANT = 6  # degrees from which text is oblique
# text rendering modes: neither fill nor stroke, and the first mode that adds text to the clipping path
# (ISO 32000-1, table 106)
INVISIBLE, CLIPPING = 3, 4
BEYOND = 0.3  # font sizes by which a character box overlaps the next one too far
MANY = 3  # characters of a page that may do so, as with swashes
BENT, SHARP = 0.5, 60.0  # degrees between neighbouring characters of a curved line
CLOSE = 3.0  # largest distance between them, in font sizes
NOTHING = 0.1  # largest size of an invisible mark, in font sizes
# ascent, descent and largest extent of oblique letters, in font sizes
ABOVE, BELOW, LARGEST_OBLIQUE = 0.95, 0.25, 1.7
UNKNOWN = "\ufffd"
LARGEST_FONT = 14_400  # largest font size in points, the size of the largest page


@dataclass(slots=True)
class PageGlyphs:
    """The visible glyphs of a page, and signs that its text layer cannot be trusted.

    turns (dict[float, list[Glyph]]): glyphs by turn, the rotation of text in degrees clockwise. Their boxes are in the
        coordinates of the turn (see `pages.geometry`).
    rotated_glyphs (list[Glyph]): glyphs of curved lines and distorted oblique glyphs, in page coordinates.
    hidden (list[Box]): areas of characters that are not visible.
    unmapped (int): number of characters without a Unicode value.
    invisible (int): number of characters that are not drawn, as in the text layer of a scan.
    loose (bool): whether text is displayed outside the character boxes, or the boxes are far too large, as with fonts
        that declare wrong sizes. Such a page is read by OCR.
    unplaced (bool): whether a character has an impossible size or position, so that its location is unknown. Such a
        page is `loose` as well.
    doubtful (set[int]): `id` of glyphs whose shape may differ from their character.
    """

    turns: dict[float, list[Glyph]]
    rotated_glyphs: list[Glyph] = field(default_factory=list)
    hidden: list[Box] = field(default_factory=list)
    unmapped: int = 0
    invisible: int = 0
    loose: bool = False
    unplaced: bool = False
    doubtful: set[int] = field(default_factory=set)

    def forget(self, glyphs: set[int]) -> None:
        """Remove glyphs, given as a set of their `id`, from the page."""
        if glyphs:
            self.turns = {
                turn: [glyph for glyph in some if id(glyph) not in glyphs] for turn, some in self.turns.items()
            }
            self.rotated_glyphs = [glyph for glyph in self.rotated_glyphs if id(glyph) not in glyphs]

    @property
    def count(self) -> int:
        """Number of visible characters on the page."""
        return sum(map(len, self.turns.values())) + len(self.rotated_glyphs)

    def without(self, codes: list[Quad], size: tuple[float, float]) -> "PageGlyphs":
        """Return the glyphs without those that draw a code, as barcode fonts do.

        codes (list[Quad]): the codes, in page coordinates.
        size (tuple[float, float]): width and height of the page.
        """
        if not codes:
            return self
        turns = {
            turn: [glyph for glyph in glyphs if not is_inside_any(rotated_to_page(glyph.box, turn, *size), codes)]
            for turn, glyphs in self.turns.items()
        }
        rotated_glyphs = [glyph for glyph in self.rotated_glyphs if not is_inside_any(glyph.box, codes)]
        return replace(
            self, turns={turn: glyphs for turn, glyphs in turns.items() if glyphs}, rotated_glyphs=rotated_glyphs
        )


def read_glyphs(page: Any, view: PageView, max_pixels: int) -> PageGlyphs:
    """Read the visible characters of a flattened page, and the areas with hidden characters.

    Text in the file may be invisible: white, behind a picture, in a hidden layer, or outside of the page. Such text is
    not read.
    """
    found = PageGlyphs({})
    ink = Ink(page, view.size, max_pixels)
    drop_actual_text(page)
    textpage = page.get_textpage()
    boxes: list[Box] = []
    last: _Char | None = None
    overlaps = 0
    space = False
    chars = list(_merge_ligatures(_chars(textpage)))
    bent = _curved_line_chars(chars)
    for i, char in enumerate(chars):
        if char.text.isspace() or char.generated:
            space = True
            continue
        if char.is_invisible_mark:
            continue
        if not char.is_placed:
            found.unplaced = True
            continue
        box = view.box(*char.box)
        boxes.append(box)
        overlaps += last is not None and last.overlaps_next(char)
        last = char
        if char.mode == INVISIBLE:
            found.invisible += 1
        elif box.x1 > 0 and box.y1 > 0 and box.x0 < view.size[0] and box.y0 < view.size[1]:
            seen = ink.contrast(box) if char.mode >= CLIPPING else ink.of(box)
            if 0 < seen < SEEN:
                found.hidden.append(box)  # nearly invisible, to be blanked
            if seen >= SEEN:
                found.unmapped += char.unmapped
                turn = None if i in bent else char.turn(view)
                glyph = _glyph(char, box, view, turn or 0, space)
                (found.rotated_glyphs if turn is None else found.turns.setdefault(turn, [])).append(glyph)
                if char.doubtful:
                    found.doubtful.add(id(glyph))
        space = False
    textpage.close()
    found.loose = found.unplaced or overlaps > MANY or not ink.is_covered_by(boxes)
    return found


def _curved_line_chars(chars: list["_Char"]) -> set[int]:
    """Return the indices of characters in curved lines, in which each is rotated relative to its neighbour."""
    found: set[int] = set()
    last: int | None = None
    for i, char in enumerate(chars):
        if char.text.isspace() or char.generated:
            continue
        if last is not None and char.is_turned_against(chars[last]):
            found |= {last, i}
        last = i
    return found


def _glyph(char: "_Char", box: Box, view: PageView, turn: float, space: bool) -> Glyph:
    """Convert a character to a glyph. `box` is in page coordinates, the glyph in those of `turn`."""
    width, height = view.size
    if turn % 90:
        # the box in the file is axis-aligned, so derive the rotated one from origin and font size
        x, base, _, _ = page_to_rotated(Box(*view.point(*char.origin), *view.point(*char.origin)), turn, width, height)
        edge, em = 0.05 * char.em, char.em
        return Glyph(
            char.text, Box(x - edge, base - ABOVE * em, x + char.advance + edge, base + BELOW * em), base, em, space
        )
    inside = Box(max(box.x0, 0), max(box.y0, 0), min(box.x1, width), min(box.y1, height))
    x, y = view.point(*char.origin)
    base = page_to_rotated(Box(x, y, x, y), turn, width, height).y0
    return Glyph(char.text, page_to_rotated(inside, turn, width, height), base, char.em, space)


class _Char(NamedTuple):
    """A character that pdfium reports, in the coordinates of the file.

    text (str): the character, or the letters of a ligature.
    generated (bool): whether pdfium added it, as it adds white space between words.
    unmapped (bool): whether it has no Unicode value.
    mode (int): text rendering mode (ISO 32000-1, table 106).
    box (tuple): left, bottom, right, top.
    origin (tuple): point where its baseline starts.
    direction (tuple): vector along its baseline.
    em (float): font size.
    owner (int): address of its text object; 0 if generated.
    doubtful (bool): whether its shape may differ from the character.
    is_distorted (bool): whether it is oblique and not only rotated and scaled.
    advance (float): advance width if it is oblique, else the font size.
    """

    text: str
    generated: bool
    unmapped: bool
    mode: int
    box: tuple[float, float, float, float]
    origin: tuple[float, float]
    direction: tuple[float, float]
    em: float
    owner: int
    doubtful: bool
    is_distorted: bool
    advance: float

    @property
    def is_placed(self) -> bool:
        """Whether the position and direction of the glyph are finite and its font size is at most `LARGEST_FONT`."""
        return all(map(math.isfinite, (*self.box, *self.origin, *self.direction))) and self.em <= LARGEST_FONT

    def turn(self, view: PageView) -> float | None:
        """Return the rotation of the displayed glyph in degrees clockwise; None if it is distorted or huge."""
        x, y = self.direction
        degrees = math.degrees(math.atan2(-y, x)) + view.rotation
        quarters = round(degrees / 90)
        if abs(degrees - 90 * quarters) < SLANT:
            return quarters % 4 * 90
        left, bottom, right, top = self.box
        is_large = max(right - left, top - bottom) > LARGEST_OBLIQUE * self.em
        return None if self.is_distorted or is_large else round(degrees, 1) % 360

    @property
    def is_invisible_mark(self) -> bool:
        """Whether the character is a format character without a shape, such as a joiner or a soft hyphen."""
        left, bottom, right, top = self.box
        return unicodedata.category(self.text[-1]) == "Cf" and max(right - left, top - bottom) < NOTHING * self.em

    def is_turned_against(self, other: "_Char") -> bool:
        """Whether the character is rotated relative to another one nearby, by less than a right angle."""
        (x, y), (u, v) = self.direction, other.direction
        apart = abs(math.degrees(math.atan2(x * v - y * u, x * u + y * v)))
        far = math.hypot(self.origin[0] - other.origin[0], self.origin[1] - other.origin[1])
        return BENT < apart < SHARP and far < CLOSE * self.em

    def overlaps_next(self, other: "_Char") -> bool:
        """Whether the box of the character extends far beyond the start of `other`, the next one on the line."""
        (x, y), (left, bottom, right, top) = self.direction, self.box
        dx, dy = other.origin[0] - self.origin[0], other.origin[1] - self.origin[1]
        if abs(y) <= 0.1 * abs(x):
            along, across, end = (dx, dy, right - self.origin[0]) if x > 0 else (-dx, dy, self.origin[0] - left)
        elif abs(x) <= 0.1 * abs(y):
            along, across, end = (dy, dx, top - self.origin[1]) if y > 0 else (-dy, dx, self.origin[1] - bottom)
        else:
            return False  # boxes of oblique text always overlap
        return 0.1 * self.em < along < end - BEYOND * self.em and abs(across) < BEYOND * self.em


def _chars(textpage: Any) -> Iterator[_Char]:
    """Yield the characters of a page as pdfium reports them, in the order of the file."""
    numbers = [ctypes.c_double() for _ in range(6)]
    box, origin = [ctypes.byref(n) for n in numbers[:4]], [ctypes.byref(n) for n in numbers[4:]]
    loose, matrix = raw.FS_RECTF(), raw.FS_MATRIX()
    modes: dict[int, tuple[int, bool]] = {}
    codes = (raw.FPDFText_GetUnicode(textpage, i) for i in range(textpage.count_chars()))
    for i, code in _join_surrogate_pairs(codes):
        raw.FPDFText_GetCharBox(textpage, i, *box)
        raw.FPDFText_GetLooseCharBox(textpage, i, loose)
        raw.FPDFText_GetCharOrigin(textpage, i, *origin)
        raw.FPDFText_GetMatrix(textpage, i, matrix)
        left, right, bottom, top, x, y = (n.value for n in numbers)
        size = raw.FPDFText_GetFontSize(textpage, i)
        sign = -1 if size < 0 else 1  # text with a negative size runs backwards
        em = abs(size) * math.hypot(matrix.c, matrix.d) or 1.0
        covered = _char_box((left, bottom, right, top), loose, matrix)
        generated = raw.FPDFText_IsGenerated(textpage, i) == 1
        unmapped = raw.FPDFText_HasUnicodeMapError(textpage, i) == 1
        # code points that are private or undefined
        unmapped = unmapped or _character(code) == UNKNOWN or 0xE000 <= code <= 0xF8FF
        owner, mode, doubtful = (0, 0, False) if generated else _text_object(textpage, i, modes)
        hyphen = code in (2, 0xAD) or raw.FPDFText_IsHyphen(textpage, i) == 1
        text = "-" if hyphen else _character(code)
        direction = (sign * matrix.a, sign * matrix.b)
        is_aslant = min(abs(matrix.a), abs(matrix.b)) > 0.05 * max(abs(matrix.a), abs(matrix.b))
        # whether the transformation does more than rotate and scale
        wide, high = math.hypot(matrix.a, matrix.b), math.hypot(matrix.c, matrix.d)
        keeps_angles = 0.95 * wide * high < matrix.a * matrix.d - matrix.b * matrix.c
        is_distorted = is_aslant and (sign < 0 or not keeps_angles or not 0.8 * high < wide < 1.25 * high)
        advance = _advance(textpage, i, code, em) if is_aslant and not is_distorted else em
        yield _Char(
            text, generated, unmapped, mode, covered, (x, y), direction, em, owner, doubtful, is_distorted, advance
        )


def _advance(textpage: Any, i: int, code: int, em: float) -> float:
    """Return the advance width of a character according to its font; the font size if it is unknown."""
    width = ctypes.c_float()
    item = raw.FPDFText_GetTextObject(textpage, i)
    font = raw.FPDFTextObj_GetFont(item) if item else None
    known = font and raw.FPDFFont_GetGlyphWidth(font, code, em, ctypes.byref(width))
    return width.value if known and width.value > 0.1 * em else em


def _char_box(tight: tuple[float, float, float, float], loose: Any, matrix: Any) -> tuple[float, float, float, float]:
    """Return the box of a character: `tight`, which encloses its ink, widened along the line to `loose`, which has its
    advance width. Across the line, `loose` is ignored, since many fonts declare room far above and below.
    """
    left, bottom, right, top = tight
    if abs(matrix.b) < abs(matrix.a):
        left, right = min(left, loose.left), max(right, loose.right)
    else:
        bottom, top = min(bottom, loose.bottom), max(top, loose.top)
    return left, bottom, right, top


def _merge_ligatures(chars: Iterable[_Char]) -> Iterator[_Char]:
    """Merge successive characters that are drawn as one glyph: the letters of a ligature."""
    last: _Char | None = None
    for char in chars:
        if last and char.owner and (char.owner, char.box) == (last.owner, last.box) and not char.text.isspace():
            last = last._replace(text=last.text + char.text)
            continue
        if last:
            yield last
        last = char
    if last:
        yield last


def _join_surrogate_pairs(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield code points with their indices. UTF-16 surrogate pairs are joined under the index of the second half."""
    high: list[tuple[int, int]] = []
    for i, code in enumerate(codes):
        if high and 0xDC00 <= code < 0xE000:
            code = 0x10000 + (high.pop()[1] - 0xD800 << 10) + code - 0xDC00
        while high:
            yield high.pop()
        if 0xD800 <= code < 0xDC00:
            high.append((i, code))
        else:
            yield i, code
    yield from high


def _text_object(textpage: Any, i: int, modes: dict[int, tuple[int, bool]]) -> tuple[int, int, bool]:
    """Return address and rendering mode of the text object of a character, and whether its shape is unreliable."""
    textobject = raw.FPDFText_GetTextObject(textpage, i)
    key = ctypes.cast(textobject, ctypes.c_void_p).value or 0
    if key not in modes:
        mode = raw.FPDFTextObj_GetTextRenderMode(textobject) if key else 0
        modes[key] = mode, bool(key) and has_unreliable_shape(textobject)
    return key, *modes[key]


def _character(code: int) -> str:
    """Convert a code point to text. Control codes and surrogates become U+FFFD, which does not split the word."""
    if code in (9, 10, 13):
        return " "
    return UNKNOWN if code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 else chr(code)
