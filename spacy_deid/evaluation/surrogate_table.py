"""How far surrogates are from their originals, and from each other: the measures of a paper, for any strategy.

The measures are those of the Self-Decoded Model of Medical De-identification (SDM-M-DID), which tells them in words.
What the words leave open is decided here:

- *original length*, *surrogate length*: characters. They should hardly differ.
- *Levenshtein distance*: insertions, deletions and substitutions of characters. *Levenshtein ratio*: the distance
  divided by the length of the longer one, told as a similarity: 0 is completely different, 1 is identical.
- *bigram similarity*, *trigram similarity*: of the n-grams of letters of both, the share that both have (Jaccard
  1912). A text shorter than n is its own n-gram. Blanks are characters; upper and lower case differ.
- *trigram diversity*: one less the mean trigram similarity of two surrogates of different originals of one output.
  The share of distinct trigrams cannot be meant: thousands of names would not reach the paper's .9958. The paper
  tells it once of words and once of tokens, and a long text has more trigrams to share than a short one: so it stands
  a second time for single words, *trigram diversity, words*. Targets are held against the first.
- *empty*: nothing, or blanks alone. *same*: the original again, told with case folded, which is the stricter reading.
  *out of dictionary*: no surrogate could be made, and a tag stands there.
- *BERTScore*: precision, recall and F1 by greedy matching of the tokens' embeddings (Zhang et al. 2020,
  arXiv:1904.09675, without weights and without rescaling).

Distances are of the pairs that have a surrogate, the last three shares of all.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

__all__ = [
    "BETTER",
    "Embed",
    "Pair",
    "bert_score",
    "diversities",
    "format_surrogate_table",
    "ngram_diversity",
    "ngram_similarity",
    "ngrams",
    "surrogate_figures",
]

Floats = NDArray[np.floating]
# The embeddings of the tokens of a text, a row for each.
Embed = Callable[[str], Floats]

BETTER: dict[str, Literal["higher", "lower"]] = {
    "Levenshtein distance": "higher",
    "Levenshtein ratio": "lower",
    "bigram similarity": "lower",
    "trigram similarity": "lower",
    "trigram diversity": "higher",
    "trigram diversity, words": "higher",
    "empty": "lower",
    "same": "lower",
    "out of dictionary": "lower",
    "BERTScore precision": "higher",
    "BERTScore recall": "higher",
    "BERTScore F1": "higher",
}
"""Which way a figure is better. Of the lengths neither is: their difference counts."""


class Pair(NamedTuple):
    """What stood there, and what stands there now; None if no surrogate could be made."""

    original: str
    surrogate: str | None

    def __repr__(self) -> str:
        """Lengths; an original is text of a note."""
        return f"Pair({len(self.original)}, {None if self.surrogate is None else len(self.surrogate)} characters)"


def ngrams(text: str, n: int) -> frozenset[str]:
    """The n-grams of letters of a text.

    text (str): the text.
    n (int): length of an n-gram.
    RETURNS (frozenset[str]): each once; the text itself if it is shorter, none of an empty one.
    """
    return frozenset(text[i : i + n] for i in range(max(1, len(text) - n + 1)) if text)


def ngram_similarity(first: str, second: str, n: int) -> float:
    """The share of the n-grams of two texts that both have.

    first (str): a text.
    second (str): another.
    n (int): length of an n-gram.
    RETURNS (float): from 0 to 1; 1 for two empty texts.
    """
    a, b = ngrams(first, n), ngrams(second, n)
    return len(a & b) / len(a | b) if a or b else 1.0


def ngram_diversity(texts: Sequence[str], n: int = 3) -> float:
    """One less the mean similarity of all pairs of texts.

    texts (Sequence[str]): an output.
    n (int): length of an n-gram.
    RETURNS (float): 1 if no two texts share an n-gram, 0 if all are alike; 1 for fewer than two.
    """
    if len(texts) < 2:
        return 1.0
    grams = [ngrams(text, n) for text in texts]
    sizes = np.array([len(found) for found in grams], dtype=np.int64)
    earlier: dict[str, list[int]] = defaultdict(list)
    total = 0.0
    for i, found in enumerate(grams):
        # only texts that share an n-gram are looked at, and an empty one is like other empty ones
        shared = [place for gram in found for place in earlier[gram]]
        if shared:
            both = np.bincount(shared, minlength=i)
            total += float((both / (sizes[:i] + sizes[i] - both)).sum())
        elif not found:
            total += int((sizes[:i] == 0).sum())
        for gram in found:
            earlier[gram].append(i)
    return 1.0 - total / (len(texts) * (len(texts) - 1) / 2)


def bert_score(reference: Floats, candidate: Floats) -> tuple[float, float, float]:
    """Match the tokens of two texts greedily by the cosine of their embeddings.

    reference (Floats): a row for each token of the original.
    candidate (Floats): a row for each token of the surrogate.
    RETURNS (tuple[float, float, float]): precision: the mean, over tokens of the candidate, of the best cosine;
        recall: the same of the reference; F1. All are 0 if one has no tokens.
    """
    if not len(reference) or not len(candidate):
        return 0.0, 0.0, 0.0
    cosines = _unit(reference) @ _unit(candidate).T
    recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both > 0 else 0.0


def _unit(rows: Floats) -> Floats:
    """Rows of length one; rows of zeros stay."""
    rows = np.asarray(rows, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1.0)  # squares of tiny numbers are none
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def surrogate_figures(pairs: Iterable[Pair], embed: Embed | None = None) -> dict[str, float]:
    """Measure an output.

    pairs (Iterable[Pair]): originals and their surrogates, a pair for each mention.
    embed (Optional[Embed]): embeddings for the BERTScore; None for a table without it.
    RETURNS (dict[str, float]): figure by name, in the order of a table: "mentions", the lengths, then those of
        `BETTER`. Without any surrogate the distances are missing.
    """
    pairs = list(pairs)
    if not pairs:
        return {"mentions": 0.0}
    made = [(old, new) for old, new in pairs if new is not None]
    distances = _distances(made) if made else {}
    shares = {
        "empty": sum(not new.strip() for _, new in made) / len(pairs),
        "same": sum(old.casefold() == new.casefold() for old, new in made) / len(pairs),
        "out of dictionary": (len(pairs) - len(made)) / len(pairs),
    }
    scores = _bert_scores(made, embed) if embed and made else {}
    return {"mentions": float(len(pairs))} | distances | shares | scores


def _distances(made: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The means of what is told by characters."""
    columns: dict[str, Sequence[float]] = {
        "original length": [len(old) for old, _ in made],
        "surrogate length": [len(new) for _, new in made],
        "Levenshtein distance": [Levenshtein.distance(old, new) for old, new in made],
        "Levenshtein ratio": [Levenshtein.normalized_similarity(old, new) for old, new in made],
        "bigram similarity": [ngram_similarity(old, new, 2) for old, new in made],
        "trigram similarity": [ngram_similarity(old, new, 3) for old, new in made],
    }
    outputs = dict(reversed(made))  # the first surrogate of each original
    figures = {name: float(np.mean(column)) for name, column in columns.items()}
    return figures | diversities(list(outputs.values()))


