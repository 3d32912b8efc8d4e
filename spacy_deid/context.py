"""What a Doc knows beyond its text: the EHR context that came with it, and the released text that may leave.

``doc._.ehr``         dict: "patient_id", "note_type", "site" and whatever else the caller's rules need
``doc._.deid_text``   str: the released text; raises unless every required step ran and nothing was changed since
``doc._.deid_edits``  list of `offsets.Edit`, under the same guard
``doc._.deid_trace``  list of dict: why each span was changed or kept; offsets and labels, never the surface
``doc._.deid_warnings`` list of str: why a person should look at the note before it is released
``doc._.deid_review`` list of dict: what a person should look at; offsets and scores, never the surface
``doc._.deid_map(offset, side="original")``  int: an offset carried to the other side
"""

import hmac
import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from secrets import token_hex
from typing import Any

from spacy.tokens import Doc

from .errors import DeidError, Errors, NotDeidentified, Warnings
from .labels import LABELS
from .offsets import Edit, Side, apply_edits, check_edits, find_uncovered, map_offset
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

__all__ = [
    "DECISIONS",
    "EDITS",
    "get_edits",
    "get_review",
    "get_text",
    "get_trace",
    "get_warnings",
    "install_extensions",
    "set_edits",
]

EDITS = "deid/edits"
DECISIONS = "deid/decisions"
KEEP = "keep"  # the action of what is released as it stands
RECOVER = "recover"  # the action of what was let go as medical

_KEY = "receipt_key"  # of the merged group
_RECEIPT = "receipt"  # of the decisions
_UNSIGNED = frozenset({_KEY})


def set_edits(doc: Doc, edits: list[Edit], decisions: dict[str, Any]) -> None:
    """Store the edits and the decisions behind them on a Doc as plain values, and sign them.

    The receipt is an HMAC of the text, the detections, the decisions and the edits. Its key is random, new at every
    call, and stands in the attributes of the merged group: the receipt in ``doc.user_data`` alone cannot be used to
    guess the text, and fits no other Doc, not even one of the same text.

    doc (Doc): the Doc to write to. Its detections must have been merged.
    edits (list[Edit]): edits in the order of the text.
    decisions (dict): "policy", "style" and "actions", a list of [start, end, label, action] for every span that was
        decided on, changed or kept; characters, no text. "reasons", if there are any: [start, reason] of spans that
        were replaced although the policy keeps their label.
    """
    doc.spans[MERGED].attrs[_KEY] = token_hex(32)
    doc.user_data[EDITS] = [[e.start, e.end, e.label, e.replacement] for e in edits]
    doc.user_data[DECISIONS] = decisions = dict(decisions)
    decisions[_RECEIPT] = _sign(doc)


def _sign(doc: Doc) -> str:
    """Compute the receipt of a Doc.

    Detections are signed by their records and not by their spans, which retokenization moves.
    """
    merged = doc.spans[MERGED].attrs
    rows: list[Any] = [len(doc.text), doc.user_data[EDITS]]
    rows.append({name: value for name, value in doc.user_data[DECISIONS].items() if name != _RECEIPT})
    for key in (*merged["sources"], MERGED, RECOVERED):
        attrs = doc.spans[key].attrs if key in doc.spans else {}
        rows.append([key, {name: value for name, value in attrs.items() if name not in _UNSIGNED}])
    signature = hmac.new(str(merged.get(_KEY)).encode(), digestmod="sha256")
    signature.update(json.dumps(rows, sort_keys=True, default=repr).encode("ascii"))
    signature.update(b"\0" + doc.text.encode("utf-8", "surrogatepass"))
    return signature.hexdigest()


def _read_decisions(doc: Doc) -> dict[str, Any]:
    """Read the decisions. RAISES: NotDeidentified (D512) if their receipt is not that of the Doc as it is now."""
    decided = doc.user_data.get(DECISIONS)
    try:
        if isinstance(decided, dict) and hmac.compare_digest(str(decided.get(_RECEIPT)).encode(), _sign(doc).encode()):
            return decided
    except (TypeError, ValueError):  # values that JSON does not have: never written by `set_edits`
        pass
    raise NotDeidentified(Errors.D512)


