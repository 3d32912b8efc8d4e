"""Windows: which pieces form each word of a note, and in which window of a long note the word is scored."""

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
    """The words of a note as pieces.

    ids (NDArray): vocabulary ids of the note, shape (pieces,).
    first, last (NDArray): range of the pieces of each word, end exclusive, shape (words,).
    aligned (NDArray): whether the model can read the word. It cannot if the word has no pieces, an unknown piece, or
        more pieces than half a window, shape (words,).
    same (Sequence): for each word the rising positions of the words that are masked with it, its own included.
    wanted (NDArray): whether the word is scored, shape (words,).
    """

    ids: Ints
    first: Ints
    last: Ints
    aligned: NDArray[np.bool_]
    same: Sequence[Sequence[int]]
    wanted: NDArray[np.bool_]


class Window(NamedTuple):
    """A window of a note.

    start, end (int): range of its pieces.
    first, last (int): range of the words with at least one piece in it.
    words (NDArray): words that are scored in it, shape (words,).
    """

    start: int
    end: int
    first: int
    last: int
    words: Ints


def half_overlap(length: int) -> int:
    """Return the overlap of windows in Toivonen's thesis, ⌊k/2⌋ − 1: one less than half, for the piece before each
    window.

    length (int): maximum input length k in pieces.
    RETURNS (int): number of pieces that two windows share.
    """
    return length // 2 - 1


def room_of(length: int, around: int) -> int:
    """Return the number of text pieces that fit into a window.

    length (int): maximum input length in pieces.
    around (int): number of special pieces around the text.
    RETURNS (int): `length` − `around`.
    RAISES: ConfigError (D808) if fewer than `LEAST` remain.
    """
    if length - around < LEAST:
        raise ConfigError(Errors.D808.format(length=length, least=LEAST + around))
    return length - around


def align_words(
    encoded: Encoded, starts: Ints, ends: Ints, unknown: int | None, longest: int
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Find the pieces of words.

    encoded (Encoded): pieces of the text.
    starts, ends (NDArray): character offsets of the words, rising, shape (words,).
    unknown (Optional[int]): id of the unknown piece.
    longest (int): maximum number of pieces of a word that can be scored.
    RETURNS (tuple[NDArray, NDArray, NDArray]): first piece, end piece (exclusive), and whether the word can be scored.
        A piece that covers two words belongs to both.
    """
    first = np.searchsorted(encoded.ends, starts, side="right")
    last = np.maximum(np.searchsorted(encoded.starts, ends, side="left"), first)
    strange = np.r_[0, np.cumsum(encoded.ids == (-1 if unknown is None else unknown))]
    aligned = (last > first) & (strange[last] == strange[first]) & (last - first <= longest)
    return first, last, aligned


def cut_windows(note: NoteWords, room: int, overlap: int) -> list[Window]:
    """Split a note into windows. Each word is scored in the window in which it is furthest from an edge.

    note (NoteWords): the note.
    room (int): number of text pieces per window.
    overlap (int): minimum number of pieces that two windows share.
    RETURNS (list[Window]): the windows that contain words to score; one window if the note fits.
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
    """Return the best window of each word. The start and end of the note do not count as edges, because no context is
    lost there.
    """
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
