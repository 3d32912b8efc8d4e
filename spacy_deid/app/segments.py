"""A text cut into what is marked and what is not, for the page that shows it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

__all__ = ["cut_text"]


def cut_text(
    text: str, spans: Sequence[dict[str, Any]], places: Iterable[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    """Cut a text at its spans.

    text (str): the original or the released text.
    spans (Sequence[dict]): the spans, in order.
    places (Iterable[tuple[int, int]]): where each stands in this text.
    YIELDS (dict): "text" and "span", the number of the span or None; of a span also "start", "end", "label" and
        "kind", which says how it is shown.
    """
    last = 0
    for i, (span, (start, end)) in enumerate(zip(spans, places, strict=True)):
        if start > last:
            yield {"text": text[last:start], "span": None}
        if end > start:
            shown = {"start": span["start"], "end": span["end"], "label": span["label"], "kind": _kind(span)}
            yield {"text": text[start:end], "span": i, **shown}
        last = max(last, end)
    if last < len(text):
        yield {"text": text[last:], "span": None}


def _kind(span: dict[str, Any]) -> str:
    """How a span is shown: as the reviewer left it, else by what was done with it."""
    kept = "kept" if span["action"] in ("keep", "recover") else "changed"
    return {"released": "released", "added": "added"}.get(str(span.get("reviewed", "")), kept)
