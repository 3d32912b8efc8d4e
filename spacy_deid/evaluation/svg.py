"""A line chart as SVG, for pages that have no script and fetch nothing."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .curves import mark_points

__all__ = ["draw_lines"]

# colours that the colour-blind tell apart (Okabe and Ito 2008)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 360, 48, 12, 14, 44


def draw_lines(
    rows: Sequence[Mapping[str, Any]], x: str, series: Mapping[str, str], points: Mapping[str, Mapping[str, Any]]
) -> str:
    """Draw figures over a threshold, from sure on the left to sensitive on the right.

    rows (Sequence[Mapping]): one a threshold, numbers by key.
    x (str): key of the threshold, drawn on a logarithmic axis.
    series (Mapping[str, str]): key → title, four at most.
    points (Mapping): named operating points, marked where they have one threshold for all labels.
    RETURNS (str): an <svg> element; it holds numbers, the titles and the names of the points alone.
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
    return "\n".join([frame, *parts, "</svg>", _legend(series)])


def _grid(at: Any, low: float, first: float, last: float) -> list[str]:
    """Lines and numbers of both axes."""
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
    """Upright lines where the named points are."""
    parts = []
    for threshold, names in mark_points(points).items():
        if last <= threshold <= first:
            (x, bottom), (_, top) = at(threshold, low), at(threshold, 1.0)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" class="mark"/>')
            place = f'x="{x - 4:.1f}" y="{bottom - 6:.1f}" transform="rotate(-90 {x - 4:.1f} {bottom - 6:.1f})"'
            parts.append(f"<text {place}>{escape(', '.join(names))}</text>")
    return parts


def _legend(series: Mapping[str, str]) -> str:
    """What the colours mean."""
    items = (
        f'<span><i style="background:{colour}"></i>{title}</span>'
        for colour, title in zip(_COLOURS, series.values(), strict=False)
    )
    return f'<p class="legend">{"".join(items)}</p>'
