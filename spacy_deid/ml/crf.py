"""A linear-chain CRF over BIOES tags: decoding, posterior probabilities, and the loss for training.

A BIOES tag states the position of a token in an entity (Begin, Inside, Outside, End, Single). Tag 0 is ``O``. The tags
of label number k are ``1 + 4k + (0 B, 1 I, 2 E, 3 S)``, so all operations on tags are arithmetic on arrays of shape
(…, labels, 4).

The CRF has no transition weights, but forbids illegal transitions: ``B-x`` and ``I-x`` are followed by ``I-x`` or
``E-x``; every other tag by ``O``, ``B-*`` or ``S-*``. A path is a sequence of tags, one per token. Its score is the
sum of its emissions, the scores that the network gives to the tags. Probabilities are the softmax over all legal paths
(Lafferty, McCallum and Pereira 2001), computed with rescaled sums (Rabiner 1989). Without transition weights, a step
costs O(tags) instead of O(tags²): all legal predecessors outside entities share one sum (or maximum), and each label
only continues itself. The loss is the negative log-likelihood of the gold path.

Emissions are arrays of shape (batch, time, tags), padded at the end; ``lengths`` has shape (batch,).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from spacy.training import Example

O = 0  # noqa: E741 - the field's name for the outside tag
_B, _I, _E, _S = range(4)

Spans = list[tuple[int, int, int]]


def n_tags(n_labels: int) -> int:
    """Return the number of BIOES tags for a number of labels: four per label, and ``O``."""
    return 1 + 4 * n_labels


def encode_tags(spans: Iterable[tuple[int, int, int]], length: int) -> np.ndarray:
    """Convert entity spans to BIOES tags.

    spans (Iterable[tuple]): disjoint spans as (start token, end token exclusive, label index).
    length (int): number of tokens.
    RETURNS (ndarray): tag of each token, int32, shape (length,).
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
    """Convert a legal sequence of BIOES tags, such as one that `viterbi` returned, to entity spans.

    tags (ndarray): tag of each token, shape (tokens,).
    RETURNS (list[tuple]): spans as (start token, end token exclusive, label index), in the order of the text.
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
# Tag scores are clipped at this distance below the best one at a token: exp(−40)² is still representable in float32.
# If an illegal tag has the best score, the legal paths thereby keep a probability above 0.
_FLOOR = np.float32(-40.0)


@dataclass(frozen=True, slots=True)
class Marginals:
    """The result of `marginals`.

    probs (ndarray): posterior probability of each tag at each token, shape (batch, time, tags).
    log_z (ndarray): logarithm of the partition function of each sequence, shape (batch,).
    """

    probs: np.ndarray
    log_z: np.ndarray


def pad(sequences: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Stack the emissions of sequences of different lengths into one array.

    Padding tokens have the score 0 for ``O`` and about minus infinity for all other tags.

    sequences (list[ndarray]): emissions, each float32 of shape (tokens, tags); at least one.
    RETURNS (tuple[ndarray, ndarray]): emissions, shape (batch, time, tags), and lengths, shape (batch,).
    """
    lengths = np.asarray([len(s) for s in sequences])
    out = np.full((len(sequences), max(1, lengths.max()), sequences[0].shape[1]), NEVER, dtype=np.float32)
    out[:, :, 0] = 0.0
    for row, sequence in zip(out, sequences, strict=True):
        row[: len(sequence)] = sequence
    return out, lengths


@dataclass(frozen=True, slots=True)
class _Sums:
    """The forward and backward sums of a CRF: sums over all legal paths up to each token, and from each token on.

    The sums are rescaled at each token, so only ratios of sums at the same token are meaningful. Unless stated
    otherwise, arrays have the shape (time, batch), or (time, batch, labels) if they have a value per label.

    weight_o, weight (ndarray): exponentials of the tag scores: of ``O``, and of B, I, E and S, stacked to the shape
        (4, time, batch, labels).
    outside, inside (ndarray): forward sums of the paths that, before a token, are outside entities, or inside an
        entity of each label. The first axis has one more item, for the end of the sequence.
    after_outside, after_inside (ndarray): backward sums of the paths that, after a token, are outside entities, or
        inside an entity of each label.
    log_z (ndarray): logarithm of the partition function, shape (batch,).
    """

    weight_o: np.ndarray
    weight: np.ndarray
    outside: np.ndarray
    inside: np.ndarray
    after_outside: np.ndarray
    after_inside: np.ndarray
    log_z: np.ndarray


