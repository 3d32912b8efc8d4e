"""Evaluate a score that ranks tokens by how likely they are PHI, choose its threshold, and display scored notes.

A higher score means that a token is more likely PHI. A token is found if its score is at least the threshold. With the
counts tp, fp, fn and tn,

    accuracy = (tp + tn) / (tp + fp + fn + tn)    precision = tp / (tp + fp)    recall = tp / (tp + fn)
    F1 = 2 tp / (2 tp + fp + fn)

- **PR-AUC** is average precision, Σ (Rₙ - Rₙ₋₁) Pₙ over decreasing thresholds. Linear interpolation between points of
  a precision-recall curve would be too optimistic (Davis and Goadrich 2006, doi:10.1145/1143844.1143874). Equal scores
  are one threshold. Myntti (2025, section 5.3.4) uses the same definition.
- **ROC-AUC** is the probability that a PHI token scores higher than another token, with ties counting one half: the
  rank statistic of Mann and Whitney (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747),
  (Σ r - n(n + 1) / 2) / nm, where r are the mean ranks of the n PHI tokens among all n + m tokens.

Plus infinity is replaced by the largest finite number, so that every threshold is finite. Minus infinity means "never
found": such a token is below every threshold. Figures with denominator 0 are undefined and None.

The functions take `gold`, whether each token is PHI, and `scores`, the score of each token; both of shape (tokens,).
They raise InputError (D830) if a score is NaN or the lengths differ.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError, Errors, InputError
from .documents import read_text, write_text
from .metrics import REGIONS, plain, ratio
from .rows import MetricRow
from .scored_tokens import BASELINES, UNITS, Floats, ScoredTokens

FIGURES = ("accuracy", "f1", "recall", "precision", "pr_auc", "roc_auc")
HIGHEST = sys.float_info.max  # replaces infinity, which JSON cannot represent

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCounts:
    """True and false positives at every distinct score, used as threshold, in decreasing order.

    thresholds (Floats): distinct finite scores, shape (thresholds,).
    tp, fp (Counts): true and false positives at each threshold.
    gold (int): number of PHI tokens.
    total (int): number of tokens.
    """

    thresholds: Floats
    tp: Counts
    fp: Counts
    gold: int
    total: int

    def figures(self) -> dict[str, Floats]:
        """Return accuracy, F1, recall and precision at each threshold; NaN where undefined."""
        fn = self.gold - self.tp
        right = self.total - self.fp - fn
        return {
            "accuracy": ratio(right, np.full_like(right, self.total)),
            "f1": ratio(2 * self.tp, 2 * self.tp + self.fp + fn),
            "recall": ratio(self.tp, np.full_like(self.tp, self.gold)),
            "precision": ratio(self.tp, self.tp + self.fp),
        }


def sweep(gold: ArrayLike, scores: ArrayLike) -> ThresholdCounts:
    """Count true and false positives with each distinct score as the threshold, except minus infinity."""
    golds, values = _check(gold, scores)
    levels, place = np.unique(-values, return_inverse=True)  # in decreasing order of score
    tp = np.cumsum(np.bincount(place, golds, len(levels)).astype(np.int64))
    fp = np.cumsum(np.bincount(place, ~golds, len(levels)).astype(np.int64))
    reached = levels < np.inf
    return ThresholdCounts(-levels[reached], tp[reached], fp[reached], int(golds.sum()), len(golds))


def figures_at(gold: ArrayLike, scores: ArrayLike, threshold: float) -> dict[str, float | None]:
    """Compute "accuracy", "f1", "recall" and "precision" at a threshold; None if undefined."""
    golds, values = _check(gold, scores)
    found = values >= min(threshold, HIGHEST)
    tp, fp = np.array([(golds & found).sum()]), np.array([(~golds & found).sum()])
    one = ThresholdCounts(np.array([threshold]), tp, fp, int(golds.sum()), len(golds))
    return {name: plain(value[0]) for name, value in one.figures().items()}


def best_f1_threshold(gold: ArrayLike, scores: ArrayLike) -> float:
    """Find the threshold with the best F1; of several, the highest.

    The threshold is halfway between two scores, so that rounding errors on another machine do not change what is
    found.

    RETURNS (float): a finite threshold.
    RAISES: InputError (D831) if no token is PHI or none has a score.
    """
    steps = _require(sweep(gold, scores))
    return _halfway(steps, int(np.argmax(steps.figures()["f1"])))


def recall_threshold(gold: ArrayLike, scores: ArrayLike, recall: float) -> float:
    """Find the highest threshold that reaches a recall. It lies halfway between two scores.

    recall (float): minimum recall, above 0 and at most 1.
    RETURNS (float): a finite threshold.
    RAISES: InputError (D831) if no token is PHI; (D832) if no threshold reaches the recall, because some PHI tokens
        have no score.
    """
    steps = _require(sweep(gold, scores))
    reached = steps.figures()["recall"]
    if reached[-1] < recall:
        raise InputError(Errors.D832.format(wanted=recall, reached=round(float(reached[-1]), 5)))
    return _halfway(steps, int(np.argmax(reached >= recall)))


def _halfway(steps: ThresholdCounts, i: int) -> float:
    """Return a threshold halfway between the score at index `i` and the next lower score."""
    score = float(steps.thresholds[i])
    if i + 1 < len(steps.thresholds):
        middle = score / 2 + float(steps.thresholds[i + 1]) / 2
        return middle if middle < score else score
    return score - max(1.0, abs(score)) * 1e-6


def average_precision(gold: ArrayLike, scores: ArrayLike) -> float | None:
    """Compute the area under the precision-recall curve. Tokens with score minus infinity come last, with equal rank.

    RETURNS (float | None): between 0 and 1; a random score reaches the share of PHI tokens. None if no token is PHI.
    """
    golds, values = _check(gold, scores)
    steps = sweep(golds, np.maximum(values, -HIGHEST))
    if not steps.gold:
        return None
    gained = np.diff(steps.tp, prepend=0)
    return float((gained * steps.tp / (steps.tp + steps.fp)).sum() / steps.gold)


def roc_auc(gold: ArrayLike, scores: ArrayLike) -> float | None:
    """Compute the area under the ROC curve: the chance that a PHI token scores higher than another token.

    RETURNS (float | None): between 0 and 1; a random score reaches .5. None if all tokens are PHI, or none is.
    """
    golds, values = _check(gold, scores)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    n, m = int(golds.sum()), int((~golds).sum())
    return float((ranks[place][golds].sum() - n * (n + 1) / 2) / (n * m)) if n and m else None


def summarize(gold: ArrayLike, scores: ArrayLike, threshold: float) -> dict[str, float | int | None]:
    """Compute all `FIGURES` at a threshold, with "gold" (number of PHI tokens) and "total" (number of tokens)."""
    golds, values = _check(gold, scores)
    areas = {"pr_auc": average_precision(golds, values), "roc_auc": roc_auc(golds, values)}
    return {**figures_at(golds, values, threshold), **areas, "gold": int(golds.sum()), "total": len(golds)}


def _check(gold: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Convert gold and scores to arrays. RAISES: InputError (D830) if their lengths differ or a score is NaN."""
    golds, values = np.asarray(gold, dtype=np.bool_), np.asarray(scores, dtype=np.float64)
    if golds.ndim != 1 or golds.shape != values.shape:
        raise InputError(Errors.D830.format(reason=f"{values.shape} scores for {golds.shape} tokens"))
    if broken := int(np.isnan(values).sum()):
        first = int(np.argmax(np.isnan(values)))
        raise InputError(Errors.D830.format(reason=f"{broken} score(s) are not a number, the first at {first}"))
    return golds, np.minimum(values, HIGHEST)


