"""Columns: numbers about each scored word of a note, from the model, from word counts, and from its form and place.

A score is made of columns. Which kind a column is stands here, so that what the language model adds can be told from
what the form of a word says without it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..background.counts import background_languages, load_background
from .scoring import WordScores

__all__ = [
    "FORM_COLUMNS",
    "MODEL_COLUMNS",
    "MOST_SURPRISING",
    "Columns",
    "add_neighbours",
    "form_columns",
    "model_columns",
]

Columns = dict[str, NDArray[np.float64]]

MOST_SURPRISING = 1000.0  # nats; what the model can say nothing about. No word that it can read is so improbable
MODEL_COLUMNS = ("surprisal", "per_piece", "entropy", "log_rank", "name_mass", "place_mass", "pieces")
FORM_COLUMNS = (
    "digit", "capital", "upper", "first", "short_line", "after_colon", "line_start", "letters", "at_top", "in_list",
)  # fmt: skip
SHORT_LINE = 160  # characters
_ENDS = frozenset(".!?:")


def model_columns(scores: WordScores, doc: Doc, words: Sequence[int], lang: str) -> Columns:
    """What the language model says of words, and how rare they are.

    scores (WordScores): its scores.
    doc (Doc): the note.
    words (Sequence[int]): tokens that were scored.
    lang (str): language whose word counts are used.
    RETURNS (Columns): "surprisal" −ln P(word), "per_piece" the same for each piece, "entropy" of the slot, "log_rank"
        ln(1 + rank), the masses, "pieces", "rarity" −ln of the word's share of running text, and "aligned".
    """
    surprisal = np.where(np.isinf(scores.log_prob), MOST_SURPRISING, -scores.log_prob)
    pieces = scores.pieces.astype(float)
    return {
        "surprisal": surprisal,
        "per_piece": surprisal / np.maximum(pieces, 1),
        "entropy": scores.entropy,
        "log_rank": np.log1p(scores.rank),
        **scores.masses,
        "pieces": pieces,
        "rarity": _rarity(doc, words, lang),
        "aligned": scores.aligned.astype(float),
    }


def _rarity(doc: Doc, words: Sequence[int], lang: str) -> NDArray[np.float64]:
    """−ln of the share of a word in running text, one occurrence in ten million for those that were never seen."""
    if lang not in background_languages():
        return np.zeros(len(words))
    counts = load_background(lang)
    known: dict[str, float] = {}
    for word in words:
        text = doc[word].text
        if text not in known:
            known[text] = -float(np.log(max(counts.per_million(text), 0.1) / 1e6))
    return np.array([known[doc[word].text] for word in words])


def form_columns(doc: Doc, words: Sequence[int]) -> Columns:
    """The form of words and their place in the note; no model.

    doc (Doc): the note.
    words (Sequence[int]): tokens.
    RETURNS (Columns): "digit", "capital" (not all of it), "upper", "first" of a sentence, "short_line", "after_colon"
        on its line, "line_start", "letters" (their number, as a logarithm), "at_top" (1 at the top of the note,
        falling by e for every ten lines), "in_list" (beside a comma or a slash).
    """
    text, rows = doc.text, np.zeros((len(words), len(FORM_COLUMNS)))
    number, colon, bounds = 0, -1, (0, 0)
    for row, word in enumerate(words):
        token, start = doc[word], doc[word].idx
        if start >= bounds[1]:
            number += text.count("\n", bounds[1], start)
            bounds = text.rfind("\n", 0, start) + 1, _line_end(text, start)
            colon = text.find(":", *bounds)
        form, before = token.text, text[bounds[0] : start].rstrip()
        rows[row] = (
            any(letter.isdigit() for letter in form),
            form[:1].isupper() and not form.isupper(),
            form.isupper() and len(form) > 1,
            not before or before[-1] in _ENDS,
            bounds[1] - bounds[0] < SHORT_LINE,
            0 <= colon < start,
            not before,
            np.log(len(form)),
            np.exp(-number / 10),
            before[-1:] in (",", "/") or text[start + len(form) : start + len(form) + 1] in (",", "/"),
        )
    return dict(zip(FORM_COLUMNS, rows.T, strict=True))


def _line_end(text: str, start: int) -> int:
    """Where a line ends."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def add_neighbours(columns: Columns, names: Sequence[str]) -> Columns:
    """The same numbers of the word before and the word after, which are often of one kind with it.

    columns (Columns): columns.
    names (Sequence[str]): those that are wanted.
    RETURNS (Columns): the columns, with "NAME_before" and "NAME_after".
    """
    added = dict(columns)
    for name in names:
        values = columns[name]
        added[f"{name}_before"] = np.r_[values[:1], values[:-1]]
        added[f"{name}_after"] = np.r_[values[1:], values[-1:]]
    return added
