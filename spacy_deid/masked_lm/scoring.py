"""Compute how probable each word of a note is to a masked language model.

A long note is split into overlapping windows, and each word is scored in the window in which it is furthest from an
edge. The mode determines the inputs on which the model is run for the words of a window:

exact: one word at a time; all its pieces are masked first, then revealed from left to right.
spread: several words at a time, far enough apart that one mask hardly changes the distribution at the next.
unmasked: all words in one pass without masks. This is fast, but gives the probability of a piece that the model sees.

The predicted distributions are reduced to a few numbers per word, `WordScores`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from ..registries import choose_part, registry
from .model import Encoded, MaskedLM

LEAST = 8  # pieces of text that a window must hold
Ints = NDArray[np.int64]


class NoteWords(NamedTuple):
    """The word pieces of a note, and which of them belong to each word.

    ids (NDArray): vocabulary ids of the pieces, shape (pieces,).
    first, last (NDArray): range of the pieces of each word, end exclusive, shape (words,).
    aligned (NDArray): whether the model can read the word, shape (words,). It cannot if the word has no pieces, an
        unknown piece, or more pieces than allowed.
    same (Sequence): for each word the indices, ascending, of all words that are masked with it, including its own.
    wanted (NDArray): whether the word is to be scored, shape (words,).
    """

    ids: Ints
    first: Ints
    last: Ints
    aligned: NDArray[np.bool_]
    same: Sequence[Sequence[int]]
    wanted: NDArray[np.bool_]


class Window(NamedTuple):
    """A part of a note that fits into the model.

    start, end (int): range of the pieces in the window, end exclusive.
    first, last (int): range of the words that have at least one piece in the window, end exclusive.
    words (NDArray): indices of the words that are scored in this window.
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
    """Find the word pieces of each word by their character offsets.

    encoded (Encoded): pieces of the text.
    starts, ends (NDArray): character offsets of the words, ascending, shape (words,).
    unknown (Optional[int]): vocabulary id of the piece for unknown text; None if there is none.
    longest (int): maximum number of pieces of a word that can be scored.
    RETURNS (tuple[NDArray, NDArray, NDArray]): for each word its first piece, its end piece (exclusive), and whether
        it can be scored: it has pieces, none of them unknown, and not too many. A piece that covers two words belongs
        to both.
    """
    first = np.searchsorted(encoded.ends, starts, side="right")
    last = np.maximum(np.searchsorted(encoded.starts, ends, side="left"), first)
    strange = np.r_[0, np.cumsum(encoded.ids == (-1 if unknown is None else unknown))]
    aligned = (last > first) & (strange[last] == strange[first]) & (last - first <= longest)
    return first, last, aligned


