"""Writes and reads detections (evidence) in span groups of a Doc, checks that detectors ran, and resolves overlaps.

A detector makes a list of `Evidence` and writes it with `write_evidence`. The spans of the group are the detections
widened to whole tokens; the records in the attributes of the group have the exact characters. Groups survive
``to_bytes`` and ``DocBin``; the records are plain values, because dataclasses would break both.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spacy.tokens import Doc, Span, SpanGroup

from .errors import ConfigError, DeidError, Errors, NotDeidentified
from .labels import LABELS, get_label

PREFIX = "deid/"
_RECORDS = "evidence"  # attribute of every group that `write_evidence` wrote, and of no other
_CLOSED = "merged"  # attribute of the groups of detectors after merging
MERGED = "deid/merged"
DISCARDED = "deid/discarded"
RECOVERED = "deid/recovered"
REVIEW = "deid/review"  # spans that are proposed to a person; they decide nothing
DECISIONS = frozenset({MERGED, DISCARDED, RECOVERED, REVIEW})
PROBABILITIES = "deid/probabilities"  # key in doc.user_data: probability of every token to be PHI, by the classifier
SCORES = "deid/surprisal"  # key in doc.user_data: scores of every word by a language model


@dataclass(frozen=True, slots=True)
class Evidence:
    """One detection. It contains offsets, never text.

    start, end (int): characters in the text of the Doc, end exclusive.
    label (str): canonical label.
    source (str): name of the component that made it.
    score (float): calibrated probability that the span is PHI, 0 to 1; 1.0 for a rule or a list.
    rule (str): name of the rule, list or model that found it.
    validated (bool): whether there is proof beyond form and context: a correct check digit, an exact match of a
        dictionary, or a reviewer's decision. `deid_merge` prefers validated evidence where detections overlap.
    """

    start: int
    end: int
    label: str
    source: str
    score: float = 1.0
    rule: str = ""
    validated: bool = False

    def record(self) -> dict[str, Any]:
        """Return the fields as a dict that ``SpanGroup.attrs`` can save; "validated" only if it is True."""
        return {slot: getattr(self, slot) for slot in self.__slots__ if slot != "validated" or self.validated}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token span to merge: ``doc[start:end]`` with a label and a rank.

    start, end (int): token indices, end exclusive.
    label (str): canonical label.
    rank (tuple): where candidates overlap, the one with the smaller rank wins.
    """

    start: int
    end: int
    label: str
    rank: tuple[float, ...]


SpansFilter = Callable[[Sequence[Candidate]], list[Candidate]]


def check_key(key: str) -> str:
    """Check that a span group key can be used in a config.

    key (str): "deid/" and a name without "." and ":".
    RETURNS (str): the key.
    RAISES: ConfigError (D007) for another key.
    """
    if not key.startswith(PREFIX) or len(key) == len(PREFIX) or {".", ":"} & set(key):
        raise ConfigError(Errors.D007.format(key=key))
    return key


def write_evidence(doc: Doc, key: str, evidence: Iterable[Evidence], *, version: str = "", **receipt: Any) -> None:
    """Write the span group of a detector: spans, records, and the receipt that the detector ran. No other code writes
    groups.

    Spans are widened to whole tokens, so that a detection that does not align is not lost. The records have the order
    of the spans: ``attrs["evidence"][i]`` belongs to ``group[i]``. A detector without detections writes an empty
    group, which is its receipt.

    doc (Doc): the Doc.
    key (str): span group key, "deid/…".
    evidence (Iterable[Evidence]): detections in any order.
    version (str): version of the rules, list or model, for the trace.
    receipt (Any): further plain values for ``attrs``.
    RAISES: DeidError for evidence outside the text (D006) or a score that is not between 0 and 1 (D009); ConfigError
        for an invalid key (D007) or an unknown label (D001).
    """
    ordered = sorted(evidence, key=lambda e: (e.start, e.end, e.label, e.source, e.rule))
    spans = [_span(doc, item) for item in ordered]
    attrs = {_RECORDS: [item.record() for item in ordered], "version": version, **receipt}
    doc.spans[check_key(key)] = SpanGroup(doc, name=key, spans=spans, attrs=attrs)


def _span(doc: Doc, item: Evidence) -> Span:
    """Return the span of a detection, widened to whole tokens. RAISES: as `write_evidence`."""
    get_label(item.label)
    span = None
    if 0 <= item.start < item.end:
        span = doc.char_span(item.start, item.end, label=item.label, alignment_mode="expand")
    if not span:  # outside the text, or nothing but the space between two tokens
        length = len(doc.text)
        raise DeidError(Errors.D006.format(start=item.start, end=item.end, source=item.source, length=length))
    if not 0.0 <= item.score <= 1.0:
        raise DeidError(Errors.D009.format(score=item.score, source=item.source, start=item.start, end=item.end))
    return span


def read_evidence(doc: Doc, key: str) -> list[Evidence]:
    """Read the detections of a span group, in the order of its spans.

    doc (Doc): the Doc.
    key (str): span group key.
    RETURNS (list[Evidence]): detections with their exact characters.
    RAISES: NotDeidentified as `require_groups`.
    """
    require_groups(doc, [key])
    return [Evidence(**record) for record in doc.spans[key].attrs[_RECORDS]]