def _sum_paths(emissions: np.ndarray) -> _Sums:
    """Compute the forward and the backward sums.

    The state after a token consists of the sum over paths outside entities, in column 0, and inside each label. The
    backward recursion is the same with B and E exchanged, so the reversed sequences are further rows of the same loop.
    """
    batch, time, _ = emissions.shape
    peak = emissions.max(axis=2)
    flat = np.exp(np.maximum(emissions - peak[:, :, None], _FLOOR)).transpose(1, 0, 2)
    weight_o = np.ascontiguousarray(flat[:, :, 0])
    weight = np.stack([flat[:, :, 1 + place :: 4] for place in (_B, _I, _E, _S)])
    stay = weight_o + weight[_S].sum(axis=2)
    width = 1 + weight.shape[3]
    keep = np.empty((time, 2 * batch, width), dtype=np.float32)  # from a state to itself
    enter = np.zeros((time, 2 * batch, width), dtype=np.float32)  # from outside to a label
    leave = np.zeros((time, 2 * batch, width, 1), dtype=np.float32)  # from a label to outside
    for rows, step, begin, end in ((slice(batch), 1, _B, _E), (slice(batch, None), -1, _E, _B)):
        keep[:, rows, 0], keep[:, rows, 1:] = stay[::step], weight[_I, ::step]
        enter[:, rows, 1:], leave[:, rows, 1:, 0] = weight[begin, ::step], weight[end, ::step]
    states = np.empty((time + 1, 2 * batch, 1, width), dtype=np.float32)
    states[0] = 0.0
    states[0, :, 0, 0] = 1.0
    scale = np.empty((time, 2 * batch, 1), dtype=np.float32)
    left = np.empty((2 * batch, 1, 1), dtype=np.float32)
    entered = np.empty((2 * batch, width), dtype=np.float32)
    state = states[0, :, 0]
    steps = zip(states, states[1:, :, 0], keep, enter, leave, scale, strict=False)  # faster than an index per array
    for before, after, kept, begun, ended, total in steps:
        np.matmul(before, ended, out=left)
        np.multiply(state[:, :1], begun, out=entered)
        np.multiply(state, kept, out=after)
        after += entered
        after[:, :1] += left[:, 0]
        np.add.reduce(after, axis=1, out=total, keepdims=True)
        after /= total
        state = after
    forward, backward = states[:, :batch, 0], states[-2::-1, batch:, 0]
    legal = np.log(np.maximum(forward[-1, :, 0], 1e-30))
    log_z = np.log(scale[:, :batch, 0]).sum(axis=0) + peak.sum(axis=1) + legal
    return _Sums(weight_o, weight, forward[:, :, 0], forward[:, :, 1:], backward[:, :, 0], backward[:, :, 1:], log_z)


def marginals(emissions: np.ndarray) -> Marginals:
    """Compute the posterior probability of every tag at every token, over all legal tag sequences.

    emissions (ndarray): tag scores, shape (batch, time, tags).
    RETURNS (Marginals): the probabilities, and the logarithm of the partition function.
    """
    sums = _sum_paths(emissions)
    probs = np.empty((*sums.weight_o.shape, emissions.shape[2]), dtype=np.float32)
    outside, after_outside = sums.outside[:-1, :, None], sums.after_outside[:, :, None]
    probs[:, :, 0] = sums.outside[:-1] * sums.weight_o * sums.after_outside
    probs[:, :, 1 + _B :: 4] = outside * sums.weight[_B] * sums.after_inside
    probs[:, :, 1 + _I :: 4] = sums.inside[:-1] * sums.weight[_I] * sums.after_inside
    probs[:, :, 1 + _E :: 4] = sums.inside[:-1] * sums.weight[_E] * after_outside
    probs[:, :, 1 + _S :: 4] = outside * sums.weight[_S] * after_outside
    probs /= probs.sum(axis=2, keepdims=True)
    return Marginals(probs.transpose(1, 0, 2), sums.log_z)


def label_probabilities(emissions: np.ndarray) -> np.ndarray:
    """Compute the posterior probability of every label at every token: the sum of its four tags in `marginals`.

    emissions (ndarray): tag scores, shape (batch, time, tags).
    RETURNS (ndarray): probabilities, float32, shape (batch, time, labels). What is missing to 1 at a token is the
        probability of ``O``.
    """
    sums = _sum_paths(emissions)
    ends = sums.inside[:-1] * sums.weight[_E]
    ends += sums.outside[:-1, :, None] * sums.weight[_S]
    ends *= sums.after_outside[:, :, None]
    # The forward sum inside a label after a token, which its B and its I share, was rescaled with the sum outside.
    step = sums.inside[:-1] * sums.weight[_I]
    step += sums.outside[:-1, :, None] * sums.weight[_B]
    step *= sums.after_inside
    ends += step
    ends /= (ends.sum(axis=2) + sums.outside[:-1] * sums.weight_o * sums.after_outside)[:, :, None]
    return cast(np.ndarray, ends.transpose(1, 0, 2))


