"""Search a note for the terms of a store: those of the institution and those of the note's own patient."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..patient_ids import normal_id
from .broken import rejoin_lines
from .complete import extend_genitives
from .damaged import DamagedNote, Edges
from .matcher import Match
from .misspelt import find_misspelt
from .normalise import Normalised, normalise
from .patients import PatientTerms
from .store import LocalStore
from .terms import OWN_PREFIX, PERSONS


class PatientChoice(NamedTuple):
    """The patient's terms to search for in a note, or the reason why there are none.

    own (PatientTerms | None): the terms of the note's patient; None if there are none.
    missing (str): "no patient_id" or "unknown patient_id" if there are none; otherwise "".
    """

    own: PatientTerms | None
    missing: str


def select_patient_terms(store: LocalStore, value: Any) -> PatientChoice:
    """Look up the dictionary terms of the patient whom a note is about.

    store (LocalStore): the dictionaries.
    value (Any): the patient id of the note as text or number; None, NaN or "" if it has none.
    RETURNS (PatientChoice): the terms, or the reason why there are none.
    """
    patient_id = normal_id(value)
    own = store.patient(patient_id) if patient_id else None
    return PatientChoice(own, "" if own is not None else "unknown patient_id" if patient_id else "no patient_id")


def search_note(
    store: LocalStore,
    own: PatientTerms | None,
    text: str,
    folded: Normalised,
    is_word: Callable[[str], bool] | None,
    lang: str = "",
) -> list[Match]:
    """Search a note for terms of the institution and of its own patient.

    store (LocalStore): the dictionaries.
    own (PatientTerms | None): the terms of the note's patient; None to search for terms of the institution only.
    text (str): the text of the note.
    folded (Normalised): the same text, normalised.
    is_word (Callable | None): returns whether a normalised word is a word of the language, which is not taken for a
        misspelt name; None to find only what is written as in the dictionary, or broken at the end of a line. Of the
        institution, only misspelt terms of several words are found.
    lang (str): ISO 639-1 code of the note, for nicknames; "" for none.
    RETURNS (list[Match]): the matches of the institution, then those of the patient. The rules of the patient's own
        terms start with `OWN_PREFIX`.
    """
    joined = rejoin_lines(text)
    matches = store.institution.find(text, folded)
    if joined:
        matches += joined.restore(store.institution.find(joined.text))
    if is_word is not None:
        for institution in store.institutions:
            matches += find_misspelt(institution, text, folded, is_word, matches)
    matches = extend_genitives(text, matches)
    if own is None:
        return matches
    mine = _search_own(own, text, folded, is_word, lang)
    if joined:
        mine += joined.restore(_search_own(own, joined.text, normalise(joined.text), is_word, lang))
    return matches + [match._replace(rule=OWN_PREFIX + match.rule) for match in own.complete(text, mine)]


def _search_own(
    own: PatientTerms, text: str, folded: Normalised, is_word: Callable[[str], bool] | None, lang: str
) -> list[Match]:
    """Search a text for the terms of a patient, and for damaged ones where no term was found."""
    mine = own.find(text, folded)
    if is_word is None:
        return mine
    covered = {match[:2] for match in mine}
    weak = [m for m in own.weak.find(text, folded) if m[:2] not in covered and text[m.start].isupper()]
    note = DamagedNote(text, folded, is_word, lang=lang)
    found = [match for match in note.find(own.damaged, mine, weak) if match[:2] not in covered]
    edges = Edges(match for match in found if match.label in PERSONS)
    return mine + found + [match for match in weak if edges.touch(text, match.start, match.end)]
