"""A masked language model of three words whose probabilities can be followed on paper."""

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from spacy_deid.masked_lm.model import PieceReader
from spacy_deid.masked_lm.scoring import NoteWords, align_words

WORDS = ("ana", "##na", "el")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = (*SPECIAL, *WORDS)


def reader():
    """WordPiece over three pieces."""
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PieceReader(tokenizer, "tiny", mask="[MASK]", pad="[PAD]", unknown="[UNK]")


class TinyLM:
    """P(piece at a place) is in proportion to a weight: 1, plus 2 for each visible piece of the window that is the
    same, plus 3 for "##na" if the piece before the place is a visible "ana"."""

    name = "tiny"
    length = 16

    def __init__(self):
        self.pieces = reader()
        self.rows = []

    def log_probs(self, ids, attention, places):
        self.rows.append(ids.shape)
        found = np.zeros((len(places), len(PIECES)), dtype=np.float32)
        for index, place in enumerate(places):
            row, column = divmod(int(place), ids.shape[1])
            visible = ids[row][attention[row] == 1].tolist()
            weights = np.array([1 + 2 * visible.count(piece) for piece in range(len(PIECES))], dtype=float)
            weights[: len(SPECIAL)] = 0  # only words are ever said
            weights[PIECES.index("##na")] += 3 * (ids[row, column - 1] == PIECES.index("ana"))
            with np.errstate(divide="ignore"):
                found[index] = np.log(weights / weights.sum())
        return found


def note_of(model, text, words, same=None, wanted=None, longest=100):
    """A note, its words given by their characters."""
    encoded = model.pieces.encode(text)
    starts, ends = np.array(words, dtype=np.int64).reshape(-1, 2).T
    first, last, aligned = align_words(encoded, starts, ends, model.pieces.unknown, longest)
    count = len(words)
    same = same or [(number,) for number in range(count)]
    wanted = np.ones(count, dtype=bool) if wanted is None else wanted
    return NoteWords(encoded.ids, first, last, aligned, same, wanted)


def by_blanks(text):
    """The words of a text between blanks, by their characters."""
    places, start = [], 0
    for word in text.split(" "):
        if word:
            places.append((start, start + len(word)))
        start += len(word) + 1
    return places