def cut_windows(note: NoteWords, room: int, overlap: int) -> list[Window]:
    """Split a note into windows that fit into the model, and assign each word to the window with the most context.

    That is the window in which the word is furthest from an edge.

    note (NoteWords): the words of the note.
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


class Job(NamedTuple):
    """One input of the model: a stretch of a note, the pieces to mask in it, and the pieces to predict.

    start, end (int): range of the note's pieces that form the input, end exclusive.
    masked (Sequence[int]): indices of the pieces that are masked.
    asked (Sequence[tuple]): predictions to read, as (piece, word, step); at step n, the first n pieces of the word are
        visible.
    """

    start: int
    end: int
    masked: Sequence[int]
    asked: Sequence[tuple[int, int, int]]


@dataclass(frozen=True)
class Mode:
    """A mode: the way in which words are masked to be scored, a trade-off between exactness and speed.

    name (str): name by which results refer to the mode.
    jobs (Callable): (note, window) → the inputs on which the model is run to score the words of the window.
    overlap (Callable): maximum input length in pieces → number of pieces that two windows share.
    precision (str): default precision of the model in this mode, "float" or "int8".
    """

    name: str
    jobs: Callable[[NoteWords, Window], Iterator[Job]]
    overlap: Callable[[int], int]
    precision: str


def make_exact_mode() -> Mode:
    """Make the mode that follows the definition: P(word) = ∏ P(piece | its preceding pieces in the word, the
    surrounding text).

    RETURNS (Mode): the mode. It runs the model on one input per piece.
    """
    return Mode("exact", _one_by_one, half_overlap, "float")


@registry.deid_modes("spacy_deid.spread_mode.v1")
def make_spread_mode(gap: int = 10) -> Mode:
    """Make the mode that masks several words of a window at a time.

    gap (int): number of visible pieces between two words that are masked at once.
    RETURNS (Mode): the mode. It runs the model on about `gap` inputs per window for the first pieces of all words, and
        on fewer for each further piece.
    """

    return Mode(f"spread-{gap}", partial(_apart, gap=gap), _quarter, "int8")


def make_unmasked_mode() -> Mode:
    """Make the mode that reads all words of a window at once, without masks.

    RETURNS (Mode): the mode. It runs the model on one input per window.
    """
    return Mode("unmasked", _all_at_once, _quarter, "int8")


PLAIN_MODES = {"exact": make_exact_mode, "spread": make_spread_mode, "unmasked": make_unmasked_mode}
"""Modes that a config can name by a plain string."""


def choose_mode(mode: str | Mode) -> Mode:
    """Convert the setting ``mode`` of a component to a mode.

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
    """Yield jobs that mask several distant words at once; words with several pieces occur in a job for each piece."""
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
    """Yield one job that predicts all pieces of all words, without masks."""
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


BATCH = 1024  # pieces of a batch
_BUFFERED = 64  # batches that are sorted by length together
Floats = NDArray[np.float64]


class WordScores(NamedTuple):
    """Predictions of the model for words. All arrays have the shape (words,) unless stated otherwise.

    log_prob (NDArray): ln P(word); -inf for a word that could not be split into pieces.
    entropy (NDArray): entropy, in nats, of the distribution predicted for the first piece of the word.
    rank (NDArray): number of pieces that this distribution rates more probable than the word's first piece.
    masses (dict[str, NDArray]): name of a property of pieces → its expected value under this distribution, such as
        the probability that the first piece begins a name.
    pieces (NDArray): number of pieces in the word.
    aligned (NDArray): whether the model can read the word.
    best (NDArray): vocabulary ids of the most probable first pieces, most probable first, shape (words, best), int64;
        -1 for words that were not scored.
    """

    log_prob: Floats
    entropy: Floats
    rank: Floats
    masses: dict[str, Floats]
    pieces: NDArray[np.int64]
    aligned: NDArray[np.bool_]
    best: NDArray[np.int64]


def score_words(
    model: MaskedLM,
    notes: list[NoteWords],
    mode: Mode,
    *,
    properties: Mapping[str, NDArray[np.float32]] | None = None,
    length: int | None = None,
    batch: int = BATCH,
    best: int = 0,
) -> list[WordScores]:
    """Run a masked language model on notes, and reduce its predictions to numbers per word.

    model (MaskedLM): the model.
    notes (list[NoteWords]): the notes. Short notes share batches.
    mode (Mode): the way in which words are masked.
    properties (Optional[Mapping]): name → a number for every piece of the vocabulary, shape (vocabulary,), whose
        expected values become `WordScores.masses`.
    length (Optional[int]): window length in pieces; None for the maximum of the model.
    batch (int): number of pieces per batch. Memory depends on it, not on the length of the notes.
    best (int): number of most probable first pieces to keep per word.
    RETURNS (list[WordScores]): the scores of each note.
    RAISES: ConfigError (D808) if the window is too short.
    """
    length = min(length or model.length, model.length)
    around = len(model.pieces.before) + len(model.pieces.after)
    room = room_of(length, around)
    named = dict(properties or {})
    scores = [_empty(note, named, best) for note in notes]
    jobs = (
        (number, job)
        for number, note in enumerate(notes)
        for window in cut_windows(note, room, mode.overlap(length))
        for job in mode.jobs(note, window)
    )
    matrix = np.stack(list(named.values()), axis=1) if named else None
    for rows in _batches(jobs, batch, around):
        _add(model, notes, scores, rows, matrix)
    return scores


