"""What a strip shows after the edits: pieces that stay as they are, and pieces that are written anew."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...offsets import Edit
from .glyphs import Strip

__all__ = ["SMALLEST", "Piece", "Placed", "Release", "lay_out"]

SMALLEST = 0.6  # share of its size that a replacement has at least
GAP = 0.28  # white space between words, in sizes of the font


class Piece(NamedTuple):
    """Glyphs of a strip that stay, or are replaced together.

    first, last (int): the glyphs, end exclusive.
    text (str | None): what is written in their place; None if they stay.
    gap (bool): whether white space stands before it after the edits.
    """

    first: int
    last: int
    text: str | None
    gap: bool


class Placed(NamedTuple):
    """A piece and where it goes: from `left` to `right` in the frame of the strip."""

    piece: Piece
    left: float
    right: float


class Release:
    """Carries edits to the strips of a document, which must be asked about in the order of the text.

    A replacement is written where the first glyph that it replaces stood, once, even if the rest of the glyphs stand
    on another line or page.

    text (str): the document's.
    edits (Sequence[Edit]): in order.
    """

    def __init__(self, text: str, edits: Sequence[Edit]) -> None:
        self.text = text
        self.edits = edits
        self._ends = [edit.end for edit in edits]
        self._written: set[int] = set()

    def pieces(self, strip: Strip) -> list[Piece]:
        """Take a strip apart.

        strip (Strip): the strip.
        RETURNS (list[Piece]): pieces from left to right, which have all its glyphs; words that stay are one each.
        """
        pieces: list[Piece] = []
        first = 0
        count = len(strip.texts)
        touched = [self._touches(strip.start[i], strip.end[i]) for i in range(count)]
        for i in range(1, count + 1):
            parted = i < count and not touched[i] and strip.start[i] > strip.end[i - 1]
            if i < count and touched[i] == touched[first] and not parted:
                continue
            text = self._written_anew(strip.start[first], strip.end[i - 1]) if touched[first] else None
            gap = first > 0 and self._keeps_space(strip.end[first - 1], strip.start[first])
            pieces.append(Piece(first, i, text, gap))
            first = i
        return pieces

    def removes(self, strip: Strip) -> list[str]:
        """The labels of the edits that touch a strip."""
        found = range(self._first(strip.start[0] - 1), len(self.edits))
        return [self.edits[i].label for i in found if self.edits[i].start < strip.end[-1]]

    def _first(self, offset: int) -> int:
        """The first edit that ends behind an offset."""
        return bisect_right(self._ends, offset)

    def _touches(self, start: int, end: int) -> bool:
        """Whether an edit takes any of these characters; for a hyphen without any, one of those beside it."""
        if start == end:
            start, end = start - 1, end + 1
        i = self._first(start)
        if i < len(self.edits) and self.edits[i].start < end:
            return True
        # an insertion is written together with the glyph behind it
        return i > 0 and self.edits[i - 1].start == self.edits[i - 1].end == start

    def _written_anew(self, start: int, end: int) -> str:
        """The text of a stretch after the edits, with the replacements that were not written before."""
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
                out.append(edit.replacement)
            at = max(at, edit.end)
        return "".join([*out, self.text[at:end]])

    def _keeps_space(self, start: int, end: int) -> bool:
        """Whether there is white space between two glyphs that no edit takes."""
        return start < end and not self._touches(start, end)


def lay_out(strip: Strip, pieces: Sequence[Piece], measure: Callable[[str, float], float]) -> list[Placed]:
    """Find a place for the pieces of a strip, one after the other.

    If they need more room than there is, replacements are made smaller, and if that is not enough, all is squeezed.

    What follows a replacement moves, and all gaps become alike, since those of a justified line depend on what stood
    between them. So the width of what was there cannot be measured.

    strip (Strip): the strip.
    pieces (Sequence[Piece]): its pieces.
    measure (Callable): (text, size of the font) → width.
    RETURNS (list[Placed]): the pieces with their places.
    """
    origin = min(strip.left)
    room = max(strip.room - origin, 1e-3)
    places, at = _in_a_row(strip, pieces, measure, 1.0)
    written = sum(measure(piece.text, strip.em) for piece in pieces if piece.text)
    if at - origin > room and written:
        places, at = _in_a_row(strip, pieces, measure, max(SMALLEST, 1 - (at - origin - room) / written))
    squeeze = min(1.0, room / (at - origin)) if at > origin else 1.0
    return [
        Placed(piece, origin + (left - origin) * squeeze, origin + (right - origin) * squeeze)
        for piece, (left, right) in zip(pieces, places, strict=True)
    ]


def _in_a_row(
    strip: Strip, pieces: Sequence[Piece], measure: Callable[[str, float], float], smaller: float
) -> tuple[list[tuple[float, float]], float]:
    """The edges of pieces one after the other, replacements so much smaller, and the end of the last."""
    at = origin = min(strip.left)
    places: list[tuple[float, float]] = []
    for i, piece in enumerate(pieces):
        if piece.gap and i and at > origin:
            at += GAP * strip.em
        width = _width(strip, piece) if piece.text is None else smaller * measure(piece.text, strip.em)
        places.append((at, at + width))
        at += width
    return places, at


def _width(strip: Strip, piece: Piece) -> float:
    """The width of glyphs that stay."""
    return max(strip.right[piece.first : piece.last]) - min(strip.left[piece.first : piece.last])
