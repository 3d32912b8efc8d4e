"""The glyphs that a page of a PDF shows, with what they cover."""

import ctypes
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pypdfium2.raw as raw

from ..pages.glyphs import Box, Glyph, to_frame
from .ink import SEEN, Ink, forget_spoken

__all__ = ["PageGlyphs", "View", "read_glyphs"]

SLANT = 6  # degrees from which text stands aslant
# text rendering modes: neither filled nor stroked, and those from which on text cuts out what is drawn later
# (ISO 32000-1, table 106)
INVISIBLE, CLIPPING = 3, 4
BEYOND = 0.3  # sizes of the font from which a character's box reaches too far over the next one
MANY = 3  # characters of a page that may do so, as long strokes of letters do
NOTHING = 0.1  # sizes of the font that a mark without a look covers at most
UNKNOWN = "\ufffd"


class View(NamedTuple):
    """How a page is shown: its box in the file's coordinates, and its rotation.

    left, bottom, right, top (float): the part that is shown.
    rotation (int): degrees clockwise.
    """

    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height as shown."""
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.rotation in (90, 270) else (width, height)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the file is shown, from the upper left corner."""
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Where a rectangle of the file is shown."""
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


@dataclass(slots=True)
class PageGlyphs:
    """What a page shows.

    turns (dict[int, list[Glyph]]): glyphs by the degrees that they are turned, in the frame of their turn.
    slanted (list[Glyph]): glyphs that stand neither level nor upright, on the page.
    hidden (list[Box]): what covers characters that cannot be seen.
    unmapped (int): characters that the file gives no meaning.
    invisible (int): characters that are not drawn, as those of a text layer behind a scan.
    loose (bool): whether text is shown outside the boxes that the file gives its characters, or these are far too
        large, as with fonts that say false sizes. Such a page can only be read as it looks.
    """

    turns: dict[int, list[Glyph]]
    slanted: list[Glyph] = field(default_factory=list)
    hidden: list[Box] = field(default_factory=list)
    unmapped: int = 0
    invisible: int = 0
    loose: bool = False

    @property
    def count(self) -> int:
        """Characters that are seen."""
        return sum(map(len, self.turns.values())) + len(self.slanted)


def read_glyphs(page: Any, view: View, max_pixels: int) -> PageGlyphs:
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
    forget_spoken(page)
    textpage = page.get_textpage()
    boxes: list[Box] = []
    last: _Char | None = None
    overlaps = 0
    space = False
    for char in _whole(_chars(textpage)):
        if char.text.isspace() or char.generated:
            space = True
            continue
        if char.is_nothing:
            continue
        box = char.shown(view)
        boxes.append(box)
        overlaps += last is not None and last.reaches_over(char)
        last = char
        if char.mode == INVISIBLE:
            found.invisible += 1
        elif _is_on(box, *view.size) and _is_seen(char, box, ink, found):
            found.unmapped += char.unmapped
            turn = char.turn(view)
            glyph = _glyph(char, box, view, turn or 0, space)
            (found.slanted if turn is None else found.turns.setdefault(turn, [])).append(glyph)
        space = False
    textpage.close()
    found.loose = overlaps > MANY or not ink.is_within(boxes)
    return found


def _is_seen(char: "_Char", box: Box, ink: Ink, found: PageGlyphs) -> bool:
    """Whether a character can be seen. What shines through so faintly that nobody does is noted, to be blanked."""
    seen = ink.contrast(box) if char.mode >= CLIPPING else ink.of(box)
    if 0 < seen < SEEN:
        found.hidden.append(box)
    return seen >= SEEN


def _glyph(char: "_Char", box: Box, view: View, turn: int, space: bool) -> Glyph:
    """A character as it stands on the page."""
    width, height = view.size
    inside = Box(max(box.x0, 0), max(box.y0, 0), min(box.x1, width), min(box.y1, height))
    return Glyph(char.text, to_frame(inside, turn, width, height), _base(char, view, turn), char.em, space)


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

    def shown(self, view: View) -> Box:
        """What it covers on the page as shown."""
        return view.box(*self.box)

    def turn(self, view: View) -> int | None:
        """Quarters of a circle that it is turned clockwise as shown, in degrees; None if it stands aslant."""
        x, y = self.direction
        degrees = math.degrees(math.atan2(-y, x)) + view.rotation
        quarter = round(degrees / 90)
        return quarter % 4 * 90 if abs(degrees - 90 * quarter) < SLANT else None

    @property
    def is_nothing(self) -> bool:
        """Whether it is a mark that has no look of its own, as a joiner or a place where a word may break."""
        left, bottom, right, top = self.box
        return unicodedata.category(self.text[-1]) == "Cf" and max(right - left, top - bottom) < NOTHING * self.em

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


def _base(char: _Char, view: View, turn: int) -> float:
    """Height of the line that a character stands on, in the frame of its turn."""
    x, y = view.point(*char.origin)
    return to_frame(Box(x, y, x, y), turn, *view.size).y0


def _chars(textpage: Any) -> Iterator[_Char]:
    """The characters of a page, in the order of the file."""
    numbers = [ctypes.c_double() for _ in range(6)]
    box, origin = [ctypes.byref(n) for n in numbers[:4]], [ctypes.byref(n) for n in numbers[4:]]
    loose, matrix = raw.FS_RECTF(), raw.FS_MATRIX()
    modes: dict[int, int] = {}
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
        owner, mode = (0, 0) if generated else _owner(textpage, i, modes)
        hyphen = code in (2, 0xAD) or raw.FPDFText_IsHyphen(textpage, i) == 1
        text = "-" if hyphen else _character(code)
        yield _Char(text, generated, unmapped, mode, covered, (x, y), (sign * matrix.a, sign * matrix.b), em, owner)


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


def _owner(textpage: Any, i: int, modes: dict[int, int]) -> tuple[int, int]:
    """The object of the page that a character belongs to, and its rendering mode, which is asked once."""
    textobject = raw.FPDFText_GetTextObject(textpage, i)
    key = ctypes.cast(textobject, ctypes.c_void_p).value or 0
    if key not in modes:
        modes[key] = raw.FPDFTextObj_GetTextRenderMode(textobject) if key else 0
    return key, modes[key]


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