def _empty(note: NoteWords, properties: Mapping[str, object], best: int) -> WordScores:
    """Return initial scores: probability 1 for words that are not scored, 0 for words that the model cannot read."""
    words = len(note.first)
    log_prob = np.where(note.wanted & ~note.aligned, -np.inf, 0.0)
    masses = {name: np.zeros(words) for name in properties}
    pieces, none = note.last - note.first, np.full((words, best), -1, dtype=np.int64)
    return WordScores(log_prob, np.zeros(words), np.zeros(words), masses, pieces, note.aligned, none)


def _batches(jobs: Iterable[tuple[int, Job]], batch: int, around: int) -> Iterator[list[tuple[int, Job]]]:
    """Group jobs of similar length into batches of at most `batch` pieces."""
    stream = iter(jobs)
    while buffered := list(islice(stream, _BUFFERED * max(1, batch // 128))):
        buffered.sort(key=lambda row: row[1].end - row[1].start)
        rows: list[tuple[int, Job]] = []
        for row in buffered:
            longest = row[1].end - row[1].start + around  # sorted: the next one is never shorter
            if rows and (len(rows) + 1) * longest > batch:
                yield rows
                rows = []
            rows.append(row)
        yield rows


def _add(
    model: MaskedLM,
    notes: list[NoteWords],
    scores: list[WordScores],
    rows: list[tuple[int, Job]],
    matrix: NDArray[np.float32] | None,
) -> None:
    """Run a batch and add its results to the scores."""
    pieces = model.pieces
    shift, around = len(pieces.before), len(pieces.before) + len(pieces.after)
    longest = max(job.end - job.start for _, job in rows) + around
    ids = np.full((len(rows), longest), pieces.pad, dtype=np.int64)
    attention = np.zeros_like(ids)
    for row, (number, job) in enumerate(rows):
        text = notes[number].ids[job.start : job.end].copy()
        text[np.asarray(job.masked, dtype=np.int64) - job.start] = pieces.mask
        full = np.concatenate([pieces.before, text, pieces.after]).astype(np.int64)
        ids[row, : len(full)], attention[row, : len(full)] = full, 1
    asked = [
        (row * longest + shift + piece - job.start, number, word, step, notes[number].ids[piece])
        for row, (number, job) in enumerate(rows)
        for piece, word, step in job.asked
    ]
    places, targets = np.array([one[0] for one in asked]), np.array([one[4] for one in asked])
    log_probs = model.log_probs(ids, attention, places)
    found = log_probs[np.arange(len(asked)), targets]
    for (_, number, word, _, _), value in zip(asked, found, strict=True):
        scores[number].log_prob[word] += value
    firsts = [index for index, one in enumerate(asked) if one[3] == 0]
    if firsts:
        _describe_slots(scores, [asked[index][1:3] for index in firsts], log_probs[firsts], found[firsts], matrix)


def _describe_slots(
    scores: list[WordScores],
    words: list[tuple[int, int]],
    log_probs: NDArray[np.float32],
    found: NDArray[np.float32],
    matrix: NDArray[np.float32] | None,
) -> None:
    """Store entropy, rank, masses and best pieces of words, from the distributions predicted for first pieces."""
    probs = np.exp(log_probs)
    entropy = -np.einsum("ij,ij->i", probs, np.maximum(log_probs, -1e4))
    rank = (log_probs > found[:, None]).sum(axis=1)
    masses = probs @ matrix if matrix is not None else np.zeros((len(words), 0))
    for index, (number, word) in enumerate(words):
        scores[number].entropy[word], scores[number].rank[word] = entropy[index], rank[index]
        for column, values in enumerate(scores[number].masses.values()):
            values[word] = masses[index, column]
        if most := scores[number].best.shape[1]:
            scores[number].best[word] = np.argsort(-log_probs[index], kind="stable")[:most]
