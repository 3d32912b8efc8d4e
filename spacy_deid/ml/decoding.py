"""Convert the tag scores of a network to spans with calibrated probabilities (decoding).

An operating point is a set of thresholds: the probabilities from which on a token counts as PHI. The scores of a note
are reduced to probabilities once (`read_posteriors`); spans can then be chosen at any number of operating points
(`choose_spans`), so trying many thresholds costs little more than one. Probabilities are calibrated with a logistic
curve over the log-odds of the raw probability (Platt 1999).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from ..errors import ConfigError, Errors, NotDeidentified
from . import crf

_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Calibration:
    """A curve that maps raw probabilities to calibrated ones: p' = sigmoid(scale · logit(p) + shift).

    scale (float): slope of the curve; 1, together with shift 0, changes nothing.
    shift (float): shift of the log-odds.
    """

    scale: float = 1.0
    shift: float = 0.0

    def __call__(self, probs: np.ndarray) -> np.ndarray:
        """Calibrate raw probabilities.

        probs (ndarray): raw probabilities, any shape.
        RETURNS (ndarray): calibrated probabilities, same shape.
        """
        logits = self.scale * _logit(probs) + self.shift
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30))))

    def inverse(self, prob: float) -> float:
        """Return the raw probability that this curve calibrates to a given one.

        prob (float): calibrated probability.
        RETURNS (float): raw probability.
        """
        logit = (float(_logit(np.asarray(prob))) - self.shift) / self.scale
        return float(1.0 / (1.0 + np.exp(-np.clip(logit, -30, 30))))


def _logit(probs: np.ndarray) -> np.ndarray:
    """Return the log-odds of probabilities, clipped away from 0 and 1."""
    clipped = np.clip(np.asarray(probs, dtype=np.float64), _EDGE, 1 - _EDGE)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def fit_calibration(probs: np.ndarray, hits: np.ndarray, steps: int = 50) -> tuple[Calibration, dict[str, float]]:
    """Fit a calibration curve to the outcomes of predictions, by Newton's method.

    A small ridge penalty pulls the curve towards no change, so that few predictions do not distort it.

    probs (ndarray): raw probabilities of the predictions, shape (n,).
    hits (ndarray): whether each prediction was right, shape (n,).
    steps (int): number of Newton steps.
    RETURNS (tuple): the curve, and a report with its "scale" and "shift", the "number" of predictions, and the
        expected calibration error before ("ece_before") and after calibration ("ece_after").
    """
    x = np.stack([_logit(probs), np.ones(len(probs))], axis=1)
    y = np.asarray(hits, dtype=np.float64)
    unchanged = np.asarray([1.0, 0.0])
    w = np.zeros(2) if len(y) else unchanged
    for _ in range(steps if len(y) else 0):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30, 30)))
        gradient = x.T @ (p - y) + (w - unchanged)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.eye(2)
        w = w - np.linalg.solve(hessian, gradient)
    fitted = Calibration(max(float(w[0]), 0.01), float(w[1]))
    report = {
        "scale": fitted.scale,
        "shift": fitted.shift,
        "number": float(len(y)),
        "ece_before": expected_calibration_error(probs, y),
        "ece_after": expected_calibration_error(fitted(probs), y),
    }
    return fitted, report


def expected_calibration_error(probs: np.ndarray, hits: np.ndarray, bins: int = 10) -> float:
    """Compute the mean gap between probability and accuracy over bins of equal size (Naeini, Cooper and Hauskrecht
    2015).

    probs (ndarray): probabilities of the predictions, shape (n,).
    hits (ndarray): whether each prediction was right, shape (n,).
    bins (int): number of bins.
    RETURNS (float): 0 (perfect) to 1; 0 for empty input.
    """
    order = np.argsort(probs, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    gaps = [abs(float(np.mean(probs[p])) - float(np.mean(hits[p]))) * len(p) for p in parts]
    return sum(gaps) / max(1, len(order))


_CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A named set of thresholds: the calibrated probabilities from which on a token counts as PHI.

    default (float): threshold of the labels that have none of their own.
    labels (Mapping[str, float]): canonical label → threshold.
    name (str): "balanced", "high_recall", …; "custom" if the thresholds were given as numbers.
    """

    default: float
    labels: Mapping[str, float] = field(default_factory=dict)
    name: str = _CUSTOM

    def thresholds(self, labels: Sequence[str]) -> list[float]:
        """Return the threshold of each of several labels.

        labels (Sequence[str]): canonical labels.
        RETURNS (list[float]): thresholds in the same order.
        """
        return [self.labels.get(label, self.default) for label in labels]

    def receipt(self) -> dict[str, Any]:
        """Return the operating point as values that JSON can represent, to be stored with the spans chosen at it.

        RETURNS (dict[str, Any]): the name under "operating_point", and the thresholds under "thresholds".
        """
        thresholds = {"default": self.default, "labels": dict(self.labels)}
        return {"operating_point": self.name, "thresholds": thresholds}


