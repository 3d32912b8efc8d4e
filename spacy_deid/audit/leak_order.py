"""Rank de-identified notes by how likely they still contain identifiers, so that the worst are reviewed first.

    expected leak = (1 + disagreement) × surprisal × (1 + dictionary risk)

The expected leak can only rank notes; it is not a probability. `estimate` estimates the share of notes that leak.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..errors import Errors, NotDeidentified
from ..labels import LABELS
from ..spans import MERGED, RECOVERED, SCORES, read_evidence

_LIMIT = 40.0  # nats; higher surprisal is not more suspicious
_UNSEARCHED = "institution: "  # start of a detector's message that it had no terms of the note's patient


@dataclass(frozen=True, slots=True)
class LeakRisk:
    """The evidence that a note still contains identifiers.

    disagreement (float): sum over all spans of 1 minus the score of the most certain detector.
    surprisal (float): mean surprisal of the words outside all spans, in nats.
    dictionary (float): number of names from lists and dictionaries that were released as medical terms, plus 1 if the
        dictionary of the note's patient was not available.
    """

    disagreement: float
    surprisal: float
    dictionary: float

    @property
    def expected(self) -> float:
        """The number by which notes are ranked, computed with the formula of this module; it has no unit."""
        return (1 + self.disagreement) * self.surprisal * (1 + self.dictionary)


def assess_leak(doc: Doc, lists: Iterable[str] = ("deid/ruler",)) -> LeakRisk:
    """Collect the evidence that a Doc still contains identifiers.

    doc (Doc): Doc that was processed by ``deid_merge`` and ``deid_surprisal``.
    lists (Iterable[str]): span groups of the detectors that use lists and dictionaries.
    RETURNS (LeakRisk): disagreement, surprisal and dictionary risk.
    RAISES: NotDeidentified (D502) if the Doc was not merged or not scored.
    """
    if MERGED not in doc.spans or SCORES not in doc.user_data:
        raise NotDeidentified(Errors.D502.format(step="deid_surprisal" if MERGED in doc.spans else "deid_merge"))
    doubt = sum(1 - item.score for item in read_evidence(doc, MERGED))
    return LeakRisk(doubt, _surprisal(doc), _dictionary_risk(doc, [key for key in lists if key in doc.spans]))


def _surprisal(doc: Doc) -> float:
    """Compute the mean surprisal of the words outside all entities, in nats; 0 if there are none."""
    record = doc.user_data[SCORES]
    held = np.zeros(len(doc.text), dtype=np.bool_)
    for ent in doc.ents:
        held[ent.start_char : ent.end_char] |= ent.label_ in LABELS
    words = zip(record["starts"], record["ends"], record["features"]["surprisal"], strict=True)
    free = [min(value, _LIMIT) for start, end, value in words if not held[start:end].all()]
    return float(np.mean(free)) if free else 0.0


def _dictionary_risk(doc: Doc, lists: Iterable[str]) -> float:
    """Count the dictionary matches that were released, plus 1 if the patient's dictionary was missing."""
    recovered = {i for span in doc.spans.get(RECOVERED, ()) for i in range(span.start, span.end)}
    released = sum(not recovered.isdisjoint(range(s.start, s.end)) for key in lists for s in doc.spans[key])
    used = [str(doc.spans[key].attrs.get("dictionaries", "")) for key in lists]
    return released + any(text.startswith(_UNSEARCHED) for text in used)


def order_by_leak(docs: Iterable[Doc], lists: Iterable[str] = ("deid/ruler",)) -> list[int]:
    """Rank notes by expected leak, highest first.

    docs (Iterable[Doc]): Docs as for `assess_leak`.
    lists (Iterable[str]): span groups of the detectors that use lists and dictionaries.
    RETURNS (list[int]): indices of the Docs in the order of the ranking.
    RAISES: NotDeidentified (D502) if a Doc was not merged or not scored.
    """
    lists = tuple(lists)
    expected = [assess_leak(doc, lists).expected for doc in docs]
    return sorted(range(len(expected)), key=lambda i: (-expected[i], i))
