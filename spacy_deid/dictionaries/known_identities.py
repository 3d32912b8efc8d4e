"""Check whether a value is the full name or a number of a known person, so that no surrogate is a real identity.

The patient index is keyed by patient id, whereas the question here is whether a value belongs to anyone. The names and
numbers of all patients are therefore hashed at the first request, with a random key that exists only in this process,
to a sorted array of 64-bit integers: 8 bytes per term and no names. Values with equal hashes are not distinguished;
with ten million terms, one surrogate in 10¹² is rejected without reason.

A single word does not identify a person: a hospital has every common surname on its lists.
"""

import hashlib
import secrets
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .normalise import normal_form
from .store import LocalStore

_PEOPLE = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
_NUMBERS = frozenset(
    "PHONE FAX EMAIL USERNAME SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID "
    "VEHICLE DEVICE BIOMETRIC ID_OTHER".split()
)
_SHORTEST = 5  # minimal letters and digits of a number that identifies a person


class KnownIdentities:
    """The names and numbers of the people in the dictionaries. Supports `value in identities`.

    store (LocalStore): the dictionaries.
    """

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._key = secrets.token_bytes(16)

    def __repr__(self) -> str:
        """Show the store, no names."""
        return f"KnownIdentities({self._store!r})"

    def __reduce__(self) -> tuple[type["KnownIdentities"], tuple[LocalStore]]:
        """Pickle the store, which pickles its path."""
        return KnownIdentities, (self._store,)

    def __contains__(self, value: object) -> bool:
        """Check whether a value is the full name or a number of a known person.

        value (str): a surrogate.
        """
        folded = normal_form(str(value))
        wanted = self._hash(folded, name=" " in folded) if folded else None
        if wanted is None:
            return False
        place = np.searchsorted(self._patients, wanted)
        if place < len(self._patients) and self._patients[place] == wanted:
            return True
        return any(
            match.start == 0 and match.end == len(folded) and match.label in _PEOPLE | _NUMBERS
            for match in self._store.institution.find(folded)
        )

    @cached_property
    def _patients(self) -> NDArray[np.uint64]:
        """Hashes of the names and numbers of all patients, sorted. Shape (n,), uint64."""
        return np.unique(np.fromiter(self._hashes(), dtype=np.uint64))

    def _hashes(self) -> Iterator[np.uint64]:
        """Yield the hashes of the names and numbers of all patients."""
        for term, tag in self._store.patients.terms():
            if tag.label in _PEOPLE | _NUMBERS:
                hashed = self._hash(term, name=tag.label in _PEOPLE)
                if hashed is not None:
                    yield hashed

    def _hash(self, value: str, *, name: bool) -> np.uint64 | None:
        """Hash a name of several words or a number; None for a value that does not identify a person."""
        folded = normal_form(value)
        if not (name and " " in folded and not any(char.isdigit() for char in folded)):
            folded = "".join(char for char in folded if char.isalnum())
            if len(folded) < _SHORTEST or not any(char.isdigit() for char in folded):
                return None
        data = folded.encode("utf-8", "surrogatepass")
        return np.uint64(int.from_bytes(hashlib.blake2b(data, digest_size=8, key=self._key).digest(), "big"))
