"""Batches for masked-language-model training: pieces of notes, whole words masked as the scorer will mask them.

The scorer masks a whole word and uncovers its pieces from left to right, and it masks the other places where the same
word stands. So do the batches: some words are uncovered up to a piece, and some words are masked wherever they stand.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch", "Pieces", "batch_of_step", "encode_texts", "mask_words"]

SHARE = 0.22  # of the pieces that are masked, about
UNCOVERED = 0.4  # of the masked words of several pieces: how many are uncovered up to a piece
EVERYWHERE = 0.5  # of the masked words: how many are masked wherever they stand in the window


class Pieces(NamedTuple):
    """Encoded texts, one behind the other.

    ids (NDArray): pieces, (pieces,) int32.
    words (NDArray): number of the word that a piece belongs to, rising through all texts, (pieces,) int32.
    starts (NDArray): first piece of every text, and the end, (texts + 1,) int64.
    """

    ids: NDArray[np.int32]
    words: NDArray[np.int32]
    starts: NDArray[np.int64]


class Batch(NamedTuple):
    """A batch: what the model reads, and what it is asked.

    ids (NDArray): pieces with masks, (windows, length) int64.
    attention (NDArray): 1 where there is a piece, (windows, length) int64.
    places (NDArray): flat positions that are asked, (asked,) int64.
    targets (NDArray): the pieces there, (asked,) int64.
    """

    ids: NDArray[np.int64]
    attention: NDArray[np.int64]
    places: NDArray[np.int64]
    targets: NDArray[np.int64]


def encode_texts(tokenizer: Any, texts: Iterable[str]) -> Pieces:
    """Encode texts without the special pieces.

    tokenizer (tokenizers.Tokenizer): the tokenizer.
    texts (Iterable[str]): the texts.
    RETURNS (Pieces): their pieces.
    """
    ids, words, starts, offset = [], [], [0], 0
    for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        ids.append(np.array(encoding.ids, dtype=np.int32))
        words.append(np.array(encoding.word_ids, dtype=np.int32) + offset)
        offset += (max(encoding.word_ids) + 1) if encoding.word_ids else 0
        starts.append(starts[-1] + len(encoding.ids))
    empty = np.zeros(0, dtype=np.int32)
    return Pieces(np.concatenate([empty, *ids]), np.concatenate([empty, *words]), np.array(starts))


def batch_of_step(pieces: Pieces, step: int, *, size: int, length: int, seed: int, special: dict[str, int]) -> Batch:
    """Make the batch of a step; the same step gives the same batch, so a resumed training goes on as it would have.

    pieces (Pieces): the texts.
    step (int): number of the step.
    size (int): windows of the batch.
    length (int): pieces of a window, ``[CLS]`` and ``[SEP]`` counted in.
    seed (int): seed of the training.
    special (dict[str, int]): ids of "pad", "cls", "sep", "mask".
    RETURNS (Batch): the batch.
    """
    rng = np.random.default_rng([seed, step])
    ids = np.full((size, length), special["pad"], dtype=np.int64)
    places, targets = [], []
    for row in range(size):
        window = _window(pieces, rng, length - 2)
        masked, asked = mask_words(pieces.ids[window], pieces.words[window], special["mask"], rng)
        ids[row, : len(masked) + 2] = [special["cls"], *masked, special["sep"]]
        places.append(row * length + 1 + asked)
        targets.append(pieces.ids[window][asked])
    attention = (ids != special["pad"]).astype(np.int64)
    return Batch(ids, attention, np.concatenate(places), np.concatenate(targets).astype(np.int64))


def mask_words(
    ids: NDArray[np.int32], words: NDArray[np.int32], mask: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Mask whole words of a window.

    ids (NDArray): pieces of the window.
    words (NDArray): the word of each piece.
    mask (int): id of the mask.
    rng (Generator): source of chance.
    RETURNS (tuple[NDArray, NDArray]): the pieces with masks, and the positions that are masked, at least one.
    """
    masked, asked = ids.astype(np.int64), np.zeros(len(ids), dtype=bool)
    starts = np.flatnonzero(np.r_[True, words[1:] != words[:-1]])
    ends = np.r_[starts[1:], len(ids)]
    keys = [ids[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]
    wanted = max(1, round(SHARE * len(ids)))
    for number in rng.permutation(len(starts)):
        if asked.sum() >= wanted:
            break
        everywhere = rng.random() < EVERYWHERE
        same = [n for n, key in enumerate(keys) if key == keys[number]] if everywhere else [number]
        for other in same[:4]:  # a full stop is masked at a few places only
            asked[starts[other] : ends[other]] = True
        if ends[number] - starts[number] > 1 and rng.random() < UNCOVERED:
            asked[starts[number] : rng.integers(starts[number] + 1, ends[number])] = False
    masked[asked] = mask
    return masked, np.flatnonzero(asked)


def _window(pieces: Pieces, rng: np.random.Generator, length: int) -> slice:
    """A window of one text, drawn by its length; it begins at the text's start more often than chance would."""
    place = int(rng.integers(pieces.starts[-1]))
    text = int(np.searchsorted(pieces.starts, place, side="right")) - 1
    start, end = int(pieces.starts[text]), int(pieces.starts[text + 1])
    first = max(start, min(place - int(rng.integers(length)), end - length))
    return slice(first, min(first + length, end))
