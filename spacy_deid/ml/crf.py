"""BIOES tags, a linear-chain CRF over them whose transitions only forbid illegal tag sequences,
and the training objective: the negative log-likelihood of the gold path.

A BIOES tag says where a token is in an entity (Begin, Inside, Outside, End, Single). Tag 0 is ``O``. The tags of label
number k are ``1 + 4k + (0 B, 1 I, 2 E, 3 S)``, so all operations on tags are arithmetic on arrays of shape (…, labels,
4).

``B-x`` and ``I-x`` are followed by ``I-x`` or ``E-x``; every other tag by ``O``, ``B-*`` or ``S-*``. Without
transition weights a step costs O(tags) instead of O(tags²): all legal ends share one sum (or maximum), and each label
continues by itself. The score of a path is the sum of its emissions; probabilities are the softmax over all legal
paths (Lafferty, McCallum and Pereira 2001), computed with rescaled sums (Rabiner 1989).

Emissions are arrays of shape (batch, time, tags), padded at the end; ``lengths`` has shape (batch,).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.training import Example

O = 0  # noqa: E741 - the field's name for the outside tag
_B, _I, _E, _S = range(4)

Spans = list[tuple[int, int, int]]


def n_tags(n_labels: int) -> int:
    """Return the number of tags for a number of labels."""
    return 1 + 4 * n_labels


def encode_tags(spans: Iterable[tuple[int, int, int]], length: int) -> np.ndarray:
    """Convert spans to tags.

    spans (Iterable[tuple]): disjoint (start token, end token exclusive, label index).
    length (int): number of tokens.
    RETURNS (ndarray): int32, shape (length,).
    """
    tags = np.zeros(length, dtype=np.int32)
    for start, end, label in spans:
        base = 1 + 4 * label
        if end - start == 1:
            tags[start] = base + _S
        else:
            tags[start] = base + _B
            tags[start + 1 : end - 1] = base + _I
            tags[end - 1] = base + _E
    return tags


def decode_tags(tags: Sequence[int] | np.ndarray) -> Spans:
    """Convert a legal tag sequence, as the Viterbi decoder returns it, to spans.

    tags (ndarray): shape (tokens,).
    RETURNS (list[tuple]): (start token, end token exclusive, label index), in the order of the text.
    """
    spans, start = [], 0
    tags = np.asarray(tags)
    for i in np.flatnonzero(tags):
        label, place = divmod(int(tags[i]) - 1, 4)
        if place in (_B, _S):
            start = int(i)
        if place in (_E, _S):
            spans.append((start, int(i) + 1, label))
    return spans


NEVER = np.float32(-1e30)
# How far behind the best a tag may lie: e⁻⁴⁰, twice over, is still a float32. What an illegal tag leads by is thereby
# bounded, and the legal paths keep a mass.
_FLOOR = np.float32(-40.0)


@dataclass(frozen=True, slots=True)
class Marginals:
    """Posterior tag probabilities, shape (batch, time, tags), and the log-partition per sequence, shape (batch,)."""

    probs: np.ndarray
    log_z: np.ndarray


def pad(sequences: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Stack emissions of different lengths. Padding scores 0 for ``O`` and about minus infinity for all other tags.

    sequences (list[ndarray]): each float32 of shape (tokens, tags), at least one.
    RETURNS (tuple[ndarray, ndarray]): emissions (batch, time, tags) and lengths (batch,).
    """
    lengths = np.asarray([len(s) for s in sequences])
    out = np.full((len(sequences), max(1, lengths.max()), sequences[0].shape[1]), NEVER, dtype=np.float32)
    out[:, :, 0] = 0.0
    for row, sequence in zip(out, sequences, strict=True):
        row[: len(sequence)] = sequence
    return out, lengths


