"""Measure how far surrogates are from their originals and from each other, for any strategy.

The measures are those of the Self-Decoded Model of Medical De-identification (SDM-M-DID), which describes them in
words. What the description leaves open is defined here:

- *original length*, *surrogate length*: in characters. They should hardly differ.
- *Levenshtein distance*: insertions, deletions and substitutions of characters. *Levenshtein ratio*: the normalized
  similarity, 1 - distance / length of the longer text; 0 is completely different, 1 is identical.
- *bigram similarity*, *trigram similarity*: Jaccard index (1912) of the sets of character n-grams. A text shorter than
  n is its own n-gram. Spaces are characters; case matters.
- *trigram diversity*: 1 - mean trigram similarity of the surrogates of two different originals. The share of distinct
  trigrams cannot be meant: it would be far below the published .9958 for thousands of names. The publication speaks of
  words in one place and tokens in another, and a long text shares more trigrams than a short one; so there is a second
  figure on single words, *trigram diversity, words*. Targets refer to the first.
- *empty*: empty or white space. *same*: equal to the original after case folding, the stricter definition. *out of
  dictionary*: no surrogate could be made, and a tag was written.
- *BERTScore*: precision, recall and F1 by greedy matching of token embeddings (Zhang et al. 2020, arXiv:1904.09675,
  without weights and without rescaling).

Distances are means over the pairs with a surrogate; *empty*, *same* and *out of dictionary* are shares of all pairs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

Floats = NDArray[np.floating]
# a text → the embeddings of its tokens, shape (tokens, width)
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
"""Whether a higher or a lower value of each figure is better. Lengths are missing, because they should be equal."""


class Pair(NamedTuple):
    """An identifier and its surrogate, both as text. The surrogate is None if none could be made."""

    original: str
    surrogate: str | None

    def __repr__(self) -> str:
        """Show only the lengths, because an original is text of a note."""
        return f"Pair({len(self.original)}, {None if self.surrogate is None else len(self.surrogate)} characters)"


def ngrams(text: str, n: int) -> frozenset[str]:
    """Return the character n-grams of a text.

    RETURNS (frozenset[str]): distinct n-grams; the text itself if it is shorter than n; empty for an empty text.
    """
    return frozenset(text[i : i + n] for i in range(max(1, len(text) - n + 1)) if text)


def ngram_similarity(first: str, second: str, n: int) -> float:
    """Compute the Jaccard index of the n-grams of two texts, between 0 and 1; 1 for two empty texts."""
    a, b = ngrams(first, n), ngrams(second, n)
    return len(a & b) / len(a | b) if a or b else 1.0


def ngram_diversity(texts: Sequence[str], n: int = 3) -> float:
    """Compute how different texts are from each other: 1 - mean n-gram similarity of all pairs of texts.

    texts (Sequence[str]): the texts, such as surrogates of different originals.
    n (int): length of the n-grams in characters.
    RETURNS (float): 1 if no two texts share an n-gram, 0 if all are equal; 1 for fewer than two texts.
    """
    if len(texts) < 2:
        return 1.0
    grams = [ngrams(text, n) for text in texts]
    sizes = np.array([len(found) for found in grams], dtype=np.int64)
    earlier: dict[str, list[int]] = defaultdict(list)
    total = 0.0
    for i, found in enumerate(grams):
        # compare only with texts that share an n-gram; two empty texts are equal
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
    """Compute the BERTScore of two texts: match their tokens greedily by cosine similarity of embeddings.

    reference, candidate (Floats): embeddings of original and surrogate, shape (tokens, width).
    RETURNS (tuple[float, float, float]): precision (mean best cosine of the candidate's tokens), recall (the same for
        the reference) and F1; all 0 if a text has no tokens.
    """
    if not len(reference) or not len(candidate):
        return 0.0, 0.0, 0.0
    cosines = _unit(reference) @ _unit(candidate).T
    recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both > 0 else 0.0


def _unit(rows: Floats) -> Floats:
    """Scale rows to length 1, leaving zero rows unchanged."""
    rows = np.asarray(rows, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1.0)  # the square of a tiny number would be 0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def surrogate_figures(pairs: Iterable[Pair], embed: Embed | None = None) -> dict[str, float]:
    """Compute all figures of this module for the surrogates that a strategy made.

    pairs (Iterable[Pair]): original and surrogate of each mention.
    embed (Optional[Embed]): token embeddings for the BERTScore; None to leave it out.
    RETURNS (dict[str, float]): figures by name in table order: "mentions", the lengths, then those of `BETTER`.
        Distances are left out if there is no surrogate.
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
    scores: dict[str, float] = {}
    if embed and made:
        known: dict[str, Floats] = {text: embed(text) for text in {text for pair in made for text in pair}}
        means = np.array([bert_score(known[old], known[new]) for old, new in made]).mean(axis=0)
        names = ("BERTScore precision", "BERTScore recall", "BERTScore F1")
        scores = {name: float(value) for name, value in zip(names, means, strict=True)}
    return {"mentions": float(len(pairs))} | distances | shares | scores


def _distances(made: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Compute lengths, distances and n-gram similarities, averaged over the pairs, and the trigram diversities."""
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
    """Compute the trigram diversity of texts and that of the words in them, as a dict by name of the figure."""
    words = [word for text in texts for word in text.split()]
    return {"trigram diversity": ngram_diversity(texts), "trigram diversity, words": ngram_diversity(words)}


def format_surrogate_table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Format the figures of several strategies side by side.

    columns (Mapping[str, Mapping[str, float]]): strategy → result of `surrogate_figures`.
    RETURNS (str): one line per figure; "-" for a missing figure.
    """
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    width = max([len(title) for title in columns] + [10]) + 2
    lines = [f"{'':<24}" + "".join(f"{title:>{width}}" for title in columns)]
    for name in names:
        values = [figures.get(name) for figures in columns.values()]
        digits = 0 if name == "mentions" else 4
        cells = ["-" if value is None else f"{value:.{digits}f}" for value in values]
        lines.append(f"{name:<24}" + "".join(f"{cell:>{width}}" for cell in cells))
    return "\n".join(lines) + "\n"
