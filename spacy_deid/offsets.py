"""Applies edits to a text and maps offsets between the original and the released text, independently of spaCy.

All offsets are characters (Unicode code points), end exclusive, as in Python slices.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import DeidError, Errors

Side = Literal["original", "released"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of ``text[start:end]`` by another text. It does not contain the original text.

    start, end (int): characters in the original.
    label (str): canonical label of the replaced text; "" for a word that agrees with a surrogate, such as "an".
    replacement (str): text in the released version.
    """

    start: int
    end: int
    label: str
    replacement: str


def check_edits(edits: Sequence[Edit], length: int) -> None:
    """Check that edits are in order, do not overlap and lie within the text.

    edits (Sequence[Edit]): edits in the order of the text.
    length (int): length of the original in characters.
    RAISES: DeidError for an edit outside the text (D003), or edits that overlap or are out of order (D004).
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
    """Find the first text inside some spans that other spans do not cover. White space need not be covered.

    text (str): the original.
    spans (Sequence[tuple[int, int]]): start and end of spans to cover, ordered by start; they may overlap.
    cover (Sequence[tuple[int, int]]): start and end of covering spans, ordered by start; they may overlap.
    RETURNS (Optional[tuple[int, int]]): start and end of uncovered text; None if everything is covered.
    """
    seen, reach, i = 0, 0, 0  # text before `seen` is checked; the cover has no gap up to `reach`
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
    """Apply edits to a text.

    text (str): the original.
    edits (Sequence[Edit]): edits in the order of the text.
    RETURNS (str): the released text.
    RAISES: DeidError as `check_edits`.
    """
    check_edits(edits, len(text))
    parts, last = [], 0
    for edit in edits:
        parts += [text[last : edit.start], edit.replacement]
        last = edit.end
    return "".join([*parts, text[last:]])


def map_offset(edits: Sequence[Edit], offset: int, length: int, side: Side = "original") -> int:
    """Convert an offset between the original and the released text.

    Offsets in unchanged text map exactly in both directions. An offset inside changed text maps to the start of the
    changed text on the other side, because there is no exact correspondence.

    edits (Sequence[Edit]): edits in the order of the text.
    offset (int): offset from 0 to the length of its text, inclusive.
    length (int): length of the original in characters.
    side (str): text that `offset` refers to, "original" or "released".
    RETURNS (int): offset in the other text.
    RAISES: DeidError if the offset is outside the text (D005), or the edits are invalid (D003, D004).
    """
    return map_offsets(edits, [offset], length, side)[0]


def map_offsets(edits: Sequence[Edit], offsets: Sequence[int], length: int, side: Side = "original") -> list[int]:
    """Convert many offsets in one pass through the edits; see `map_offset`."""
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
    """Convert spans that were replaced or kept as a whole to offsets in the released text.

    edits (Sequence[Edit]): edits in the order of the text.
    spans (Sequence[tuple]): start and end in the original, in order. Each is a whole edit or unchanged text.
    RETURNS (list[tuple]): start and end in the released text; a removed span is empty.
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
    """Return the starts and the ends of the edits in the original, and (start, end) of each in the released text."""
    shifted, shift = [], 0
    for edit in edits:
        start = edit.start + shift
        shifted.append((start, start + len(edit.replacement)))
        shift += len(edit.replacement) - (edit.end - edit.start)
    return [e.start for e in edits], [e.end for e in edits], shifted
