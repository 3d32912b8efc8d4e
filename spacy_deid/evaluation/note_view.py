"""One scored note as a page to look at, and as a table. Both show the note: they are for whoever may read it."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from .ranking import HIGHEST

__all__ = ["BANDS", "format_tsv", "render_note"]

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
    """Write a scored note as one page that needs no network and no script.

    text (str): the note.
    record (Mapping): what ``deid_surprisal`` wrote of it.
    threshold (Optional[float]): what scores as high is framed; None to frame nothing.
    RETURNS (str): HTML.
    """
    from jinja2 import Environment, StrictUndefined

    tokens = _tokens(record, threshold)
    pieces, end = [], 0
    for token in sorted(tokens, key=lambda token: int(token["start"])):
        pieces += [(text[end : token["start"]], None), (text[token["start"] : token["end"]], token)]
        end = token["end"]
    pieces.append((text[end:], None))
    top = sorted(tokens, key=lambda token: (-float(token["value"]), int(token["start"])))[:_TOP]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["figure"] = _figure
    source = (files("spacy_deid") / "resources" / "surprisal.html.jinja").read_text(encoding="utf8")
    return environment.from_string(source).render(
        about=record,
        bands=BANDS,
        edges=_edges(record),
        found=sum(token["found"] for token in tokens),
        pieces=pieces,
        text=text,
        threshold=threshold,
        tokens=tokens,
        top=top,
    )


def _tokens(record: Mapping[str, Any], threshold: float | None) -> list[dict[str, Any]]:
    """What the page says of every token."""
    edges = _edges(record)
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


def _edges(record: Mapping[str, Any]) -> list[float]:
    """Where a band of colour begins: bands of equal width, between the middle of the note's scores and the highest.

    Half of a note is plain words, and is left white. Words that the model cannot read do not count: they are far off.
    """
    aligned = record["features"].get("aligned") or [1.0] * len(record["values"])
    read = [value for value, known in zip(record["values"], aligned, strict=True) if known and abs(value) < HIGHEST]
    if not read:
        return []
    low, high = sorted(read)[len(read) // 2], max(read)
    return [low + (high - low) * i / len(BANDS) for i in range(1, len(BANDS))] if high > low else []


def format_tsv(text: str, record: Mapping[str, Any]) -> str:
    """Write a scored note as a table, a line a token, with tabs between columns.

    text (str): the note.
    record (Mapping): what ``deid_surprisal`` wrote of it.
    RETURNS (str): start, end, token, score and every feature; a head first.
    """
    names = list(record["features"])
    lines = ["\t".join(["start", "end", "token", str(record["score"]), *(n for n in names if n != record["score"])])]
    shown = [name for name in names if name != record["score"]]
    for i, (start, end, value) in enumerate(zip(record["starts"], record["ends"], record["values"], strict=True)):
        features = [_figure(record["features"][name][i]) for name in shown]
        lines.append("\t".join([str(start), str(end), " ".join(text[start:end].split()), _figure(value), *features]))
    return "\n".join(lines) + "\n"


def _figure(value: float) -> str:
    """A figure with as many digits as one reads."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) == float("inf") else f"{value:.6g}"
