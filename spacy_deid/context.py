"""What a Doc knows beyond its text: the EHR context that came with it, and the released text that may leave.

``doc._.ehr``         dict: "patient_id", "note_type", "site" and whatever else the caller's rules need
``doc._.deid_text``   str: the released text; raises unless every required step ran (fail closed)
``doc._.deid_edits``  list of `offsets.Edit`, under the same guard
``doc._.deid_trace``  list of dict: why each span was changed or kept; offsets and labels, never the surface
``doc._.deid_review`` list of dict: what a person should look at; offsets and scores, never the surface
``doc._.deid_map(offset, side="original")``  int: an offset carried to the other side
"""

import hashlib
import json
from bisect import bisect_left, bisect_right
from typing import Any

from spacy.tokens import Doc

from .errors import Errors, NotDeidentified
from .offsets import Edit, Side, apply_edits, map_offset
from .spans import (
    MERGED,
    RECOVERED,
    REVIEW,
    Evidence,
    read_evidence,
    refuse_entities,
    refuse_groups,
    require_groups,
)

__all__ = ["DECISIONS", "EDITS", "get_edits", "get_review", "get_text", "get_trace", "install_extensions", "set_edits"]

EDITS = "deid/edits"
DECISIONS = "deid/decisions"
RECOVER = "recover"  # the action of what was let go as medical


def set_edits(doc: Doc, edits: list[Edit], decisions: dict[str, Any]) -> None:
    """Store the edits and the decisions behind them on a Doc, as plain values.

    doc (Doc): the Doc to write to.
    edits (list[Edit]): edits in the order of the text.
    decisions (dict): "policy", "style" and "actions", a list of [start, end, label, action] for every span that was
        decided on, changed or kept; characters, no text.
    """
    doc.user_data[EDITS] = [[e.start, e.end, e.label, e.replacement] for e in edits]
    doc.user_data[DECISIONS] = {**decisions, "receipt": _receipt(doc)}


def _receipt(doc: Doc) -> str:
    """Tell the detections of a Doc by their offsets and labels, so that edits are not taken for those of others.

    From the records and not the spans, which retokenization moves; no hash of the text, which could be guessed.
    """
    sources = doc.spans[MERGED].attrs.get("sources", []) if MERGED in doc.spans else []
    rows: list[Any] = [doc[-1].idx + len(doc[-1]) if len(doc) else 0]
    for key in (*sources, MERGED, RECOVERED):
        records = doc.spans[key].attrs.get("evidence", []) if key in doc.spans else []
        rows.append([key, [[item["start"], item["end"], item["label"]] for item in records]])
    return hashlib.sha256(json.dumps(rows).encode("utf-8")).hexdigest()[:16]


def get_edits(doc: Doc) -> list[Edit]:
    """Read the edits, if every step that they rest on has run.

    The guard stands here and not in a component, because spaCy's ``ignore_error`` handler swallows whatever a
    component raises and hands the bare Doc on.

    doc (Doc): the Doc to read.
    RETURNS (list[Edit]): edits in the order of the text.
    RAISES: NotDeidentified if merging (D502), a detector (D501) or the surrogate step (D502) did not run, if a
        detector ran that was not merged (D503), or if detections (D512) or entities (D513) came after the edits.
    """
    if MERGED not in doc.spans:
        raise NotDeidentified(Errors.D502.format(step="deid_merge"))
    merged = doc.spans[MERGED].attrs
    if "sources" not in merged:  # Doc.from_docs and a re-assigned group lose the receipt
        raise NotDeidentified(Errors.D502.format(step="deid_merge"))
    require_groups(doc, merged["sources"])
    refuse_groups(doc, merged["sources"], "deid_merge")
    if merged.get("recovery") and RECOVERED not in doc.spans:
        raise NotDeidentified(Errors.D502.format(step="deid_recovery"))
    if EDITS not in doc.user_data:
        raise NotDeidentified(Errors.D502.format(step="deid_surrogate"))
    decided = doc.user_data.get(DECISIONS, {})
    if decided.get("receipt") != _receipt(doc):
        raise NotDeidentified(Errors.D512)
    refuse_entities(doc, [(start, end) for start, end, *_ in decided["actions"]])
    return [Edit(*edit) for edit in doc.user_data[EDITS]]


