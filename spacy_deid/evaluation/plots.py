"""Plot recall, precision and other figures over a threshold: as SVG for the HTML report, and as PNG files.

PNG files are drawn with matplotlib (extra "plots"). All plots have high thresholds on the left. Colours are those of
Okabe and Ito (2008), which colour-blind readers can distinguish.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, Errors
from .ranking import without_outlier

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 360, 48, 12, 14, 44


def draw_lines(
    rows: Sequence[Mapping[str, Any]], x: str, series: Mapping[str, str], points: Mapping[str, Mapping[str, Any]]
) -> str:
    """Draw figures over a threshold as SVG, without scripts and external resources.

    rows (Sequence[Mapping]): one row per threshold, by decreasing threshold.
    x (str): key of the threshold, drawn on a logarithmic axis.
    series (Mapping[str, str]): key of a figure → title; at most four.
    points (Mapping): named operating points; those with a single threshold for all labels are marked.
    RETURNS (str): an <svg> element and its legend. Contains only numbers, titles and names of points.
    """
    values = [row[key] for row in rows for key in series if row[key] is not None]
    low = math.floor(10 * min(values, default=0.0)) / 10
    left, right = math.log10(rows[0][x]), math.log10(rows[-1][x])
    wide = _WIDTH - _LEFT - _RIGHT

    def at(threshold: float, value: float) -> tuple[float, float]:
        share = (math.log10(threshold) - left) / (right - left) if right != left else 0.5
        return _LEFT + share * wide, _TOP + (1 - value) / (1 - low or 1) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [*_grid(at, low, rows[0][x], rows[-1][x]), *_marks(at, low, points, rows[0][x], rows[-1][x])]
    for colour, (key, title) in zip(_COLOURS, series.items(), strict=False):
        path = " ".join("{:.1f},{:.1f}".format(*at(row[x], row[key])) for row in rows if row[key] is not None)
        line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2">'
        parts.append(f"{line}<title>{title}</title></polyline>")
    frame = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="operating points">'
    items = [
        f'<span><i style="background:{colour}"></i>{title}</span>'
        for colour, title in zip(_COLOURS, series.values(), strict=False)
    ]
    return "\n".join([frame, *parts, "</svg>", f'<p class="legend">{"".join(items)}</p>'])


def _grid(at: Any, low: float, first: float, last: float) -> list[str]:
    """Draw the grid lines and tick labels of both axes."""
    parts, bottom = [], at(first, low)[1]
    for i in range(round((1 - low) * 10) + 1):
        (x, y), (end, _) = at(first, low + i / 10), at(last, low)
        parts.append(f'<line x1="{x:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{low + i / 10:.1f}</text>')
    for power in range(math.ceil(math.log10(last)), math.floor(math.log10(first)) + 1):
        x, _ = at(10.0**power, low)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom:.1f}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{10.0**power:g}</text>')
    middle = (at(first, low)[0] + at(last, low)[0]) / 2
    caption = "threshold: surer on the left, more found on the right"
    parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{caption}</text>')
    return parts


def _marks(at: Any, low: float, points: Mapping[str, Mapping[str, Any]], first: float, last: float) -> list[str]:
    """Draw a vertical line with a name at the threshold of each named operating point."""
    parts = []
    for threshold, names in mark_points(points).items():
        if last <= threshold <= first:
            (x, bottom), (_, top) = at(threshold, low), at(threshold, 1.0)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" class="mark"/>')
            place = f'x="{x - 4:.1f}" y="{bottom - 6:.1f}" transform="rotate(-90 {x - 4:.1f} {bottom - 6:.1f})"'
            parts.append(f"<text {place}>{escape(', '.join(names))}</text>")
    return parts


# key of a row → text of the legend
SERIES = {
    "character_recall": "character recall",
    "character_precision": "character precision",
    "strict_f1": "entity and label F1",
    "clean": "documents with nothing missed",
}


def mark_points(points: Mapping[str, Mapping[str, Any]]) -> dict[float, list[str]]:
    """Group the names of operating points by threshold, without those that have thresholds by label.

    A plot has a curve over one threshold, so points with several thresholds cannot be marked in it.
    """
    marks: dict[float, list[str]] = {}
    for name, point in points.items():
        if not point["labels"]:
            marks.setdefault(point["default"], []).append(name)
    return marks


def make_figure(width: float, height: float) -> Any:
    """Create a matplotlib figure that can be saved without a display.

    width, height (float): size in inches.
    RETURNS (matplotlib.figure.Figure): the figure.
    RAISES: ConfigError (D347) if matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(Errors.D347) from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plot_operating_curve(
    folder: Path, rows: Sequence[Mapping[str, Any]], points: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Plot recall, precision and other figures over the threshold to curves.png.

    folder (Path): folder to write to; created if missing.
    rows (Sequence[Mapping]): rows of `operating_points.operating_curve`.
    points (Mapping): name → record; points with a single threshold for all labels are marked.
    RETURNS (Path): the file, curves.png.
    RAISES: ConfigError (D347) if matplotlib is not installed.
    """
    figure = make_figure(8, 5)
    folder.mkdir(parents=True, exist_ok=True)
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


LOGARITHMS = {"surprisal"}  # scores that are minus the logarithm of a probability
# figure → text of the legend, colour, line style
SCORE_SERIES = {
    "accuracy": ("accuracy", "#56b4e9", (0, (1, 1.2))),
    "f1": ("F1", "#000000", "solid"),
    "recall": ("recall", "#d55e00", "solid"),
    "precision": ("precision", "#0072b2", (0, (6, 1.5))),
}


def plot_score_curve(path: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Path:
    """Plot the curve of a score, in the form of figures 6.1 to 6.13 of Myntti (2025).

    High thresholds are on the left. For scores that are minus a log-probability the axis shows the log-probability.

    path (Path): the PNG file; its folder is created if missing.
    about (Mapping): "threshold", "by", "score", and the "title" of the plot.
    rows (Sequence[Mapping]): rows of `ranking.score_curve`.
    RETURNS (Path): the file.
    RAISES: ConfigError (D347) if matplotlib is not installed.
    """
    figure = make_figure(7.2, 4.4)
    path.parent.mkdir(parents=True, exist_ok=True)
    axes = figure.subplots()
    logarithm = about["score"] in LOGARITHMS
    sign = -1.0 if logarithm else 1.0
    drawn = without_outlier(np.array([row["threshold"] for row in rows]))
    rows = [row for row in rows if len(drawn) and row["threshold"] <= drawn[0]]
    for key, (title, colour, line) in SCORE_SERIES.items():
        points = [(sign * row["threshold"], row[key]) for row in rows if row[key] is not None]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, linestyle=line, linewidth=1.8, label=title)
    chosen = next((row for row in rows if row["threshold"] == about["threshold"]), None)
    if chosen is not None:  # mark the chosen threshold, with its figures above the plot
        x = sign * about["threshold"]
        axes.axvline(x, color="#666666", linestyle="--", linewidth=1.3, zorder=1)
        parts = [f"threshold {x:.4g} by {about['by']}"]
        for key, (title, colour, _) in SCORE_SERIES.items():
            if chosen[key] is not None:
                axes.plot(x, chosen[key], "o", color=colour, markersize=5, markeredgecolor="white", zorder=4)
                parts.append(f"{title} {chosen[key]:.3f}")
        axes.set_title("    ".join(parts), loc="left", fontsize=8.5, color="#444444")
    what = "threshold: log-probability (nats)" if logarithm else f"threshold of the score “{about['score']}”"
    axes.set(xlabel=f"{what}   →  more is found", ylim=(0.0, 1.02))
    figure.suptitle(about.get("title", ""), fontsize=10.5, x=0.02, ha="left")
    axes.set_yticks(np.linspace(0, 1, 11))
    if not logarithm:
        axes.invert_xaxis()
    axes.margins(x=0.01)
    axes.grid(visible=True, color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(SCORE_SERIES), frameon=False, fontsize=9)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    return path
