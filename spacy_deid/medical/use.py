"""What may be medical though a detector took it for an identifier: labels, and stretches of text with a reason."""

from typing import NamedTuple

__all__ = ["IDENTIFIERS", "NUMBERS", "PERSONS", "PLACES", "RECOVERABLE", "MedicalUse"]

PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
PLACES = frozenset(
    {
        *("HOSPITAL", "HEALTH_CENTER", "DEPARTMENT", "ORGANIZATION", "STREET", "CITY", "STATE", "TERRITORY"),
        *("COUNTRY", "LOCATION_OTHER"),
    }
)
NUMBERS = frozenset({"DATE", "PHONE", "FAX", "ZIP", "ROOM", "MRN", "ENCOUNTER_ID", "ID_OTHER", "DEVICE", "VEHICLE"})
# Numbers of persons: a genetic variant alone can be mistaken for one, and only by a model.
IDENTIFIERS = frozenset({"ACCOUNT", "EMPLOYEE_ID", "HEALTH_PLAN", "INSURANCE_ID", "LICENSE", "NATIONAL_ID", "SSN"})
RECOVERABLE = PERSONS | PLACES | NUMBERS | IDENTIFIERS | {"AGE", "SEX", "OTHER"}
_VARIANTS = frozenset(
    f"recovery/{name}"
    for name in ("genomic", "hgvs-dna", "hgvs-protein", "protein-short", "rs-number", "reference-sequence")
)


class MedicalUse(NamedTuple):
    """A stretch of medical text.

    start, end (int): characters.
    rule (str): what says so: form and kind of a dictionary's term, or the id of an expression.
    """

    start: int
    end: int
    rule: str

    @property
    def form(self) -> str:
        """The first part of the rule."""
        return self.rule.partition(":")[0]

    @property
    def named(self) -> bool:
        """Whether it bears a person's name."""
        return self.form in ("eponym", "name")

    @property
    def headed(self) -> bool:
        """Whether it is medical whatever stands around: by its head word, or because it bears no name."""
        return self.form != "name"

    @property
    def weak(self) -> bool:
        """Whether it may be something else altogether: an abbreviation, a number, a name that only a word precedes."""
        if self.form == "symbol" or self.rule.startswith("recovery/") or self.rule == "term:unit":
            return True
        return self.rule.endswith(":technical")

    @property
    def is_variant(self) -> bool:
        """Whether it is a genetic variant, which looks like nothing else."""
        return self.rule in _VARIANTS
