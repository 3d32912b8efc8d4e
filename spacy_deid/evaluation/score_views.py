"""Present scores: a table of figures by token and word, metric rows, and a scored note as HTML page or TSV.

The table has the form of table 6.2 of Myntti (2025), with the baselines of `scored_tokens` for comparison. The page
and the TSV contain the text of the note and are as confidential as the note.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from .metrics import REGIONS
from .ranking import FIGURES, HIGHEST, summarize
from .rows import MetricRow
from .scored_tokens import BASELINES, UNITS, ScoredTokens

# unit → region → figure, as `ranking.summarize`
Figures = Mapping[str, Mapping[str, Mapping[str, float | int | None]]]

_TITLES = dict(zip(FIGURES, ("Acc.", "F1", "Recall", "Prec.", "PR-AUC", "ROC-AUC"), strict=True))
_NAMES = dict(zip(FIGURES, ("accuracy", "F1", "recall", "precision", "PR-AUC", "ROC-AUC"), strict=True))
_WHERE = {"all": "whole notes", "header": "header", "narrative": "narrative"}


def measure(table: ScoredTokens, threshold: float) -> Figures:
    """Compute all figures of a score.

    table (ScoredTokens): tokens of a corpus.
    threshold (float): minimum score of a found token.
    RETURNS (Figures): "token" and "word" → "all", "header", "narrative" → figure.
    RAISES: InputError (D830) if a score is NaN.
    """
    found = {}
    for unit in UNITS:
        parts = {region: table.take(region) for region in REGIONS}
        parts = {region: part.words() if unit == "word" else part for region, part in parts.items()}
        found[unit] = {region: summarize(part.gold, part.value, threshold) for region, part in parts.items()}
    return found


def measure_rules(table: ScoredTokens) -> dict[str, Figures]:
    """Compute all figures of the baselines.

    table (ScoredTokens): table with the columns of the baselines.
    RETURNS (dict[str, Figures]): figures by name of the baseline.
    """
    return {name: measure(table.with_value(name), 0.5) for name in BASELINES}


def format_scores(results: Mapping[str, Figures]) -> str:
    """Format figures as plain text tables.

    results (Mapping[str, Figures]): name of a score or baseline → its figures.
    RETURNS (str): lines of text; "-" for undefined figures.
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
                row = "".join(f"{_format_share(figures[unit][region][figure]):>9}" for figure in FIGURES)
                lines.append(f"{name:<{width}}{row}")
    return "\n".join(lines[1:]) + "\n"


def _format_share(value: float | int | None) -> str:
    """Format a figure with three decimals, or "-" if it is undefined."""
    return "-" if value is None else f"{value:.3f}"


def figure_name(score: str, figure: str, unit: str, region: str) -> str:
    """Return the name of a figure in metric rows.

    score (str): name of the score or baseline.
    figure (str): one of `ranking.FIGURES`.
    unit (str): "token" or "word".
    region (str): one of `metrics.REGIONS`.
    RETURNS (str): a name such as "by token, narrative, surprisal, PR-AUC"; rows of one table share a prefix.
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
    """Convert figures to metric rows, leaving out undefined figures.

    results (Mapping[str, Figures]): name of a score or baseline → its figures.
    about (Mapping[str, str]): "data", "split", "command" and "date" of every row.
    targets (Mapping[str, float]): name of a row → its target.
    regions, units (Sequence[str]): which figures to include.
    RETURNS (list[MetricRow]): rows named by `figure_name`.
    """
    return [
        MetricRow(name, round(value, 5), (targets or {}).get(name), "higher", **about)
        for score, figures in results.items()
        for name, value in _defined(score, figures, units, regions)
    ]


def _defined(
    score: str, figures: Figures, units: Sequence[str], regions: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """Yield the defined figures with their names."""
    for unit in units:
        for region in regions:
            for figure in FIGURES:
                value: Any = figures[unit][region][figure]
                if value is not None:
                    yield figure_name(score, figure, unit, region), value


# Background and text colour of each band of scores, pale to dark. The contrast of text to background is 7:1 or more
# in all of them (WCAG 2.2, level AAA), and what is found has a border too, so that nothing is said by colour alone.
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
    """Render a scored note as an HTML page without scripts and external resources.

    text (str): the note.
    record (Mapping): scores written by ``deid_surprisal``.
    threshold (Optional[float]): tokens with at least this score get a border; None for no borders.
    RETURNS (str): HTML.
    """
    from jinja2 import Environment, StrictUndefined

    tokens = _token_rows(record, threshold)
    pieces, end = [], 0
    for token in sorted(tokens, key=lambda token: int(token["start"])):
        pieces += [(text[end : token["start"]], None), (text[token["start"] : token["end"]], token)]
        end = token["end"]
    pieces.append((text[end:], None))
    top = sorted(tokens, key=lambda token: (-float(token["value"]), int(token["start"])))[:_TOP]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["figure"] = _format_score
    source = (files("spacy_deid") / "resources" / "surprisal.html.jinja").read_text(encoding="utf8")
    return environment.from_string(source).render(
        about=record,
        bands=BANDS,
        edges=_band_edges(record),
        found=sum(token["found"] for token in tokens),
        pieces=pieces,
        text=text,
        threshold=threshold,
        tokens=tokens,
        top=top,
    )


def _token_rows(record: Mapping[str, Any], threshold: float | None) -> list[dict[str, Any]]:
    """Collect what the page shows about each token."""
    edges = _band_edges(record)
    features = record["features"]
    return [
        {
            "start": record["starts"][i],
            "end": record["ends"][i],
            "value": value,
            "band": sum(value >= edge for edge in edges),
            "found": threshold is not None and value >= threshold,
            "features": {name: column[i] for name, column in features.items()},
        }
        for i, value in enumerate(record["values"])
    ]


def _band_edges(record: Mapping[str, Any]) -> list[float]:
    """Return the lower bounds of the colour bands: of equal width, from the note's median score to its maximum.

    The lower half of a note is left white. Tokens that the model cannot read are ignored: their score is far above all
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
    names = list(record["features"])
    lines = ["\t".join(["start", "end", "token", str(record["score"]), *(n for n in names if n != record["score"])])]
    shown = [name for name in names if name != record["score"]]
    for i, (start, end, value) in enumerate(zip(record["starts"], record["ends"], record["values"], strict=True)):
        features = [_format_score(record["features"][name][i]) for name in shown]
        lines.append(
            "\t".join([str(start), str(end), " ".join(text[start:end].split()), _format_score(value), *features])
        )
    return "\n".join(lines) + "\n"


def _format_score(value: float) -> str:
    """Format a score with four significant digits."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) == float("inf") else f"{value:.6g}"
