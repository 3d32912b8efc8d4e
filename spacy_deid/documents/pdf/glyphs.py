"""TODO."""

import ctypes
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pypdfium2.raw as raw

from ..pages.geometry import Box, Glyph, Quad, is_inside_any, page_to_rotated, rotated_to_page
from .pdfium import PageView, has_unreliable_shape, page_objects, render

DPI = 100  # resolution at which is looked
SEEN = 3  # steps of a colour channel that can be seen
STRONG = 40  # steps of a channel of a letter, and not of its soft edge
LOOSE = 60  # pixels of strong ink outside all characters: two letters, or the rings of two signs like "©"
EDGE = 2  # pixels that ink may stand outside a character's box


class Ink:
    """The pixels of a page, and which of them are text.

    page (PdfPage): the page.
    size (tuple[float, float]): width and height as shown, in points.
    max_pixels (int): no more pixels than that.
    """

    def __init__(self, page: Any, size: tuple[float, float], max_pixels: int) -> None:
        image = render(page, *size, DPI, max_pixels)
        self._scale = image.width / size[0]
        self._shown = np.asarray(image)
        texts = [placed.item for placed in page_objects(page) if placed.kind == raw.FPDF_PAGEOBJ_TEXT]
        _switch(texts, False)
        bare = np.asarray(render(page, *size, DPI, max_pixels))
        _switch(texts, True)
        self._text = _difference(self._shown, bare)

    def of(self, box: Box) -> int:
        """Steps that the text changes in a box, in the channel where it changes most.

        RETURNS (int): 0 to 255; 0 where the text is white, covered, clipped or switched off.
        """
        part = self._part(self._text, box, 1)
        return int(part.max()) if part.size else 0

    def contrast(self, box: Box) -> int:
        """Steps between the lightest and the darkest pixel of a box, in the channel where they are furthest apart."""
        part = self._part(self._shown, box, 1).reshape(-1, 3)
        return int((part.max(axis=0) - part.min(axis=0)).max()) if part.size else 0

    def is_inside_any(self, boxes: Iterable[Box]) -> bool:
        """Whether all text stands in these boxes. If not, they cannot tell what must be painted over."""
        left = self._text >= STRONG
        for box in boxes:
            self._part(left, box, EDGE)[:] = False
        return int(left.sum()) <= LOOSE

    def _part(self, values: np.ndarray, box: Box, edge: int) -> np.ndarray:
        """The pixels of a box and some around it."""
        scale = self._scale
        x0, y0 = max(int(box.x0 * scale) - edge, 0), max(int(box.y0 * scale) - edge, 0)
        x1, y1 = max(int(box.x1 * scale) + 1 + edge, 0), max(int(box.y1 * scale) + 1 + edge, 0)
        return values[y0:y1, x0:x1]


def _difference(first: "np.ndarray", second: "np.ndarray") -> "np.ndarray":
    """The largest difference of each pixel over its channels: colours of one luminance differ in a channel only."""
    apart = np.maximum(first, second) - np.minimum(first, second)
    most: np.ndarray = np.maximum(np.maximum(apart[..., 0], apart[..., 1]), apart[..., 2])
    return most


def _switch(items: Iterable[Any], on: bool) -> None:
    """Draw objects or leave them out."""
    for item in items:
        raw.FPDFPageObj_SetIsActive(item, on)


def drop_actual_text(page: Any) -> None:
    """Take away what the file would have read aloud in place of its characters (ISO 32000-1, 14.9.4, ActualText).

    pdfium gives it in their stead, with places that do not cover them; and it can be another text than is shown.

    page (PdfPage): the page, whose text was not asked for yet.
    """
    for item, kind, _ in page_objects(page):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            for i in range(raw.FPDFPageObj_CountMarks(item)):
                raw.FPDFPageObjMark_RemoveParam(item, raw.FPDFPageObj_GetMark(item, i), b"ActualText")


SLANT = 6  # degrees from which text stands aslant
# text rendering modes: neither filled nor stroked, and those from which on text cuts out what is drawn later
# (ISO 32000-1, table 106)
INVISIBLE, CLIPPING = 3, 4
BEYOND = 0.3  # sizes of the font from which a character's box reaches too far over the next one
MANY = 3  # characters of a page that may do so, as long strokes of letters do
BENT, SHARP = 0.5, 60.0  # degrees between two characters of a bent line
CLOSE = 3.0  # sizes of the font between them
NOTHING = 0.1  # sizes of the font that a mark without a look covers at most
# sizes of the font that letters which stand aslant reach above and below their line, and that are taken at most
ABOVE, BELOW, LARGEST = 0.95, 0.25, 1.7
UNKNOWN = "\ufffd"
LARGEST = 14_400  # points of a font that is as large as the largest page


