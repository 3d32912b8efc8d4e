"""What a score is worth, as the thesis' table 6.2 (Myntti 2025): by token and by word, on forms and in running text.

Beside every score stand the rules of `baselines`, measured on the same notes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .baselines import BASELINES
from .metrics import REGIONS
from .ranking import FIGURES, summarize
from .rows import MetricRow
from .scored_tokens import UNITS, ScoredTokens

__all__ = ["Figures", "figure_name", "format_scores", "measure", "measure_rules", "score_rows"]

# unit → region → figure, as `ranking.summarize`
Figures = Mapping[str, Mapping[str, Mapping[str, float | int | None]]]

_TITLES = dict(zip(FIGURES, ("Acc.", "F1", "Recall", "Prec.", "PR-AUC", "ROC-AUC"), strict=True))
_NAMES = dict(zip(FIGURES, ("accuracy", "F1", "recall", "precision", "PR-AUC", "ROC-AUC"), strict=True))
_WHERE = {"all": "whole notes", "header": "header", "narrative": "narrative"}


def measure(table: ScoredTokens, threshold: float) -> Figures:
    """Every figure of a score.

    table (ScoredTokens): the tokens of a corpus.
    threshold (float): what scores as high is found.
    RETURNS (Figures): "token" and "word" → "all", "header", "narrative" → figure.
    RAISES: InputError (D830) for a score that is not a number.
    """
    found = {}
    for unit in UNITS:
        parts = {region: table.take(region) for region in REGIONS}
        parts = {region: part.words() if unit == "word" else part for region, part in parts.items()}
        found[unit] = {region: summarize(part.gold, part.value, threshold) for region, part in parts.items()}
    return found


def measure_rules(table: ScoredTokens) -> dict[str, Figures]:
    """Every figure of the rules without a model.

    table (ScoredTokens): with the columns of the rules.
    RETURNS (dict[str, Figures]): by name of the rule.
    """
    return {name: measure(table.with_value(name), 0.5) for name in BASELINES}


def format_scores(results: Mapping[str, Figures]) -> str:
    """Write results as a table.

    results (Mapping[str, Figures]): name of a score or rule → its figures.
    RETURNS (str): lines of text; "-" where a figure is not defined.
    """
    width = max([len(name) for name in results] + [24]) + 2
    lines: list[str] = []
    for unit in UNITS:
        for region in REGIONS:
            counts = next(iter(results.values()))[unit][region]
            head = "".join(f"{title:>9}" for title in _TITLES.values())
            lines += [
                "",
                f"{f'by {unit}, {_WHERE[region]}':<{width}}{head}   {counts['gold']} of {counts['total']} are PHI",
            ]
            for name, figures in results.items():
                row = "".join(f"{_number(figures[unit][region][figure]):>9}" for figure in FIGURES)
                lines.append(f"{name:<{width}}{row}")
    return "\n".join(lines[1:]) + "\n"


def _number(value: float | int | None) -> str:
    """A figure with three digits, as the thesis has them."""
    return "-" if value is None else f"{value:.3f}"


def figure_name(score: str, figure: str, unit: str, region: str) -> str:
    """What a row of metrics calls a figure.

    score (str): name of the score or rule.
    figure (str): one of `ranking.FIGURES`.
    unit (str): "token" or "word".
    region (str): one of `metrics.REGIONS`.
    RETURNS (str): "by token, narrative, surprisal, PR-AUC": rows of one table have one beginning.
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
    """Write results as rows of a metrics file. A figure that is not defined has no row.

    results (Mapping[str, Figures]): name of a score or rule → its figures.
    about (Mapping[str, str]): "data", "split", "command" and "date" of every row.
    targets (Mapping[str, float]): name of a row → what it should reach.
    regions, units (Sequence[str]): which of them.
    RETURNS (list[MetricRow]): rows named as `figure_name` does.
    """
    return [
        MetricRow(name, round(value, 5), (targets or {}).get(name), "higher", **about)
        for score, figures in results.items()
        for name, value in _defined(score, figures, units, regions)
    ]


def _defined(
    score: str, figures: Figures, units: Sequence[str], regions: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """The figures that are defined, with their names."""
    for unit in units:
        for region in regions:
            for figure in FIGURES:
                value: Any = figures[unit][region][figure]
                if value is not None:
                    yield figure_name(score, figure, unit, region), value