def get_edits(doc: Doc) -> list[Edit]:
    """Read the edits, if every step that they rest on has run and nothing was changed since.

    The guard stands here and not in a component, because spaCy's ``ignore_error`` handler swallows whatever a
    component raises and hands the bare Doc on. Its time is linear in the length of the Doc.

    doc (Doc): the Doc to read.
    RETURNS (list[Edit]): edits in the order of the text.
    RAISES: NotDeidentified if merging (D502), a detector (D501) or the surrogate step (D502) did not run; if a
        detector ran that was not merged (D503); if text, detections, actions or edits are not those of the receipt
        (D512); if edits lie outside the text or overlap (D003, D004); if an action other than "keep" has no edit
        (D514) or an edit no action (D515); if anything was merged and neither decided on nor recovered (D516), or
        recovered and never merged (D517); if an entity was added after the edits (D513).
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
    decided = _read_decisions(doc)
    edits = [Edit(*edit) for edit in doc.user_data[EDITS]]
    _check_decision(doc, edits, decided["actions"])
    return edits


def _check_decision(doc: Doc, edits: list[Edit], actions: Sequence[Sequence[Any]]) -> None:
    """Make sure that edits carry out the actions, and that the actions leave out nothing that was merged.

    This holds whoever signed: a component that stores fewer edits than were decided on is refused as well.
    """
    text = doc.text
    spans = [(start, end) for start, end, *_ in actions]
    try:
        check_edits(edits, len(text))
        check_edits([Edit(start, end, "", "") for start, end in spans], len(text))
    except DeidError as error:
        raise NotDeidentified(str(error)) from None
    made = {(edit.start, edit.end, edit.label) for edit in edits}
    for start, end, label, action in actions:
        if action != KEEP and (start, end, label) not in made:
            raise NotDeidentified(Errors.D514.format(action=action, label=label, start=start, end=end))
    wanted = {(start, end) for start, end, _, action in actions if action != KEEP}
    for edit in edits:
        if edit.label and (edit.start, edit.end) not in wanted:  # one without a label goes with the value behind it
            raise NotDeidentified(Errors.D515.format(start=edit.start, end=edit.end))
    merged = [(item.start, item.end) for item in read_evidence(doc, MERGED)]
    recovered = [(item.start, item.end) for item in _recovered(doc)]
    if gap := find_uncovered(text, merged, sorted([*spans, *recovered])):
        raise NotDeidentified(Errors.D516.format(start=gap[0], end=gap[1]))
    if gap := find_uncovered(text, recovered, merged):
        raise NotDeidentified(Errors.D517.format(start=gap[0], end=gap[1]))
    refuse_entities(doc, spans)


def get_trace(doc: Doc) -> list[dict[str, Any]]:
    """Why each span was changed or kept, under the guard of `get_edits`.

    doc (Doc): the Doc to read.
    RETURNS (list[dict]): for each decided span its "start", "end", "label", "action", "policy", "style", with
        surrogates "identity" (whether they are those of the "patient" or of the "document"), and "evidence": the
        records of every detection that touches it, each with the "version" of its detector, and its "operating_point"
        or the "dictionaries" that were used, if it has them. A span that was replaced although the policy keeps its
        label has a "reason": "disputed", "unsure" or "called otherwise"; see `surrogates.persons`. What was recovered
        as medical has the action "recover", and the rule that says so among its evidence.
        Offsets and labels, never the surface.
    """
    get_edits(doc)
    decided = doc.user_data[DECISIONS]
    release = {name: decided[name] for name in ("policy", "style", "identity") if name in decided}
    reasons = dict(decided.get("reasons", []))
    recovered = [(item.start, item.end, item.label, RECOVER) for item in _recovered(doc)]
    trace: list[dict[str, Any]] = []
    for start, end, label, action in sorted([*map(tuple, decided["actions"]), *recovered]):
        why = {"reason": reasons[start]} if start in reasons and action != RECOVER else {}
        trace.append({"start": start, "end": end, "label": label, "action": action, **why, **release, "evidence": []})
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


def get_warnings(doc: Doc) -> list[str]:
    """Why a person should look at a note before it is released, under the guard of `get_edits`.

    doc (Doc): the Doc to read.
    RETURNS (list[str]): messages without content. One names each language model that was asked for persons and found
        none although other detectors did: the note may have talked it out of its task.
    """
    get_edits(doc)
    sources = doc.spans[MERGED].attrs["sources"]
    finders = {key for key in sources if any(_is_person(item) for item in read_evidence(doc, key))}
    silent = [key for key in sources if doc.spans[key].attrs.get("asked_for_persons") and key not in finders]
    return [Warnings.DW730.format(key=key) for key in silent if finders]


def _is_person(item: Evidence) -> bool:
    """Whether a detection is of the name of a person."""
    return LABELS[item.label].conll == "PER"


def get_text(doc: Doc) -> str:
    """The released text, under the guard of `get_edits`."""
    return apply_edits(doc.text, get_edits(doc))


def map_doc_offset(doc: Doc, offset: int, side: Side = "original") -> int:
    """Carry an offset to the other side; see `offsets.map_offset`."""
    return map_offset(get_edits(doc), offset, len(doc.text), side)


_GETTERS = {
    "deid_text": get_text,
    "deid_edits": get_edits,
    "deid_trace": get_trace,
    "deid_review": get_review,
    "deid_warnings": get_warnings,
}


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