@dataclass(slots=True)
class PageGlyphs:
    """What a page shows.

    turns (dict[float, list[Glyph]]): glyphs by the degrees that they are turned, in the frame of their turn.
    slanted (list[Glyph]): glyphs of bent lines, and distorted ones that stand aslant, on the page.
    hidden (list[Box]): what covers characters that cannot be seen.
    unmapped (int): characters that the file gives no meaning.
    invisible (int): characters that are not drawn, as those of a text layer behind a scan.
    loose (bool): whether text is shown outside the boxes that the file gives its characters, or these are far too
        large, as with fonts that say false sizes. Such a page can only be read as it looks.
    unplaced (bool): whether a character has no size or place that a page can have, so that nothing tells where it is
        seen. Such a page is `loose` as well.
    doubtful (set[int]): `id` of the glyphs whose shapes may be others than their characters.
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
        """Take glyphs out.

        glyphs (set[int]): their `id`.
        """
        if glyphs:
            self.turns = {
                turn: [glyph for glyph in some if id(glyph) not in glyphs] for turn, some in self.turns.items()
            }
            self.rotated_glyphs = [glyph for glyph in self.rotated_glyphs if id(glyph) not in glyphs]

    @property
    def count(self) -> int:
        """Characters that are seen."""
        return sum(map(len, self.turns.values())) + len(self.rotated_glyphs)

    def without(self, codes: list[Quad], size: tuple[float, float]) -> "PageGlyphs":
        """What is left without the characters that draw a code, as those of a font of bars do.

        codes (list[Quad]): the codes, on the page.
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
    """Read the characters of a page that can be seen.

    Text can be in the file and not on the page: white, behind a picture, in a layer that is switched off, outside.
    Nobody sees it, and no copy of it is made.

    page (PdfPage): the page, flattened.
    view (View): how it is shown.
    max_pixels (int): pixels that a picture of it may have.
    RETURNS (PageGlyphs): what is seen, and where something is hidden.
    """
    found = PageGlyphs({})
    ink = Ink(page, view.size, max_pixels)
    drop_actual_text(page)
    textpage = page.get_textpage()
    boxes: list[Box] = []
    last: _Char | None = None
    overlaps = 0
    space = False
    chars = list(_whole(_chars(textpage)))
    bent = _bent(chars)
    for i, char in enumerate(chars):
        if char.text.isspace() or char.generated:
            space = True
            continue
        if char.is_nothing:
            continue
        if not char.is_placed:
            found.unplaced = True
            continue
        box = char.shown(view)
        boxes.append(box)
        overlaps += last is not None and last.reaches_over(char)
        last = char
        if char.mode == INVISIBLE:
            found.invisible += 1
        elif _is_on(box, *view.size) and _is_seen(char, box, ink, found):
            found.unmapped += char.unmapped
            turn = None if i in bent else char.turn(view)
            glyph = _glyph(char, box, view, turn or 0, space)
            (found.rotated_glyphs if turn is None else found.turns.setdefault(turn, [])).append(glyph)
            if char.doubtful:
                found.doubtful.add(id(glyph))
        space = False
    textpage.close()
    found.loose = found.unplaced or overlaps > MANY or not ink.is_inside_any(boxes)
    return found


def _bent(chars: list["_Char"]) -> set[int]:
    """The numbers of the characters of lines that are bent, as around a stamp.

    Each is turned against the one beside it. Those that happen to stand level belong to the others.
    """
    found: set[int] = set()
    last: int | None = None
    for i, char in enumerate(chars):
        if char.text.isspace() or char.generated:
            continue
        if last is not None and char.is_turned_against(chars[last]):
            found |= {last, i}
        last = i
    return found


def _is_seen(char: "_Char", box: Box, ink: Ink, found: PageGlyphs) -> bool:
    """Whether a character can be seen. What shines through so faintly that nobody does is noted, to be blanked."""
    seen = ink.contrast(box) if char.mode >= CLIPPING else ink.of(box)
    if 0 < seen < SEEN:
        found.hidden.append(box)
    return seen >= SEEN


