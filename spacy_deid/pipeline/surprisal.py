"""deid_surprisal: scores each word by how unexpected it is to a masked language model, without training on PHI.

Names are harder to predict from the context than other words, so unexpected words are candidates for identifiers.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.util import minibatch

from ..errors import ConfigError, Errors
from ..labels import get_label
from ..lemmatizers import choose_lemmatizer
from ..masked_lm.columns import model_columns, slot_properties
from ..masked_lm.masking import Candidates, Masking, choose_candidates, choose_masking
from ..masked_lm.model import MaskedLM, load_masked_lm
from ..masked_lm.scores import Score, choose_score
from ..masked_lm.scoring import Mode, NoteWords, WordScores, align_words, choose_mode, half_overlap, score_words
from ..spans import SCORES, Evidence, check_key, write_evidence

Values = NDArray[np.float64]


class Surprisal:
    """Scores words with a masked language model.

    It writes the scores to ``doc.user_data["deid/surprisal"]``, and words that reach the threshold to a span group.
    """

    def __init__(
        self,
        name: str,
        *,
        lang: str,
        key: str,
        model: str | None,
        mode: str | Mode,
        masking: str | Masking,
        lemmatizer: Any,
        candidates: str | Candidates,
        score: str | Score,
        threshold: float | None,
        label: str,
        precision: str | None,
        window: int | None,
        batch: int,
        allow_download: bool,
    ) -> None:
        """Initialize the component; see `factories.make_surprisal`.

        RAISES: ConfigError for an invalid key (D007), label (D001) or batch size (D812), or an unknown name of a part
            (D697, D698).
        """
        if batch < 1:
            raise ConfigError(Errors.D812.format(name=name, setting="batch", wanted="at least 1"))
        self.name, self.key, self.lang, self.label = name, check_key(key), lang, get_label(label).name
        self.mode: Mode = choose_mode(mode)
        self.masking: Masking = choose_masking(masking, lambda: choose_lemmatizer(lemmatizer, lang))
        self.candidates: Candidates = choose_candidates(candidates, lang)
        self.score: Score = choose_score(score, lang)
        self.threshold, self.window, self.batch = threshold, window, batch
        self._source, self._precision = model or lang, precision or self.mode.precision
        self._allow_download = allow_download
        self._model: MaskedLM | None = None
        self._properties: dict[str, NDArray[np.float32]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave the model out of pickles; the unpickled component loads it again on first use."""
        return {**self.__dict__, "_model": None, "_properties": {}}

    @property
    def language_model(self) -> MaskedLM:
        """MaskedLM: The model, loaded on first use.

        RAISES: ConfigError if it cannot be loaded (D800, D802 – D807).
        """
        if self._model is None:
            self._model = load_masked_lm(self._source, precision=self._precision, allow_download=self._allow_download)
            self._properties = slot_properties(self._model.pieces, self.lang)
        return self._model

    def __call__(self, doc: Doc) -> Doc:
        """Score the words of a note, and write the scores and the words that reach the threshold.

        doc (Doc): the note.
        RETURNS (Doc): the same Doc, with scores and spans.
        RAISES: ConfigError if the model cannot be loaded.
        """
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 32) -> Iterator[Doc]:
        """Score the words of a stream of notes. Short notes share batches of the model.

        stream (Iterable[Doc]): the notes.
        batch_size (int): number of notes per batch.
        YIELDS (Doc): the same Docs in the same order.
        """
        batches: Iterator[list[Doc]] = minibatch(stream, batch_size)  # type: ignore[no-untyped-call]
        for docs in batches:
            self._annotate(docs)
            yield from docs

    def predict(self, docs: Sequence[Doc]) -> list[tuple[list[int], NoteWords, WordScores]]:
        """Score the words of notes, without changing the Docs.

        docs (Sequence[Doc]): the notes.
        RETURNS (list[tuple]): for each note the indices of the tokens with a letter or digit, their word pieces, and
            their scores.
        """
        words = [[token.i for token in doc if any(map(str.isalnum, token.text))] for doc in docs]
        notes = [self._note(doc, places) for doc, places in zip(docs, words, strict=True)]
        model = self.language_model  # loaded now, and with it the properties of its pieces
        scores = score_words(
            model, notes, self.mode, properties=self._properties, length=self.window, batch=self.batch
        )
        return list(zip(words, notes, scores, strict=True))

    def _note(self, doc: Doc, words: Sequence[int]) -> NoteWords:
        """Split a note into word pieces, and determine which words are masked together and which are scored."""
        encoded = self.language_model.pieces.encode(doc.text)
        starts = np.array([doc[word].idx for word in words], dtype=np.int64)
        ends = starts + np.array([len(doc[word]) for word in words], dtype=np.int64)
        longest = half_overlap(min(self.window or self.language_model.length, self.language_model.length))
        first, last, aligned = align_words(encoded, starts, ends, self.language_model.pieces.unknown, longest)
        return NoteWords(encoded.ids, first, last, aligned, self.masking.find(doc, words), self.candidates(doc, words))

    def _annotate(self, docs: Sequence[Doc]) -> None:
        """Score notes, and write scores and span group. A word that the model cannot read gets the highest score."""
        for doc, (words, note, scores) in zip(docs, self.predict(docs), strict=True):
            columns = model_columns(scores, doc, words, self.lang)
            values = self.score.compute(doc, words, columns) if words else np.zeros(0)
            # what is no number is no assurance either: it must not fall below the threshold
            values = np.where(scores.aligned & ~np.isnan(values), values, self.score.highest)
            lowest = min(0.0, float(values.min(initial=0.0)))
            self._write(doc, words, np.where(note.wanted, values, lowest), columns)

    def _write(self, doc: Doc, words: Sequence[int], values: Values, columns: dict[str, Values]) -> None:
        """Write the scores to the user data, and words that reach the threshold to the span group."""
        starts = [doc[word].idx for word in words]
        ends = [start + len(doc[word]) for start, word in zip(starts, words, strict=True)]
        doc.user_data[SCORES] = {
            "model": self.language_model.name,
            "mode": self.mode.name,
            "masking": self.masking.name,
            "score": self.score.name,
            "probability": self.score.is_probability,
            "starts": starts,
            "ends": ends,
            "values": values.tolist(),
            "features": {name: column.tolist() for name, column in columns.items()},
            "unaligned": int((columns["aligned"] == 0).sum()),
        }
        above = [] if self.threshold is None else np.flatnonzero(values >= self.threshold).tolist()
        scores = values if self.score.is_probability else np.ones(len(values))
        evidence = [
            Evidence(starts[i], ends[i], self.label, self.name, float(scores[i]), self.score.name) for i in above
        ]
        write_evidence(doc, self.key, evidence, version=self.language_model.name)
