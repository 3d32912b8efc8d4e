"""Medical text in a note: what may be released although a detector took it for an identifier, and where it is."""

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
RECOVERABLE = PERSONS | PLACES | NUMBERS | IDENTIFIERS | {"AGE", "SEX", "OTHER"}
_VARIANTS = frozenset(
    f"recovery/{name}"
    for name in ("genomic", "hgvs-dna", "hgvs-protein", "protein-short", "rs-number", "reference-sequence")
)


class MedicalUse(NamedTuple):
    """Medical text.

    start, end (int): characters, end exclusive.
    rule (str): the evidence: form and kind of a dictionary's term ("eponym:disease"), or the id of a recovery
        expression ("recovery/genomic").
    """

    start: int
    end: int
    rule: str

    @property
    def form(self) -> str:
        """First part of the rule: "term", "eponym", "name", "symbol", or the id of an expression."""
        return self.rule.partition(":")[0]

    @property
    def named(self) -> bool:
        """Whether it contains a person's name."""
        return self.form in ("eponym", "name")

    @property
    def headed(self) -> bool:
        """Whether it is medical in any context: it has a head word, or contains no name."""
        return self.form != "name"

    @property
    def weak(self) -> bool:
        """Whether it may have another meaning: an abbreviation, a number, a name that only a preceding word makes
        medical.
        """
        if self.form == "symbol" or self.rule.startswith("recovery/") or self.rule == "term:unit":
            return True
        return self.rule.endswith(":technical")

    @property
    def is_variant(self) -> bool:
        """Whether it is a genetic variant, which has an unmistakable form."""
        return self.rule in _VARIANTS


class Interval(Protocol):
    """Anything with a start and an end in a text."""

    @property
    def start(self) -> int:
        """First character."""

    @property
    def end(self) -> int:
        """Character after the last one."""


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

        start, end (int): characters, end exclusive.
        RETURNS (list[Interval]): in the order of the text; of those with the same start the longest first.
        """
        found = []
        at = bisect_left(self._starts, end)
        while at and self._reach[at - 1] > start:
            at -= 1
            if self._items[at].end > start:
                found.append(self._items[at])
        return found[::-1]
