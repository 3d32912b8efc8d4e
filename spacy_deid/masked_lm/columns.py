"""Compute columns, the numbers about each word of a note from which its score is computed.

A column is an array with one number per scored word. `model_columns` come from the predictions of the language model
and from word counts, `form_columns` from the spelling of a word and its position. They are separate, so that the
contribution of the language model can be measured.

The columns "name_mass" and "place_mass" are the probabilities that the model expects a name or a place at the position
of a word. For a piece v of the vocabulary, the probability that it begins a name is estimated as

    n(v) = f(v) / (f(v) + g(v))

f is the share of v among the first pieces of the names in a list, weighted by the number of people with the name; g is
the share of v among the words of running text. A piece without a capital letter has n(v) = 0. "name_mass" is the
expected value of n under the distribution that the model predicts for the masked word.
"""

import csv
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..background.counts import background_languages, load_background
from ..lang import get_language
from .model import PieceReader
from .scoring import WordScores

Columns = dict[str, NDArray[np.float64]]

MOST_SURPRISING = 1000.0  # nats; for words that the model cannot read. No word that it can read is so improbable
MODEL_COLUMNS = ("surprisal", "per_piece", "entropy", "log_rank", "name_mass", "place_mass", "pieces")
FORM_COLUMNS = (
    "digit", "capital", "upper", "first", "short_line", "after_colon", "line_start", "letters", "at_top", "in_list",
)  # fmt: skip
SHORT_LINE = 160  # characters
_ENDS = frozenset(".!?:")


def model_columns(scores: WordScores, doc: Doc, words: Sequence[int], lang: str) -> Columns:
    """Compute the columns that depend on the language model, and the rarity of the words.

    scores (WordScores): predictions of the model for the words.
    doc (Doc): the note.
    words (Sequence[int]): indices of the tokens that were scored.
    lang (str): ISO 639-1 code of the language whose word counts are used.
    RETURNS (Columns): "surprisal" −ln P(word), "per_piece" the surprisal divided by the number of pieces, "entropy" of
        the distribution, "log_rank" ln(1 + rank), "name_mass" and "place_mass", "pieces", "rarity" −ln of the word's
        relative frequency in running text, and "aligned". All have the shape (words,); logarithms are in nats.
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
    """Return −ln of the relative frequency of each word; an unseen word counts as once in ten million words."""
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
    """Compute the columns that depend only on the spelling of words and on their position in the note, not on a model.

    doc (Doc): the note.
    words (Sequence[int]): indices of the tokens to describe.
    RETURNS (Columns): shape (words,) each. 0 or 1: "digit" (contains one), "capital" (first letter only), "upper" (all
        letters), "first" (of a sentence), "short_line", "after_colon" (on the same line), "line_start", "in_list"
        (next to a comma or slash). "letters": ln of the length. "at_top": 1 on the first line, divided by e every ten
        lines.
    """
    text, rows = doc.text, np.zeros((len(words), len(FORM_COLUMNS)))
    number, colon, bounds = 0, -1, (0, 0)
    for row, word in enumerate(words):
        token, start = doc[word], doc[word].idx
        if start >= bounds[1]:
            number += text.count("\n", bounds[1], start)
            end = text.find("\n", start)
            bounds = text.rfind("\n", 0, start) + 1, len(text) if end < 0 else end
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


def add_neighbours(columns: Columns, names: Sequence[str]) -> Columns:
    """Add, for each word, the values of the words before and after it as further columns.

    columns (Columns): the columns of one note, in the order of its words.
    names (Sequence[str]): the columns whose values are taken from the neighbours.
    RETURNS (Columns): a copy with the additional columns "NAME_before" and "NAME_after". The first word counts as its
        own predecessor, the last one as its own successor.
    """
    added = dict(columns)
    for name in names:
        values = columns[name]
        added[f"{name}_before"] = np.r_[values[:1], values[:-1]]
        added[f"{name}_after"] = np.r_[values[1:], values[-1:]]
    return added


LIST_NAMES = {  # column → lists of names, or of places
    "name_mass": ("names/female.csv", "names/male.csv", "names/surname.csv"),
    "place_mass": ("synth/lists/places.csv",),
}


def slot_properties(pieces: PieceReader, lang: str) -> dict[str, NDArray[np.float32]]:
    """Estimate for each piece of a vocabulary the probabilities that it begins a name and that it begins a place.

    pieces (PieceReader): the tokenizer.
    lang (str): ISO 639-1 code of the lists of names and places.
    RETURNS (dict[str, NDArray]): "name_mass" and "place_mass" → probabilities, shape (vocabulary,). They are zero if
        the language has no list.
    """
    return {name: name_likeness(pieces, lang, read_names(lang, *lists)) for name, lists in LIST_NAMES.items()}


def read_names(lang: str, *lists: str) -> dict[str, float]:
    """Count how many people or inhabitants have each word in their name, from lists of names.

    lang (str): ISO 639-1 code.
    lists (str): resources of the language: CSV files with the name in the first column and an optional column "count".
    RETURNS (dict[str, float]): word → number of people or inhabitants; 1 per row of a list without counts.
    """
    words: Counter[str] = Counter()
    for row in (row for name in lists for row in csv.DictReader(get_language(lang).read_text(name).splitlines())):
        for word in next(iter(row.values())).replace("-", " ").split():
            words[word] += int(row.get("count") or 1)
    return dict(words)


def name_likeness(pieces: PieceReader, lang: str, names: dict[str, float]) -> NDArray[np.float32]:
    """Estimate for each piece of a vocabulary the probability that it begins a name rather than another word.

    It is n(v) in the docstring of this module.

    pieces (PieceReader): the tokenizer.
    lang (str): language whose word counts are used. If it has none, each capitalized piece that begins a name gets 1.
    names (dict[str, float]): name → number of people with the name.
    RETURNS (NDArray): probabilities, shape (vocabulary,).
    """
    found = np.zeros(pieces.size)
    for piece, count in zip(pieces.first_pieces(list(names)), names.values(), strict=True):
        if piece is not None:
            found[piece] += count
    likeness = np.zeros(pieces.size, dtype=np.float32)
    background = load_background(lang) if lang in background_languages() else None
    for begun in np.flatnonzero(found).tolist():
        text = pieces.text_of(begun).strip()
        if text[:1].isupper():
            share = 1e6 * found[begun] / found.sum()
            likeness[begun] = share / (share + (background.per_million(text) if background else 0.0))
    return likeness