def make_point(threshold: float | Mapping[str, float], component: str) -> OperatingPoint:
    """Create an operating point from the setting ``threshold`` of a component.

    threshold (Union[float, Mapping[str, float]]): one threshold for all labels, or ``{"default": …, "LABEL": …}``.
    component (str): name of the component, for error messages.
    RETURNS (OperatingPoint): an operating point with these thresholds and the name "custom".
    RAISES: ConfigError for a threshold that is not between 0 and 1 (D200), or without a default (D340).
    """
    values = dict(threshold) if isinstance(threshold, Mapping) else {"default": threshold}
    for value in values.values():
        _check(value, component)
    if "default" not in values:
        raise ConfigError(Errors.D340.format(name=component))
    return OperatingPoint(values.pop("default"), values)


def named_points(cfg: Mapping[str, Any], component: str) -> dict[str, OperatingPoint]:
    """Read all operating points that `spacy-deid calibrate` added to a component.

    cfg (Mapping[str, Any]): settings of the component; ``cfg["points"]`` contains the record of each point by name, as
        for `read_point`.
    component (str): name of the component, for error messages.
    RETURNS (dict[str, OperatingPoint]): name → operating point.
    RAISES: ConfigError (D200) for a threshold that is not between 0 and 1.
    """
    return {name: read_point(name, record, component) for name, record in cfg.get("points", {}).items()}


def read_point(name: str, record: Mapping[str, Any], component: str) -> OperatingPoint:
    """Create an operating point from its record in the settings of a component.

    name (str): name of the operating point.
    record (Mapping[str, Any]): the default threshold under "default", and the thresholds of single labels under
        "labels" (canonical label → threshold), which can be missing.
    component (str): name of the component, for error messages.
    RETURNS (OperatingPoint): the operating point.
    RAISES: ConfigError (D200) for a threshold that is not between 0 and 1.
    """
    values = {"default": record["default"], **record.get("labels", {})}
    for value in values.values():
        _check(value, component)
    # the JSON that a component is saved in turns 0.7 into 0.7000000000000001
    exact = {label: round(value, 12) for label, value in values.items()}
    return OperatingPoint(exact.pop("default"), exact, name)


def _check(threshold: Any, component: str) -> None:
    """Check that a threshold is between 0 and 1."""
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not number or not 0.0 < threshold < 1.0:
        raise ConfigError(Errors.D200.format(name=component, threshold=threshold))


# (start token, end token, label number, probability)
Decoded = list[tuple[int, int, int, float]]
_Piece = tuple[int, int, np.ndarray]
_PIECE = 256
_BATCH = 64
_GROUP = 32


@dataclass(frozen=True, slots=True)
class Posterior:
    """The predictions for one note, from which spans can be chosen at any operating point.

    spans (list): the spans of the most probable legal tag sequence, as (start token, end token exclusive, label index,
        lowest `phi` of the tokens).
    phi (ndarray): uncalibrated probability of each token to be PHI of any label, float32, shape (tokens,).
    labels (ndarray): index of each token's most probable label if the token is PHI, shape (tokens,).
    first (Optional[Posterior]): the predictions without those of a second reading; None if there was none.
    """

    spans: Decoded
    phi: np.ndarray
    labels: np.ndarray
    first: "Posterior | None" = None


def decode_spans(
    emissions: Sequence[np.ndarray], threshold: float | Sequence[float], tokens: Calibration, spans: Calibration
) -> list[Decoded]:
    """Find the spans in notes at one operating point: `read_posteriors` followed by `choose_spans`.

    emissions (Sequence[ndarray]): tag scores, each of shape (tokens, tags).
    threshold (Union[float, Sequence[float]]): see `choose_spans`.
    tokens, spans (Calibration): see `choose_spans`.
    RETURNS (list[Decoded]): spans in the order of the text, each with its calibrated probability.
    """
    return [choose_spans(posterior, threshold, tokens, spans) for posterior in read_posteriors(emissions)]