def diversities(texts: Sequence[str]) -> dict[str, float]:
    """The trigram diversity of texts, and of the words that are in them.

    texts (Sequence[str]): an output.
    RETURNS (dict[str, float]): figure by name.
    """
    words = [word for text in texts for word in text.split()]
    return {"trigram diversity": ngram_diversity(texts), "trigram diversity, words": ngram_diversity(words)}


def _bert_scores(made: Sequence[tuple[str, str]], embed: Embed) -> dict[str, float]:
    """The mean BERTScores."""
    known: dict[str, Floats] = {text: embed(text) for text in {text for pair in made for text in pair}}
    scores = np.array([bert_score(known[old], known[new]) for old, new in made])
    names = ("BERTScore precision", "BERTScore recall", "BERTScore F1")
    return {name: float(value) for name, value in zip(names, scores.mean(axis=0), strict=True)}


def format_surrogate_table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Write outputs side by side.

    columns (Mapping[str, Mapping[str, float]]): strategy → what `surrogate_figures` returns.
    RETURNS (str): lines of text, a figure each; "-" where a strategy has none.
    """
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    width = max([len(title) for title in columns] + [10]) + 2
    lines = [f"{'':<24}" + "".join(f"{title:>{width}}" for title in columns)]
    for name in names:
        cells = (_cell(name, figures.get(name)) for figures in columns.values())
        lines.append(f"{name:<24}" + "".join(f"{cell:>{width}}" for cell in cells))
    return "\n".join(lines) + "\n"


def _cell(name: str, value: float | None) -> str:
    """A figure: counts whole, others with four digits."""
    if value is None:
        return "-"
    return f"{value:.0f}" if name == "mentions" else f"{value:.4f}"
