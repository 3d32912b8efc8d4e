"""Compute recall and other rates for each document, as published evaluations do, and their mean and spread.

All counts are of letters and digits. With "identifier" in the gold and "covered" in the prediction,

    accuracy = (tp + tn) / all     recall = tp / (tp + fn)          fnr = fn / (tp + fn)
    precision = tp / (tp + fp)     specificity = tn / (tn + fp)     fpr = fp / (tn + fp)

Micro figures are computed from the summed counts of all documents. Macro figures are the mean, sample standard
deviation and median over the documents for which the figure is defined; a document without identifiers has no recall.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from io import StringIO
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from .counts import alphanumeric_mask
from .documents import AnnotatedText, pair_documents, relabel
from .metrics import Counts, count_document, format_figure

RATES = ("accuracy", "recall", "precision", "specificity", "fpr", "fnr")
COLUMNS = ("document", "characters", "tp", "fp", "fn", "tn", *RATES, "missed")


def measure_documents(
    gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText], *, scheme: str = "canonical"
) -> dict[str, Any]:
    """Compute the rates of each document, and summarize them over documents and by label.

    gold, pred (Sequence[AnnotatedText]): the same documents, with canonical labels.
    scheme (str): label scheme of the comparison.
    RETURNS (dict): "micro" with the counts and `RATES`; "macro" with "mean", "std", "median" and "documents" of each
        rate; "confusion", {gold label: {predicted label: characters}} with "" for no label; "labels" with
        "characters", "missed", "recall", "documents" and "without_miss" (number of documents with all characters
        covered) of each label; "rows", one per document with the keys `COLUMNS`, sorted by decreasing share of missed
        characters. Only "rows" contains names of documents.
    RAISES: InputError if the two sides cannot be paired (D308–D310); ConfigError for an unknown scheme (D002).
    """
    pairs = pair_documents(gold, pred)
    counts = [count_document(one, other, scheme) for one, other in pairs]
    rows = [_document_row(one, found) for (one, _), found in zip(pairs, counts, strict=True)]
    # share missed, number missed, false positives, each decreasing
    rows.sort(
        key=lambda row: (-row["fnr"] if row["fnr"] is not None else 1.0, -row["fn"], -row["fp"], row["document"])
    )
    totals = {name: sum(row[name] for row in rows) for name in ("tp", "fp", "fn", "tn")}
    return {
        "micro": {**totals, **_rates(**totals)},
        "macro": {rate: _mean_and_spread([row[rate] for row in rows if row[rate] is not None]) for rate in RATES},
        "confusion": _confusion_by_character(pairs, scheme),
        "labels": _sum_labels(counts),
        "rows": rows,
    }


def _document_row(document: AnnotatedText, counts: Counts) -> dict[str, Any]:
    """Create the row of a document: its counts, its rates, and the characters missed of each label."""
    tp, fp, fn = counts["all", "character"]
    characters = int(alphanumeric_mask(document.text).sum())
    totals = {"tp": tp, "fp": fp, "fn": fn, "tn": characters - tp - fp - fn}
    missed = {key[2]: counts[key][2] for key in _label_keys(counts) if counts[key][2]}
    return {"document": document.name, "characters": characters, **totals, **_rates(**totals), "missed": missed}


def _rates(tp: int, fp: int, fn: int, tn: int) -> dict[str, float | None]:
    """Compute the `RATES` from the counts of true and false positives and negatives; None where undefined."""
    parts = {
        "accuracy": (tp + tn, tp + fp + fn + tn),
        "recall": (tp, tp + fn),
        "precision": (tp, tp + fp),
        "specificity": (tn, tn + fp),
        "fpr": (fp, tn + fp),
        "fnr": (fn, tp + fn),
    }
    return {rate: above / below if below else None for rate, (above, below) in parts.items()}


def _mean_and_spread(values: Sequence[float]) -> dict[str, Any]:
    """Compute mean, sample standard deviation and median of a rate over documents; None where undefined."""
    return {
        "mean": fmean(values) if values else None,
        "std": stdev(values) if len(values) > 1 else None,
        "median": median(values) if values else None,
        "documents": len(values),
    }


def _label_keys(counts: Counts) -> list[tuple[str, ...]]:
    """Return those keys of a document's counts that hold the character counts of a gold label."""
    return sorted(
        key for key, triple in counts.items() if key[:2] == ("all", "character") and len(key) == 3 and any(triple)
    )


