"""What the dictionaries of an EHR find in one note: terms of the institution, and those of the note's own patient."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..patient_ids import normal_id
from .entries import OWN
from .fuzzy import fuzzy_find
from .matcher import Match
from .normalise import Normalised
from .patients import PatientTerms
from .store import LocalStore

__all__ = ["Chosen", "choose", "search"]


class Chosen(NamedTuple):
    """What is used for a note.

    own (PatientTerms | None): the terms of its patient; None if there are none.
    missing (str): why there are none, in words; "" if there are.
    """

    own: PatientTerms | None
    missing: str


def choose(store: LocalStore, value: Any) -> Chosen:
    """Choose the terms of a patient.

    store (LocalStore): the dictionaries.
    value (Any): the id, as text or number; None, not a number or "" if the note has none.
    RETURNS (Chosen): the terms, or what is missing.
    """
    patient_id = normal_id(value)
    own = store.patient(patient_id) if patient_id else None
    return Chosen(own, "" if own is not None else "unknown patient_id" if patient_id else "no patient_id")


def search(
    store: LocalStore, own: PatientTerms | None, text: str, folded: Normalised, is_word: Callable[[str], bool] | None
) -> list[Match]:
    """Search a note.

    store (LocalStore): the dictionaries.
    own (PatientTerms | None): the terms of the note's patient.
    text (str): the note.
    folded (Normalised): the same, folded.
    is_word (Callable | None): whether a folded word is one of the language; None to let no name have a slip.
    RETURNS (list[Match]): the rules of the patient's own terms begin with `OWN`.
    """
    matches = store.institution.find(text, folded)
    if own is None:
        return matches
    mine = own.find(text, folded)
    if is_word:
        mine += fuzzy_find(text, own.entries, folded, is_word)
    return matches + [match._replace(rule=OWN + match.rule) for match in mine]