def _glyph(char: "_Char", box: Box, view: PageView, turn: float, space: bool) -> Glyph:
    """A character as it stands on the page."""
    width, height = view.size
    if turn % 90:
        # the file's box is the upright one around it, so its own is made of the place where it begins and its size
        x, base, _, _ = page_to_rotated(Box(*view.point(*char.origin), *view.point(*char.origin)), turn, width, height)
        edge, em = 0.05 * char.em, char.em
        return Glyph(
            char.text, Box(x - edge, base - ABOVE * em, x + char.advance + edge, base + BELOW * em), base, em, space
        )
    inside = Box(max(box.x0, 0), max(box.y0, 0), min(box.x1, width), min(box.y1, height))
    return Glyph(char.text, page_to_rotated(inside, turn, width, height), _base(char, view, turn), char.em, space)


class _Char(NamedTuple):
    """A character as pdfium gives it, in the file's coordinates."""

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
        """Whether its size and place are numbers that can be calculated with."""
        return all(map(math.isfinite, (*self.box, *self.origin, *self.direction))) and self.em <= LARGEST

    def shown(self, view: PageView) -> Box:
        """What it covers on the page as shown."""
        return view.box(*self.box)

    def turn(self, view: PageView) -> float | None:
        """The degrees that it is turned clockwise as shown; None if it stands aslant and is distorted or huge."""
        x, y = self.direction
        degrees = math.degrees(math.atan2(-y, x)) + view.rotation
        quarters = round(degrees / 90)
        if abs(degrees - 90 * quarters) < SLANT:
            return quarters % 4 * 90
        left, bottom, right, top = self.box
        is_large = max(right - left, top - bottom) > LARGEST * self.em
        return None if self.is_distorted or is_large else round(degrees, 1) % 360

    @property
    def is_nothing(self) -> bool:
        """Whether it is a mark that has no look of its own, as a joiner or a place where a word may break."""
        left, bottom, right, top = self.box
        return unicodedata.category(self.text[-1]) == "Cf" and max(right - left, top - bottom) < NOTHING * self.em

    def is_turned_against(self, other: "_Char") -> bool:
        """Whether it stands at another angle than a character close by, but not across it."""
        (x, y), (u, v) = self.direction, other.direction
        apart = abs(math.degrees(math.atan2(x * v - y * u, x * u + y * v)))
        far = math.hypot(self.origin[0] - other.origin[0], self.origin[1] - other.origin[1])
        return BENT < apart < SHARP and far < CLOSE * self.em

    def reaches_over(self, other: "_Char") -> bool:
        """Whether the box goes far beyond the place where the next character of its line begins."""
        (x, y), (left, bottom, right, top) = self.direction, self.box
        dx, dy = other.origin[0] - self.origin[0], other.origin[1] - self.origin[1]
        if abs(y) <= 0.1 * abs(x):
            along, across, end = (dx, dy, right - self.origin[0]) if x > 0 else (-dx, dy, self.origin[0] - left)
        elif abs(x) <= 0.1 * abs(y):
            along, across, end = (dy, dx, top - self.origin[1]) if y > 0 else (-dy, dx, self.origin[1] - bottom)
        else:
            return False  # the boxes of text that stands aslant always do
        return 0.1 * self.em < along < end - BEYOND * self.em and abs(across) < BEYOND * self.em


def _base(char: _Char, view: PageView, turn: float) -> float:
    """Height of the line that a character stands on, in the frame of its turn."""
    x, y = view.point(*char.origin)
    return page_to_rotated(Box(x, y, x, y), turn, *view.size).y0


