"""A reviewer's decisions on the spans of a text, and the edits that follow from them."""

from collections.abc import Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, InputError
from ..labels import get_label
from ..pipeline.merge import Merge, make_label_priority
from ..spans import Evidence, union_filter, write_evidence

__all__ = ["REVIEWER", "decide", "edit_reviewed"]

REVIEWER = "deid/reviewer"


def decide(
    spans: Sequence[dict[str, Any]], action: str, start: int, end: int, label: str, length: int
) -> list[dict[str, Any]]:
    """Carry out one decision.

    spans (Sequence[dict]): the spans of a text, each with "start", "end", "label", "action" and, if a reviewer decided
        on it, "reviewed". They are disjoint and in order.
    action (str): "release" (let a span go), "restore" (take that back), "relabel" or "add".
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
    elif action == "restore":
        span.pop("reviewed", None)
    else:
        span["label"] = get_label(label).name
        span.setdefault("reviewed", "relabelled")
    return changed


def edit_reviewed(nlp: Language, text: str, spans: Sequence[dict[str, Any]], ehr: dict[str, Any]) -> Doc:
    """Make the edits of a text whose spans a reviewer has decided on. No detector runs again.

    nlp (Language): a pipeline with a ``deid_surrogate``, which writes the edits.
    text (str): the text.
    spans (Sequence[dict]): see `decide`. Those that were released are left out; those that the policy kept stay kept.
    ehr (dict): what goes to ``doc._.ehr``.
    RETURNS (Doc): with edits, released text and trace, under the same guard as any.
    """
    doc = nlp.make_doc(text)
    doc._.ehr = ehr
    evidence = [
        Evidence(span["start"], span["end"], span["label"], REVIEWER, 1.0, str(span.get("reviewed", "agreed")))
        for span in spans
        if span.get("reviewed") != "released"
    ]
    write_evidence(doc, REVIEWER, evidence, version="1")
    merge = Merge(REVIEWER, sources=[REVIEWER], label_priority=make_label_priority(), spans_filter=union_filter)
    doc = merge(doc)
    for name in nlp.pipe_names:
        if nlp.get_pipe_meta(name).factory == "deid_surrogate":
            doc = nlp.get_pipe(name)(doc)
    return doc
