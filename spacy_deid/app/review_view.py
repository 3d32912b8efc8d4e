"""Prepares what the review page shows: the parts of a text with their spans, the list of spans, and the preview."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..labels import LABELS
from ..offsets import Edit
from .processing import is_identifier, is_unsure
from .review import Spans, link_spans

PART = 30_000  # approximate characters per part


def kind_of(label: str) -> str:
    """Return the kind of a label, which decides on its colour: its label in the Text Anonymization Benchmark."""
    return LABELS[label].tab.lower()


KINDS = tuple(dict.fromkeys(kind_of(label) for label in LABELS))


def cut_parts(text: str, spans: Spans, size: int = PART) -> list[tuple[int, int]]:
    """Divide a long text into parts, at line ends if possible, and never inside a span.

    text (str): the original text.
    spans (Sequence[dict]): its spans, in order. An additional span inside a part does not change the parts.
    size (int): approximate number of characters per part.
    RETURNS (list[tuple[int, int]]): start and end of each part; at least one.
    """
    parts, start, following = [], 0, iter(spans)
    span = next(following, None)
    line = size // 10  # a part may be longer by this much to end at a line end
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
    """Map an offset of the original text that is not inside a span to the released text.

    spans (Sequence[dict]): the spans in order, with their offsets in the released text.
    at (int): offset in the original text.
    RETURNS (int): offset in the released text.
    """
    before = bisect_right(spans, at, key=lambda span: int(span["end"]))
    return at - spans[before - 1]["end"] + spans[before - 1]["released"][1] if before else at


def cut_text(
    text: str, spans: Spans, places: Sequence[tuple[int, int]], part: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Split a part of a text at its spans.

    text (str): the original or the released text.
    spans (Sequence[dict]): all spans, in order.
    places (Sequence[tuple[int, int]]): start and end of each span in this text.
    part (tuple[int, int]): start and end of the part in this text.
    YIELDS (dict): "text" and "span", the index of the span or None; for a span also the fields of `describe_span`.
    """
    last, stop = part
    for i, (span, (start, end)) in enumerate(zip(spans, places, strict=True)):
        if start < part[0] or end > stop or start == end:
            continue
        if start > last:
            yield {"text": text[last:start], "span": None}
        yield {**describe_span(span), "text": text[start:end], "span": i}
        last = end
    if last < stop:
        yield {"text": text[last:stop], "span": None}


def describe_span(span: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a span for the page, without its text.

    RETURNS (dict): "start", "end" and "label"; "kind", which gives the colour; "state": "changed", "kept", "released",
        "added" or "nearly"; "seen" and "unsure"; "sources" and "score" of its evidence.
    """
    kept = "kept" if span.get("action") in ("keep", "recover") else "changed"
    state = {"released": "released", "added": "added", "nearly": "nearly"}.get(str(span.get("reviewed", "")), kept)
    if state == "kept" and span.get("reviewed") == "relabelled":
        state = "changed"
    evidence = span.get("evidence", ())
    return {
        **{name: span[name] for name in ("start", "end", "label")},
        "kind": kind_of(span["label"]),
        "state": state,
        "seen": bool(span.get("seen")),
        "unsure": state != "nearly" and is_unsure(span),
        "sources": sorted({str(item["source"]) for item in evidence}),
        "score": max((item.get("score", 1.0) for item in evidence), default=span.get("score", 1.0)),
    }


def original_pieces(text: str, spans: Spans, nearly: Spans, part: tuple[int, int]) -> list[dict[str, Any]]:
    """Split a part of the original text at its spans and at those that were nearly found.

    nearly (Sequence[dict]): see `find_nearly`. Those that overlap a span are left out.
    RETURNS (list[dict]): as `cut_text`; a span that was nearly found has the state "nearly" and no index.
    """
    pieces = list(cut_text(text, spans, [(span["start"], span["end"]) for span in spans], part))
    found: list[dict[str, Any]] = []
    at = part[0]
    for piece in pieces:
        end = at + len(piece["text"])
        inside = [one for one in nearly if at <= one["start"] and one["end"] <= end] if piece["span"] is None else []
        if inside:
            marked = [{**one, "reviewed": "nearly"} for one in inside]
            places = [(one["start"], one["end"]) for one in inside]
            found += ({**new, "span": None} for new in cut_text(text, marked, places, (at, end)))
        else:
            found.append(piece)
        at = end
    return found


def released_pieces(text: str, spans: Spans, edits: Sequence[Edit], part: tuple[int, int]) -> list[dict[str, Any]]:
    """Split a part of the preview of the released text at its spans.

    text (str): the original text.
    edits (Sequence[Edit]): see `preview_edits`.
    RETURNS (list[dict]): as `cut_text`.
    """
    made = {(edit.start, edit.end): edit.replacement for edit in edits}
    pieces = []
    for piece in cut_text(text, spans, [(span["start"], span["end"]) for span in spans], part):
        new = made.get((piece.get("start", -1), piece.get("end", -1)), piece["text"])
        pieces.append({**piece, "text": new})
    return [piece for piece in pieces if piece["text"]]


def list_spans(text: str, spans: Spans, part: tuple[int, int]) -> list[dict[str, Any]]:
    """List the spans of a part for the side of the page.

    RETURNS (list[dict]): the fields of `describe_span` with "span", the index, "text", and "count", how many spans of
        the whole text name the same person or value.
    """
    numbers = link_spans(text, spans)
    counts = Counter(numbers)
    return [
        {**describe_span(span), "span": i, "text": text[span["start"] : span["end"]], "count": counts[numbers[i]]}
        for i, span in enumerate(spans)
        if part[0] <= span["start"] and span["end"] <= part[1]
    ]


def count_states(spans: Spans) -> dict[str, int]:
    """Count the spans of a text: "total", "seen", "unsure", and "identifiers" that are removed."""
    return {
        "total": len(spans),
        "seen": sum(bool(span.get("seen")) for span in spans),
        "unsure": sum(map(is_unsure, spans)),
        "identifiers": sum(map(is_identifier, spans)),
    }