def choose_spans(
    posterior: Posterior, threshold: float | Sequence[float], tokens: Calibration, spans: Calibration
) -> Decoded:
    """Choose the spans in a note at an operating point.

    The spans of the most probable legal tag sequence are taken first, because their edges are reliable. A threshold up
    to 0.5 adds every other token whose probability of being PHI reaches it; adjacent tokens with the same label are
    joined. A threshold above 0.5 removes the spans with a lower probability. A lower threshold always covers at least
    the same tokens.

    posterior (Posterior): the predictions for one note.
    threshold (Union[float, Sequence[float]]): calibrated probability of being PHI, 0 to 1; one for all labels, or one
        per label index. An uncovered token uses the threshold of its most probable label.
    tokens (Calibration): calibration of the probability that a token is PHI, which thresholds are compared with.
    spans (Calibration): calibration of the lowest such probability in a span, which becomes its score.
    RETURNS (Decoded): spans in the order of the text, each with its calibrated probability.
    """
    if not len(posterior.phi):
        return []
    wanted, raw = _raw_thresholds(threshold if isinstance(threshold, float) else tuple(threshold), tokens)
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


@lru_cache(64)
def _raw_thresholds(threshold: float | tuple[float, ...], tokens: Calibration) -> tuple[np.ndarray, np.ndarray]:
    """Return thresholds as an array, and the raw probabilities that are calibrated to them."""
    wanted = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    return wanted, np.asarray([tokens.inverse(value) for value in wanted.tolist()])


def read_posteriors(emissions: Sequence[np.ndarray]) -> list[Posterior]:
    """Compute the predictions for notes from their tag scores.

    emissions (Sequence[ndarray]): tag scores of each note, shape (tokens, tags).
    RETURNS (list[Posterior]): the predictions for each note.
    RAISES: NotDeidentified (D247) if the scores are NaN or infinite.
    """
    return read_stretches(list(map(len, emissions)), enumerate(emissions))


def read_stretches(lengths: Sequence[int], stretches: Iterable[tuple[int, np.ndarray]]) -> list[Posterior]:
    """Compute the predictions for notes whose tag scores arrive in parts, so that the scores are never all in memory.

    lengths (Sequence[int]): number of tokens of each note.
    stretches (Iterable[tuple[int, ndarray]]): index of a note and tag scores of its next tokens, shape (tokens, tags).
        All parts of a note follow each other; a note without tokens can be missing.
    RETURNS (list[Posterior]): the predictions for each note, equal to those of `read_posteriors`.
    RAISES: NotDeidentified (D247) if the scores are NaN or infinite.
    """
    spans: list[Decoded] = [[] for _ in lengths]
    phi = [np.zeros(length, dtype=np.float32) for length in lengths]
    labels = [np.zeros(length, dtype=np.int32) for length in lengths]
    for i, offset, path, by_label in _decode_pieces(_cut_pieces(stretches)):
        rows = slice(offset, offset + len(path))
        phi[i][rows] = np.minimum(by_label.sum(axis=1), 1.0)  # summed, not 1 - P(O): small ones stay apart
        if not np.isfinite(phi[i][rows]).all():
            raise NotDeidentified(Errors.D247)
        labels[i][rows] = by_label.argmax(axis=1)
        spans[i] += [
            (offset + s, offset + e, k, float(phi[i][offset + s : offset + e].min()))
            for s, e, k in crf.decode_tags(path)
        ]
    return [Posterior(*parts) for parts in zip(spans, phi, labels, strict=True)]


def _decode_pieces(pieces: Iterable[_Piece]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Decode pieces of notes in batches; yield note index, offset in the note, best path and label probabilities."""
    remaining = iter(pieces)
    while batch := list(islice(remaining, _BATCH)):
        decoded: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        # Pieces of similar length need little padding, and few at once fit into the cache of the processor.
        order = sorted(range(len(batch)), key=lambda k: len(batch[k][2]))
        for first in range(0, len(order), _GROUP):
            group = order[first : first + _GROUP]
            padded, lengths = crf.pad([batch[k][2] for k in group])
            results = zip(crf.viterbi(padded), crf.label_probabilities(padded), strict=True)
            for k, length, (path, probs) in zip(group, lengths, results, strict=True):
                decoded[k] = path[:length], probs[:length]
        for k, (i, offset, _) in enumerate(batch):
            yield i, offset, *decoded[k]


def _cut_pieces(stretches: Iterable[tuple[int, np.ndarray]]) -> Iterator[_Piece]:
    """Cut long notes into pieces of at most `_PIECE` tokens, which keeps time and memory linear in their length.

    A cut is made after the token that is most certainly outside an entity, so it does not change the best path. How
    the scores were divided into parts makes no difference.
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
    """Join neighbouring tokens with the same label to spans, each with the lowest probability of its tokens."""
    breaks = np.flatnonzero((np.diff(tokens) != 1) | (np.diff(labels) != 0)) + 1
    runs = []
    for part, label in zip(np.split(tokens, breaks), np.split(labels, breaks), strict=True):
        start, end = int(part[0]), int(part[-1]) + 1
        runs.append((start, end, int(label[0]), float(phi[start:end].min())))
    return runs
