"""A text cut into parts of a page each, and these into what is marked and what is not, for the page that shows it."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["cut_parts", "cut_text", "place_released"]

PART = 30_000  # characters of a part, about

Spans = Sequence[dict[str, Any]]


def cut_parts(text: str, spans: Spans, size: int = PART) -> list[tuple[int, int]]:
    """Cut a long text into parts, at line ends where there are some, and never within a span.

    text (str): the original text.
    spans (Sequence[dict]): its spans, in order. One that is added within a part changes no part.
    size (int): characters of a part, about.
    RETURNS (list[tuple[int, int]]): start and end of each part; one at least.
    """
    parts, start, following = [], 0, iter(spans)
    span = next(following, None)
    line = size // 10  # a part is longer by so much, if a line ends there
    while len(text) - start > size + line:
        end = text.find("\n", start + size, start + size + line) + 1 or start + size
        while span and span["end"] <= end:
            span = next(following, None)
        if span and span["start"] < end:
            end = span["end"]
        parts.append((start, end))
        start = end
    return [*parts, (start, len(text))]


def place_released(spans: Spans, at: int) -> int:
    """Where a character of the original that is in no span stands in the released text.

    spans (Sequence[dict]): the spans, in order, with the places that the released text was written with.
    at (int): where it stands in the original.
    RETURNS (int): where it stands in the released text.
    """
    before = bisect_right(spans, at, key=lambda span: int(span["end"]))
    return at - spans[before - 1]["end"] + spans[before - 1]["released"][1] if before else at


def cut_text(
    text: str, spans: Spans, places: Sequence[tuple[int, int]], part: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Cut a part of a text at its spans.

    text (str): the original or the released text.
    spans (Sequence[dict]): all spans, in order.
    places (Sequence[tuple[int, int]]): where each stands in this text.
    part (tuple[int, int]): start and end of the part in this text.
    YIELDS (dict): "text" and "span", the number of the span or None; of a span also "start", "end", "label" and
        "kind", which says how it is shown.
    """
    last, stop = part
    for i, (span, (start, end)) in enumerate(zip(spans, places, strict=True)):
        if start < part[0] or end > stop or start == end:
            continue
        if start > last:
            yield {"text": text[last:start], "span": None}
        shown = {"start": span["start"], "end": span["end"], "label": span["label"], "kind": _kind(span)}
        yield {"text": text[start:end], "span": i, **shown}
        last = end
    if last < stop:
        yield {"text": text[last:stop], "span": None}


def _kind(span: dict[str, Any]) -> str:
    """How a span is shown: as the reviewer left it, else by what was done with it."""
    kept = "kept" if span["action"] in ("keep", "recover") else "changed"
    return {"released": "released", "added": "added"}.get(str(span.get("reviewed", "")), kept)
