"""Edits of a text, and the map between the offsets of the two sides. Knows nothing of spaCy.

All offsets are characters (Unicode code points), end exclusive, as Python slices count them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import DeidError, Errors

__all__ = ["Edit", "Side", "apply_edits", "check_edits", "find_uncovered", "map_offset", "map_offsets", "move_spans"]

Side = Literal["original", "released"]


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``text[start:end]`` by ``replacement``. Holds no original text.

    start, end (int): characters in the original.
    label (str): canonical label of what stood there; "" for a word that goes with a value, as "an" with "Irish".
    replacement (str): what the released text holds instead.
    """

    start: int
    end: int
    label: str
    replacement: str


def check_edits(edits: Sequence[Edit], length: int) -> None:
    """Make sure that edits are in order, do not overlap and lie within a text.

    edits (Sequence[Edit]): edits in the order of the text.
    length (int): characters of the original.
    RAISES: DeidError for an edit outside the text (D003) or two that overlap or stand in the wrong order (D004).
    """
    last = 0
    for i, edit in enumerate(edits):
        if not 0 <= edit.start <= edit.end <= length:
            raise DeidError(Errors.D003.format(start=edit.start, end=edit.end, length=length))
        if edit.start < last:
            raise DeidError(Errors.D004.format(first=i - 1, second=i))
        last = edit.end


def find_uncovered(
    text: str, spans: Sequence[tuple[int, int]], cover: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """Find the first characters of some spans that other spans do not cover. White space does not count.

    text (str): the original.
    spans (Sequence[tuple[int, int]]): start and end, ordered by start; they may overlap.
    cover (Sequence[tuple[int, int]]): start and end, ordered by start; they may overlap.
    RETURNS (Optional[tuple[int, int]]): start and end of a stretch that is not covered; None if there is none.
    """
    seen, reach, i = 0, 0, 0  # everything before `seen` was looked at; the cover leaves no gap up to `reach`
    for start, end in spans:
        seen = max(seen, start)
        while seen < end:
            while i < len(cover) and cover[i][0] <= seen:
                reach, i = max(reach, cover[i][1]), i + 1
            if reach > seen:
                seen = reach
                continue
            stop = min(end, cover[i][0]) if i < len(cover) else end
            if text[seen:stop].strip():
                return seen, stop
            seen = stop
    return None


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Write the released text.

    text (str): the original.
    edits (Sequence[Edit]): edits in the order of the text.
    RETURNS (str): the text with every edit made.
    RAISES: DeidError as `check_edits`.
    """
    check_edits(edits, len(text))
    parts, last = [], 0
    for edit in edits:
        parts += [text[last : edit.start], edit.replacement]
        last = edit.end
    return "".join([*parts, text[last:]])


def map_offset(edits: Sequence[Edit], offset: int, length: int, side: Side = "original") -> int:
    """Carry an offset from one side to the other.

    Offsets in unchanged text map exactly, there and back. An offset strictly inside a changed stretch maps to the
    start of the stretch on the other side, because nothing in between corresponds.

    edits (Sequence[Edit]): edits in the order of the text.
    offset (int): characters from the start of the side that is named, 0 to its length inclusive.
    length (int): characters of the original.
    side (str): the side that `offset` counts on, "original" or "released".
    RETURNS (int): the offset on the other side.
    RAISES: DeidError if the offset lies outside the text (D005) or the edits are wrong (D003, D004).
    """
    return map_offsets(edits, [offset], length, side)[0]


def map_offsets(edits: Sequence[Edit], offsets: Sequence[int], length: int, side: Side = "original") -> list[int]:
    """Carry many offsets from one side to the other, as `map_offset` does one, in one go through the edits."""
    check_edits(edits, length)
    starts, ends, shifted = _table(edits)
    total = length if side == "original" else length + (shifted[-1][1] - ends[-1] if edits else 0)
    original = list(zip(starts, ends, strict=True))
    here, there = (original, shifted) if side == "original" else (shifted, original)
    begins = [start for start, _ in here]
    mapped = []
    for offset in offsets:
        if not 0 <= offset <= total:
            raise DeidError(Errors.D005.format(offset=offset, length=total))
        i = bisect_right(begins, offset) - 1
        inside = i >= 0 and offset < here[i][1]
        mapped.append(offset if i < 0 else there[i][0] if inside else there[i][1] + offset - here[i][1])
    return mapped


def move_spans(edits: Sequence[Edit], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Carry the spans that were decided on to the released text.

    edits (Sequence[Edit]): edits in the order of the text.
    spans (Sequence[tuple]): start and end in the original, in order. Each is a whole edit or unchanged text.
    RETURNS (list[tuple]): start and end in the released text; a span of which nothing is left is empty.
    """
    starts, ends, shifted = _table(edits)
    out = []
    for start, end in spans:
        i = bisect_right(starts, start) - 1
        if i >= 0 and (starts[i], ends[i]) == (start, end):
            out.append(shifted[i])
            continue
        shift = shifted[i][1] - ends[i] if i >= 0 else 0
        out.append((start + shift, end + shift))
    return out


def _table(edits: Sequence[Edit]) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Starts and ends of the edits in the original, and (start, end) of each replacement in the released text."""
    shifted, shift = [], 0
    for edit in edits:
        start = edit.start + shift
        shifted.append((start, start + len(edit.replacement)))
        shift += len(edit.replacement) - (edit.end - edit.start)
    return [e.start for e in edits], [e.end for e in edits], shifted
