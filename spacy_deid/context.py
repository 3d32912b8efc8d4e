"""Registers the custom attributes of a Doc: the EHR context that came with it, and the outcome of its processing.

- ``doc._.ehr`` (dict): "patient_id", "note_type", "site" and other values for the caller's rules.
- ``doc._.deid_text`` (str): the released text. Raises an error unless every required step ran and nothing was changed
  afterwards.
- ``doc._.deid_edits`` (list of `offsets.Edit`): the replacements, with the same checks.
- ``doc._.deid_trace`` (list of dict): why each span was changed or kept, by offsets and labels, never text.
- ``doc._.deid_warnings`` (list of str): reasons to review the note before its release.
- ``doc._.deid_review`` (list of dict): spans to review, by offsets and scores, never text.
- ``doc._.deid_map(offset, side="original")`` (int): an offset converted between the original and the released text.
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

EDITS = "deid/edits"
DECISIONS = "deid/decisions"
KEEP = "keep"  # action: the span is released unchanged
RECOVER = "recover"  # action: the span is released because it is a medical term

_KEY = "receipt_key"  # attribute of the merged group
_RECEIPT = "receipt"  # key in the decisions
_UNSIGNED = frozenset({_KEY})


def set_edits(doc: Doc, edits: list[Edit], decisions: dict[str, Any]) -> None:
    """Store the edits of a Doc and the decisions that led to them as plain values, with a receipt.

    The receipt is an HMAC of the text, the detections, the decisions and the edits. Its random key is new for every
    call and stored in the attributes of the merged group. So the receipt in ``doc.user_data`` alone cannot be used to
    guess the text, and does not fit another Doc, not even one with the same text.

    doc (Doc): a merged Doc.
    edits (list[Edit]): edits in the order of the text.
    decisions (dict): "policy", "style" and "actions", a list of [start, end, label, action] for every decided span
        (characters, no text). Optionally "reasons": [start, reason] of spans that were replaced although their label
        is kept.
    """
    doc.spans[MERGED].attrs[_KEY] = token_hex(32)
    doc.user_data[EDITS] = [[e.start, e.end, e.label, e.replacement] for e in edits]
    doc.user_data[DECISIONS] = decisions = dict(decisions)
    decisions[_RECEIPT] = _sign(doc)


def _sign(doc: Doc) -> str:
    """Compute the receipt of a Doc: an HMAC of its text, detections, decisions and edits.

    Detections are represented by their records, not by their spans, which retokenization changes.
    """
    merged, text = doc.spans[MERGED].attrs, doc.text
    rows: list[Any] = [len(text), doc.user_data[EDITS]]
    rows.append({name: value for name, value in doc.user_data[DECISIONS].items() if name != _RECEIPT})
    for key in (*merged["sources"], MERGED, RECOVERED):
        attrs = doc.spans[key].attrs if key in doc.spans else {}
        rows.append([key, {name: value for name, value in attrs.items() if name not in _UNSIGNED}])
    signature = hmac.new(str(merged.get(_KEY)).encode(), digestmod="sha256")
    signature.update(json.dumps(rows, sort_keys=True, default=repr).encode("ascii"))
    signature.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    return signature.hexdigest()


def _read_decisions(doc: Doc) -> dict[str, Any]:
    """Read the decisions that `set_edits` stored on a Doc.

    RAISES: NotDeidentified (D512) if their receipt does not match the current Doc.
    """
    decided = doc.user_data.get(DECISIONS)
    try:
        if isinstance(decided, dict) and hmac.compare_digest(str(decided.get(_RECEIPT)).encode(), _sign(doc).encode()):
            return decided
    except (TypeError, ValueError):  # values that JSON does not have: never written by `set_edits`
        pass
    raise NotDeidentified(Errors.D512)


def get_edits(doc: Doc) -> list[Edit]:
    """Return the edits, if every required step ran and nothing was changed since.

    The check is here and not in a component, because spaCy's ``ignore_error`` handler ignores errors of components and
    returns the bare Doc. Its time is linear in the length of the Doc.

    doc (Doc): the Doc.
    RETURNS (list[Edit]): edits in the order of the text.
    RAISES: NotDeidentified if merging (D502), a detector (D501) or the surrogate step (D502) did not run; if a
        detector ran that was not merged (D503); if text, detections, actions or edits do not match the receipt (D512);
        if edits are outside the text or overlap (D003, D004); if an action other than "keep" has no edit (D514), or an
        edit no action (D515); if a merged span was neither decided nor recovered (D516), or a recovered span never
        merged (D517); if an entity was added after the edits (D513).
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
    """Check that the edits carry out the actions, and that the actions cover everything that was merged.

    This also holds with a valid receipt: a component that stores fewer edits than were decided is refused.
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
        if edit.label and (edit.start, edit.end) not in wanted:  # no label: it belongs to the next value
            raise NotDeidentified(Errors.D515.format(start=edit.start, end=edit.end))
    merged = [(item.start, item.end) for item in read_evidence(doc, MERGED)]
    recovered = [(item.start, item.end) for item in _recovered(doc)]
    if gap := find_uncovered(text, merged, sorted([*spans, *recovered])):
        raise NotDeidentified(Errors.D516.format(start=gap[0], end=gap[1]))
    if gap := find_uncovered(text, recovered, merged):
        raise NotDeidentified(Errors.D517.format(start=gap[0], end=gap[1]))
    refuse_entities(doc, spans)


def get_trace(doc: Doc) -> list[dict[str, Any]]:
    """Return why each span was changed or kept, with the checks of `get_edits`.

    doc (Doc): the Doc.
    RETURNS (list[dict]): for each decided span its "start", "end", "label", "action", "policy" and "style"; with
        surrogates "identity" ("patient" or "document"); and "evidence": the records of all detections that overlap it,
        with the "version" of their detector, and its "operating_point" or "dictionaries" if any. A span that was
        replaced although its label is kept has a "reason": "disputed", "unsure" or "called otherwise"; see
        `surrogates.mention`. A recovered span has the action "recover", and its evidence includes the rule. The trace
        contains offsets and labels, never text.
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
    """Return the recovered spans; empty if no component recovers."""
    return read_evidence(doc, RECOVERED) if RECOVERED in doc.spans else []