def require_groups(doc: Doc, keys: Iterable[str]) -> None:
    """Check that detectors wrote their span groups and that nothing else changed them.

    doc (Doc): the Doc.
    keys (Iterable[str]): keys of the groups that must exist; they may be empty.
    RAISES: NotDeidentified for groups that are missing (D501), whose records do not match the spans (D511), or that
        were not written by `write_evidence` (D518).
    """
    keys = list(keys)
    if missing := [key for key in keys if key not in doc.spans]:
        raise NotDeidentified(Errors.D501.format(missing=", ".join(missing)))
    for key in keys:
        group = doc.spans[key]
        if len(records := group.attrs.get(_RECORDS, [])) != len(group):
            raise NotDeidentified(Errors.D511.format(key=key, spans=len(group), records=len(records)))
        if _RECORDS not in group.attrs:
            raise NotDeidentified(Errors.D518.format(key=key))


def close_groups(doc: Doc, keys: Iterable[str]) -> None:
    """Mark span groups as merged, so that `refuse_closed` finds groups that are left from an earlier run.

    doc (Doc): the Doc whose detections were merged.
    keys (Iterable[str]): keys of the groups.
    """
    for key in keys:
        doc.spans[key].attrs[_CLOSED] = True


def refuse_closed(doc: Doc, keys: Iterable[str]) -> None:
    """Check that each detector ran again after the last merge, so that no group is left from an earlier run.

    doc (Doc): the Doc.
    keys (Iterable[str]): keys of the groups to merge.
    RAISES: NotDeidentified (D519) with the groups that were merged before.
    """
    if closed := [key for key in keys if doc.spans[key].attrs.get(_CLOSED)]:
        raise NotDeidentified(Errors.D519.format(keys=", ".join(closed)))


def reopen_groups(doc: Doc) -> None:
    """Allow the detections of an earlier run to be merged again, for example to compare settings of `deid_merge`.

    doc (Doc): a merged Doc. The caller must be sure that its groups are complete and up to date.
    """
    for key in doc.spans:
        doc.spans[key].attrs.pop(_CLOSED, None)


def refuse_groups(doc: Doc, sources: Iterable[str], name: str) -> None:
    """Check that the detections of every detector that ran are merged.

    doc (Doc): the Doc.
    sources (Iterable[str]): keys of the merged groups.
    name (str): name of the merging component.
    RAISES: NotDeidentified (D503) with the groups that are not among the sources.
    """
    sources = list(sources)
    groups = {key for key in doc.spans if key.startswith(PREFIX)}
    if extra := sorted(groups - set(sources) - DECISIONS):
        raise NotDeidentified(Errors.D503.format(extra=", ".join(extra), name=name, sources=", ".join(sources)))


def refuse_entities(doc: Doc, decided: Sequence[tuple[int, int]]) -> None:
    """Check that no identifier was added to ``doc.ents`` after the decision, for example by an ``entity_ruler`` at the
    end.

    doc (Doc): the Doc. Entities with other labels, such as diseases, are ignored.
    decided (Sequence[tuple[int, int]]): start and end (characters) of the decided spans, disjoint and in order.
    RAISES: NotDeidentified (D513) if there is one.
    """
    starts, ends = [start for start, _ in decided], [end for _, end in decided]
    for ent in doc.ents:
        for token in ent if ent.label_ in LABELS else ():
            i = bisect_right(starts, token.idx) - 1
            if i < 0 or token.idx + len(token) > ends[i]:
                raise NotDeidentified(Errors.D513.format(label=ent.label_, start=ent.start_char, end=ent.end_char))


def settle_label(start: int, end: int, label: str, cues: Mapping[int, str]) -> str:
    """Correct the label of a prediction if a cue in the note determines it, as "Col." before a licence number does.

    start, end (int): tokens of the prediction.
    label (str): canonical label of the prediction.
    cues (Mapping[int, str]): token index → canonical label, for tokens that a decisive rule detected.
    RETURNS (str): the label of the cues if they agree and cover more than three quarters of the prediction, else
        `label`.
    """
    named = [cues[i] for i in range(start, end) if i in cues]
    return named[0] if 4 * len(named) > 3 * (end - start) and len(set(named)) == 1 else label


def union_filter(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Make candidates disjoint without uncovering a token: overlapping ones are trimmed, never dropped.

    Candidates are processed by rank. Each keeps the tokens that no earlier one has; its remaining parts keep its
    label. A part that touches the candidate it was cut by, and has the same label, is joined with it, so that "Ana"
    and "Ana María" are one person.

    candidates (Sequence[Candidate]): in any order.
    RETURNS (list[Candidate]): disjoint, in the order of the text; they cover the same tokens as the input.
    """
    owner: dict[int, int] = {}
    kept: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (c.rank, c.start, c.end, c.label)):
        free = [i for i in range(candidate.start, candidate.end) if i not in owner]
        cut_by = {owner[i] for i in range(candidate.start, candidate.end) if i in owner}
        joined = next((k for k in sorted(cut_by) if kept[k].label == candidate.label), len(kept))
        if free and joined == len(kept):
            kept.append(candidate)
        owner.update((i, joined) for i in free)
    return _runs(owner, kept)


def _runs(owner: Mapping[int, int], kept: Sequence[Candidate]) -> list[Candidate]:
    """Join consecutive tokens with the same owner (an index in `kept`) to one candidate each."""
    runs: list[Candidate] = []
    last = None
    for i in sorted(owner):
        winner = kept[owner[i]]
        if last == (i - 1, owner[i]):
            runs[-1] = Candidate(runs[-1].start, i + 1, winner.label, winner.rank)
        else:
            runs.append(Candidate(i, i + 1, winner.label, winner.rank))
        last = (i, owner[i])
    return runs
