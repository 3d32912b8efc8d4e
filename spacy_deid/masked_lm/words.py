"""Words and windows: which pieces a word has, and in which window of a long note it is scored."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .model import Encoded

__all__ = ["LEAST", "NoteWords", "Window", "align_words", "cut_windows", "half_overlap", "room_of"]

LEAST = 8  # pieces of text that a window must hold
Ints = NDArray[np.int64]


class NoteWords(NamedTuple):
    """The words of a note as the model sees them.

    ids (NDArray): pieces of the note, (pieces,).
    first, last (NDArray): pieces of each word, from first to before last, (words,).
    aligned (NDArray): whether the model can say anything about a word; no: it has no pieces, an unknown one, or more
        than half a window holds, (words,).
    same (Sequence): for each word the words that are masked with it, itself among them, rising.
    wanted (NDArray): whether a word is to be scored, (words,).
    """

    ids: Ints
    first: Ints
    last: Ints
    aligned: NDArray[np.bool_]
    same: Sequence[Sequence[int]]
    wanted: NDArray[np.bool_]


class Window(NamedTuple):
    """A window: pieces, words that stand in it in part at least, and those that are scored in it.

    start, end (int): its pieces.
    first, last (int): words that have a piece in it.
    words (NDArray): words that are scored in it, (words,).
    """

    start: int
    end: int
    first: int
    last: int
    words: Ints


def half_overlap(length: int) -> int:
    """Overlap of windows, ⌊k/2⌋ − 1, one less than half for the piece put before each window (Toivonen's thesis).

    length (int): pieces that the model reads at once, k.
    RETURNS (int): pieces shared by two windows.
    """
    return length // 2 - 1


def room_of(length: int, around: int) -> int:
    """Pieces of text that a window holds.

    length (int): pieces that the model reads at once.
    around (int): pieces put around the text.
    RETURNS (int): the rest.
    RAISES: ConfigError if that is too little (D808).
    """
    if length - around < LEAST:
        raise ConfigError(Errors.D808.format(length=length, least=LEAST + around))
    return length - around


def align_words(
    encoded: Encoded, starts: Ints, ends: Ints, unknown: int | None, longest: int
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Find the pieces of words.

    encoded (Encoded): pieces of the text.
    starts, ends (NDArray): characters of the words, rising, (words,).
    unknown (Optional[int]): piece that stands for what the vocabulary lacks.
    longest (int): pieces of a word that can be scored at most.
    RETURNS (tuple[NDArray, NDArray, NDArray]): first piece, piece behind the last, and whether the word can be scored.
        A piece that covers two words belongs to both.
    """
    first = np.searchsorted(encoded.ends, starts, side="right")
    last = np.maximum(np.searchsorted(encoded.starts, ends, side="left"), first)
    strange = np.r_[0, np.cumsum(encoded.ids == (-1 if unknown is None else unknown))]
    aligned = (last > first) & (strange[last] == strange[first]) & (last - first <= longest)
    return first, last, aligned


def cut_windows(note: NoteWords, room: int, overlap: int) -> list[Window]:
    """Cut a note into windows; every word is scored in the one in which it stands furthest from an edge.

    note (NoteWords): the note.
    room (int): pieces of a window.
    overlap (int): pieces that a window shares with the next one, at least.
    RETURNS (list[Window]): windows that have words to score. One window if the note fits.
    """
    total = len(note.ids)
    step = max(1, room - overlap)
    starts = np.arange(0, max(1, total - room + step), step)
    starts[-1] = max(0, min(starts[-1], total - room))
    ends = np.minimum(starts + room, total)
    words = np.flatnonzero(note.aligned & note.wanted)
    best = _most_central(note.first[words], note.last[words], starts, ends, total)
    first, last = np.searchsorted(note.last, starts, side="right"), np.searchsorted(note.first, ends, side="left")
    return [
        Window(int(starts[n]), int(ends[n]), int(first[n]), int(last[n]), words[best == n]) for n in np.unique(best)
    ]


def _most_central(first: Ints, last: Ints, starts: Ints, ends: Ints, total: int) -> Ints:
    """The window of each word. The edges of the note itself are no edges: nothing is cut off there."""
    left = np.where(starts == 0, -total, starts)
    right = np.where(ends == total, 2 * total, ends)
    guess = np.searchsorted(starts, first, side="right") - 1
    best, margin = guess, np.full(len(first), np.iinfo(np.int64).min)
    for back in range(int(np.ceil((ends[0] - starts[0]) / max(1, np.diff(starts).min(initial=total + 1)))) + 1):
        tried = np.maximum(guess - back, 0)
        inside = np.minimum(first - left[tried], right[tried] - last)
        best = np.where(inside > margin, tried, best)
        margin = np.maximum(inside, margin)
    return best