def get_review(doc: Doc) -> list[dict[str, Any]]:
    """Return the spans to review: unexpected to a language model, and found by no detector.

    doc (Doc): the Doc.
    RETURNS (list[dict]): for each span "start" and "end", "score", "probability" (whether the score is one), its
        origin ("by", "version"), and the "columns" of its highest word, such as "surprisal", "entropy", "log_rank".
        Offsets and numbers, never text.
    RAISES: NotDeidentified (D502) if `deid_review` did not run.
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
    """Return reasons to review a note before its release, with the checks of `get_edits`.

    doc (Doc): the Doc.
    RETURNS (list[str]): messages without note text. There is one for each large language model that found no person
        although its prompt asked for persons and another detector found some: a prompt injection may be the cause.
    """
    get_edits(doc)
    sources = doc.spans[MERGED].attrs["sources"]
    finders = {key for key in sources if any(_is_person(item) for item in read_evidence(doc, key))}
    silent = [key for key in sources if doc.spans[key].attrs.get("asked_for_persons") and key not in finders]
    return [Warnings.DW730.format(key=key) for key in silent if finders]


def _is_person(item: Evidence) -> bool:
    """Return whether a detection has a label for names of persons."""
    return LABELS[item.label].conll == "PER"


def get_text(doc: Doc) -> str:
    """Return the released text, with the checks of `get_edits`."""
    return apply_edits(doc.text, get_edits(doc))


def map_doc_offset(doc: Doc, offset: int, side: Side = "original") -> int:
    """Convert an offset between original and released text; see `offsets.map_offset`."""
    return map_offset(get_edits(doc), offset, len(doc.text), side)


_GETTERS = {
    "deid_text": get_text,
    "deid_edits": get_edits,
    "deid_trace": get_trace,
    "deid_review": get_review,
    "deid_warnings": get_warnings,
}


def install_extensions() -> None:
    """Register the custom attributes of Doc. The module calls it on import; further calls change nothing."""
    if not Doc.has_extension("ehr"):
        Doc.set_extension("ehr", default={})
    for name, getter in _GETTERS.items():
        if not Doc.has_extension(name):
            Doc.set_extension(name, getter=getter)
    if not Doc.has_extension("deid_map"):
        Doc.set_extension("deid_map", method=map_doc_offset)


install_extensions()
