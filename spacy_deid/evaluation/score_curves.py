"""Figures over the threshold of a score: rows for JSON, and a picture of them, as the thesis' figures 6.1 to 6.13.

In the picture, what is sure stands on the left and more is found to the right: the logarithm of a probability rises,
as does recall. The thesis has its probabilities on that axis.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError, Errors, InputError
from .bootstrap import plain
from .files import read_text, write_text
from .ranking import HIGHEST, best_f1_threshold, figures_at, recall_threshold, sweep

__all__ = ["choose", "curve_rows", "plot_curves", "read_threshold", "write_curves"]

# figure → what the legend says, colour (Okabe and Ito 2008: told apart by the colour-blind), line
SERIES = {
    "accuracy": ("accuracy", "#56b4e9", (0, (1, 1.2))),
    "f1": ("F1", "#000000", "solid"),
    "recall": ("recall", "#d55e00", "solid"),
    "precision": ("precision", "#0072b2", (0, (6, 1.5))),
}
LOGARITHMS = {"surprisal"}  # scores that are minus the logarithm of a probability
ROWS = 200


def choose(gold: ArrayLike, scores: ArrayLike, by: str) -> float:
    """Choose a threshold.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    by (str): "f1", or "recall=R" for the highest threshold with a recall of R.
    RETURNS (float): the threshold.
    RAISES: ConfigError (D835) for another way; InputError as `ranking.recall_threshold`.
    """
    name, _, wanted = by.partition("=")
    if by == "f1":
        return best_f1_threshold(gold, scores)
    try:
        recall = float(wanted) if name == "recall" else 0.0
    except ValueError:
        recall = 0.0
    if not 0.0 < recall <= 1.0:
        raise ConfigError(Errors.D835.format(value=by))
    return recall_threshold(gold, scores, recall)


def curve_rows(gold: ArrayLike, scores: ArrayLike, threshold: float) -> list[dict[str, float | None]]:
    """One row a threshold, from the highest down: spread over the scores and over the tokens, and the chosen one.

    gold (ArrayLike): whether each token is PHI.
    scores (ArrayLike): the score of each token.
    threshold (float): the chosen one.
    RETURNS (list[dict]): "threshold", "accuracy", "f1", "recall", "precision"; None where one is not defined.
    """
    steps = sweep(gold, scores)
    levels = steps.thresholds
    drawn = _without_outlier(levels)
    wanted = np.linspace(drawn[-1], drawn[0], ROWS) if len(drawn) else drawn
    by_score = len(levels) - 1 - np.searchsorted(levels[::-1], wanted).clip(max=len(levels) - 1)
    shares = np.linspace(0, steps.total, ROWS)
    by_token = np.searchsorted(steps.tp + steps.fp, shares).clip(max=len(levels) - 1)
    kept = np.unique(np.concatenate([by_score, by_token]))
    figures = {name: values[kept] for name, values in steps.figures().items()}
    rows = [
        {"threshold": float(level), **{name: plain(values[i]) for name, values in figures.items()}}
        for i, level in enumerate(levels[kept])
    ]
    if threshold not in levels[kept]:
        rows.append({"threshold": threshold, **figures_at(gold, scores, threshold)})
    return sorted(rows, key=lambda row: -(row["threshold"] or 0.0))


def _without_outlier(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thresholds, from the highest down, without the score of words that the model cannot read, which is far off."""
    levels = levels[levels < HIGHEST]
    far = len(levels) > 2 and levels[0] - levels[1] > levels[1] - levels[-1]
    return levels[int(far) :]


def write_curves(folder: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write the threshold and the curves as JSON.

    folder (Path): is made if it is not there.
    about (Mapping): "threshold", and how it was chosen.
    rows (Sequence[Mapping]): as `curve_rows`.
    RETURNS (Path): the file, curves.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "curves.json"
    write_text(path, json.dumps({**about, "rows": rows}, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return path


def read_threshold(path: Path) -> dict[str, Any]:
    """Read what `write_curves` wrote, but for the rows.

    path (Path): curves.json, or its folder.
    RETURNS (dict): "threshold", and how it was chosen.
    RAISES: InputError if it cannot be read (D303) or holds no threshold (D836).
    """
    path = path / "curves.json" if path.is_dir() else path
    try:
        about: Any = json.loads(read_text(path))
        return {
            **{name: value for name, value in about.items() if name != "rows"},
            "threshold": float(about["threshold"]),
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Errors.D836.format(path=path, reason="holds no threshold of `surprisal tune`")) from None


def plot_curves(path: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Path:
    """Draw the curves.

    path (Path): the PNG file; its folder is made if it is not there.
    about (Mapping): "threshold", "by", "score", and "title", which stands above the picture.
    rows (Sequence[Mapping]): as `curve_rows`.
    RETURNS (Path): the file.
    RAISES: ConfigError (D347) without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(Errors.D347) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    logarithm = about["score"] in LOGARITHMS
    sign = -1.0 if logarithm else 1.0
    drawn = _without_outlier(np.array([row["threshold"] for row in rows]))
    rows = [row for row in rows if len(drawn) and row["threshold"] <= drawn[0]]
    for key, (title, colour, line) in SERIES.items():
        points = [(sign * row["threshold"], row[key]) for row in rows if row[key] is not None]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, linestyle=line, linewidth=1.8, label=title)
    _mark(axes, sign, about, rows)
    what = "threshold: log-probability (nats)" if logarithm else f"threshold of the score “{about['score']}”"
    axes.set(xlabel=f"{what}   →  more is found", ylim=(0.0, 1.02))
    figure.suptitle(about.get("title", ""), fontsize=10.5, x=0.02, ha="left")
    axes.set_yticks(np.linspace(0, 1, 11))
    if not logarithm:
        axes.invert_xaxis()
    axes.margins(x=0.01)
    axes.grid(visible=True, color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(SERIES), frameon=False, fontsize=9)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    return path


def _mark(axes: Any, sign: float, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Mark the chosen threshold, and say its figures above the picture."""
    chosen = next((row for row in rows if row["threshold"] == about["threshold"]), None)
    if chosen is None:
        return
    x = sign * about["threshold"]
    axes.axvline(x, color="#666666", linestyle="--", linewidth=1.3, zorder=1)
    said = [f"threshold {x:.4g} by {about['by']}"]
    for key, (title, colour, _) in SERIES.items():
        if chosen[key] is not None:
            axes.plot(x, chosen[key], "o", color=colour, markersize=5, markeredgecolor="white", zorder=4)
            said.append(f"{title} {chosen[key]:.3f}")
    axes.set_title("    ".join(said), loc="left", fontsize=8.5, color="#444444")
