"""Vocabulary and training batches of a masked language model.

The vocabulary is WordPiece over words, punctuation and line breaks. Case and accents are kept, because they
distinguish names. A line break is a piece of its own: in a clinical note the line predicts a word better than the
sentence.

Batches mask words in the same way as the scorer of the package. The scorer masks a whole word and reveals its pieces
from left to right, and it masks other occurrences of the word. So in batches, some words are revealed up to a piece,
and some words are masked at all their occurrences.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spacy_deid.errors import Errors, InputError

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_LETTERS = "".join(chr(code) for code in (*range(0x21, 0x7F), *range(0xA1, 0x180)))  # always known, whatever is read


def train_vocabulary(texts: Iterable[str], size: int) -> Any:
    """Train a WordPiece tokenizer.

    texts (Iterable[str]): texts with line breaks.
    size (int): size of the vocabulary, including single characters and special pieces.
    RETURNS (tokenizers.Tokenizer): tokenizer that adds ``[CLS]`` and ``[SEP]``.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk"], max_input_chars_per_word=60))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"[^\S\n]+"), "removed"),
            pre_tokenizers.Split(Regex(r"\n"), "isolated"),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.Split(Regex(r"\d+"), "isolated"),  # 53años: a number, then a word
        ]
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=[*_LETTERS, "\n"],
        limit_alphabet=len(_LETTERS) + 100,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    edges = [(name, tokenizer.token_to_id(name)) for name in (SPECIAL["cls"], SPECIAL["sep"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{SPECIAL['cls']} $A {SPECIAL['sep']}", special_tokens=edges
    )
    return tokenizer


def save_vocabulary(tokenizer: Any, folder: Path, max_length: int) -> None:
    """Write a tokenizer so that AutoTokenizer and the `MaskedLM` loaders can read it.

    tokenizer (tokenizers.Tokenizer): the tokenizer.
    folder (Path): folder of the model.
    max_length (int): maximum number of pieces of an input, including special ones.
    """
    import srsly

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{role}_token": piece for role, piece in SPECIAL.items()}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **named}
    srsly.write_json(folder / "tokenizer_config.json", settings)


def load_vocabulary(folder: Path) -> Any:
    """Load the tokenizer of a model folder.

    folder (Path): folder with ``tokenizer.json``.
    RETURNS (tokenizers.Tokenizer): the tokenizer.
    RAISES: InputError (D800) if there is no such file.
    """
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise InputError(Errors.D800.format(path=folder, file=path.name))
    return Tokenizer.from_file(str(path))


SHARE = 0.22  # of the pieces that are masked, about
UNCOVERED = 0.4  # of the masked words of several pieces: how many are uncovered up to a piece
EVERYWHERE = 0.5  # of the masked words: how many are masked wherever they stand in the window


class Pieces(NamedTuple):
    """Encoded and concatenated texts.

    ids (NDArray): piece ids, (pieces,) int32.
    words (NDArray): index of the word of each piece, increasing over all texts, (pieces,) int32.
    starts (NDArray): index of the first piece of each text, and the total, (texts + 1,) int64.
    """

    ids: NDArray[np.int32]
    words: NDArray[np.int32]
    starts: NDArray[np.int64]


class Batch(NamedTuple):
    """Inputs and targets of a training step.

    ids (NDArray): piece ids with masks, (windows, length) int64.
    attention (NDArray): 1 for pieces, 0 for padding, (windows, length) int64.
    places (NDArray): flat indices of the masked positions, (masked,) int64.
    targets (NDArray): original piece ids at these positions, (masked,) int64.
    """

    ids: NDArray[np.int64]
    attention: NDArray[np.int64]
    places: NDArray[np.int64]
    targets: NDArray[np.int64]


def encode_texts(tokenizer: Any, texts: Iterable[str]) -> Pieces:
    """Encode texts without special pieces.

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
    """Create the batch of a step. It only depends on seed and step, so that training can be resumed.

    pieces (Pieces): training texts.
    step (int): number of the step.
    size (int): number of windows.
    length (int): pieces per window, including ``[CLS]`` and ``[SEP]``.
    seed (int): seed of the training.
    special (dict[str, int]): ids of "pad", "cls", "sep", "mask".
    RETURNS (Batch): the batch.
    """
    rng = np.random.default_rng([seed, step])
    ids = np.full((size, length), special["pad"], dtype=np.int64)
    places, targets = [], []
    for row in range(size):
        window = _draw_window(pieces, rng, length - 2)
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
    words (NDArray): word index of each piece.
    mask (int): id of the mask.
    rng (Generator): random generator.
    RETURNS (tuple[NDArray, NDArray]): pieces with masks, and the masked positions, at least one.
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


def _draw_window(pieces: Pieces, rng: np.random.Generator, length: int) -> slice:
    """Draw a window from one text, with probability proportional to length and more often from its beginning."""
    place = int(rng.integers(pieces.starts[-1]))
    text = int(np.searchsorted(pieces.starts, place, side="right")) - 1
    start, end = int(pieces.starts[text]), int(pieces.starts[text + 1])
    first = max(start, min(place - int(rng.integers(length)), end - length))
    return slice(first, min(first + length, end))