def _sum_labels(counts: Sequence[Counts]) -> dict[str, dict[str, Any]]:
    """Sum over documents, for each gold label: characters, missed characters, documents, and those without a miss."""
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


def _confusion_by_character(
    pairs: Sequence[tuple[AnnotatedText, AnnotatedText]], scheme: str
) -> dict[str, dict[str, int]]:
    """Count letters and digits by gold and predicted label; where entities overlap, the longest one counts."""
    table: dict[str, Counter[str]] = {}
    for gold, pred in pairs:
        counted = alphanumeric_mask(gold.text)
        sides = relabel(gold.entities, scheme), relabel(pred.entities, scheme)
        names = ["", *sorted({entity.label for side in sides for entity in side})]
        painted = []
        for side in sides:
            indices = np.zeros(len(counted), dtype=np.int64)
            for entity in sorted(side, key=lambda entity: entity.end - entity.start):
                indices[entity.start : entity.end] = names.index(entity.label)
            painted.append(indices[counted])
        codes, numbers = np.unique(painted[0] * len(names) + painted[1], return_counts=True)
        for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
            one, other = divmod(code, len(names))
            table.setdefault(names[one], Counter())[names[other]] += number
    return {one: dict(sorted(row.items())) for one, row in sorted(table.items())}


def format_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format the figures of each document as a line of CSV (RFC 4180).

    rows (Sequence[Mapping]): "rows" of `measure_documents`.
    RETURNS (str): header and one line per document; rates with six decimals, empty if undefined.
    """
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in rows:
        rates = ["" if row[rate] is None else f"{row[rate]:.6f}" for rate in RATES]
        missed = " ".join(f"{label}:{count}" for label, count in row["missed"].items())
        writer.writerow([*(row[name] for name in COLUMNS[:6]), *rates, missed])
    return out.getvalue()


def format_documents(measured: Mapping[str, Any]) -> str:
    """Format the result of `measure_documents` as plain text tables: rates, labels, and the confusion of labels.

    measured (Mapping): result of `measure_documents`; its rows are not shown.
    RETURNS (str): lines of text; "-" for undefined figures.
    """
    micro, macro = measured["micro"], measured["macro"]
    counts = ", ".join(f"{name.upper()} {micro[name]}" for name in ("tp", "fp", "fn", "tn"))
    lines = [
        f"letters and digits: {counts}",
        "",
        f"{'':<16}{'micro':>8}{'mean':>8}{'std':>8}{'median':>8}{'letters':>9}",
    ]
    for rate in RATES:
        spread = [format_figure(macro[rate][name]) for name in ("mean", "std", "median")]
        figures = "".join(f"{figure:>8}" for figure in [format_figure(micro[rate]), *spread])
        lines.append(f"{rate:<16}{figures}{macro[rate]['documents']:>9}")
    lines += ["", f"{'label':<34}{'recall':>8}{'missed':>8}{'of':>8}{'letters':>9}{'without a miss':>16}"]
    for label, row in measured["labels"].items():
        figures = f"{format_figure(row['recall']):>8}{row['missed']:>8}{row['characters']:>8}{row['documents']:>9}"
        lines.append(f"{label:<34}{figures}{row['without_miss']:>16}")
    lines += ["", "gold label: what its letters and digits were taken for"]
    for label, row in measured["confusion"].items():
        cells = sorted(row.items(), key=lambda cell: (-cell[1], cell[0]))
        lines.append(f"{label or 'none':<34}" + ", ".join(f"{other or 'none'} {count}" for other, count in cells))
    return "\n".join(lines) + "\n"
