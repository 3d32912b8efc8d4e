"""The report of an adaptation: figures before and after, a reason to refuse the pipeline, and a plain text form."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from ..evaluation.metrics import interval, plain, ratio, resample
from ..evaluation.sweep import Counts, Sweep

FORGOTTEN = 0.01
"""Loss of character recall on the notes for replay from which on the adapted pipeline is refused."""

_FIGURES = ("character_recall", "character_precision", "strict_f1", "clean")
_TITLES = {
    "character_recall": "character recall",
    "character_precision": "character precision",
    "strict_f1": "strict F1",
    "clean": "notes with nothing missed",
}

Array = NDArray[np.int64]


def _figures(totals: Array) -> dict[str, NDArray[np.float64]]:
    """Compute figures from sums of `Counts.total`, shape (…, 10)."""
    tp, fp, fn, hits, extra, missed, clean, unclean, *_ = np.moveaxis(totals, -1, 0)
    parts = ((hits, hits + missed), (hits, hits + extra), (2 * tp, 2 * tp + fp + fn), (clean, clean + unclean))
    return {name: ratio(above, below) for name, (above, below) in zip(_FIGURES, parts, strict=True)}


def compare_points(before: Counts, after: Counts, rows: slice, bootstrap: int, seed: int) -> dict[str, Any]:
    """Compare the figures of the same documents before and after, with intervals from paired bootstrap samples.

    RETURNS (dict): for each figure "before", "after" and "difference", each with "value" and "interval", which is None
        without replicates or if it is undefined.
    """
    both = np.stack([before.total[rows], after.total[rows]], axis=1)  # (documents, 2, counts)
    values, samples = _figures(both.sum(axis=0)), _figures(resample(both, bootstrap, seed))
    out: dict[str, Any] = {}
    for name in _FIGURES:
        columns = {
            "before": (values[name][0], samples[name][:, 0]),
            "after": (values[name][1], samples[name][:, 1]),
            "difference": (values[name][1] - values[name][0], samples[name][:, 1] - samples[name][:, 0]),
        }
        out[name] = {
            kind: {"value": _round(value), "interval": _ends(sample)} for kind, (value, sample) in columns.items()
        }
    return out


def _round(value: float) -> float | None:
    """Round a figure to five decimals; None if it is NaN."""
    number = plain(value)
    return None if number is None else round(number, 5)


def _ends(samples: NDArray[np.float64]) -> list[float] | None:
    """Return the rounded 95 % interval of bootstrap replicates."""
    ends = interval(samples)
    return None if ends is None else [round(end, 5) for end in ends]


def make_label_rows(sweep: Sweep, before: Counts, after: Counts, own: int) -> dict[str, dict[str, Any]]:
    """Return the letters and digits of each label in the hospital's notes, and their recall before and after."""
    rows = {}
    for k, label in enumerate(sweep.labels):
        due = int(before.labels[:own, k, 0].sum())
        if due:
            missed = [int(counts.labels[:own, k, 1].sum()) for counts in (before, after)]
            shares = [round(1 - count / due, 5) for count in missed]
            rows[label] = {"characters": due, "before": shares[0], "after": shares[1]}
    return rows


def find_refusal(points: dict[str, Any]) -> str:
    """Return why a pipeline must not be written: a point finds less in the notes, or much less in replay; or ""."""
    for what, kind, allowed in (
        ("the notes that were held out", "notes", 0.0),
        ("replayed notes", "replay", FORGOTTEN),
    ):
        for name, figures in points.items():
            entry = figures[kind]["character_recall"]
            before, after = entry["before"]["value"], entry["after"]["value"]
            if before is not None and after is not None and before - after > allowed:
                return Errors.D226.format(point=name, what=what, fall=before - after, before=before, after=after)
    return ""


def format_report(report: dict[str, Any]) -> str:
    """Format the report of an adaptation as plain text tables.

    report (dict): report of `adapt`.
    RETURNS (str): lines of text; "-" for undefined figures.
    """
    notes, replay, training = report["notes"], report["replay"], report["training"]
    lines = [
        f"{report['source']['name']} {report['source']['version']} adapted to {notes['given']} notes, "
        f"{notes['with_identifiers']} of them with identifiers",
        f"measured on {notes['measured']} notes that were not trained on ({notes['method']})",
        f"{training['steps']} steps, mixed with {replay['training_notes']} {replay['corpus']} notes",
    ]
    if training["added_labels"]:
        lines.append(f"labels added to the classifier: {', '.join(training['added_labels'])}")
    if report["dropped_points"]:
        lines.append(f"operating points that were removed: {', '.join(report['dropped_points'])}")
    head = f"{'':<30}{'before':>8}{'after':>8}   change and its 95 % interval"
    for name, figures in report["points"].items():
        for kind, title in (("notes", "the hospital's notes"), ("replay", "replayed notes")):
            lines += ["", f"{name}, {title}", head]
            lines += [_format_row(_TITLES[key], entry) for key, entry in figures[kind].items()]
    lines += ["", f"{'recall by label, balanced':<30}{'before':>8}{'after':>8}{'letters':>9}"]
    for label, row in report["labels"].items():
        lines.append(f"{label:<30}{row['before']:>8.4f}{row['after']:>8.4f}{row['characters']:>9}")
    if report["refusal"]:
        lines += ["", report["refusal"]]
    return "\n".join(lines) + "\n"


def _format_row(title: str, entry: dict[str, Any]) -> str:
    """Format a figure before and after the adaptation as a line of a table."""
    values = [entry[kind]["value"] for kind in ("before", "after", "difference")]
    cells = ["-" if value is None else f"{value:.4f}" for value in values[:2]]
    change = "-" if values[2] is None else f"{values[2]:+.4f}"
    ends = entry["difference"]["interval"]
    return f"{title:<30}{cells[0]:>8}{cells[1]:>8}   {change}" + (f" [{ends[0]:+.4f}, {ends[1]:+.4f}]" if ends else "")