def viterbi(emissions: np.ndarray) -> np.ndarray:
    """Find the legal tag sequence with the highest score (Viterbi decoding).

    emissions (ndarray): tag scores, shape (batch, time, tags).
    RETURNS (ndarray): tag of each token, int32, shape (batch, time).
    """
    batch, time, tags = emissions.shape
    flat = emissions.transpose(1, 0, 2)
    begin, go_on, end, single = (np.ascontiguousarray(flat[:, :, 1 + place :: 4]) for place in (_B, _I, _E, _S))
    stay = np.maximum(flat[:, :, 0], single.max(axis=2, initial=NEVER))
    outside = np.zeros((time + 1, batch), dtype=np.float32)  # best score of a path that ends outside an entity
    inside = np.full((time + 1, *begin.shape[1:]), NEVER, dtype=np.float32)  # and of one within each label
    work = np.empty_like(inside[0])
    columns = outside[:, :, None]
    steps = zip(inside, inside[1:], columns, outside, outside[1:], begin, go_on, end, stay, strict=False)
    for within, after, column, free, after_free, begun, gone, ended, stayed in steps:
        np.add(within, gone, out=after)
        np.add(column, begun, out=work)
        np.maximum(after, work, out=after)
        np.add(within, ended, out=work)
        np.maximum.reduce(work, axis=1, out=after_free, initial=NEVER)
        np.maximum(after_free, free + stayed, out=after_free)
    before = outside[:-1, :, None]
    opener = before + begin >= inside[:-1] + go_on
    ends = np.full((time, batch, tags), NEVER, dtype=np.float32)
    ends[:, :, 0] = outside[:-1] + flat[:, :, 0]
    ends[:, :, 1 + _E :: 4], ends[:, :, 1 + _S :: 4] = inside[:-1] + end, before + single
    return _walk_back(opener, ends.argmax(axis=2).astype(np.int32))


def _walk_back(opener: np.ndarray, ender: np.ndarray) -> np.ndarray:
    """Follow the best path backwards: from the end of an entity to its B, otherwise to the best end of the previous
    token.

    opener (ndarray): whether the best path within a label begins at the token; shape (time, batch, labels).
    ender (ndarray): best tag of a token that is not followed by I or E; shape (time, batch).
    """
    path = np.ascontiguousarray(ender.T)
    for row, tags in enumerate(path):
        reached = len(tags)  # the path after this token is known
        for last in np.flatnonzero((tags > 0) & ((tags - 1) % 4 == _E))[::-1].tolist():
            if last >= reached:  # within a later entity
                continue
            label = (int(tags[last]) - 1) // 4
            first = last - 1
            while first > 0 and not opener[first, row, label]:
                first -= 1
            tags[first], tags[first + 1 : last] = 1 + 4 * label + _B, 1 + 4 * label + _I
            reached = first
    return path


def gold_spans(example: Example, labels: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the gold entities as spans of the predicted Doc's tokens, widened to whole tokens.

    If two entities share a token, the longer one keeps it and the other one is trimmed, not dropped, so that no token
    of an entity is used as an example of ordinary text.

    example (Example): example with the gold entities in ``example.reference.ents``.
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
    """Convert entity spans to the BIOES tags of the dense tokens, which are all tokens except spaces and tabs.

    spans (list[tuple]): spans over all tokens, as (start token, end token exclusive, label index).
    dense (ndarray): indices of the dense tokens, from `features.dense_tokens`.
    RETURNS (ndarray): tag of each dense token, int32, shape (dense tokens,).
    """
    edges = [(*np.searchsorted(dense, (start, end)).tolist(), label) for start, end, label in spans]
    return encode_tags([edge for edge in edges if edge[0] < edge[1]], len(dense))


def path_loss(emissions: list[np.ndarray], gold: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Compute the negative log-likelihood of gold tag sequences, and its gradient.

    emissions (list[ndarray]): tag scores of each sequence, shape (tokens, tags).
    gold (list[ndarray]): gold tags of each sequence, shape (tokens,).
    RETURNS (tuple[float, list[ndarray]]): the loss, summed over the sequences, and its gradient with respect to the
        scores of each sequence (posterior probability minus gold), shape (tokens, tags).
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
    """Compute the loss of a network, or of every member of a committee of networks, each on its own scores.

    scores (Sequence[ndarray]): tag scores of each Doc, shape (tokens, tags), or (members, tokens, tags) of a
        committee.
    gold (Sequence[ndarray]): gold tags of each Doc's dense tokens, which are all tokens except spaces and tabs.
    dense (Sequence[ndarray]): indices of each Doc's dense tokens, from `features.dense_tokens`.
    RETURNS (tuple[float, list[ndarray]]): the loss, summed over Docs and members, and its gradients with the shapes of
        `scores`, divided by the number of Docs. They are zero for tokens that are not dense.
    """
    members = [score if score.ndim == 3 else score[None] for score in scores]
    owner = [i for i, score in enumerate(members) for _ in score]
    flat = [one for score, rows in zip(members, dense, strict=True) for one in score[:, rows]]
    loss, gradients = path_loss(flat, [gold[i] for i in owner])
    whole = [np.zeros(score.shape, dtype=np.float32) for score in members]
    for i, score in enumerate(whole):
        score[:, dense[i]] = [g / len(gold) for g, o in zip(gradients, owner, strict=True) if o == i]
    return loss, [part.reshape(score.shape) for part, score in zip(whole, scores, strict=True)]