def get_trace(doc: Doc) -> list[dict[str, Any]]:
    """Why each span was changed or kept, under the guard of `get_edits`.

    doc (Doc): the Doc to read.
    RETURNS (list[dict]): for each decided span its "start", "end", "label", "action", "policy", "style", with
        surrogates "identity" (whether they are those of the "patient" or of the "document"), and "evidence": the
        records of every detection that touches it, each with the "version" of its detector, and its "operating_point"
        or the "dictionaries" that were used, if it has them. What was recovered as medical has the action "recover",
        and the rule that says so among its evidence.
        Offsets and labels, never the surface.
    """
    get_edits(doc)
    decided = doc.user_data[DECISIONS]
    release = {name: decided[name] for name in ("policy", "style", "identity") if name in decided}
    recovered = [(item.start, item.end, item.label, RECOVER) for item in _recovered(doc)]
    trace: list[dict[str, Any]] = [
        {"start": start, "end": end, "label": label, "action": action, **release, "evidence": []}
        for start, end, label, action in sorted([*map(tuple, decided["actions"]), *recovered])
    ]
    starts, ends = [row["start"] for row in trace], [row["end"] for row in trace]
    for key in [*doc.spans[MERGED].attrs["sources"], *([RECOVERED] if recovered else [])]:
        attrs = doc.spans[key].attrs
        shared = {"version": attrs.get("version", "")}
        shared |= {name: attrs[name] for name in ("operating_point", "dictionaries") if name in attrs}
        for item in read_evidence(doc, key):
            for row in trace[bisect_right(ends, item.start) : bisect_left(starts, item.end)]:
                row["evidence"].append({**item.record(), **shared})
    return trace


def _recovered(doc: Doc) -> list[Evidence]:
    """What was recovered; nothing if no component does that."""
    return read_evidence(doc, RECOVERED) if RECOVERED in doc.spans else []


def get_review(doc: Doc) -> list[dict[str, Any]]:
    """What a person should look at: what no detector found, and a language model did not expect.

    doc (Doc): the Doc to read.
    RETURNS (list[dict]): for each span its "start" and "end", "score", "probability" (whether the score is one), what
        made it ("by", "version"), and the "columns" of its highest word, such as "surprisal", "entropy", "log_rank".
        Offsets and numbers, never the surface.
    RAISES: NotDeidentified if nothing was chosen (D502).
    """
    if REVIEW not in doc.spans or "scores" not in doc.spans[REVIEW].attrs:
        raise NotDeidentified(Errors.D502.format(step="deid_review"))
    attrs = doc.spans[REVIEW].attrs
    shared = {"probability": attrs["probability"], "version": attrs["version"]}
    return [
        {
            "start": item.start,
            "end": item.end,
            "score": row["value"],
            "by": item.rule,
            **shared,
            "columns": row["columns"],
        }
        for item, row in zip(read_evidence(doc, REVIEW), attrs["scores"], strict=True)
    ]


def get_text(doc: Doc) -> str:
    """The released text, under the guard of `get_edits`."""
    return apply_edits(doc.text, get_edits(doc))


def map_doc_offset(doc: Doc, offset: int, side: Side = "original") -> int:
    """Carry an offset to the other side; see `offsets.map_offset`."""
    return map_offset(get_edits(doc), offset, len(doc.text), side)


_GETTERS = {"deid_text": get_text, "deid_edits": get_edits, "deid_trace": get_trace, "deid_review": get_review}


def install_extensions() -> None:
    """Register the Doc extensions. Safe to call again: spawned workers call it when they import the package."""
    if not Doc.has_extension("ehr"):
        Doc.set_extension("ehr", default={})
    for name, getter in _GETTERS.items():
        if not Doc.has_extension(name):
            Doc.set_extension(name, getter=getter)
    if not Doc.has_extension("deid_map"):
        Doc.set_extension("deid_map", method=map_doc_offset)


install_extensions()
