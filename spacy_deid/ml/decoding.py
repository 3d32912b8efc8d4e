"""From tag scores to spans with probabilities, at an operating point.

What the model says of a note is read once (`read_posteriors`), and then decided on at as many operating points as
wanted (`choose_spans`): a sweep over thresholds costs little more than one pass.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..errors import Errors, NotDeidentified
from . import bioes, crf
from .calibration import Calibration

__all__ = ["Decoded", "Posterior", "choose_spans", "decode_spans", "read_posteriors", "read_stretches"]

# (start token, end token, label number, probability)
Decoded = list[tuple[int, int, int, float]]
_Piece = tuple[int, int, np.ndarray]
_PIECE = 256
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Posterior:
    """What the model says of one sequence, before any operating point.

    spans (list): the spans of the best legal path, each with the least raw P(not O) of its tokens.
    phi (ndarray): raw P(not O) of every token, over the legal paths, float32 of shape (tokens,).
    labels (ndarray): number of the likeliest label of every token, if it is PHI, shape (tokens,).
    """

    spans: Decoded
    phi: np.ndarray
    labels: np.ndarray


def decode_spans(
    emissions: Sequence[np.ndarray], threshold: float | Sequence[float], tokens: Calibration, spans: Calibration
) -> list[Decoded]:
    """Find the spans of each sequence; `read_posteriors` and `choose_spans` in one.

    emissions (Sequence[ndarray]): tag scores, each of shape (tokens, tags).
    threshold (Union[float, Sequence[float]]): see `choose_spans`.
    tokens, spans (Calibration): see `choose_spans`.
    RETURNS (list[Decoded]): spans in the order of the text, each with its calibrated probability.
    """
    return [choose_spans(posterior, threshold, tokens, spans) for posterior in read_posteriors(emissions)]


def choose_spans(
    posterior: Posterior, threshold: float | Sequence[float], tokens: Calibration, spans: Calibration
) -> Decoded:
    """Decide at an operating point.

    The best legal path gives spans with the right edges. Up to 0.5 the threshold then adds every token that no span
    covers but that is PHI with at least this probability, joined to runs of one label; above 0.5 it takes away spans
    that are less sure. So one number moves the operating point, and spans keep their edges while it moves. A lower
    threshold, of all labels or of one, never uncovers a token.

    posterior (Posterior): what the model says.
    threshold (Union[float, Sequence[float]]): calibrated probability of being PHI, 0 to 1; one for all labels, or one
        for each label number. A token that no span covers falls under its likeliest label.
    tokens (Calibration): of P(not O) of a token, for the threshold.
    spans (Calibration): of the least P(not O) within a span, for the scores.
    RETURNS (Decoded): spans in the order of the text, each with its calibrated probability.
    """
    if not len(posterior.phi):
        return []
    wanted = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    once = {value: tokens.inverse(value) for value in set(wanted.tolist())}
    raw = np.asarray([once[value] for value in wanted.tolist()])
    strict, last = wanted > 0.5, len(wanted) - 1
    found = [s for s in posterior.spans if not strict[k := min(s[2], last)] or s[3] >= raw[k]]
    covered = np.zeros(len(posterior.phi), dtype=bool)
    for start, end, *_ in posterior.spans:
        covered[start:end] = True
    own = np.minimum(posterior.labels, last)
    extra = np.flatnonzero(~covered & ~strict[own] & (posterior.phi >= raw[own]))
    if len(extra):
        found = sorted([*found, *_runs(extra, posterior.labels[extra], posterior.phi)])
    scores = spans(np.asarray([span[3] for span in found])).tolist()
    return [(start, end, label, score) for (start, end, label, _), score in zip(found, scores, strict=True)]


def read_posteriors(emissions: Sequence[np.ndarray]) -> list[Posterior]:
    """Read best path and probabilities of each sequence.

    emissions (Sequence[ndarray]): tag scores, each of shape (tokens, tags).
    RETURNS (list[Posterior]): one a sequence.
    RAISES: NotDeidentified (D247) if the scores give no probabilities.
    """
    return read_stretches(list(map(len, emissions)), enumerate(emissions))


def read_stretches(lengths: Sequence[int], stretches: Iterable[tuple[int, np.ndarray]]) -> list[Posterior]:
    """Read best path and probabilities of sequences whose scores come in stretches, so that they are never all held.

    lengths (Sequence[int]): tokens of each sequence.
    stretches (Iterable[tuple[int, ndarray]]): number of a sequence and tag scores of its next tokens, shape (tokens,
        tags). Sequences come one after another; an empty one need not come.
    RETURNS (list[Posterior]): one a sequence, the same as `read_posteriors` gives for the whole scores.
    RAISES: NotDeidentified (D247) if the scores give no probabilities.
    """
    spans: list[Decoded] = [[] for _ in lengths]
    phi = [np.zeros(length, dtype=np.float32) for length in lengths]
    labels = [np.zeros(length, dtype=np.int32) for length in lengths]
    for i, offset, path, prob in _decode_pieces(_cut_pieces(stretches)):
        if not np.isfinite(prob).all():
            raise NotDeidentified(Errors.D247)
        rows = slice(offset, offset + len(path))
        by_label = prob[:, 1:].reshape(len(path), -1, 4).sum(axis=2)
        phi[i][rows] = np.minimum(by_label.sum(axis=1), 1.0)  # summed, not 1 - P(O): small ones stay apart
        labels[i][rows] = by_label.argmax(axis=1)
        spans[i] += [
            (offset + s, offset + e, k, float(phi[i][offset + s : offset + e].min())) for s, e, k in bioes.decode(path)
        ]
    return [Posterior(*parts) for parts in zip(spans, phi, labels, strict=True)]


def _decode_pieces(pieces: Iterable[_Piece]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Number of the sequence, offset in it, best path and posterior of each piece."""
    remaining = iter(pieces)
    while batch := list(islice(remaining, _BATCH)):
        padded, lengths = crf.pad([emission for *_, emission in batch])
        paths, probs = crf.viterbi(padded), crf.marginals(padded).probs
        for (i, offset, _), length, path, prob in zip(batch, lengths, paths, probs, strict=True):
            yield i, offset, path[:length], prob[:length]


