"""What a document itself declares to be an identifier is never released because a list of edits forgets it."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from ..offsets import Edit, check_edits
from .document import Document

__all__ = ["cover_marks"]


def cover_marks(document: Document, edits: Sequence[Edit], kept: Iterable[tuple[int, int]] = ()) -> Sequence[Edit]:
    """Unite the marks of a document with edits of its text.

    A mark that no edit touches becomes an edit with the tag of its label. Of a mark that edits cover in part, the
    rest becomes one, unless it is only blanks and punctuation. An edit that puts back what it replaces covers nothing.

    document (Document): the document with its marks.
    edits (Sequence[Edit]): edits in the order of the text.
    kept (Iterable[tuple[int, int]]): start and end of what a policy or a reviewer decided to release. Marks do not
        apply there.
    RETURNS (Sequence[Edit]): edits in the order of the text; those given if the marks add none.
    RAISES: DeidError if the edits are outside the text (D003), overlap or are out of order (D004).
    """
    text = document.text
    check_edits(edits, len(text))
    if not document.marks:
        return edits
    changing = [edit for edit in edits if edit.start == edit.end or text[edit.start : edit.end] != edit.replacement]
    covered = _unite([*((edit.start, edit.end) for edit in changing), *kept])
    added: list[Edit] = []
    last = 0
    for start, end, label in sorted(document.marks):
        start = max(start, last)  # marks may overlap
        gaps = list(_gaps(start, end, covered))
        last = max(last, end)
        for first, stop in gaps:
            if (first, stop) == (start, end) or not _is_separator(text[first:stop]):
                added.append(Edit(first, stop, label, f"[{label}]"))
    if not added:
        return edits if len(changing) == len(edits) else changing
    within = _unite((edit.start, edit.end) for edit in added)
    changing = [edit for edit in changing if edit.start < edit.end or not _holds(within, edit.start)]
    return sorted([*changing, *added], key=lambda edit: (edit.start, edit.end))


def _unite(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The stretches that are not empty, sorted, with those that overlap or touch joined."""
    united: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for start, end in stretches if start < end):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def _gaps(start: int, end: int, covered: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches from start to end that are not covered."""
    i = bisect_right(covered, start, key=lambda stretch: stretch[1])
    while start < end:
        first, stop = covered[i] if i < len(covered) else (end, end)
        if start < first:
            yield start, min(first, end)
        start, i = max(start, stop), i + 1


def _holds(stretches: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether an offset lies strictly inside one of the stretches."""
    i = bisect_right(stretches, at, key=lambda stretch: stretch[0]) - 1
    return i >= 0 and stretches[i][0] < at < stretches[i][1]


def _is_separator(text: str) -> bool:
    """Whether a text has nothing but white space and punctuation."""
    return all(char.isspace() or unicodedata.category(char)[0] == "P" for char in text)
