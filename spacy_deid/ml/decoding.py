"""Decoding: convert tag scores to spans with probabilities, at an operating point.

The scores of a note are reduced once (`read_posteriors`); spans can then be chosen at any number of operating points
(`choose_spans`), so a sweep over thresholds costs little more than one pass.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..errors import Errors, NotDeidentified
from . import crf
from .operating_point import Calibration

__all__ = ["Decoded", "Posterior", "choose_spans", "decode_spans", "read_posteriors", "read_stretches"]

# (start token, end token, label number, probability)
Decoded = list[tuple[int, int, int, float]]
_Piece = tuple[int, int, np.ndarray]
_PIECE = 256
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Posterior:
    """What the model predicts for one sequence, independent of the operating point.

    spans (list): spans of the best legal path, each with the lowest raw P(not O) of its tokens.
    phi (ndarray): raw P(not O) of each token over the legal paths, float32, shape (tokens,).
    labels (ndarray): index of the most probable label of each token given that it is PHI, shape (tokens,).
    """

    spans: Decoded
    phi: np.ndarray
    labels: np.ndarray


def decode_spans(
    emissions: Sequence[np.ndarray], threshold: float | Sequence[float], tokens: Calibration, spans: Calibration
) -> list[Decoded]:
    """Find the spans of each sequence: `read_posteriors` followed by `choose_spans`.

    emissions (Sequence[ndarray]): tag scores, each of shape (tokens, tags).
    threshold (Union[float, Sequence[float]]): see `choose_spans`.
    tokens, spans (Calibration): see `choose_spans`.
    RETURNS (list[Decoded]): spans in the order of the text, each with its calibrated probability.
    """
    return [choose_spans(posterior, threshold, tokens, spans) for posterior in read_posteriors(emissions)]


def choose_spans(
    posterior: Posterior, threshold: float | Sequence[float], tokens: Calibration, spans: Calibration
) -> Decoded:
    """Choose the spans at an operating point.

    The best legal path gives spans with correct edges. A threshold up to 0.5 adds every uncovered token whose
    probability of being PHI reaches it, joined to runs of one label. A threshold above 0.5 removes spans with a lower
    probability. So one number moves the operating point while spans keep their edges. Lowering a threshold never
    uncovers a token.

    posterior (Posterior): the predictions.
    threshold (Union[float, Sequence[float]]): calibrated probability of being PHI, 0 to 1; one for all labels, or one
        per label index. An uncovered token uses the threshold of its most probable label.
    tokens (Calibration): calibration of P(not O) of a token, used with the threshold.
    spans (Calibration): calibration of the lowest P(not O) in a span, used for the scores.
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
    """Compute the best path and the probabilities of each sequence.

    emissions (Sequence[ndarray]): tag scores, each of shape (tokens, tags).
    RETURNS (list[Posterior]): one per sequence.
    RAISES: NotDeidentified (D247) if the scores are NaN or infinite.
    """
    return read_stretches(list(map(len, emissions)), enumerate(emissions))


def read_stretches(lengths: Sequence[int], stretches: Iterable[tuple[int, np.ndarray]]) -> list[Posterior]:
    """Compute the best path and the probabilities of sequences whose scores arrive in parts, so that they are never
    all in memory.

    lengths (Sequence[int]): number of tokens of each sequence.
    stretches (Iterable[tuple[int, ndarray]]): sequence index and tag scores of its next tokens, shape (tokens, tags).
        Sequences arrive one after another; an empty one may be missing.
    RETURNS (list[Posterior]): one per sequence, equal to `read_posteriors` of the complete scores.
    RAISES: NotDeidentified (D247) if the scores are NaN or infinite.
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
            (offset + s, offset + e, k, float(phi[i][offset + s : offset + e].min()))
            for s, e, k in crf.decode_tags(path)
        ]
    return [Posterior(*parts) for parts in zip(spans, phi, labels, strict=True)]


def _decode_pieces(pieces: Iterable[_Piece]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Yield sequence index, offset in the sequence, best path and posterior of each piece."""
    remaining = iter(pieces)
    while batch := list(islice(remaining, _BATCH)):
        padded, lengths = crf.pad([emission for *_, emission in batch])
        paths, probs = crf.viterbi(padded), crf.marginals(padded).probs
        for (i, offset, _), length, path, prob in zip(batch, lengths, paths, probs, strict=True):
            yield i, offset, path[:length], prob[:length]


def _cut_pieces(stretches: Iterable[tuple[int, np.ndarray]]) -> Iterator[_Piece]:
    """Split long sequences: within each piece length, after the token that is most certainly outside an entity.

    This keeps time and memory linear in the length of a note. Both sides of the cut end legally, as the best path does
    there anyway. How the scores were divided into parts makes no difference.

    YIELDS (tuple[int, int, ndarray]): sequence index, offset in the sequence, tag scores of at least one token.
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
    """Join neighbouring tokens with the same label."""
    breaks = np.flatnonzero((np.diff(tokens) != 1) | (np.diff(labels) != 0)) + 1
    runs = []
    for part, label in zip(np.split(tokens, breaks), np.split(labels, breaks), strict=True):
        start, end = int(part[0]), int(part[-1]) + 1
        runs.append((start, end, int(label[0]), float(phi[start:end].min())))
    return runs
