"""How much is likely to leak from a note, so that those with most are looked at first.

    expected leak = (1 + disagreement) × surprisal × (1 + dictionary risk)

A number that orders notes. It is no rate: what share of notes leaks is told by `estimate` and by a sample.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..errors import Errors, NotDeidentified
from ..labels import LABELS
from ..spans import MERGED, RECOVERED, SCORES, read_evidence

_LIMIT = 40.0  # nats; what is more surprising is not more suspicious
_UNSEARCHED = "institution: "  # how a detector says that it had no terms of the note's patient


@dataclass(frozen=True, slots=True)
class LeakRisk:
    """What speaks for a leak in a note.

    disagreement (float): what the surest detector of each span is short of certain, added up.
    surprisal (float): mean surprisal of the words that nobody holds, nats.
    dictionary (float): names of lists and dictionaries that were released as medical; 1 more if the terms of the
        note's own patient were not searched for.
    """

    disagreement: float
    surprisal: float
    dictionary: float

    @property
    def expected(self) -> float:
        """The expected leak."""
        return (1 + self.disagreement) * self.surprisal * (1 + self.dictionary)


def assess_leak(doc: Doc, lists: Iterable[str] = ("deid/ruler",)) -> LeakRisk:
    """Read from a Doc what speaks for a leak.

    doc (Doc): a Doc that was scored and merged.
    lists (Iterable[str]): groups of the detectors that have lists and dictionaries.
    RETURNS (LeakRisk): the three numbers.
    RAISES: NotDeidentified if nothing was merged or scored (D502).
    """
    if MERGED not in doc.spans or SCORES not in doc.user_data:
        raise NotDeidentified(Errors.D502.format(step="deid_surprisal" if MERGED in doc.spans else "deid_merge"))
    doubt = sum(1 - item.score for item in read_evidence(doc, MERGED))
    return LeakRisk(doubt, _surprisal(doc), _dictionary_risk(doc, [key for key in lists if key in doc.spans]))


def _surprisal(doc: Doc) -> float:
    """Mean surprisal of what nobody holds."""
    record = doc.user_data[SCORES]
    held = np.zeros(len(doc.text), dtype=np.bool_)
    for ent in doc.ents:
        held[ent.start_char : ent.end_char] |= ent.label_ in LABELS
    words = zip(record["starts"], record["ends"], record["features"]["surprisal"], strict=True)
    free = [min(value, _LIMIT) for start, end, value in words if not held[start:end].all()]
    return float(np.mean(free)) if free else 0.0


def _dictionary_risk(doc: Doc, lists: Iterable[str]) -> float:
    """What lists and dictionaries found and nobody protects, or could not find."""
    recovered = {i for span in doc.spans.get(RECOVERED, ()) for i in range(span.start, span.end)}
    released = sum(not recovered.isdisjoint(range(s.start, s.end)) for key in lists for s in doc.spans[key])
    used = [str(doc.spans[key].attrs.get("dictionaries", "")) for key in lists]
    return released + any(text.startswith(_UNSEARCHED) for text in used)


def order_by_leak(docs: Iterable[Doc], lists: Iterable[str] = ("deid/ruler",)) -> list[int]:
    """Order notes, those first from which most is likely to leak.

    docs (Iterable[Doc]): as `assess_leak`.
    lists (Iterable[str]): as `assess_leak`.
    RETURNS (list[int]): their numbers.
    RAISES: NotDeidentified as `assess_leak`.
    """
    lists = tuple(lists)
    expected = [assess_leak(doc, lists).expected for doc in docs]
    return sorted(range(len(expected)), key=lambda i: (-expected[i], i))
