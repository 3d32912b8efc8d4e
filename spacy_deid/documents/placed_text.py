"""TODO."""

from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

from lxml import etree

from ..offsets import Edit, check_edits
from .markup import TextNode, append, remove


class TextPiece(NamedTuple):
    """A stretch of the text that stands in one place of the file.

    start, end (int): characters of the text; never empty.
    place (Any): where; only the format looks in.
    """

    start: int
    end: int
    place: Any


class PlacedText:
    """A text put together from pieces, with invented white space in between."""

    def __init__(self) -> None:
        self.pieces: list[TextPiece] = []
        self._parts: list[str] = []
        self._length = 0
        self._gap = ""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    @property
    def at_break(self) -> bool:
        """Whether white space, or nothing, stands before what comes next."""
        return not self._length or bool(self._gap) or self._parts[-1][-1].isspace()

    def add(self, text: str, place: Any) -> None:
        """Add what stands in a place, behind the gap if one was asked for."""
        if not text:
            return
        if self._gap and self._length:
            self._put(self._gap)
        self._gap = ""
        start = self._length
        self._put(text)
        self.pieces.append(TextPiece(start, self._length, place))

    def gap(self, white: str) -> None:
        """Put white space before what comes next. Where several are asked for, the last one holds."""
        self._gap = white

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def edits_by_piece(self, edits: Sequence[Edit]) -> Iterator[tuple[TextPiece, list[Edit]]]:
        """Say what is to be done in each place.

        The first place that an edit touches gets the replacement, from the others their part of it goes. White space
        that was invented is nowhere and stays.

        edits (Sequence[Edit]): in the order of the text.
        YIELDS (tuple[Piece, list[Edit]]): a piece that changes, and its edits counted from its start.
        RAISES: DeidError (D003, D004).
        """
        check_edits(edits, self._length)
        starts = [piece.start for piece in self.pieces]
        found: dict[int, list[Edit]] = {}
        for edit in edits if self.pieces else ():
            first = max(0, bisect_right(starts, edit.start) - 1)
            for i, local in _spread(self.pieces, first, edit):
                found.setdefault(i, []).append(local)
        for i in sorted(found):
            yield self.pieces[i], found[i]

    def joined_places(self, edits: Sequence[Edit]) -> Iterator[tuple[Any, Any]]:
        """Say between which places invented white space is replaced.

        edits (Sequence[Edit]): in the order of the text.
        YIELDS (tuple[Any, Any]): the place before and the place behind.
        """
        starts = [piece.start for piece in self.pieces]
        for edit in edits:
            i = max(0, bisect_right(starts, edit.start) - 1)
            while i + 1 < len(starts) and starts[i + 1] <= edit.end:
                before, after = self.pieces[i], self.pieces[i + 1]
                if edit.start <= before.end < after.start:
                    yield before.place, after.place
                i += 1


def _spread(pieces: Sequence[TextPiece], first: int, edit: Edit) -> list[tuple[int, Edit]]:
    """The edits of single pieces, by their number, that an edit comes to. `first` holds its start or ends before."""
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
    if not out and replacement:  # nothing but invented white space is replaced, or nothing at all
        piece = pieces[first]
        at = min(max(edit.start, piece.start), piece.end) - piece.start
        out.append((first, Edit(at, at, edit.label, replacement)))
    return out


def join_paragraphs(text: PlacedText, edits: Sequence[Edit], tags: Container[str], properties: str = "") -> None:
    """Join paragraphs of one container that look alike; others, and cells of tables, stay apart.

    text (PlacedText): the text, whose places are edited already.
    edits (Sequence[Edit]): in order.
    tags (Container[str]): of paragraphs.
    properties (str): tag of the child that says how a paragraph looks.
    """
    for before, after in reversed([*text.joined_places(edits)]):  # so that no place is moved before it is looked at
        first, last = _paragraph(before, tags), _paragraph(after, tags)
        if first is None or last is None or first is last:
            continue
        for paragraph in _until(first, last, properties):
            looks = paragraph.find(properties) if properties else None
            if looks is not None:
                paragraph.remove(looks)
            append(first, len(first), paragraph.text)
            first.extend(list(paragraph))
            remove(paragraph)


def _paragraph(place: Any, tags: Container[str]) -> Any:
    """The paragraph that a place is in, None if there is none or it is an attribute."""
    element = getattr(place, "element", None)
    if element is None or (isinstance(place, TextNode) and place.field[0] == "@"):
        return None
    if isinstance(place, TextNode) and place.field == "tail":
        element = element.getparent()
    if element.tag in tags:
        return element
    return next((above for above in element.iterancestors() if above.tag in tags), None)


def _until(first: Any, last: Any, properties: str) -> list[Any]:
    """The paragraphs behind the first to the last one; none if they are not neighbours that look alike."""
    found = []
    for paragraph in first.itersiblings():
        if _looks(paragraph, properties) != _looks(first, properties):
            return []
        found.append(paragraph)
        if paragraph is last:
            return found
    return []


def _looks(paragraph: Any, properties: str) -> tuple[Any, ...]:
    """What must be alike."""
    child = paragraph.find(properties) if properties else None
    return paragraph.tag, dict(paragraph.attrib), b"" if child is None else etree.tostring(child, with_tail=False)
