"""Whether repeated runs of a system differ: the test of Kruskal and Wallis over its figures document by document.

Wiest et al. (2024) compare three runs of a language model this way: figures of documents are not normally distributed.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from spacy_deid.errors import Errors, InputError
from spacy_deid.evaluation.documents import AnnotatedText
from spacy_deid.evaluation.per_document import measure_documents

__all__ = ["KruskalWallis", "compare_runs", "kruskal_wallis"]

_RATES = ("accuracy", "recall", "fnr")


class KruskalWallis(NamedTuple):
    """The result of the test.

    h (float): the statistic, corrected for ties.
    p (float): probability of an H as high if all groups are of one distribution.
    """

    h: float
    p: float


def kruskal_wallis(groups: Sequence[Sequence[float]]) -> KruskalWallis:
    """Test whether groups of values are of one distribution.

    H = 12 / (n (n + 1)) Σ R² / n_i - 3 (n + 1), divided by 1 - Σ (t³ - t) / (n³ - n) for ties of t values each
    (Kruskal and Wallis 1952, Use of ranks in one-criterion variance analysis, JASA 47, 583-621). H has about a
    chi-square distribution with one degree of freedom less than there are groups.

    groups (Sequence[Sequence[float]]): two or more groups with a value or more each.
    RETURNS (KruskalWallis): H and p; H is 0 and p is 1 if all values are the same.
    RAISES: InputError (D739) for fewer groups, an empty one, or a value that is no number.
    """
    values = sorted((value, i) for i, group in enumerate(groups) for value in group)
    if len(groups) < 2 or not all(groups) or not all(math.isfinite(value) for value, _ in values):
        raise InputError(Errors.D739)
    total, ranks, ties, before = len(values), [0.0] * len(groups), 0, 0
    for _, run in groupby(values, key=lambda item: item[0]):
        tied = [i for _, i in run]
        for i in tied:
            ranks[i] += before + (len(tied) + 1) / 2
        before += len(tied)
        ties += len(tied) ** 3 - len(tied)
    if ties == total**3 - total:
        return KruskalWallis(0.0, 1.0)
    spread = sum(rank**2 / len(group) for rank, group in zip(ranks, groups, strict=True))
    h = (12 / (total * (total + 1)) * spread - 3 * (total + 1)) / (1 - ties / (total**3 - total))
    return KruskalWallis(h, _chi_square_tail(max(h, 0.0), len(groups) - 1))


def _chi_square_tail(value: float, freedom: int) -> float:
    """Probability that chi-square is at least a value (Abramowitz and Stegun 1964, 26.4.4 and 26.4.5)."""
    half, odd = value / 2, freedom % 2
    if not half:
        return 1.0
    powers = [i + odd / 2 for i in range(freedom // 2)]
    tail = sum(math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers)
    return min(1.0, tail + (math.erfc(math.sqrt(half)) if odd else 0.0))


def compare_runs(gold: Sequence[AnnotatedText], runs: Sequence[Sequence[AnnotatedText]]) -> dict[str, Any]:
    """Compare repeated runs over the same documents.

    gold (Sequence[AnnotatedText]): the documents with gold.
    runs (Sequence): for each run what was found in the same documents.
    RETURNS (dict): "same", the share of documents in which every run found the same; for each of accuracy, recall and
        fnr its "micro" values, run by run, and "h" and "p" of the test over the documents' own.
    RAISES: InputError if documents do not pair (D308 - D310), or there are fewer than two runs (D739).
    """
    measured = [measure_documents(gold, run) for run in runs]
    found: dict[str, set[tuple[object, ...]]] = {}
    for run in runs:
        for document in run:
            found.setdefault(document.name, set()).add(tuple(document.entities))
    result: dict[str, Any] = {"same": sum(len(each) == 1 for each in found.values()) / len(found)}
    for rate in _RATES:
        groups = [[row[rate] for row in one["rows"] if row[rate] is not None] for one in measured]
        test = kruskal_wallis(groups)
        result[rate] = {"micro": [one["micro"][rate] for one in measured], "h": test.h, "p": test.p}
    return result
