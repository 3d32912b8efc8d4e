"""deid_merge: unites the detections of all detectors in ``doc.ents``.

Every token that a detector covered stays covered. Where detections overlap, the label of one of them is chosen.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import srsly
from spacy.tokens import Doc, Span

from ..errors import ConfigError, Errors
from ..labels import LABELS, get_label
from ..spans import (
    DISCARDED,
    MERGED,
    RECOVERED,
    REVIEW,
    Candidate,
    Evidence,
    SpansFilter,
    check_key,
    close_groups,
    read_evidence,
    refuse_closed,
    refuse_groups,
    require_groups,
    settle_label,
    union_filter,
    write_evidence,
)

_PERSONS = frozenset(name for name, label in LABELS.items() if label.conll == "PER")


def _tokens(span: Span) -> range:
    """Return the positions of the tokens of a span."""
    return range(span.start, span.end)


def read_label_priority(path: str | None = None) -> dict[str, int]:
    """Read the label priority, which decides between overlapping detections: the label with the smaller number wins.

    A label that the file does not list has the number 0.

    path (Optional[str]): JSON file with an object of canonical label → integer; None for the one that ships.
    RETURNS (dict[str, int]): label → number.
    RAISES: ConfigError if the file does not contain such an object (D509), or for an unknown label (D001).
    """
    source = files("spacy_deid") / "resources" / "label_priority.json"
    try:
        data = srsly.json_loads(source.read_text(encoding="utf8")) if path is None else srsly.read_json(path)
    except ValueError:
        raise ConfigError(Errors.D509.format(reason=f"{path} is not JSON")) from None
    if not isinstance(data, dict) or not all(isinstance(number, int) for number in data.values()):
        raise ConfigError(Errors.D509.format(reason=f"{path} is not an object of label and whole number"))
    return {get_label(label).name: number for label, number in data.items()}


class Merge:
    """Unites the evidence of the detectors in ``doc.ents``, so that every token that one of them covered is covered.

    The same spans are written to ``doc.spans["deid/merged"]``, with the keys of the united groups, and the detections
    that were trimmed, relabelled or covered by others to ``doc.spans["deid/discarded"]``.
    """

    def __init__(
        self,
        name: str,
        *,
        sources: Iterable[str],
        label_priority: Mapping[str, int] | str | None = None,
        spans_filter: SpansFilter | None = None,
    ) -> None:
        """Initialize the component; see `factories.make_merge`.

        RAISES: ConfigError for an invalid key (D007), without sources (D504), or for a label priority that cannot be
            read (D509) or has an unknown label (D001).
        """
        self.name = name
        self.sources = [check_key(key) for key in sources]
        if not isinstance(label_priority, Mapping):
            label_priority = read_label_priority(label_priority)
        self.label_priority = label_priority
        self.spans_filter = spans_filter or union_filter
        # Set by a recovery that is added: without its group no text is then released.
        self.expects_recovery = False
        if not self.sources:
            raise ConfigError(Errors.D504.format(name=name))

    def add_source(self, key: str) -> None:
        """Add the span group of a further detector as the last source.

        If validation and label priority are equal, the label of an earlier source wins. The change is not saved: a
        saved pipeline merges the sources of its config, and refuses a Doc with another group.

        key (str): key of the span group.
        RAISES: ConfigError (D007) for an invalid key.
        """
        if check_key(key) not in self.sources:
            self.sources.append(key)

    def __call__(self, doc: Doc) -> Doc:
        """Unite the evidence of all sources on a Doc and write ``doc.ents``.

        doc (Doc): a Doc that the detectors ran on.
        RETURNS (Doc): the same Doc.
        RAISES: NotDeidentified if a source did not run (D501), its group was not written by a detector (D518) or is
            left from an earlier run (D519), or there is a group that is not a source (D503).
        """
        merged = self.match(doc)
        self.set_annotations(doc, merged)
        return doc

    def match(self, doc: Doc) -> list[Candidate]:
        """Unite the evidence of all sources, without changing the Doc.

        doc (Doc): a Doc that the detectors ran on.
        RETURNS (list[Candidate]): disjoint token spans in the order of the text.
        RAISES: NotDeidentified for the same reasons as `__call__`.
        """
        require_groups(doc, self.sources)
        refuse_groups(doc, self.sources, self.name)
        refuse_closed(doc, self.sources)
        found = [
            (number, span, item, item.rule in doc.spans[key].attrs.get("decisive", ()))
            for number, key in enumerate(self.sources)
            for span, item in zip(doc.spans[key], read_evidence(doc, key), strict=True)
        ]
        # Words of persons in a dictionary. A guess of another kind that consists of them is none: "Northern Ruiz".
        proven = [span for _, span, item, _ in found if item.validated and item.label in _PERSONS]
        names = {i for span in proven for i in _tokens(span)}
        longer = {
            i
            for _, span, item, _ in found
            if len(span) > 1 and (item.validated or item.label in _PERSONS or not names.issuperset(_tokens(span)))
            for i in _tokens(span)
        }
        cues = {i: item.label for _, span, item, decisive in found if decisive for i in range(span.start, span.end)}
        # Where a detector has cut an identifier in two: "name." and "surname@example.com".
        cuts = {(span.end, item.label) for _, span, item, _ in found} & {(s.start, e.label) for _, s, e, _ in found}
        candidates = []
        for number, span, item, _ in found:
            # A single name or word overrules no longer detection that it stands in.
            part = len(span) == 1 and span.start in longer and span[0].is_alpha
            guess = item.score < 1 and not item.validated
            label = settle_label(span.start, span.end, item.label, cues) if guess else item.label
            # An echo has the role of a name elsewhere: another person may bear it too.
            role = "PERSON" if item.rule == "echo" else label
            whole = any((i, item.label) in cuts for i in range(span.start + 1, span.end))
            rank = self._rank(-1 if whole else number, role, len(span), item.validated and not part)
            candidates.append(Candidate(span.start, span.end, label, rank))
        return self.spans_filter(candidates)

    def _rank(self, source: int, label: str, length: int, validated: bool) -> tuple[float, ...]:
        """Return the rank of a candidate; the smallest wins. Validated candidates come first, longer ones before
        shorter; then label priority, order of the sources (-1 for a span that another source has cut in two) and
        length decide.
        """
        return (not validated, -length if validated else 0, self.label_priority.get(label, 0), source, -length)

    def set_annotations(self, doc: Doc, merged: list[Candidate]) -> None:
        """Write merged spans to ``doc.ents`` and the merged group, and what they replaced to the discarded group."""
        found = [
            (span.start, span.end, item)
            for key in self.sources
            for span, item in zip(doc.spans[key], read_evidence(doc, key), strict=True)
        ]
        best = np.zeros(len(doc))
        for start, end, item in found:
            best[start:end] = np.maximum(best[start:end], item.score)
        evidence = [self._decided(doc, candidate, best) for candidate in merged]
        receipt: dict[str, Any] = {"recovery": True} if self.expects_recovery else {}
        write_evidence(doc, MERGED, evidence, sources=list(self.sources), **receipt)
        for key in {RECOVERED, REVIEW} & set(doc.spans):  # of an earlier decision
            del doc.spans[key]
        kept = {(c.start, c.end, c.label) for c in merged}
        close_groups(doc, self.sources)
        write_evidence(doc, DISCARDED, [f for start, end, f in found if (start, end, f.label) not in kept])
        doc.set_ents(list(doc.spans[MERGED]), default="outside")

    def _decided(self, doc: Doc, candidate: Candidate, best: np.ndarray) -> Evidence:
        """Return the evidence of a merged span. Its score is the highest that any detector gave one of its tokens."""
        span = doc[candidate.start : candidate.end]
        score = float(best[candidate.start : candidate.end].max())
        return Evidence(span.start_char, span.end_char, candidate.label, self.name, score, "union")
