"""What the token classifier is trained on: the gold path of each note, and how unlikely the model finds it."""

from collections.abc import Sequence

import numpy as np
from spacy.training import Example

from . import bioes, crf

__all__ = ["committee_loss", "encode_dense", "gold_spans", "path_loss"]


def gold_spans(example: Example, labels: Sequence[str]) -> list[tuple[int, int, int]]:
    """The reference on the tokens of the prediction, widened to whole tokens.

    Of two that share a token the longer keeps it and the other is trimmed, so that no gold token is taught as text.

    example (Example): gold in ``example.reference.ents``.
    labels (Sequence[str]): labels in the order of their numbers; entities of others are left out.
    RETURNS (list[tuple]): start token, end token, label number; disjoint, in the order of the text.
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
    """BIOES tags of the dense tokens."""
    edges = [(*np.searchsorted(dense, (start, end)).tolist(), label) for start, end, label in spans]
    return bioes.encode([edge for edge in edges if edge[0] < edge[1]], len(dense))


def path_loss(emissions: list[np.ndarray], gold: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Negative log-likelihood of the gold paths, summed, and the gradient of each: posterior minus gold."""
    padded, lengths = crf.pad(emissions)
    posterior = crf.marginals(padded)
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
    """Loss of one network or of each member of a committee on its own.

    scores (Sequence[ndarray]): shape (tokens, tags), or (members, tokens, tags), for each Doc.
    gold (Sequence[ndarray]): tags of the dense tokens of each Doc.
    dense (Sequence[ndarray]): numbers of the dense tokens of each Doc.
    RETURNS (tuple[float, list[ndarray]]): loss summed over tokens and members; gradients of the shape of `scores`, the
        mean over the Docs, zero where a token is not dense.
    """
    members = [score if score.ndim == 3 else score[None] for score in scores]
    owner = [i for i, score in enumerate(members) for _ in score]
    flat = [one for score, rows in zip(members, dense, strict=True) for one in score[:, rows]]
    loss, gradients = path_loss(flat, [gold[i] for i in owner])
    whole = [np.zeros(score.shape, dtype=np.float32) for score in members]
    for i, score in enumerate(whole):
        score[:, dense[i]] = [g / len(gold) for g, o in zip(gradients, owner, strict=True) if o == i]
    return loss, [part.reshape(score.shape) for part, score in zip(whole, scores, strict=True)]
