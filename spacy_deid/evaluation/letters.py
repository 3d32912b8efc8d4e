"""Figures document by document, as papers on letters give them: rates, their spread over documents, what was missed.

All counts are of letters and digits, each once, whatever white space and signs stand between: with "identifier" and
"covered" as the two sides,

    accuracy = (tp + tn) / all     recall = tp / (tp + fn)          fnr = fn / (tp + fn)
    precision = tp / (tp + fp)     specificity = tn / (tn + fp)     fpr = fp / (tn + fp)

Micro figures add the counts of all documents up. Macro figures are mean, sample standard deviation and median of the
documents' own, over those documents where the figure is defined: one without an identifier has no recall.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from io import StringIO
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from .counts import Mask, alphanumeric_mask
from .documents import AnnotatedText, Entity, pair_documents, relabel
from .metrics import Counts, count_document

__all__ = ["COLUMNS", "RATES", "format_csv", "measure_letters"]

RATES = ("accuracy", "recall", "precision", "specificity", "fpr", "fnr")
COLUMNS = ("document", "characters", "tp", "fp", "fn", "tn", *RATES, "missed")


def measure_letters(
    gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText], *, scheme: str = "canonical"
) -> dict[str, Any]:
    """Compare predictions with gold, document by document.

    gold, pred (Sequence[AnnotatedText]): the same documents, with canonical labels.
    scheme (str): scheme to compare labels in.
    RETURNS (dict): "micro", the counts and `RATES`; "macro", for each of `RATES` its "mean", "std", "median" and
        "documents"; "confusion", {gold label: {predicted label: characters}} with "" for none; "labels", for each
        label its "characters", "missed", "recall", "documents" that have it and "without_miss" among them; "rows", a
        row a document with `COLUMNS`, the one that misses the largest share first. Only rows name documents.
    RAISES: InputError if the two sides do not pair (D308 - D310); ConfigError for an unknown scheme (D002).
    """
    pairs = pair_documents(gold, pred)
    counts = [count_document(one, other, scheme) for one, other in pairs]
    rows = [_row(one, found) for (one, _), found in zip(pairs, counts, strict=True)]
    totals = {name: sum(row[name] for row in rows) for name in ("tp", "fp", "fn", "tn")}
    return {
        "micro": {**totals, **_rates(**totals)},
        "macro": {rate: _spread([row[rate] for row in rows if row[rate] is not None]) for rate in RATES},
        "confusion": _confuse(pairs, scheme),
        "labels": _labels(counts),
        "rows": sorted(rows, key=_worst),
    }


def _row(document: AnnotatedText, counts: Counts) -> dict[str, Any]:
    """The figures of one document."""
    tp, fp, fn = counts["all", "character"]
    characters = int(alphanumeric_mask(document.text).sum())
    totals = {"tp": tp, "fp": fp, "fn": fn, "tn": characters - tp - fp - fn}
    missed = {key[2]: counts[key][2] for key in _label_keys(counts) if counts[key][2]}
    return {"document": document.name, "characters": characters, **totals, **_rates(**totals), "missed": missed}


def _worst(row: Mapping[str, Any]) -> tuple[float, int, int, str]:
    """What rows are sorted by: the share that is missed, how much that is, what is covered for nothing."""
    return 1.0 if row["fnr"] is None else -row["fnr"], -row["fn"], -row["fp"], row["document"]


def _rates(tp: int, fp: int, fn: int, tn: int) -> dict[str, float | None]:
    """The rates of four counts; None where there is nothing to divide by."""
    parts = {
        "accuracy": (tp + tn, tp + fp + fn + tn),
        "recall": (tp, tp + fn),
        "precision": (tp, tp + fp),
        "specificity": (tn, tn + fp),
        "fpr": (fp, tn + fp),
        "fnr": (fn, tp + fn),
    }
    return {rate: above / below if below else None for rate, (above, below) in parts.items()}


def _spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, sample standard deviation and median."""
    return {
        "mean": fmean(values) if values else None,
        "std": stdev(values) if len(values) > 1 else None,
        "median": median(values) if values else None,
        "documents": len(values),
    }


def _label_keys(counts: Counts) -> list[tuple[str, ...]]:
    """Where the labels' characters are counted, for labels that the gold has."""
    return sorted(
        key for key, triple in counts.items() if key[:2] == ("all", "character") and len(key) == 3 and any(triple)
    )


def _labels(counts: Sequence[Counts]) -> dict[str, dict[str, Any]]:
    """For each label how many of its characters are missed, and in how many documents none is."""
    sums: dict[str, Counter[str]] = {}
    for found in counts:
        for key in _label_keys(found):
            hits, _, missed = found[key]
            one = {"characters": hits + missed, "missed": missed, "documents": 1, "without_miss": int(not missed)}
            sums.setdefault(key[2], Counter()).update(one)
    names = ("characters", "missed", "documents", "without_miss")
    return {
        label: {name: row[name] for name in names} | {"recall": 1 - row["missed"] / row["characters"]}
        for label, row in sorted(sums.items())
    }


def _confuse(pairs: Sequence[tuple[AnnotatedText, AnnotatedText]], scheme: str) -> dict[str, dict[str, int]]:
    """Labels against labels, counted in letters and digits; where entities overlap, the longest one counts."""
    table: dict[str, Counter[str]] = {}
    for gold, pred in pairs:
        counted = alphanumeric_mask(gold.text)
        names, sides = _paint((relabel(gold.entities, scheme), relabel(pred.entities, scheme)), counted)
        codes, numbers = np.unique(sides[0] * len(names) + sides[1], return_counts=True)
        for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
            one, other = divmod(code, len(names))
            table.setdefault(names[one], Counter())[names[other]] += number
    return {one: dict(sorted(row.items())) for one, row in sorted(table.items())}


def _paint(sides: Sequence[Sequence[Entity]], counted: Mask) -> tuple[list[str], list[Any]]:
    """For every character that counts the number of its label on either side. RETURNS: the labels, and the numbers."""
    names = ["", *sorted({entity.label for side in sides for entity in side})]
    painted = []
    for side in sides:
        numbers = np.zeros(len(counted), dtype=np.int64)
        for entity in sorted(side, key=lambda entity: entity.end - entity.start):
            numbers[entity.start : entity.end] = names.index(entity.label)
        painted.append(numbers[counted])
    return names, painted


def format_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of documents as CSV (RFC 4180).

    rows (Sequence[Mapping]): "rows" of `measure_letters`.
    RETURNS (str): a head and a line a document; rates with six digits, empty where they are not defined.
    """
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in rows:
        rates = ["" if row[rate] is None else f"{row[rate]:.6f}" for rate in RATES]
        missed = " ".join(f"{label}:{count}" for label, count in row["missed"].items())
        writer.writerow([*(row[name] for name in COLUMNS[:6]), *rates, missed])
    return out.getvalue()
