"""The training objective of the token classifier: the gold path of each note, and its negative log-likelihood."""

from collections.abc import Sequence

import numpy as np
from spacy.training import Example

from . import crf

__all__ = ["committee_loss", "encode_dense", "gold_spans", "path_loss"]


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
    return crf.encode_tags([edge for edge in edges if edge[0] < edge[1]], len(dense))


def path_loss(emissions: list[np.ndarray], gold: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Compute the negative log-likelihood of the gold paths.

    emissions (list[ndarray]): tag scores, each of shape (tokens, tags).
    gold (list[ndarray]): gold tags, each of shape (tokens,).
    RETURNS (tuple[float, list[ndarray]]): the sum over all paths, and the gradient of each (posterior minus gold).
    """
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
