"""Data types for the recovery of medical text that a detector took for an identifier.

`MedicalUse` is a span of a note that looks medical, with its evidence. `SpanIndex` looks up spans by their position.
The constants group the canonical labels by how far their detections may be recovered.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from typing import Generic, NamedTuple, Protocol, TypeVar

PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
PLACES = frozenset(
    {
        *("HOSPITAL", "HEALTH_CENTER", "DEPARTMENT", "ORGANIZATION", "STREET", "CITY", "STATE", "TERRITORY"),
        *("COUNTRY", "LOCATION_OTHER"),
    }
)
NUMBERS = frozenset({"DATE", "PHONE", "FAX", "ZIP", "ROOM", "MRN", "ENCOUNTER_ID", "ID_OTHER", "DEVICE", "VEHICLE"})
# Numbers of persons. Only a genetic variant is recovered from these labels, and only if a model found the number.
IDENTIFIERS = frozenset({"ACCOUNT", "EMPLOYEE_ID", "HEALTH_PLAN", "INSURANCE_ID", "LICENSE", "NATIONAL_ID", "SSN"})
# Codes of letters and digits, a part of which can look like an amount, and the forms and rules that match amounts.
CODES = frozenset({"ZIP", "MRN", "ENCOUNTER_ID", "ID_OTHER", "DEVICE", "VEHICLE"})
_AMOUNTS = frozenset({"term:unit", "recovery/dose", "recovery/laboratory", "recovery/vitals-letter"})
RECOVERABLE = PERSONS | PLACES | NUMBERS | IDENTIFIERS | {"AGE", "SEX", "OTHER"}
_UNMISTAKABLE = frozenset(
    f"recovery/{name}"
    for name in (
        *("genomic", "hgvs-dna", "hgvs-protein", "protein-short", "rs-number", "reference-sequence"),
        *("nursing-code", "snomed-code", "reference-strain", "standard", "statute", "score-of-maximum"),
        *("mest-c", "gijon", "mayo", "paris-lesion", "viena", "los-angeles", "amsterdam", "plain-word"),
    )
)


# tiers of `unlisted_eponyms`, which are the kinds of eponyms that the dictionary lacks
_UNLISTED = frozenset({"chain", "thing", "organ", "named", "pair", "name"})


class MedicalUse(NamedTuple):
    """A span of a note that is probably medical, so that a detection of an identifier in it can be removed.

    start, end (int): character offsets, end exclusive.
    rule (str): the evidence: form and kind of a term in the medical dictionary ("eponym:disease"), or the id of a
        rule that matches medical text ("recovery/genomic").
    """

    start: int
    end: int
    rule: str

    @property
    def form(self) -> str:
        """The form of the term ("term", "eponym", "name" or "symbol"), or the id of the recovery rule."""
        return self.rule.partition(":")[0]

    @property
    def named(self) -> bool:
        """Whether the text contains a name after which the term is called: "Parkinson's disease", "Parkinson"."""
        return self.form in ("eponym", "name")

    @property
    def listed(self) -> bool:
        """Whether the text is an eponym with a head word that the medical dictionary contains."""
        return self.form == "eponym" and self.rule.partition(":")[2] not in _UNLISTED

    @property
    def headed(self) -> bool:
        """Whether the text is medical in any context, because it has a head word or contains no name."""
        return self.form != "name"

    @property
    def weak(self) -> bool:
        """Whether the evidence is weak, because the text is an abbreviation, a unit, a match of a recovery rule, or a
        name that only the word before it makes medical.
        """
        if self.form == "symbol" or self.rule.startswith("recovery/") or self.rule == "term:unit":
            return True
        return self.rule.endswith(":technical")

    @property
    def amount(self) -> bool:
        """Whether the text is an amount or its unit, which a part of a code can look like."""
        return self.rule in _AMOUNTS

    @property
    def unmistakable(self) -> bool:
        """Whether no identifier is written like the text: a genetic variant, a code with its system, or a score with
        its instrument and maximum.
        """
        return self.rule in _UNMISTAKABLE


class Interval(Protocol):
    """The interface of objects with a start and an end offset in a text."""

    @property
    def start(self) -> int:
        """Offset of the first character."""

    @property
    def end(self) -> int:
        """Offset after the last character."""


S = TypeVar("S", bound=Interval)


class SpanIndex(Generic[S]):
    """Spans of a text that can be looked up by position, without a scan of all spans.

    items (Iterable[Interval]): the spans, in any order. They may overlap.
    """

    def __init__(self, items: Iterable[S]) -> None:
        self._items = sorted(items, key=lambda item: (item.start, -item.end))
        self._starts = [item.start for item in self._items]
        self._reach = list(accumulate((item.end for item in self._items), max))

    def __call__(self, start: int, end: int) -> list[S]:
        """Find the spans that overlap a stretch of text.

        start, end (int): character offsets, end exclusive.
        RETURNS (list[Interval]): the spans, ordered by start; of spans with the same start, the longest is first.
        """
        found = []
        at = bisect_left(self._starts, end)
        while at and self._reach[at - 1] > start:
            at -= 1
            if self._items[at].end > start:
                found.append(self._items[at])
        return found[::-1]
