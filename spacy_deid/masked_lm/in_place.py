"""Rate replacement words in their context: how probable a word is at a position, and how similar to the original word.

The similarity of two words is the cosine of their contextual embeddings in the same text. The embedding of a word is
the mean of the last hidden states of its pieces (Albanese et al. 2023, arXiv:2311.10785).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import MaskedLM
from .scoring import align_words, room_of

_BATCH = 2048  # pieces that are read at once
Row = tuple[list[int], int, int]  # pieces of a stretch of text, and the range of the word's pieces among them


class WordsInPlace:
    """Computes probabilities and similarities of words in a text. It stores no text, and loads the model on first use.

    load (Callable[[], MaskedLM]): function that loads the model.
    """

    def __init__(self, load: Callable[[], MaskedLM]) -> None:
        self._load = load
        self._model: MaskedLM | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the model; the copy loads it again."""
        return {**vars(self), "_model": None}

    @property
    def model(self) -> MaskedLM:
        """MaskedLM: The model. RAISES: ConfigError as `load_masked_lm`."""
        if self._model is None:
            self._model = self._load()
        return self._model

    def likelihoods(
        self, text: str, places: Sequence[tuple[int, int]], place: int, words: Sequence[str]
    ) -> list[float]:
        """Compute how probable words are at the position of another word, by their first pieces.

        text (str): the text.
        places (Sequence[tuple[int, int]]): character offsets of the words to mask, disjoint and ascending.
        place (int): index of the masked word to replace.
        words (Sequence[str]): candidate words.
        RETURNS (list[float]): natural logarithms of probabilities, rounded to two digits so that rankings do not
            depend on the machine; -inf for a word without pieces. The list is empty if the replaced word has no piece
            of its own.
        """
        ids, gaps = self._masked(text, places)
        if (gap := gaps[place]) is None:
            return []
        pieces = self.model.pieces
        row, at, _ = self._cut(ids, gap, gap + 1)
        full = np.array([[*pieces.before, *row, *pieces.after]], dtype=np.int64)
        log_probs = self.model.log_probs(full, np.ones_like(full), np.array([len(pieces.before) + at]))[0]
        first = pieces.first_pieces(list(words))
        return [-np.inf if piece is None else round(float(log_probs[piece]), 2) for piece in first]

    def cosines(self, text: str, start: int, end: int, words: Sequence[str]) -> list[float]:
        """Compute how similar words are to the word that they replace.

        text (str): the text.
        start, end (int): character offsets of the word.
        words (Sequence[str]): candidate words.
        RETURNS (list[float]): cosines, rounded to four digits so that rankings do not depend on the machine; -1 for a
            word that the model cannot read. The list is empty if the model cannot read the original word.
        """
        rows = [self._row(text[:start], word, text[end:]) for word in (text[start:end], *words)]
        if rows[0] is None:
            return []
        read = [row for row in rows if row is not None]
        found = self._embed(read)
        unit = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        near = iter((unit[1:] @ unit[0]).round(4).tolist())
        return [-1.0 if row is None else next(near) for row in rows[1:]]

    def embed(self, text: str) -> NDArray[np.float32]:
        """Compute the embeddings of the pieces of a text, which is truncated to the maximum input length.

        text (str): the text.
        RETURNS (NDArray): shape (pieces, width), float32.
        """
        pieces = self.model.pieces
        ids = pieces.encode(text).ids.tolist()[: self._room()]
        full = np.array([[*pieces.before, *ids, *pieces.after]], dtype=np.int64)
        shift = len(pieces.before)
        return self.model.states(full, np.ones_like(full))[0, shift : shift + len(ids)]

    def _masked(self, text: str, places: Sequence[tuple[int, int]]) -> tuple[list[int], list[int | None]]:
        """Replace the pieces of each given word by one mask.

        text (str): the text.
        places (Sequence[tuple[int, int]]): character offsets of the words, in the order of the text.
        RETURNS (tuple[list[int], list[Optional[int]]]): ids of the pieces of the text with the masks, and for each
            word the index of its mask; None if the word has no pieces or shares one with a word before it.
        """
        encoded = self.model.pieces.encode(text)
        starts, ends = np.array(places, dtype=np.int64).reshape(-1, 2).T
        firsts, lasts, _ = align_words(encoded, starts, ends, None, len(encoded.ids))
        ids: list[int] = []
        gaps: list[int | None] = []
        done = 0
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            own = done <= first < last  # a piece that two words share is masked once
            if own:
                ids += [*encoded.ids[done:first].tolist(), self.model.pieces.mask]
                done = last
            gaps.append(len(ids) - 1 if own else None)
        return [*ids, *encoded.ids[done:].tolist()], gaps

    def _row(self, before: str, word: str, after: str) -> Row | None:
        """Return the pieces around a word that fit into the model; None if the word has no pieces or too many."""
        encoded = self.model.pieces.encode(before + word + after)
        start = np.array([len(before)], dtype=np.int64)
        room = self._room()
        first, last, aligned = align_words(encoded, start, start + len(word), self.model.pieces.unknown, room)
        return self._cut(encoded.ids.tolist(), int(first[0]), int(last[0])) if aligned[0] else None

    def _cut(self, ids: list[int], first: int, last: int) -> Row:
        """Return the part of the text that fits into the model, with the word in the middle."""
        room = self._room()
        start = max(0, min((first + last - room) // 2, len(ids) - room))
        return ids[start : start + room], first - start, last - start

    def _room(self) -> int:
        """Return the number of text pieces that fit into the model."""
        return room_of(self.model.length, len(self.model.pieces.before) + len(self.model.pieces.after))

    def _embed(self, rows: Sequence[Row]) -> NDArray[np.float64]:
        """Return the mean states of the words of rows, shape (rows, width)."""
        pieces = self.model.pieces
        shift, around = len(pieces.before), len(pieces.before) + len(pieces.after)
        longest = max(len(ids) for ids, _, _ in rows) + around
        step = max(1, _BATCH // longest)
        out = []
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            full = np.full((len(part), longest), pieces.pad, dtype=np.int64)
            attention = np.zeros_like(full)
            for number, (ids, _, _) in enumerate(part):
                full[number, : len(ids) + around] = [*pieces.before, *ids, *pieces.after]
                attention[number, : len(ids) + around] = 1
            states = self.model.states(full, attention).astype(np.float64)
            out += [states[n, shift + first : shift + last].mean(axis=0) for n, (_, first, last) in enumerate(part)]
        return np.array(out)