def _cut_pieces(stretches: Iterable[tuple[int, np.ndarray]]) -> Iterator[_Piece]:
    """Cut long sequences: in each stretch of a piece's length, behind the token that is surest to be outside.

    Keeps time and memory linear in the length of a note. Both sides of the cut end legally, which is what the best
    path does there anyway. Where the scores were cut into stretches makes no difference.

    YIELDS (tuple[int, int, ndarray]): number of the sequence, offset in it, tag scores of one token or more.
    """
    owner, offset, rest = -1, 0, np.zeros((0, 1), dtype=np.float32)
    for i, emission in stretches:
        if i != owner:
            if len(rest):
                yield owner, offset, rest
            owner, offset, rest = i, 0, emission
        else:
            rest = np.concatenate([rest, emission])
        while len(rest) > _PIECE:
            outside = rest[_PIECE // 2 : _PIECE, 0] - rest[_PIECE // 2 : _PIECE, 1:].max(axis=1)
            cut = _PIECE // 2 + int(outside.argmax()) + 1
            yield owner, offset, rest[:cut]
            offset, rest = offset + cut, rest[cut:]
    if len(rest):
        yield owner, offset, rest


def _runs(tokens: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> Decoded:
    """Join neighbouring tokens of one label."""
    breaks = np.flatnonzero((np.diff(tokens) != 1) | (np.diff(labels) != 0)) + 1
    runs = []
    for part, label in zip(np.split(tokens, breaks), np.split(labels, breaks), strict=True):
        start, end = int(part[0]), int(part[-1]) + 1
        runs.append((start, end, int(label[0]), float(phi[start:end].min())))
    return runs
