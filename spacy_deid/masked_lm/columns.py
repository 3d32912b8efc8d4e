"""Columns: numbers about each scored word of a note, from the model, from word counts, and from its form and position.

Scores are computed from columns. Columns of the language model and columns of the form are separate, so that the
contribution of the language model can be measured.

Two columns measure whether a masked position expects a name. A piece v of the vocabulary is as name-like as it begins
names more often than words of the language:

    n(v) = f(v) / (f(v) + g(v))

f is the share of v among the first pieces of the names in a list, weighted by the number of people with the name; g is
the share of v among the words of running text. A piece without a capital letter has n(v) = 0. The expected value of n
under the distribution at a masked position is the probability that a name is expected there.
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

MOST_SURPRISING = 1000.0  # nats; what the model can say nothing about. No word that it can read is so improbable
MODEL_COLUMNS = ("surprisal", "per_piece", "entropy", "log_rank", "name_mass", "place_mass", "pieces")
FORM_COLUMNS = (
    "digit", "capital", "upper", "first", "short_line", "after_colon", "line_start", "letters", "at_top", "in_list",
)  # fmt: skip
SHORT_LINE = 160  # characters
_ENDS = frozenset(".!?:")


def model_columns(scores: WordScores, doc: Doc, words: Sequence[int], lang: str) -> Columns:
    """Compute the columns that depend on the language model, and the rarity of the words.

    scores (WordScores): what the model returned for the words.
    doc (Doc): the note.
    words (Sequence[int]): tokens that were scored.
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
    """Compute the columns of the form of words and of their position in the note, without a model.

    doc (Doc): the note.
    words (Sequence[int]): tokens.
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
    """Add the columns of the word before and of the word after each word.

    columns (Columns): the columns.
    names (Sequence[str]): columns to add neighbours of.
    RETURNS (Columns): the columns, with "NAME_before" and "NAME_after" added.
    """
    added = dict(columns)
    for name in names:
        values = columns[name]
        added[f"{name}_before"] = np.r_[values[:1], values[:-1]]
        added[f"{name}_after"] = np.r_[values[1:], values[-1:]]
    return added


_LISTS = {
    "name_mass": ("names/female.csv", "names/male.csv", "names/surname.csv"),
    "place_mass": ("synth/lists/places.csv",),
}


def slot_properties(pieces: PieceReader, lang: str) -> dict[str, NDArray[np.float32]]:
    """Compute how name-like and place-like each piece of a vocabulary is.

    pieces (PieceReader): the tokenizer.
    lang (str): ISO 639-1 code.
    RETURNS (dict[str, NDArray]): "name_mass" and "place_mass", shape (vocabulary,); zero if the language has no list.
    """
    return {name: name_likeness(pieces, lang, read_names(lang, *lists)) for name, lists in _LISTS.items()}


def read_names(lang: str, *lists: str) -> dict[str, float]:
    """Count the words in lists of names.

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
    """Compute n(v) for each piece of a vocabulary; see the top of this module.

    pieces (PieceReader): the tokenizer.
    lang (str): language of the running text. Without word counts of it, each capitalized piece that begins a name gets
        1.
    names (dict[str, float]): name → frequency.
    RETURNS (NDArray): values from 0 to 1, shape (vocabulary,).
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
