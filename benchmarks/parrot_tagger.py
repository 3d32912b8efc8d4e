"""A tagger of identifiers that trains in seconds: logistic regression over the words and shapes around a token.

It is weaker than the detectors of the package, as is the tagger of an attacker who invests little effort.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TOKEN = re.compile(r"\w+|[^\w\s]")
STEPS = 60
RATE = 0.3
PENALTY = 1e-5


class Text(NamedTuple):
    """A text and the spans of its identifiers."""

    text: str
    spans: Sequence[tuple[int, int]]

    def __repr__(self) -> str:
        return f"Text({len(self.spans)} spans)"


class Logistic(NamedTuple):
    """Weights of standardized features; the last one is the bias."""

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def logits(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a logit for each row."""
        return (columns - self.means) / self.scales @ self.weights[:-1] + self.weights[-1]


def fit_logistic(columns: NDArray[np.float64], labels: NDArray[np.bool_], penalty: float = 1.0) -> Logistic:
    """Fit a logistic regression with few features by Newton's method, with balanced class weights.

    columns (NDArray): features, shape (cases, features).
    labels (NDArray): shape (cases,).
    penalty (float): L2 penalty, so that weights stay finite on separable data.
    RETURNS (Logistic): the regression.
    """
    means, scales = columns.mean(axis=0), columns.std(axis=0)
    scales = np.where(scales > 0, scales, 1.0)
    rows = np.hstack([(columns - means) / scales, np.ones((len(columns), 1))])
    cases = np.where(labels, 0.5 / max(1, labels.sum()), 0.5 / max(1, (~labels).sum())) * len(labels)
    ridge = np.diag([penalty] * columns.shape[1] + [1e-9])
    weights = np.zeros(rows.shape[1])
    for _ in range(25):
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (cases * (chances - labels)) + ridge @ weights
        curvature = (rows * (cases * chances * (1 - chances))[:, None]).T @ rows + ridge
        weights -= np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), gradient)
    return Logistic(weights, means, scales)


class Tagger:
    """Scores tokens by the features of themselves and their neighbours."""

    def __init__(self, known: dict[str, int], weights: NDArray[np.float64]) -> None:
        self._known = known
        self._weights = weights

    def logits(self, text: str, spans: Iterable[tuple[int, int]]) -> list[NDArray[np.float64]]:
        """Return the logits of the tokens of each span; a single zero for a span without tokens."""
        tokens = list(TOKEN.finditer(text))
        rows = [[self._known.get(name, 0) for name in names] for names in features(text, tokens)]
        scores = self._weights[np.array(rows, dtype=np.int64)].sum(axis=1) if rows else np.zeros(0)
        starts = np.array([token.start() for token in tokens], dtype=np.int64)
        found = (scores[(starts >= start) & (starts < end)] for start, end in spans)
        return [part if len(part) else np.zeros(1) for part in found]


def train_tagger(texts: Sequence[Text]) -> Tagger:
    """Train a tagger that predicts which tokens are inside spans.

    texts (Sequence[Text]): annotated texts.
    RETURNS (Tagger): the tagger. Features that occur once have no weight, as unseen ones.
    """
    rows: list[list[str]] = []
    labels: list[bool] = []
    for text, spans in texts:
        tokens = list(TOKEN.finditer(text))
        rows += features(text, tokens)
        covered = np.zeros(len(text) + 1, dtype=bool)
        for start, end in spans:
            covered[start:end] = True
        labels += [bool(covered[token.start()]) for token in tokens]
    known, table = _number(rows)
    return Tagger(known, _descend(table, np.array(labels, dtype=np.float64), len(known) + 1))


def features(text: str, tokens: Sequence[re.Match[str]]) -> list[list[str]]:
    """Return the feature names of each token, the same number for all."""
    words = ["", "", *(token[0].lower() for token in tokens), "", ""]
    shapes = ["", *(shape(token[0]) for token in tokens), ""]
    out, line, head = [], -1, ""
    for i, token in enumerate(tokens):
        begin = text.rfind("\n", 0, token.start())
        if begin != line or not i:
            line, head = begin, words[i + 2]
        w, s = words[i : i + 5], shapes[i : i + 3]
        values = (w[2], s[1], w[2][:3], w[2][-3:], w[1], w[0] + " " + w[1], w[3], w[3] + " " + w[4])
        values += (s[0], s[2], w[1] + s[1], s[0] + s[1] + s[2], head, head + s[1], "")
        out.append([f"{kind}{value}" for kind, value in zip("abcdefghijklmno", values, strict=True)])
    return out


def shape(word: str) -> str:
    """Return the shape of a word: "Xx" for "Ana", "Xd" for "A12"."""
    kinds = ("d" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word)
    return re.sub(r"(.)\1+", r"\1", "".join(kinds))


def _number(rows: Sequence[Sequence[str]]) -> tuple[dict[str, int], NDArray[np.int64]]:
    """Number the features that occur at least twice, from 1."""
    once: set[str] = set()
    known: dict[str, int] = {}
    for row in rows:
        for name in row:
            if name in known:
                continue
            if name in once:
                known[name] = len(known) + 1
            once.add(name)
    return known, np.array([[known.get(name, 0) for name in row] for row in rows], dtype=np.int64)


def _descend(table: NDArray[np.int64], labels: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Optimize the weights with Adam (Kingma and Ba 2015) on all tokens at once. The weight of index 0 stays 0."""
    weights, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    places = table.ravel()
    for step in range(1, STEPS + 1):
        wrong = 1 / (1 + np.exp(-np.clip(weights[table].sum(axis=1), -30, 30))) - labels
        gradient = np.bincount(places, np.repeat(wrong, table.shape[1]), size) / len(labels) + PENALTY * weights
        gradient[0] = 0.0
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights
