"""Combine the dictionaries of an export with those of the institution, which stay where they are.

An export, such as one request to the service, has few terms of its own, whereas the institution may have those of
millions of patients. So a store can name another one, its base, and contain only the additions.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .institution import Institution
from .matcher import Match
from .normalise import Normalised, normalise
from .patients import PatientIndex, PatientTerms
from .terms import Tag, TaggedTerm

if TYPE_CHECKING:
    from .store import LocalStore


class LayeredInstitution:
    """Finds the terms of an institution in two dictionaries.

    own (Institution): the added terms.
    base (LocalStore): the store that they are added to.
    """

    def __init__(self, own: Institution, base: "LocalStore") -> None:
        self._own, self._base = own, base.institution

    def __len__(self) -> int:
        """Return the number of nodes of both."""
        return len(self._own) + len(self._base)

    def find(self, text: str, folded: Normalised | None = None) -> list[Match]:
        """Find the terms in a text; see `Institution.find`. Matches of the two dictionaries can overlap.

        text (str): the original text.
        folded (Normalised): the same text, normalised; None to compute it.
        RETURNS (list[Match]): the matches in text order.
        """
        folded = folded or normalise(text)
        return sorted(self._own.find(text, folded) + self._base.find(text, folded), key=lambda match: match[:2])


class LayeredPatients:
    """Reads the terms of patients from two indexes. The terms of a patient in the first one include those of the base.

    own (PatientIndex): the index with the added terms.
    base (LocalStore): the store that they are added to.
    """

    def __init__(self, own: PatientIndex, base: "LocalStore") -> None:
        self._own, self._base = own, base.patients

    def find(self, patient_id: str) -> PatientTerms | None:
        """Read the terms of a patient and prepare them for searching; see `PatientIndex.find`."""
        return self._own.find(patient_id) or self._base.find(patient_id)

    def __contains__(self, patient_id: str) -> bool:
        """Return whether one of the indexes has at least one term of a patient."""
        return patient_id in self._own or patient_id in self._base

    def tagged_terms(self, patient_id: str) -> list[TaggedTerm]:
        """Read the terms of a patient as they are stored; see `PatientIndex.tagged_terms`."""
        return self._own.tagged_terms(patient_id) or self._base.tagged_terms(patient_id)

    def ids(self) -> Iterator[str]:
        """Yield the patient id of each row. The id of a patient with rows in both indexes is repeated."""
        yield from self._own.ids()
        yield from self._base.ids()

    def terms(self) -> Iterator[tuple[str, Tag]]:
        """Yield the terms of all patients with their tags."""
        yield from self._own.terms()
        yield from self._base.terms()
