"""A reviewer's decisions on the spans of a text, and the edits that follow from them."""

from collections.abc import Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, InputError
from ..labels import get_label
from ..pipeline.merge import Merge
from ..spans import Evidence, union_filter, write_evidence

__all__ = ["REVIEWER", "decide", "edit_reviewed", "stands"]

REVIEWER = "deid/reviewer"
DETECTORS = "deid/detectors"


def decide(
    spans: Sequence[dict[str, Any]], action: str, start: int, end: int, label: str, length: int
) -> list[dict[str, Any]]:
    """Carry out one decision.

    spans (Sequence[dict]): the spans of a text, each with "start", "end", "label", "action" and, if a reviewer decided
        on it, "reviewed". They are disjoint and in order.
    action (str): "release" (let a span go), "restore" (take back what was decided on a span), "relabel" or "add".
    start, end (int): characters of the span.
    label (str): canonical label, for "relabel" and "add".
    length (int): characters of the text.
    RETURNS (list[dict]): the spans after it; those given stay as they are.
    RAISES: InputError if there is no such span (D910), a new one lies outside the text or on another (D911);
        ConfigError for an unknown label (D001).
    """
    if action == "add":
        new = {"start": start, "end": end, "label": get_label(label).name, "action": "replace", "reviewed": "added"}
        free = all(span["end"] <= start or end <= span["start"] for span in spans)
        if not (0 <= start < end <= length and free):
            raise InputError(Errors.D911.format(start=start, end=end, length=length))
        return sorted([*spans, {**new, "evidence": []}], key=lambda span: int(span["start"]))
    found = [i for i, span in enumerate(spans) if (span["start"], span["end"]) == (start, end)]
    if not found:
        raise InputError(Errors.D910.format(start=start, end=end))
    changed = [dict(span) for span in spans]
    span = changed[found[0]]
    if action == "release":
        if span.get("reviewed") == "added":
            del changed[found[0]]
        else:
            span["reviewed"] = "released"
    elif action == "restore" and span.get("reviewed") == "added":
        del changed[found[0]]
    elif action == "restore":
        span.pop("reviewed", None)
        span["label"] = span.pop("was", span["label"])
    else:
        span.setdefault("was", span["label"])
        span["label"] = get_label(label).name
        span.setdefault("reviewed", "relabelled")
    return changed


def edit_reviewed(nlp: Language, text: str, spans: Sequence[dict[str, Any]], ehr: dict[str, Any]) -> Doc:
    """Make the edits of a text whose spans a reviewer has decided on. No detector runs again.

    What detectors said of a span that nobody decided on is said again: where one of them saw what is replaced, a
    policy that keeps the label of the span does not release it.

    nlp (Language): a pipeline with a ``deid_surrogate``, which writes the edits.
    text (str): the text.
    spans (Sequence[dict]): see `decide`. Those that were released, or kept as medical, are left out.
    ehr (dict): what goes to ``doc._.ehr``.
    RETURNS (Doc): with edits, released text and trace, under the same guard as any.
    """
    doc = nlp.make_doc(text)
    doc._.ehr = ehr
    decided = [span for span in spans if stands(span)]
    reviewer = [
        # A reviewer who did not decide on a span has said nothing: its score does not speak for keeping a name.
        Evidence(
            *(span["start"], span["end"], span["label"], REVIEWER),
            score=float("reviewed" in span),
            rule=str(span.get("reviewed", "agreed")),
            validated=True,
        )
        for span in decided
    ]
    write_evidence(doc, REVIEWER, reviewer, version="1")
    write_evidence(doc, DETECTORS, [item for span in decided if "reviewed" not in span for item in _said(span)])
    # without an order of labels the reviewer's word is the first
    merge = Merge(REVIEWER, sources=[REVIEWER, DETECTORS], label_priority={}, spans_filter=union_filter)
    doc = merge(doc)
    for name in nlp.pipe_names:
        if nlp.get_pipe_meta(name).factory == "deid_surrogate":
            doc = nlp.get_pipe(name)(doc)
    return doc


def stands(span: dict[str, Any]) -> bool:
    """Whether a span is an identifier after the review: not what was released, nor what was kept as medical."""
    return span.get("reviewed") != "released" and (span["action"] != "recover" or "reviewed" in span)


def _said(span: dict[str, Any]) -> list[Evidence]:
    """What detectors said of a span, within its bounds: beyond them another decision holds."""
    return [
        Evidence(
            *(max(item["start"], span["start"]), min(item["end"], span["end"]), item["label"], item["source"]),
            score=item.get("score", 1.0),
            validated=item.get("validated", False),
        )
        for item in span["evidence"]
        if item["start"] < span["end"] and span["start"] < item["end"]
    ]
