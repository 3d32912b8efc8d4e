"""Who is known: full names and numbers of an institution's people and patients, which no surrogate may be.

The dictionaries have a patient's terms by the patient's id; here the question is whether a value belongs to anyone.
The names and numbers of all patients are hashed when the first is asked for, with a key that this process alone has,
into sorted integers of 64 bits: 8 bytes a term, and no name. Two values with one hash are taken for one: with ten
million terms, a surrogate in 10¹² is turned down for no reason.

A single word is no person: a hospital has every common surname on its list, and nothing would be left.
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
_SHORTEST = 5  # letters and digits of a number that tells one person from others


class Roster:
    """The people that dictionaries know. Its repr shows no name.

    store (LocalStore): the dictionaries.
    """

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._key = secrets.token_bytes(16)

    def __repr__(self) -> str:
        return f"Roster({self._store!r})"

    def __reduce__(self) -> tuple[type["Roster"], tuple[LocalStore]]:
        """Pickle the path of the dictionaries alone."""
        return Roster, (self._store,)

    def __contains__(self, value: object) -> bool:
        """Whether a value is the full name or a number of somebody.

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
        """Hashes of the names and numbers of all patients, in order."""
        return np.unique(np.fromiter(self._hashes(), dtype=np.uint64))

    def _hashes(self) -> Iterator[np.uint64]:
        for term, tag in self._store.patients.terms():
            if tag.label in _PEOPLE | _NUMBERS:
                hashed = self._hash(term, name=tag.label in _PEOPLE)
                if hashed is not None:
                    yield hashed

    def _hash(self, value: str, *, name: bool) -> np.uint64 | None:
        """The hash of a name of several words or of a number; None for what tells nobody from others."""
        folded = normal_form(value)
        if not (name and " " in folded and not any(char.isdigit() for char in folded)):
            folded = "".join(char for char in folded if char.isalnum())
            if len(folded) < _SHORTEST or not any(char.isdigit() for char in folded):
                return None
        data = folded.encode("utf-8", "surrogatepass")
        return np.uint64(int.from_bytes(hashlib.blake2b(data, digest_size=8, key=self._key).digest(), "big"))
