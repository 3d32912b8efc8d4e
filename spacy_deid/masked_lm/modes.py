"""Modes: which inputs the model gets in order to score the words of a window.

exact: one word at a time, all pieces masked first, then revealed from left to right.
spread: several words at a time, far enough apart that one mask hardly changes the distribution at the next.
unmasked: no masks. One pass; the probability of a piece that the model can see, which is a different quantity.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..registries import choose_part, registry
from .windows import NoteWords, Window, half_overlap

Ints = NDArray[np.int64]


class Job(NamedTuple):
    """One row of a batch.

    start, end (int): pieces of the note that form the input.
    masked (Sequence[int]): pieces that are masked.
    asked (Sequence[tuple]): predictions to read, as (piece, word, step); step n is asked after n pieces of the word
        were revealed.
    """

    start: int
    end: int
    masked: Sequence[int]
    asked: Sequence[tuple[int, int, int]]


@dataclass(frozen=True)
class Mode:
    """A mode.

    name (str): name in results.
    jobs (Callable): note and window → jobs.
    overlap (Callable): maximum input length in pieces → number of pieces that two windows share.
    precision (str): default precision of the model, "float" or "int8".
    """

    name: str
    jobs: Callable[[NoteWords, Window], Iterator[Job]]
    overlap: Callable[[int], int]
    precision: str


def make_exact_mode() -> Mode:
    """Make the mode that follows the definition: P(word) = ∏ P(piece | its preceding pieces in the word, the
    surrounding text).

    RETURNS (Mode): the mode. It needs one row per piece.
    """
    return Mode("exact", _one_by_one, half_overlap, "float")


@registry.deid_modes("spacy_deid.spread_mode.v1")
def make_spread_mode(gap: int = 10) -> Mode:
    """Make the mode that masks several words of a window at a time.

    gap (int): number of visible pieces between two words that are masked at once.
    RETURNS (Mode): the mode. It needs about `gap` rows per window and per piece of the longest words.
    """

    return Mode(f"spread-{gap}", partial(_apart, gap=gap), _quarter, "int8")


def make_unmasked_mode() -> Mode:
    """Make the mode that reads all words of a window at once, without masks.

    RETURNS (Mode): the mode. It needs one row per window.
    """
    return Mode("unmasked", _all_at_once, _quarter, "int8")


PLAIN_MODES = {"exact": make_exact_mode, "spread": make_spread_mode, "unmasked": make_unmasked_mode}
"""Modes that a config can name by a plain string."""


def choose_mode(mode: str | Mode) -> Mode:
    """Return the mode that a setting names.

    mode (Union[str, Mode]): "exact", "spread", "unmasked", a registered name, or a mode.
    RETURNS (Mode): the mode.
    RAISES: ConfigError (D697, D698) for an unknown name.
    """
    found: Mode = choose_part("deid_modes", mode, PLAIN_MODES, setting="mode")
    return found


def _quarter(length: int) -> int:
    """Return a window overlap of a quarter, which gives every word some context with few windows."""
    return length // 4


def _one_by_one(note: NoteWords, window: Window) -> Iterator[Job]:
    """Yield one job per piece of each word."""
    for word in window.words:
        others = _other_pieces(note, window, word)
        first, last = int(note.first[word]), int(note.last[word])
        for piece in range(first, last):
            hidden = [*range(piece, last), *(other for other in others if not first <= other < last)]
            yield Job(window.start, window.end, hidden, [(piece, int(word), piece - first)])


def _apart(note: NoteWords, window: Window, gap: int) -> Iterator[Job]:
    """Yield jobs of distant words. Words with several pieces are asked again for each further piece."""
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
    """Group words: each joins the first group whose last word is at least `gap` pieces before it, and which contains
    no word that is masked together with it.
    """
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
    """Yield one job for all words."""
    asked = [
        (piece, int(word), piece - int(note.first[word]))
        for word in window.words
        for piece in range(int(note.first[word]), int(note.last[word]))
    ]
    yield Job(window.start, window.end, [], asked)


def _other_pieces(note: NoteWords, window: Window, word: int) -> list[int]:
    """List the pieces of the other words in the window that are masked together with a word."""
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
