"""Words in their place: how likely a model finds them there, and how near they come to the one that stands there.

How near a word is to another is the cosine of their embeddings in the same text, each the mean of the last hidden
states of its pieces (Albanese et al. 2023, arXiv:2311.10785).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import MaskedLM
from .words import align_words, room_of

__all__ = ["WordsInPlace"]

_BATCH = 2048  # pieces that are read at once
Row = tuple[list[int], int, int]  # pieces of a stretch of text, and from where to where the word stands in it


class WordsInPlace:
    """What a model says of words in their place. It keeps nothing of a text, and loads the model when it is asked.

    load (Callable[[], MaskedLM]): gives the model.
    """

    def __init__(self, load: Callable[[], MaskedLM]) -> None:
        self._load = load
        self._model: MaskedLM | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process loads the model itself."""
        return {**vars(self), "_model": None}

    @property
    def model(self) -> MaskedLM:
        """The model. RAISES: ConfigError as `load_masked_lm`."""
        if self._model is None:
            self._model = self._load()
        return self._model

    def likelihoods(
        self, text: str, places: Sequence[tuple[int, int]], place: int, words: Sequence[str]
    ) -> list[float]:
        """How likely words are in the place of another, by their first pieces.

        text (str): the text.
        places (Sequence[tuple[int, int]]): where words start and end that are masked, disjoint and rising.
        place (int): which of them is asked about.
        words (Sequence[str]): others.
        RETURNS (list[float]): natural logarithms of probabilities, two digits of each, so that no order depends on the
            machine; -inf for a word without pieces. None at all if the place has no piece of its own.
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
        """How near words come to the one in whose place they are put.

        text (str): the text.
        start, end (int): where the word stands.
        words (Sequence[str]): others.
        RETURNS (list[float]): cosines, four digits of each, so that no order depends on the machine; -1 for a word
            that the model cannot read. None at all if it cannot read the one that stands there.
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
        """The embeddings of the pieces of a text, (pieces, width); as many as the model reads at once."""
        pieces = self.model.pieces
        ids = pieces.encode(text).ids.tolist()[: self._room()]
        full = np.array([[*pieces.before, *ids, *pieces.after]], dtype=np.int64)
        shift = len(pieces.before)
        return self.model.states(full, np.ones_like(full))[0, shift : shift + len(ids)]

    def _masked(self, text: str, places: Sequence[tuple[int, int]]) -> tuple[list[int], list[int | None]]:
        """The pieces of a text with one mask for each word, and where the masks are."""
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
        """The pieces around a word, as many as the model reads; None for one without pieces or with too many."""
        encoded = self.model.pieces.encode(before + word + after)
        start = np.array([len(before)], dtype=np.int64)
        room = self._room()
        first, last, aligned = align_words(encoded, start, start + len(word), self.model.pieces.unknown, room)
        return self._cut(encoded.ids.tolist(), int(first[0]), int(last[0])) if aligned[0] else None

    def _cut(self, ids: list[int], first: int, last: int) -> Row:
        """The stretch that the model can read, with the word in its middle."""
        room = self._room()
        start = max(0, min((first + last - room) // 2, len(ids) - room))
        return ids[start : start + room], first - start, last - start

    def _room(self) -> int:
        """Pieces of text that the model reads at once."""
        return room_of(self.model.length, len(self.model.pieces.before) + len(self.model.pieces.after))

    def _embed(self, rows: Sequence[Row]) -> NDArray[np.float64]:
        """The mean states of the words of rows, (rows, width)."""
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
