"""BIOES tags: one tag a token that says where it stands in an entity (Begin, Inside, Outside, End, Single).

Tag 0 is ``O``. The tags of label number k are ``1 + 4k + (0 B, 1 I, 2 E, 3 S)``, so that every operation on tags is
arithmetic on arrays of shape (…, labels, 4).
"""

from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["O", "decode", "encode", "n_tags"]

O = 0  # noqa: E741 - the field's name for the outside tag
_B, _I, _E, _S = range(4)

Spans = list[tuple[int, int, int]]


def n_tags(n_labels: int) -> int:
    """Number of tags for a number of labels."""
    return 1 + 4 * n_labels


def encode(spans: Iterable[tuple[int, int, int]], length: int) -> np.ndarray:
    """Tags of a token sequence.

    spans (Iterable[tuple]): disjoint (start token, end token exclusive, label number).
    length (int): tokens.
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


def decode(tags: Sequence[int] | np.ndarray) -> Spans:
    """Spans of a well-formed tag sequence, as the Viterbi decoder makes them.

    tags (ndarray): shape (tokens,).
    RETURNS (list[tuple]): (start token, end token exclusive, label number), in the order of the text.
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
