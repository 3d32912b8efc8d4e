"""Curves of operating points: rows for JSON, and a picture of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from .files import write_text
from .operating import Table
from .sweep import summarize

__all__ = ["SERIES", "curve_rows", "mark_points", "plot_curves", "write_curves"]

# key of a row → what the legend says
SERIES = {
    "character_recall": "character recall",
    "character_precision": "character precision",
    "strict_f1": "entity and label F1",
    "clean": "documents with nothing missed",
}


def curve_rows(table: Table) -> list[dict[str, Any]]:
    """One row a threshold.

    table (Table): a sweep.
    RETURNS (list[dict]): "threshold", the figures of `sweep.summarize`, and "labels": by label of the scheme the
        "character_recall" of its gold under any label.
    """
    return [
        {"threshold": threshold, **summarize(counts), "labels": _labels(table, counts.labels.sum(axis=0))}
        for threshold, counts in zip(table.thresholds, table.counts, strict=True)
    ]


def _labels(table: Table, totals: Any) -> dict[str, dict[str, float]]:
    """Character recall of each label of the scheme; canonical labels that it does not tell apart are added up."""
    sums: dict[str, list[int]] = {}
    for label, (due, missed, *_) in zip(table.sweep.labels, totals.tolist(), strict=True):
        entry = sums.setdefault(table.sweep.label_name(label), [0, 0])
        entry[0] += due
        entry[1] += missed
    return {
        name: {"character_recall": round((due - missed) / due, 5)}
        for name, (due, missed) in sorted(sums.items())
        if due
    }


def mark_points(points: Mapping[str, Mapping[str, Any]]) -> dict[float, list[str]]:
    """Names of the points with one threshold for all labels, by threshold: those that a curve can show.

    points (Mapping): name → "default", "labels".
    RETURNS (dict[float, list[str]]): threshold → names.
    """
    marks: dict[float, list[str]] = {}
    for name, point in points.items():
        if not point["labels"]:
            marks.setdefault(point["default"], []).append(name)
    return marks


def write_curves(folder: Path, rows: Sequence[Mapping[str, Any]], points: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write the rows and the points as JSON.

    folder (Path): is made if it is not there.
    rows (Sequence[Mapping]): as `curve_rows`.
    points (Mapping): name → "default", "labels", "figures".
    RETURNS (Path): the file, curves.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "curves.json"
    write_text(path, json.dumps({"points": points, "rows": rows}, ensure_ascii=False, indent=2) + "\n")
    return path


def plot_curves(folder: Path, rows: Sequence[Mapping[str, Any]], points: Mapping[str, Mapping[str, Any]]) -> Path:
    """Draw the rows.

    folder (Path): is made if it is not there.
    rows (Sequence[Mapping]): as `curve_rows`.
    points (Mapping): name → record; those with one threshold for all labels are marked.
    RETURNS (Path): the file, curves.png.
    RAISES: ConfigError (D347) without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(Errors.D347) from None
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for key, title in SERIES.items():
        drawn = [(row["threshold"], row[key]) for row in rows if row[key] is not None]
        axes.plot([x for x, _ in drawn], [y for _, y in drawn], marker=".", label=title)
    for threshold, names in mark_points(points).items():
        axes.axvline(threshold, color="grey", linewidth=0.8)
        place: Any = {"xycoords": ("data", "axes fraction"), "rotation": 90, "fontsize": 8, "ha": "right"}
        axes.annotate(", ".join(names), (threshold, 0.01), **place)
    axes.set(xscale="log", xlabel="threshold (probability of being PHI)", ylabel="figure on the development set")
    axes.invert_xaxis()
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="lower left", fontsize=8)
    path = folder / "curves.png"
    figure.savefig(path, dpi=150, metadata={"Software": None})
    return path