def _chars(textpage: Any) -> Iterator[_Char]:
    """The characters of a page, in the order of the file."""
    numbers = [ctypes.c_double() for _ in range(6)]
    box, origin = [ctypes.byref(n) for n in numbers[:4]], [ctypes.byref(n) for n in numbers[4:]]
    loose, matrix = raw.FS_RECTF(), raw.FS_MATRIX()
    modes: dict[int, tuple[int, bool]] = {}
    codes = (raw.FPDFText_GetUnicode(textpage, i) for i in range(textpage.count_chars()))
    for i, code in _paired(codes):
        raw.FPDFText_GetCharBox(textpage, i, *box)
        raw.FPDFText_GetLooseCharBox(textpage, i, loose)
        raw.FPDFText_GetCharOrigin(textpage, i, *origin)
        raw.FPDFText_GetMatrix(textpage, i, matrix)
        left, right, bottom, top, x, y = (n.value for n in numbers)
        size = raw.FPDFText_GetFontSize(textpage, i)
        sign = -1 if size < 0 else 1  # text of a negative size runs backwards
        em = abs(size) * math.hypot(matrix.c, matrix.d) or 1.0
        covered = _covered((left, bottom, right, top), loose, matrix)
        generated = raw.FPDFText_IsGenerated(textpage, i) == 1
        unmapped = raw.FPDFText_HasUnicodeMapError(textpage, i) == 1 or _is_private(code)
        owner, mode, doubtful = (0, 0, False) if generated else _owner(textpage, i, modes)
        hyphen = code in (2, 0xAD) or raw.FPDFText_IsHyphen(textpage, i) == 1
        text = "-" if hyphen else _character(code)
        direction = (sign * matrix.a, sign * matrix.b)
        is_aslant = min(abs(matrix.a), abs(matrix.b)) > 0.05 * max(abs(matrix.a), abs(matrix.b))
        is_distorted = is_aslant and (sign < 0 or _is_distorted(matrix))
        advance = _advance(textpage, i, code, em) if is_aslant and not is_distorted else em
        yield _Char(
            text, generated, unmapped, mode, covered, (x, y), direction, em, owner, doubtful, is_distorted, advance
        )


def _is_distorted(matrix: Any) -> bool:
    """Whether a transformation does more than to turn and enlarge."""
    a, b, c, d = matrix.a, matrix.b, matrix.c, matrix.d
    size = math.hypot(a, b) * math.hypot(c, d)
    return not 0.95 * size < a * d - b * c or not 0.8 * math.hypot(c, d) < math.hypot(a, b) < 1.25 * math.hypot(c, d)


def _advance(textpage: Any, i: int, code: int, em: float) -> float:
    """The width of a character by its font, from where it stands; the size of the font if the width is unknown."""
    width = ctypes.c_float()
    item = raw.FPDFText_GetTextObject(textpage, i)
    font = raw.FPDFTextObj_GetFont(item) if item else None
    known = font and raw.FPDFFont_GetGlyphWidth(font, code, em, ctypes.byref(width))
    return width.value if known and width.value > 0.1 * em else em


def _covered(tight: tuple[float, float, float, float], loose: Any, matrix: Any) -> tuple[float, float, float, float]:
    """The ink of a character, widened along its line to the room that its font gives it.

    Across the line the ink alone counts: many fonts claim room far above and below.
    """
    left, bottom, right, top = tight
    if abs(matrix.b) < abs(matrix.a):
        left, right = min(left, loose.left), max(right, loose.right)
    else:
        bottom, top = min(bottom, loose.bottom), max(top, loose.top)
    return left, bottom, right, top


def _whole(chars: Iterable[_Char]) -> Iterator[_Char]:
    """Characters, with those that one glyph stands for put together: a ligature that the file says the letters of."""
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


def _paired(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Codes and their numbers, with the halves of a pair (UTF-16) put together under the number of the second."""
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


def _owner(textpage: Any, i: int, modes: dict[int, tuple[int, bool]]) -> tuple[int, int, bool]:
    """The object of the page that a character belongs to, its rendering mode, and whether it is doubtful.

    modes (dict): mode and doubt by object, so that they are asked once.
    """
    textobject = raw.FPDFText_GetTextObject(textpage, i)
    key = ctypes.cast(textobject, ctypes.c_void_p).value or 0
    if key not in modes:
        mode = raw.FPDFTextObj_GetTextRenderMode(textobject) if key else 0
        modes[key] = mode, bool(key) and has_unreliable_shape(textobject)
    return key, *modes[key]


def _is_private(code: int) -> bool:
    """Whether a code is one that only the file's font knows, or none at all."""
    return _character(code) == UNKNOWN or 0xE000 <= code <= 0xF8FF


def _character(code: int) -> str:
    """A code as text. What has no meaning is shown all the same, so that it goes with the word that it is part of."""
    if code in (9, 10, 13):
        return " "
    return UNKNOWN if code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 else chr(code)


def _is_on(box: Box, width: float, height: float) -> bool:
    """Whether a box lies on the page at least in part."""
    return box.x1 > 0 and box.y1 > 0 and box.x0 < width and box.y0 < height
