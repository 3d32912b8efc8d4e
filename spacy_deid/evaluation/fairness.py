"""Name-swap fairness: is a name found as often whoever bears it?

Names of every group stand in the same contexts (`swaps`), so recall is compared in pairs. A mention is found if no
letter of it is left uncovered, whatever the label. Contexts and not names are drawn again for the intervals, because
the mentions of one context are not independent (Efron and Tibshirani 1993, chapter 6; the paired design is that of
Xiao et al. 2023, arXiv:2305.11348).
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bootstrap import interval, ratio, resample
from .counts import is_covered
from .documents import Entity
from .rows import MetricRow, with_interval
from .swaps import SEXES, Swap

__all__ = ["AXES", "TARGET", "compare", "count_found", "format_fairness", "make_rows", "measure"]

AXES = {"origin": "origin groups", "decade": "decades of birth", "sex": "sexes"}
TARGET = 0.01

Counts = NDArray[np.int64]


def count_found(swap: Swap, found: Iterable[Entity]) -> tuple[int, int]:
    """Count the mentions of the name that are covered to the last letter.

    swap (Swap): a note.
    found (Iterable[Entity]): what a pipeline found in it.
    RETURNS (tuple[int, int]): mentions found, mentions.
    """
    found, mentions = list(found), swap.note.entities
    return sum(is_covered(swap.note.text, mention, found) for mention in mentions), len(mentions)


def measure(
    results: Iterable[tuple[Swap, tuple[int, int]]], contexts: int, *, bootstrap: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Compare recall between origin groups, decades of birth and sexes.

    results (Iterable[tuple[Swap, tuple[int, int]]]): notes, each with what `count_found` gave.
    contexts (int): number of contexts.
    bootstrap (int): replicates for the 95 % intervals.
    seed (int): seed of the draws.
    RETURNS (dict): by axis ("origin", "decade", "sex") what `compare` gives; the sexes are of the origin groups.
    """
    tables: dict[str, dict[str, Counts]] = {axis: {} for axis in AXES}
    tables["sex"] = {sex: np.zeros((contexts, 2), dtype=np.int64) for sex in SEXES}
    for swap, counts in results:
        table = tables[swap.axis].setdefault(swap.pool, np.zeros((contexts, 2), dtype=np.int64))
        table[swap.context] += counts
        if swap.axis == "origin":
            tables["sex"][swap.sex][swap.context] += counts
    return {axis: compare(table, bootstrap, seed) for axis, table in tables.items()}


def compare(counts: Mapping[str, Counts], bootstrap: int, seed: int) -> dict[str, Any]:
    """Compare the recall of groups in the same contexts.

    counts (Mapping[str, Counts]): by group, mentions found and mentions, one row a context.
    bootstrap (int): replicates for the 95 % intervals.
    seed (int): seed of the draws.
    RETURNS (dict): "groups": each with "found", "mentions", "recall" and its "difference" to all groups together;
        "pairs": "higher", "lower" and their "difference"; "largest": the pair that is furthest apart. Figures have a
        "ci"; that of the largest is of the largest difference in each replicate, whichever pair that is, because the
        pair was picked for being the largest.
    """
    names = list(counts)
    table = np.stack([counts[name] for name in names], axis=1)
    total, replicates = table.sum(axis=0), resample(table, bootstrap, seed)
    recall, recalls = _recall(total), _recall(replicates)
    gap = recall - _recall(total.sum(axis=0))
    gaps = recalls - _recall(replicates.sum(axis=1))[:, None]
    groups = {
        name: {
            "found": int(total[i, 0]),
            "mentions": int(total[i, 1]),
            "recall": _figure(recall[i], recalls[:, i]),
            "difference": _figure(gap[i], gaps[:, i]),
        }
        for i, name in enumerate(names)
    }
    pairs = [_pair(names, recall, recalls, i, j) for i, j in combinations(range(len(names)), 2)]
    largest = max(pairs, key=lambda pair: pair["difference"]["value"])
    spread = _figure(largest["difference"]["value"], recalls.max(axis=1) - recalls.min(axis=1))
    return {"groups": groups, "pairs": pairs, "largest": largest | {"difference": spread}}


def _recall(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Found by mentions, on the last axis."""
    return ratio(counts[..., 0], counts[..., 1])


def _figure(value: float, replicates: NDArray[np.float64]) -> dict[str, Any]:
    """A figure and its interval."""
    return {"value": float(value), "ci": interval(replicates)}


def _pair(
    names: list[str], recall: NDArray[np.float64], recalls: NDArray[np.float64], i: int, j: int
) -> dict[str, Any]:
    """Two groups, the one with the higher recall first."""
    if recall[i] < recall[j]:
        i, j = j, i
    difference = _figure(recall[i] - recall[j], recalls[:, i] - recalls[:, j])
    return {"higher": names[i], "lower": names[j], "difference": difference}


def make_rows(
    result: Mapping[str, Any], *, lang: str, names: str, n: int, seed: int, command: str, date: str
) -> list[MetricRow]:
    """Make metric rows of what `measure` gave.

    result (Mapping): the figures.
    lang (str): language of the contexts.
    names (str): "listed" or "unlisted".
    n, seed (int): draws a group and sex, and their seed.
    command, date (str): as in `MetricRow`.
    RETURNS (list[MetricRow]): the largest differences, then recall and difference of each group.
    """
    rest: dict[str, Any] = {"data": f"{names} names, {n} draws", "split": lang, "command": command, "date": date}
    rows = []
    for axis, kinds in AXES.items():
        largest = result[axis]["largest"]["difference"]
        name = f"largest recall difference between two {kinds}"
        row = MetricRow(name, round(largest["value"], 4), TARGET, "lower", **rest)
        rows += with_interval(row, [round(end, 4) for end in largest["ci"] or ()])
    for axis in AXES:
        for group, figures in result[axis]["groups"].items():
            for key, name in (("recall", "recall of names"), ("difference", "recall difference to all names")):
                row = MetricRow(f"{name}, {group}", round(figures[key]["value"], 4), None, "higher", **rest)
                rows.append(row)
    return rows


def format_fairness(result: Mapping[str, Any]) -> str:
    """Write the figures as a table for the console.

    result (Mapping): what `measure` gave.
    RETURNS (str): the table, with a line end.
    """
    lines = []
    for axis, kinds in AXES.items():
        lines.append(f"{kinds:<32}{'mentions':>9}{'recall':>9}  {'to all':<26}")
        for group, figures in result[axis]["groups"].items():
            recall, gap = figures["recall"]["value"], _with_interval(figures["difference"])
            lines.append(f"  {group:<30}{figures['mentions']:>9}{recall:>9.4f}  {gap}")
        largest = result[axis]["largest"]
        between = f"{largest['higher']} – {largest['lower']}"
        lines += [f"  largest difference: {_with_interval(largest['difference'])}  {between}", ""]
    return "\n".join(lines)


def _with_interval(figure: Mapping[str, Any]) -> str:
    """A signed figure and its interval."""
    interval_ = "" if figure["ci"] is None else " [{:+.4f}, {:+.4f}]".format(*figure["ci"])
    return f"{figure['value']:+.4f}{interval_}"
