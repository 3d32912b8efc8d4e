"""Modes: what the model is asked, to score the words of a window.

exact    a word at a time: all of it masked, then uncovered piece by piece from left to right.
spread   several words at a time, far enough from each other that a mask hardly changes what is said of the next.
unmasked no masks: what the model says of a piece that it can see. One pass, and a different quantity.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.util import registry

from .words import NoteWords, Window, half_overlap

__all__ = ["Job", "Mode", "make_exact_mode", "make_spread_mode", "make_unmasked_mode"]

Ints = NDArray[np.int64]


class Job(NamedTuple):
    """One row of a batch.

    start, end (int): pieces of the note that are read.
    masked (Sequence[int]): those that are masked.
    asked (Sequence[tuple]): those that are asked for: piece, word, step; step n is asked with n pieces uncovered.
    """

    start: int
    end: int
    masked: Sequence[int]
    asked: Sequence[tuple[int, int, int]]


@dataclass(frozen=True)
class Mode:
    """A mode.

    name (str): its name in results.
    jobs (Callable): note and window to jobs.
    overlap (Callable): pieces that the model reads at once to the overlap of windows.
    precision (str): precision of the model that goes with it, "float" or "int8".
    """

    name: str
    jobs: Callable[[NoteWords, Window], Iterator[Job]]
    overlap: Callable[[int], int]
    precision: str


@registry.misc("spacy_deid.exact_mode.v1")
def make_exact_mode() -> Mode:
    """The definition: P(word) = ∏ P(piece | the pieces before it in the word, the text around it).

    RETURNS (Mode): the mode. A row for every piece.
    """
    return Mode("exact", _one_by_one, half_overlap, "float")


@registry.misc("spacy_deid.spread_mode.v1")
def make_spread_mode(gap: int = 10) -> Mode:
    """Several words of a window at a time.

    gap (int): pieces left visible between two words that are masked at once.
    RETURNS (Mode): the mode. About `gap` rows for every window and piece of its longest words.
    """

    return Mode(f"spread-{gap}", partial(_apart, gap=gap), _quarter, "int8")


@registry.misc("spacy_deid.unmasked_mode.v1")
def make_unmasked_mode() -> Mode:
    """All words of a window at once, without a mask.

    RETURNS (Mode): the mode. One row for every window.
    """
    return Mode("unmasked", _all_at_once, _quarter, "int8")


def _quarter(length: int) -> int:
    """Overlap of windows that leaves every word some context and asks for few windows."""
    return length // 4


def _one_by_one(note: NoteWords, window: Window) -> Iterator[Job]:
    """A row for each piece of each word."""
    for word in window.words:
        others = _other_pieces(note, window, word)
        first, last = int(note.first[word]), int(note.last[word])
        for piece in range(first, last):
            hidden = [*range(piece, last), *(other for other in others if not first <= other < last)]
            yield Job(window.start, window.end, hidden, [(piece, int(word), piece - first)])


def _apart(note: NoteWords, window: Window, gap: int) -> Iterator[Job]:
    """Rows of words far from each other; those of several pieces are asked again for the next one."""
    waiting = [(int(word), _other_pieces(note, window, word)) for word in window.words]
    step = 0
    while waiting:
        for group in _groups(note, waiting, step, gap):
            masked, asked = set[int](), []
            for word, others in group:
                first, last = int(note.first[word]), int(note.last[word])
                masked.update(range(first + step, last), (other for other in others if not first <= other < last))
                asked.append((first + step, word, step))
            yield Job(window.start, window.end, sorted(masked), asked)
        step += 1
        waiting = [(word, others) for word, others in waiting if note.last[word] - note.first[word] > step]


Waiting = list[tuple[int, list[int]]]


def _groups(note: NoteWords, waiting: Waiting, step: int, gap: int) -> list[Waiting]:
    """Words in groups: each word joins the first group whose last word stands far enough before it, and which holds
    none of the words that are masked with it."""
    groups: list[Waiting] = []
    ends: list[int] = []
    kinds: list[set[int]] = []
    for word, others in waiting:
        first, kind = int(note.first[word]), int(note.same[word][0])
        for number, end in enumerate(ends):
            if first - end >= gap and kind not in kinds[number]:
                break
        else:
            number = len(groups)
            groups.append([])
            ends.append(0)
            kinds.append(set())
        groups[number].append((word, others))
        ends[number] = int(note.last[word])
        kinds[number].add(kind)
    return groups


def _all_at_once(note: NoteWords, window: Window) -> Iterator[Job]:
    """One row."""
    asked = [
        (piece, int(word), piece - int(note.first[word]))
        for word in window.words
        for piece in range(int(note.first[word]), int(note.last[word]))
    ]
    yield Job(window.start, window.end, [], asked)


def _other_pieces(note: NoteWords, window: Window, word: int) -> list[int]:
    """Pieces in the window of the other words that are masked with a word."""
    same = note.same[word]
    if len(same) < 2:
        return []
    near = same[bisect_left(same, window.first) : bisect_left(same, window.last)]
    return [
        piece
        for other in near
        if other != word
        for piece in range(max(window.start, int(note.first[other])), min(window.end, int(note.last[other])))
    ]
