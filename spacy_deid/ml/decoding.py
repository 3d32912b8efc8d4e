"""From tag scores to spans with probabilities, at an operating point."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from . import bioes, crf
from .calibration import Calibration

__all__ = ["Decoded", "decode_spans", "token_probs"]

# (start token, end token, label number, probability)
Decoded = list[tuple[int, int, int, float]]
_PIECE = 256
_BATCH = 128


def decode_spans(
    emissions: Sequence[np.ndarray], threshold: float, tokens: Calibration, spans: Calibration
) -> list[Decoded]:
    """Find the spans of each sequence.

    The best legal path gives spans with the right edges. Below 0.5 the threshold then adds every token that no span
    covers but that is PHI with at least this probability, joined to runs of one label; above 0.5 it takes away spans
    that are less sure. So one number moves the operating point, and spans keep their edges while it moves.

    emissions (Sequence[ndarray]): tag scores, each of shape (tokens, tags), no sequence empty.
    threshold (float): calibrated probability of being PHI, 0 to 1.
    tokens (Calibration): of P(not O) of a token, for the threshold.
    spans (Calibration): of the least P(not O) within a span, for the scores.
    RETURNS (list[Decoded]): spans in the order of the text, each with its calibrated probability.
    """
    raw_threshold = tokens.inverse(threshold)
    out: list[Decoded] = [[] for _ in emissions]
    for i, offset, path, prob in _pieces(emissions):
        found = _spans(path, prob, raw_threshold, threshold)
        scores = spans(np.asarray([raw for *_, raw in found])).tolist()
        out[i] += [
            (offset + s, offset + e, label, score) for (s, e, label, _), score in zip(found, scores, strict=True)
        ]
    return out


def token_probs(emissions: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Raw P(not O) of every token, over the legal paths.

    emissions (Sequence[ndarray]): as for `decode_spans`.
    RETURNS (list[ndarray]): float32 of shape (tokens,) for each sequence.
    """
    out = [np.zeros(len(emission), dtype=np.float32) for emission in emissions]
    for i, offset, path, prob in _pieces(emissions):
        out[i][offset : offset + len(path)] = 1.0 - prob[:, 0]
    return out


def _pieces(emissions: Sequence[np.ndarray]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Number of the sequence, offset in it, best path and posterior of each piece."""
    pieces, owner = [], []
    for i, emission in enumerate(emissions):
        cuts = _cuts(emission)
        pieces += [emission[a:b] for a, b in pairwise(cuts)]
        owner += [(i, a) for a in cuts[:-1]]
    for first in range(0, len(pieces), _BATCH):
        padded, lengths = crf.pad(pieces[first : first + _BATCH])
        paths, probs = crf.viterbi(padded), crf.marginals(padded).probs
        batch = zip(owner[first : first + _BATCH], lengths, paths, probs, strict=True)
        yield from ((i, offset, path[:length], prob[:length]) for (i, offset), length, path, prob in batch)


def _cuts(emission: np.ndarray) -> list[int]:
    """Where to cut a long sequence: in each stretch, at the token that is surest to be outside.

    Keeps time and memory linear in the length of a note. Both sides of the cut end legally, which is what the best
    path does there anyway.
    """
    n = len(emission)
    cuts = [0]
    if n > _PIECE:
        outside = emission[:, 0] - emission[:, 1:].max(axis=1)
        while n - cuts[-1] > _PIECE:
            low = cuts[-1] + _PIECE // 2
            cuts.append(low + int(outside[low : cuts[-1] + _PIECE].argmax()) + 1)
    return [*cuts, n]


def _spans(path: np.ndarray, prob: np.ndarray, raw_threshold: float, threshold: float) -> Decoded:
    """Spans of one piece with raw probabilities: the least P(not O) of a span's tokens."""
    phi = 1.0 - prob[:, 0]
    spans = [(s, e, label, float(phi[s:e].min())) for s, e, label in bioes.decode(path)]
    if threshold > 0.5:
        return [span for span in spans if span[3] >= raw_threshold]
    covered = np.zeros(len(path), dtype=bool)
    for s, e, *_ in spans:
        covered[s:e] = True
    extra = np.flatnonzero((phi >= raw_threshold) & ~covered)
    if len(extra):
        labels = prob[extra, 1:].reshape(len(extra), -1, 4).sum(axis=2).argmax(axis=1)
        spans += _runs(extra, labels, phi)
        spans.sort()
    return spans


def _runs(tokens: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> Decoded:
    """Join neighbouring tokens of one label."""
    breaks = np.flatnonzero((np.diff(tokens) != 1) | (np.diff(labels) != 0)) + 1
    runs = []
    for part, label in zip(np.split(tokens, breaks), np.split(labels, breaks), strict=True):
        start, end = int(part[0]), int(part[-1]) + 1
        runs.append((start, end, int(label[0]), float(phi[start:end].min())))
    return runs