def _require(steps: ThresholdCounts) -> ThresholdCounts:
    """Return the counts. RAISES: InputError (D831) if there are no PHI tokens or scores to choose a threshold from."""
    if not steps.gold or not len(steps.thresholds):
        raise InputError(Errors.D831.format(gold=steps.gold, scored=int((steps.tp + steps.fp)[-1:].sum())))
    return steps


_CURVE_ROWS = 200


def choose_threshold(gold: ArrayLike, scores: ArrayLike, by: str) -> float:
    """Choose the threshold of a score, by the best F1 or by a minimum recall.

    by (str): "f1" for the best F1, or "recall=R" for the highest threshold with recall R.
    RETURNS (float): the threshold.
    RAISES: ConfigError (D835) for any other criterion; InputError as `recall_threshold`.
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


def score_curve(gold: ArrayLike, scores: ArrayLike, threshold: float) -> list[dict[str, float | None]]:
    """Return the figures at up to 400 thresholds, for a plot, including the chosen threshold.

    Half of the thresholds are evenly spaced by score, half by the number of tokens found.

    threshold (float): chosen threshold.
    RETURNS (list[dict]): rows with "threshold", "accuracy", "f1", "recall" and "precision", by decreasing threshold;
        undefined figures are None.
    """
    steps = sweep(gold, scores)
    levels = steps.thresholds
    drawn = without_outlier(levels)
    wanted = np.linspace(drawn[-1], drawn[0], _CURVE_ROWS) if len(drawn) else drawn
    by_score = len(levels) - 1 - np.searchsorted(levels[::-1], wanted).clip(max=len(levels) - 1)
    shares = np.linspace(0, steps.total, _CURVE_ROWS)
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


def without_outlier(levels: Floats) -> Floats:
    """Drop the highest threshold if it is far above all others: tokens that the model cannot read get such a score.

    levels (Floats): thresholds in decreasing order.
    RETURNS (Floats): the thresholds to plot.
    """
    levels = levels[levels < HIGHEST]
    far = len(levels) > 2 and levels[0] - levels[1] > levels[1] - levels[-1]
    return levels[int(far) :]


def write_score_curve(folder: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write the chosen threshold and the curve to the file curves.json.

    folder (Path): folder to write to; created if missing.
    about (Mapping): "threshold", and how it was chosen.
    rows (Sequence[Mapping]): rows of `score_curve`.
    RETURNS (Path): path of the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "curves.json"
    write_text(path, json.dumps({**about, "rows": rows}, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return path


def read_threshold(path: Path) -> dict[str, Any]:
    """Read the chosen threshold from a file of `write_score_curve`.

    path (Path): curves.json, or its folder.
    RETURNS (dict): "threshold", and how it was chosen.
    RAISES: InputError if the file cannot be read (D303) or has no threshold (D836).
    """
    path = path / "curves.json" if path.is_dir() else path
    try:
        about: Any = json.loads(read_text(path))
        kept = {name: value for name, value in about.items() if name != "rows"}
        return {**kept, "threshold": float(about["threshold"])}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Errors.D836.format(path=path, reason="holds no threshold of `surprisal tune`")) from None


# ---------------------------------------------------------------- tables by token and word

# unit → region → figure, as `summarize`
Figures = Mapping[str, Mapping[str, Mapping[str, float | int | None]]]

_TITLES = dict(zip(FIGURES, ("Acc.", "F1", "Recall", "Prec.", "PR-AUC", "ROC-AUC"), strict=True))
_NAMES = dict(zip(FIGURES, ("accuracy", "F1", "recall", "precision", "PR-AUC", "ROC-AUC"), strict=True))
_WHERE = {"all": "whole notes", "header": "header", "narrative": "narrative"}


def measure(table: ScoredTokens, threshold: float) -> Figures:
    """Compute all figures of a score, by token and by word, for each region of the notes.

    table (ScoredTokens): scored tokens of a corpus.
    threshold (float): minimum score of a found token.
    RETURNS (Figures): "token" and "word" → "all", "header", "narrative" → figure.
    """
    found = {}
    for unit in UNITS:
        parts = {region: table.take(region) for region in REGIONS}
        parts = {region: part.words() if unit == "word" else part for region, part in parts.items()}
        found[unit] = {region: summarize(part.gold, part.value, threshold) for region, part in parts.items()}
    return found


def measure_rules(table: ScoredTokens) -> dict[str, Figures]:
    """Compute all figures of the baseline rules, by name of the rule; `table` must have their columns."""
    return {name: measure(table.with_value(name), 0.5) for name in BASELINES}


def format_scores(results: Mapping[str, Figures]) -> str:
    """Format figures as plain text tables in the form of table 6.2 of Myntti (2025).

    results (Mapping[str, Figures]): name of a score or baseline → its figures.
    RETURNS (str): lines of text; "-" for undefined figures.
    """
    width = max([len(name) for name in results] + [24]) + 2
    lines: list[str] = []
    for unit in UNITS:
        for region in REGIONS:
            counts = next(iter(results.values()))[unit][region]
            head = "".join(f"{title:>9}" for title in _TITLES.values())
            title = f"{f'by {unit}, {_WHERE[region]}':<{width}}{head}"
            lines += ["", f"{title}   {counts['gold']} of {counts['total']} are PHI"]
            for name, figures in results.items():
                values = [figures[unit][region][figure] for figure in FIGURES]
                row = "".join(f"{'-' if value is None else f'{value:.3f}':>9}" for value in values)
                lines.append(f"{name:<{width}}{row}")
    return "\n".join(lines[1:]) + "\n"


def figure_name(score: str, figure: str, unit: str, region: str) -> str:
    """Return the name of a figure in metric rows, such as "by token, narrative, surprisal, PR-AUC".

    score (str): name of the score or baseline.
    figure (str): one of `FIGURES`.
    unit (str): "token" or "word".
    region (str): one of `metrics.REGIONS`.
    RETURNS (str): the name; rows of one table share a prefix.
    """
    return f"by {unit}, {_WHERE[region]}, {score}, {_NAMES[figure]}"


def score_rows(
    results: Mapping[str, Figures],
    about: Mapping[str, str],
    *,
    targets: Mapping[str, float] | None = None,
    regions: Sequence[str] = REGIONS,
    units: Sequence[str] = UNITS,
) -> list[MetricRow]:
    """Convert figures to rows of a metrics file, leaving out undefined figures.

    results (Mapping[str, Figures]): name of a score or baseline → its figures.
    about (Mapping[str, str]): "data", "split", "command" and "date" of every row.
    targets (Mapping[str, float]): name of a row → value to reach; None for no targets.
    regions, units (Sequence[str]): which figures to include.
    RETURNS (list[MetricRow]): rows named by `figure_name`.
    """
    rows = []
    for score, figures in results.items():
        for unit in units:
            for region in regions:
                for figure in FIGURES:
                    value: Any = figures[unit][region][figure]
                    if value is not None:
                        name = figure_name(score, figure, unit, region)
                        rows.append(MetricRow(name, round(value, 5), (targets or {}).get(name), "higher", **about))
    return rows


# ---------------------------------------------------------------- scored notes: as confidential as the notes

# Background and text colour of each band of scores, pale to dark. The contrast of text to background is 7:1 or more
# in all of them (WCAG 2.2, level AAA), and found tokens have a border too, so that colour is never the only sign.
BANDS = (
    ("#ffffff", "#1c2430"),
    ("#fff3d6", "#1c2430"),
    ("#ffe0a8", "#1c2430"),
    ("#ffc27a", "#1c2430"),
    ("#f79d5c", "#1c2430"),
    ("#982f05", "#ffffff"),
    ("#5a1604", "#ffffff"),
)
_TOP = 40  # tokens in the table below the note


def render_note(text: str, record: Mapping[str, Any], threshold: float | None) -> str:
    """Render a scored note as an HTML page that colours each token by its score. It is as confidential as the note.

    text (str): the note.
    record (Mapping): scores written by ``deid_surprisal``.
    threshold (Optional[float]): tokens with at least this score get a border; None for no borders.
    RETURNS (str): HTML.
    """
    from jinja2 import Environment, StrictUndefined

    edges = _band_edges(record)
    tokens = [
        {
            "start": record["starts"][i],
            "end": record["ends"][i],
            "value": value,
            "band": sum(value >= edge for edge in edges),
            "found": threshold is not None and value >= threshold,
            "features": {name: column[i] for name, column in record["features"].items()},
        }
        for i, value in enumerate(record["values"])
    ]
    pieces: list[tuple[str, Any]] = []
    end = 0
    for token in sorted(tokens, key=lambda token: int(token["start"])):
        pieces += [(text[end : token["start"]], None), (text[token["start"] : token["end"]], token)]
        end = token["end"]
    pieces.append((text[end:], None))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["figure"] = _format_score
    source = (files("spacy_deid") / "resources" / "surprisal.html.jinja").read_text(encoding="utf8")
    return environment.from_string(source).render(
        about=record,
        bands=BANDS,
        edges=edges,
        found=sum(token["found"] for token in tokens),
        pieces=pieces,
        text=text,
        threshold=threshold,
        tokens=tokens,
        top=sorted(tokens, key=lambda token: (-float(token["value"]), int(token["start"])))[:_TOP],
    )


def _band_edges(record: Mapping[str, Any]) -> list[float]:
    """Return the lower bounds of the colour bands: of equal width, from the note's median score to its maximum.

    The lower half of a note stays white. Tokens that the model cannot read are ignored: their score is far above all
    others.
    """
    aligned = record["features"].get("aligned") or [1.0] * len(record["values"])
    read = [value for value, known in zip(record["values"], aligned, strict=True) if known and abs(value) < HIGHEST]
    if not read:
        return []
    low, high = sorted(read)[len(read) // 2], max(read)
    return [low + (high - low) * i / len(BANDS) for i in range(1, len(BANDS))] if high > low else []


def format_tsv(text: str, record: Mapping[str, Any]) -> str:
    """Format a scored note as tab-separated values, one line per token.

    text (str): the note.
    record (Mapping): scores written by ``deid_surprisal``.
    RETURNS (str): header, then start, end, token, score and features of each token.
    """
    names = [name for name in record["features"] if name != record["score"]]
    lines = ["\t".join(["start", "end", "token", str(record["score"]), *names])]
    for i, (start, end, value) in enumerate(zip(record["starts"], record["ends"], record["values"], strict=True)):
        scores = [_format_score(number) for number in (value, *(record["features"][name][i] for name in names))]
        lines.append("\t".join([str(start), str(end), " ".join(text[start:end].split()), *scores]))
    return "\n".join(lines) + "\n"


def _format_score(value: float) -> str:
    """Format a score with four significant digits."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) == float("inf") else f"{value:.6g}"