def marginals(emissions: np.ndarray) -> Marginals:
    """Compute the posterior probability of every tag at every token, over all legal paths.

    emissions (ndarray): shape (batch, time, tags).
    RETURNS (Marginals): probabilities and log-partition.
    """
    batch, time, tags = emissions.shape
    peak = emissions.max(axis=2)
    weight = np.exp(np.maximum(emissions - peak[:, :, None], _FLOOR)).transpose(1, 0, 2)
    alpha = np.empty((time, batch, tags), dtype=np.float32)
    scale = np.empty((time, batch), dtype=np.float32)
    free, inside = np.ones(batch, dtype=np.float32), np.zeros((batch, (tags - 1) // 4), dtype=np.float32)
    for t in range(time):
        step = _spread(free, inside, weight[t], alpha[t])
        scale[t] = step.sum(axis=1)
        step /= scale[t][:, None]
        free, inside = _ends(step), _opens(step)
    beta = _backward(weight, scale)
    probs = (alpha * beta).transpose(1, 0, 2)
    probs /= probs.sum(axis=2, keepdims=True)
    log_z = np.log(scale).sum(axis=0) + peak.sum(axis=1)
    legal = np.log(np.maximum(_ends(alpha[-1]), 1e-30))
    return Marginals(probs, log_z + legal)


def _spread(free: np.ndarray, inside: np.ndarray, weight: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Compute a forward step: mass at legal ends flows to O, B and S; mass inside a label to its I and E."""
    out[:, 0] = free * weight[:, 0]
    w, o = weight[:, 1:].reshape(len(weight), -1, 4), out[:, 1:].reshape(len(weight), -1, 4)
    np.multiply(w[:, :, 0::3], free[:, None, None], out=o[:, :, 0::3])
    np.multiply(w[:, :, 1:3], inside[:, :, None], out=o[:, :, 1:3])
    return out


def _ends(step: np.ndarray) -> np.ndarray:
    """Return the mass at tags after which a new entity or O may follow: O, E-* and S-*."""
    total: np.ndarray = step[:, 0] + step[:, 3::4].sum(axis=1) + step[:, 4::4].sum(axis=1)
    return total


def _opens(step: np.ndarray) -> np.ndarray:
    """Return the mass inside each label: B-x and I-x."""
    mass: np.ndarray = step[:, 1::4] + step[:, 2::4]
    return mass


def _backward(weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Compute the backward sums, rescaled by the forward scales; shape (time, batch, tags)."""
    time, batch, _ = weight.shape
    beta = np.empty_like(weight)
    after = beta[-1]
    after[:] = 0.0
    after[:, 0], after[:, 3::4], after[:, 4::4] = 1.0, 1.0, 1.0
    for t in range(time - 1, 0, -1):
        mass = weight[t] * beta[t]
        mass /= scale[t][:, None]
        four = mass[:, 1:].reshape(batch, -1, 4)
        start = mass[:, 0] + four[:, :, 0].sum(axis=1) + four[:, :, 3].sum(axis=1)
        go_on = four[:, :, 1] + four[:, :, 2]
        before = beta[t - 1]
        before[:, 0] = start
        before[:, 3::4], before[:, 4::4] = start[:, None], start[:, None]
        before[:, 1::4], before[:, 2::4] = go_on, go_on
    return beta


def viterbi(emissions: np.ndarray) -> np.ndarray:
    """Find the best legal path.

    emissions (ndarray): shape (batch, time, tags).
    RETURNS (ndarray): int32 tags, shape (batch, time).
    """
    batch, time, tags = emissions.shape
    rows = np.arange(batch)
    score = emissions.transpose(1, 0, 2)
    opener = np.zeros((time, batch, (tags - 1) // 4), dtype=bool)
    ender = np.zeros((time, batch), dtype=np.int32)
    free, inside = np.zeros(batch, dtype=np.float32), np.full(opener.shape[1:], NEVER, dtype=np.float32)
    for t in range(time):
        four = score[t][:, 1:].reshape(batch, -1, 4)
        begin, go_on = free[:, None] + four[:, :, 0], inside + four[:, :, 1]
        ends = np.empty((batch, tags), dtype=np.float32)
        ends[:] = NEVER
        ends[:, 0] = free + score[t][:, 0]
        ends[:, 3::4], ends[:, 4::4] = inside + four[:, :, 2], free[:, None] + four[:, :, 3]
        opener[t] = begin >= go_on
        inside = np.maximum(begin, go_on)
        ender[t] = ends.argmax(axis=1)
        free = ends[rows, ender[t]]
    return _walk_back(opener, ender)


def _walk_back(opener: np.ndarray, ender: np.ndarray) -> np.ndarray:
    """Follow the best path backwards: inside an entity to its B, otherwise to the best end of the previous token."""
    time, batch, _ = opener.shape
    path = np.zeros((batch, time), dtype=np.int32)
    rows = np.arange(batch)
    label = np.full(batch, -1)
    for t in range(time - 1, -1, -1):
        within = label >= 0
        began = opener[t][rows, np.maximum(label, 0)]
        path[:, t] = np.where(within, 1 + 4 * label + np.where(began, 0, 1), ender[t])
        enters = ~within & (ender[t] > 0) & ((ender[t] - 1) % 4 == 2)
        label = np.where(enters, (ender[t] - 1) // 4, np.where(within & ~began, label, -1))
    return path


def gold_spans(example: Example, labels: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the gold entities on the tokens of the prediction, widened to whole tokens.

    If two entities share a token, the longer one keeps it and the other is trimmed, so that no gold token is taught as
    text.

    example (Example): gold in ``example.reference.ents``.
    labels (Sequence[str]): labels by index; entities with other labels are ignored.
    RETURNS (list[tuple]): start token, end token, label index; disjoint, in the order of the text.
    """
    numbers = {label: i for i, label in enumerate(labels)}
    doc, spans, taken = example.x, [], np.zeros(len(example.x), dtype=bool)
    for ent in sorted(example.reference.ents, key=lambda e: e.start_char - e.end_char):
        span = doc.char_span(ent.start_char, ent.end_char, alignment_mode="expand")
        if span is None or ent.label_ not in numbers:
            continue
        free = span.start + np.flatnonzero(~taken[span.start : span.end])
        taken[span.start : span.end] = True
        runs = np.split(free, np.flatnonzero(np.diff(free) != 1) + 1) if len(free) else []
        spans += [(int(run[0]), int(run[-1]) + 1, numbers[ent.label_]) for run in runs]
    return sorted(spans)


def encode_dense(spans: list[tuple[int, int, int]], dense: np.ndarray) -> np.ndarray:
    """Return the BIOES tags of the dense tokens.

    spans (list[tuple]): start token, end token, label index.
    dense (ndarray): token indices of the dense tokens.
    RETURNS (ndarray): tags, int32, shape (dense tokens,).
    """
    edges = [(*np.searchsorted(dense, (start, end)).tolist(), label) for start, end, label in spans]
    return encode_tags([edge for edge in edges if edge[0] < edge[1]], len(dense))


def path_loss(emissions: list[np.ndarray], gold: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Compute the negative log-likelihood of the gold paths.

    emissions (list[ndarray]): tag scores, each of shape (tokens, tags).
    gold (list[ndarray]): gold tags, each of shape (tokens,).
    RETURNS (tuple[float, list[ndarray]]): the sum over all paths, and the gradient of each (posterior minus gold).
    """
    padded, lengths = pad(emissions)
    posterior = marginals(padded)
    loss, gradients = 0.0, []
    for i, (tags, length) in enumerate(zip(gold, lengths, strict=True)):
        steps = np.arange(length)
        gradient = posterior.probs[i, :length].copy()
        gradient[steps, tags] -= 1.0
        loss += float(posterior.log_z[i] - padded[i, steps, tags].sum())
        gradients.append(gradient)
    return loss, gradients


def committee_loss(
    scores: Sequence[np.ndarray], gold: Sequence[np.ndarray], dense: Sequence[np.ndarray]
) -> tuple[float, list[np.ndarray]]:
    """Compute the loss of a network, or of each member of a committee separately.

    scores (Sequence[ndarray]): tag scores of each Doc, shape (tokens, tags) or (members, tokens, tags).
    gold (Sequence[ndarray]): tags of the dense tokens of each Doc.
    dense (Sequence[ndarray]): token indices of the dense tokens of each Doc.
    RETURNS (tuple[float, list[ndarray]]): loss summed over tokens and members; gradients with the shapes of `scores`,
        averaged over the Docs, zero for tokens that are not dense.
    """
    members = [score if score.ndim == 3 else score[None] for score in scores]
    owner = [i for i, score in enumerate(members) for _ in score]
    flat = [one for score, rows in zip(members, dense, strict=True) for one in score[:, rows]]
    loss, gradients = path_loss(flat, [gold[i] for i in owner])
    whole = [np.zeros(score.shape, dtype=np.float32) for score in members]
    for i, score in enumerate(whole):
        score[:, dense[i]] = [g / len(gold) for g, o in zip(gradients, owner, strict=True) if o == i]
    return loss, [part.reshape(score.shape) for part, score in zip(whole, scores, strict=True)]
