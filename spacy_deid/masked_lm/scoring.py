"""Scoring: run jobs in batches and reduce the distributions to a few numbers per word."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .model import MaskedLM
from .modes import Job, Mode
from .windows import NoteWords, cut_windows, room_of

__all__ = ["BATCH", "WordScores", "score_words"]

BATCH = 1024  # pieces of a batch
_BUFFERED = 64  # batches that are sorted by length together
Floats = NDArray[np.float64]


class WordScores(NamedTuple):
    """What the model predicts about words. All arrays have the shape (words,) unless stated otherwise.

    log_prob (NDArray): ln P(word); -inf for a word that the model cannot read.
    entropy (NDArray): entropy of the first distribution of the word, in nats.
    rank (NDArray): number of pieces that are more probable than the first piece of the word.
    masses (dict[str, NDArray]): expected value of each property of pieces under the first distribution.
    pieces (NDArray): number of pieces.
    aligned (NDArray): whether the model can read the word.
    best (NDArray): the most probable pieces of the first distribution in descending order, shape (words, best), int64;
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
    """Score the words of notes.

    model (MaskedLM): the model.
    notes (list[NoteWords]): the notes. Short notes share batches.
    mode (Mode): how words are masked.
    properties (Optional[Mapping]): name → property of every piece of the vocabulary, shape (vocabulary,).
    length (Optional[int]): window length in pieces; None for the maximum of the model.
    batch (int): number of pieces per batch. Memory depends on it, not on the length of the notes.
    best (int): number of most probable pieces to keep per word.
    RETURNS (list[WordScores]): one per note.
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
    """Compute entropy, rank, masses and best pieces from the first distribution of each word."""
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
