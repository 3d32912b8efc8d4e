"""A text assembled from many small texts of a file, with the origin of each character, and edits mapped back to
them.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..offsets import Edit, check_edits


class TextPiece(NamedTuple):
    """A part of the text that comes from one place of the file.

    start, end (int): character offsets in the text; never equal.
    place (Any): the origin. Only the format's module interprets it.
    """

    start: int
    end: int
    place: Any


class PlacedText:
    """A text assembled from pieces, separated by white space that is not in the file."""

    def __init__(self) -> None:
        self.pieces: list[TextPiece] = []
        self._parts: list[str] = []
        self._length = 0
        self._gap = ""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._parts)

    @property
    def at_break(self) -> bool:
        """Whether the next piece would follow white space or start the text."""
        return not self._length or bool(self._gap) or self._parts[-1][-1].isspace()

    def add(self, text: str, place: Any) -> None:
        """Append a piece, after the requested gap if there is one."""
        if not text:
            return
        if self._gap and self._length:
            self._put(self._gap)
        self._gap = ""
        start = self._length
        self._put(text)
        self.pieces.append(TextPiece(start, self._length, place))

    def gap(self, white: str) -> None:
        """Request white space before the next piece. The last of several requests counts."""
        self._gap = white

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def edits_by_piece(self, edits: Sequence[Edit]) -> Iterator[tuple[TextPiece, list[Edit]]]:
        """Distribute edits over the pieces.

        The first piece that an edit touches gets the replacement; from the other pieces the covered characters are
        deleted. White space between pieces is not in the file and stays.

        edits (Sequence[Edit]): edits in the order of the text.
        YIELDS (tuple[TextPiece, list[Edit]]): each changed piece with its edits, whose offsets are relative to the
            piece.
        RAISES: DeidError (D003, D004).
        """
        check_edits(edits, self._length)
        starts = [piece.start for piece in self.pieces]
        found: dict[int, list[Edit]] = {}
        for edit in edits if self.pieces else ():
            first = max(0, bisect_right(starts, edit.start) - 1)
            for i, local in _split_edit(self.pieces, first, edit):
                found.setdefault(i, []).append(local)
        for i in sorted(found):
            yield self.pieces[i], found[i]

    def joined_places(self, edits: Sequence[Edit]) -> Iterator[tuple[Any, Any]]:
        """Find pairs of neighbouring places whose separating white space is covered by an edit.

        edits (Sequence[Edit]): edits in the order of the text.
        YIELDS (tuple[Any, Any]): the place before and the place after the white space.
        """
        starts = [piece.start for piece in self.pieces]
        for edit in edits:
            i = max(0, bisect_right(starts, edit.start) - 1)
            while i + 1 < len(starts) and starts[i + 1] <= edit.end:
                before, after = self.pieces[i], self.pieces[i + 1]
                if edit.start <= before.end < after.start:
                    yield before.place, after.place
                i += 1


def _split_edit(pieces: Sequence[TextPiece], first: int, edit: Edit) -> list[tuple[int, Edit]]:
    """Split an edit into edits of single pieces.

    pieces (Sequence[TextPiece]): all pieces.
    first (int): index of the piece that contains the start of the edit or ends before it.
    edit (Edit): the edit.
    RETURNS (list[tuple[int, Edit]]): indices of pieces with edits relative to them.
    """
    out: list[tuple[int, Edit]] = []
    replacement = edit.replacement
    for i in range(first, len(pieces)):
        piece = pieces[i]
        if piece.start >= edit.end:
            break
        start, end = max(edit.start, piece.start), min(edit.end, piece.end)
        if start < end:
            out.append((i, Edit(start - piece.start, end - piece.start, edit.label, replacement)))
            replacement = ""
    if not out and replacement:  # the edit covers only white space between pieces, or nothing
        piece = pieces[first]
        at = min(max(edit.start, piece.start), piece.end) - piece.start
        out.append((first, Edit(at, at, edit.label, replacement)))
    return out
