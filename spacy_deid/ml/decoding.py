"""From tag scores to spans with probabilities, at an operating point.

What the model says of a note is read once (`read_posteriors`), and then decided on at as many operating points as
wanted (`choose_spans`): a sweep over thresholds costs little more than one pass.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..errors import Errors, NotDeidentified
from . import bioes, crf
from .calibration import Calibration

__all__ = ["Decoded", "Posterior", "choose_spans", "decode_spans", "read_posteriors"]

# (start token, end token, label number, probability)
Decoded = list[tuple[int, int, int, float]]
_PIECE = 256
_BATCH = 128


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
    spans: list[Decoded] = [[] for _ in emissions]
    phi = [np.zeros(len(emission), dtype=np.float32) for emission in emissions]
    labels = [np.zeros(len(emission), dtype=np.int32) for emission in emissions]
    for i, offset, path, prob in _pieces(emissions):
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


def _pieces(emissions: Sequence[np.ndarray]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Number of the sequence, offset in it, best path and posterior of each piece."""
    pieces, owner = [], []
    for i, emission in enumerate(emissions):
        cuts = _cuts(emission) if len(emission) else []
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


def _runs(tokens: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> Decoded:
    """Join neighbouring tokens of one label."""
    breaks = np.flatnonzero((np.diff(tokens) != 1) | (np.diff(labels) != 0)) + 1
    runs = []
    for part, label in zip(np.split(tokens, breaks), np.split(labels, breaks), strict=True):
        start, end = int(part[0]), int(part[-1]) + 1
        runs.append((start, end, int(label[0]), float(phi[start:end].min())))
    return runs
