"""Is this a name slot? Properties of the pieces of a vocabulary, whose expected value tells what a masked place wants.

A piece is like a name as far as it begins names more often than words of the language:

    n(v) = f(v) / (f(v) + g(v))

f is the share of v among the first pieces of the names of a list (each name as often as people bear it), g the share
of v among the words of running text. A piece without a capital is like no name. The expected value under the
distribution of a masked place is the probability that a name is wanted there.
"""

import csv
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..background.counts import background_languages, load_background
from ..lang import get_language
from .model import PieceReader

__all__ = ["name_likeness", "slot_properties"]


_LISTS = {
    "name_mass": ("names/female.csv", "names/male.csv", "names/surname.csv"),
    "place_mass": ("synth/lists/places.csv",),
}


def slot_properties(pieces: PieceReader, lang: str) -> dict[str, NDArray[np.float32]]:
    """The properties that are known for a language.

    pieces (PieceReader): the tokenizer.
    lang (str): ISO 639-1 code.
    RETURNS (dict[str, NDArray]): "name_mass" and "place_mass", (vocabulary,) each; zero where there is no list.
    """
    return {name: name_likeness(pieces, lang, read_names(lang, *lists)) for name, lists in _LISTS.items()}


def read_names(lang: str, *lists: str) -> dict[str, float]:
    """Count the words of lists of names.

    lang (str): ISO 639-1 code.
    lists (str): resources of the language, CSV files with the name in the first column and an optional "count".
    RETURNS (dict[str, float]): word → number of people or inhabitants, 1 per row where the list has no count.
    """
    words: Counter[str] = Counter()
    for row in (row for name in lists for row in csv.DictReader(get_language(lang).read_text(name).splitlines())):
        for word in next(iter(row.values())).replace("-", " ").split():
            words[word] += int(row.get("count") or 1)
    return dict(words)


def name_likeness(pieces: PieceReader, lang: str, names: dict[str, float]) -> NDArray[np.float32]:
    """How much more often a piece begins a name than a word.

    pieces (PieceReader): the tokenizer.
    lang (str): language of the running text; without counts of it every piece with a capital that begins names is one.
    names (dict[str, float]): name to how common it is.
    RETURNS (NDArray): n(v), 0 to 1, (vocabulary,).
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
