"""Converts a processed Doc to a `Result` of plain values.

Unlike a Doc, a result stays valid after its memory zone ends and can be sent from a worker process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from spacy.tokens import Doc

from .context import DECISIONS
from .documents.visible_text import VisibleText
from .errors import ErrorKind, Errors, InputError, NotDeidentified
from .offsets import Edit, apply_edits, map_offsets
from .spans import MERGED, RECOVERED, read_evidence, require_groups

Status = Literal["released", "review", "withheld", "failed", "detected"]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of de-identifying one text or file. Its repr shows no content and no EHR context.

    status (str): "released"; "review" if it is released but a person should look at it first, because there are
        warnings or proposed spans; "withheld" if a step did not run or the output did not pass a check; "failed" if
        the item could not be read or processed; "detected" if only detection was requested.
    reason (str): why the item was withheld or failed, without content. Empty if it was released.
    error (str): kind of the error if the item was withheld or failed: "memory", "unexpected" for a fault of the
        program, or "known" for anything else. Empty if the item was released.
    number (int): position in the stream, from 0.
    ehr (Mapping): the EHR context that came with the item.
    edits (list[Edit]): the replacements, in order. Offsets refer to the input text; for a file, to `Document.text`.
    entities (list[tuple[int, int, str]]): start, end and label of each detected span of the input text, in order.
    trace (list[dict]): the decision on each span and its evidence, as ``doc._.deid_trace``.
    warnings (list[str]): reasons why a person should look at the item, without content.
    review (list[dict]): spans that a person should look at, as ``doc._.deid_review``, each with its offsets in the
        released text ("released") and the risk of the whole note ("expected_leak"). Empty unless the deidentifier was
        made with ``review=True``.
    dictionaries (list[str]): for each detector with dictionaries, which of them were searched.
    recovered (list[str]): for each detection that was released as medical, the rule that released it.
    identity (str): with surrogates, "patient" if all notes of the patient share them, or "document" without a patient
        id; otherwise empty.
    words (int): number of words of the input text.
    released_text (Optional[str]): the released text; None if there is none. Use `text` to get an error instead.
    released_copy (Optional[bytes]): the released copy of a file; None if there is none. Use `copy` likewise.
    """

    status: Status
    reason: str = ""
    error: ErrorKind = ""
    number: int = 0
    ehr: Mapping[str, Any] = field(default_factory=dict, repr=False)
    edits: list[Edit] = field(default_factory=list, repr=False)
    entities: list[tuple[int, int, str]] = field(default_factory=list, repr=False)
    trace: list[dict[str, Any]] = field(default_factory=list, repr=False)
    warnings: list[str] = field(default_factory=list)
    review: list[dict[str, Any]] = field(default_factory=list, repr=False)
    dictionaries: list[str] = field(default_factory=list, repr=False)
    recovered: list[str] = field(default_factory=list, repr=False)
    identity: str = field(default="", repr=False)
    words: int = field(default=0, repr=False)
    released_text: str | None = field(default=None, repr=False)
    released_copy: bytes | None = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        """Whether there is a released text."""
        return self.released_text is not None

    @property
    def text(self) -> str:
        """The released text. RAISES: NotDeidentified with the reason if the item was not released."""
        if self.released_text is None:
            raise NotDeidentified(self.reason)
        return self.released_text

    @property
    def copy(self) -> bytes:
        """The released copy of a file, in the same format.

        RAISES: NotDeidentified with the reason if the item was not released; InputError (D779) if it was not a file.
        """
        if self.released_copy is None:
            raise NotDeidentified(self.reason) if not self.ok else InputError(Errors.D779)
        return self.released_copy


def collect_result(doc: Doc, reading: VisibleText | None = None, *, review: bool = False) -> Result:
    """Copy the outcome of a processed Doc into plain values. Offsets refer to the input text.

    doc (Doc): the processed Doc.
    reading (Optional[VisibleText]): alignment of the Doc's text with the input text; None if they are the same.
    review (bool): whether to include the spans that a person should look at.
    RETURNS (Result): the outcome.
    RAISES: NotDeidentified if a step did not run or something was changed afterwards; see `context.get_edits`.
    """
    edits, trace, warnings = doc._.deid_edits, doc._.deid_trace, doc._.deid_warnings
    spans = _collect_review(doc) if review else []
    text = doc.text
    if reading is not None:
        text, edits = reading.raw, reading.raw_edits(edits)
        trace, spans = ([_move_record(row, reading) for row in rows] for rows in (trace, spans))
    places = map_offsets(edits, [row[side] for row in spans for side in ("start", "end")], len(text))
    for i, row in enumerate(spans):
        row["released"] = places[2 * i : 2 * i + 2]
    searched = [group.attrs["dictionaries"] for group in doc.spans.values() if "dictionaries" in group.attrs]
    return Result(
        "review" if warnings or spans else "released",
        edits=edits,
        entities=_read_entities(doc, reading),
        trace=trace,
        warnings=warnings,
        review=spans,
        dictionaries=searched,
        recovered=[item.rule for item in read_evidence(doc, RECOVERED)] if RECOVERED in doc.spans else [],
        identity=doc.user_data[DECISIONS].get("identity", ""),
        words=len(doc.text.split()),
        released_text=apply_edits(text, edits),
    )


def collect_entities(doc: Doc, reading: VisibleText | None = None) -> Result:
    """Copy the detections of a Doc into a result without a released text.

    doc (Doc): a Doc whose detections were merged.
    reading (Optional[VisibleText]): as in `collect_result`.
    RETURNS (Result): the entities, with the status "detected".
    RAISES: NotDeidentified (D501) if a detector did not run or the detections were not merged.
    """
    require_groups(doc, [MERGED])
    require_groups(doc, doc.spans[MERGED].attrs.get("sources", [MERGED]))
    return Result("detected", entities=_read_entities(doc, reading), words=len(doc.text.split()))


def _read_entities(doc: Doc, reading: VisibleText | None) -> list[tuple[int, int, str]]:
    """Return start, end and label of the entities of a Doc, with offsets in the input text."""
    if reading is None:
        return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
    return sorted((*reading.raw_span(ent.start_char, ent.end_char), ent.label_) for ent in doc.ents)


def _collect_review(doc: Doc) -> list[dict[str, Any]]:
    """Return the spans that a person should look at, each with the estimated leak risk of the whole note.

    RAISES: NotDeidentified (D502) if `deid_review` did not run.
    """
    from .audit.leak_order import assess_leak

    leak = round(assess_leak(doc).expected, 6)
    return [{**row, "expected_leak": leak} for row in doc._.deid_review]


def _move_record(record: dict[str, Any], reading: VisibleText) -> dict[str, Any]:
    """Return a copy of a record in which its offsets and those of its evidence refer to the input text."""
    start, end = reading.raw_span(record["start"], record["end"])
    moved = {**record, "start": start, "end": end}
    if "evidence" in record:
        moved["evidence"] = [_move_record(item, reading) for item in record["evidence"]]
    return moved
