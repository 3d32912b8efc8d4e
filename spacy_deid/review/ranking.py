"""Ranks words by the probability that they are missed identifiers."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from .evidence import FEATURES, describe_words


class Ranking:
    """A logistic regression: the probability that a token is a part of a missed identifier.

    weights (Mapping[str, float]): weight of each feature of `FEATURES`, and "bias".
    version (str): name of the weights.
    RAISES: ConfigError (D836) if a weight is missing.
    """

    def __init__(self, weights: Mapping[str, float], version: str) -> None:
        if missing := [name for name in (*FEATURES, "bias") if name not in weights]:
            raise ConfigError(Errors.D836.format(path="review_ranking.json", reason=f"no weight '{missing[0]}'"))
        self.weights = np.array([weights[name] for name in FEATURES], dtype=float)
        self.bias, self.version = float(weights["bias"]), version

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute probabilities. values (NDArray): shape (n, features). RETURNS (NDArray): shape (n,)."""
        return np.asarray(1 / (1 + np.exp(-np.clip(values @ self.weights + self.bias, -30, 30))))


@cache
def load_ranking() -> Ranking:
    """Load the weights that were fitted by ``python -m benchmarks.review fit``."""
    text = (files("spacy_deid") / "resources" / "review_ranking.json").read_text(encoding="utf8")
    data = json.loads(text)
    return Ranking(data["weights"], data["version"])


def rank_words(doc: Doc, ranking: Ranking | None = None) -> dict[str, Any]:
    """Compute for each token that is not part of an entity the probability that it is a missed identifier.

    doc (Doc): as for `describe_words`.
    ranking (Optional[Ranking]): the weights; None for those of the package.
    RETURNS (dict): a record with the keys of the scores of ``deid_surprisal``, and "leak": the probability that an
        identifier was missed in the note, if its words were independent.
    """
    ranking, words = ranking or load_ranking(), describe_words(doc)
    columns = {name.replace(" ", "_"): words.values[:, i].tolist() for i, name in enumerate(FEATURES)}
    values = ranking(words.values)
    return {
        "starts": words.starts.tolist(),
        "ends": words.ends.tolist(),
        "values": values.tolist(),
        "leak": float(1 - np.prod(1 - values)),
        "features": columns,
        "model": ranking.version,
        "score": "evidence",
        "probability": True,
    }
