"""Tracked changes that are more than text: deleted rows of tables and deleted ends of paragraphs are accepted."""

from typing import Any

from ..markup import remove
from .names import W

__all__ = ["accept_changes"]


def accept_changes(root: Any) -> None:
    """Take out rows that were deleted, and join paragraphs whose end was deleted: a word may stand over it.

    root (Any): a tree whose deleted text still stands in marks; it changes.
    """
    for row in [*root.iter(W + "tr")]:
        if row.find(f"{W}trPr/{W}del") is not None:
            remove(row)
    for table in [*root.iter(W + "tbl")]:
        if next(table.iter(W + "tr"), None) is None:
            remove(table)
    for paragraph in [*root.iter(W + "p")]:
        if any(paragraph.find(f"{W}pPr/{W}rPr/{W}{mark}") is not None for mark in ("del", "moveFrom")):
            _join(paragraph)


def _join(paragraph: Any) -> None:
    """Put what a paragraph holds before what the next one does. It takes the looks of that one, as in Word."""
    following = paragraph.getnext()
    if following is None or following.tag != W + "p":
        return
    at = int(following.find(W + "pPr") is not None)
    for child in [*paragraph]:
        if child.tag != W + "pPr":
            following.insert(at, child)
            at += 1
    remove(paragraph)
