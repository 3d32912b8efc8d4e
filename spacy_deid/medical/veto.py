"""Why medical text stays protected: other detections, and the persons who are named in the note.

A patient's or relative's name is never a medical term in that note. A clinician's name is one with its head word:
"Dr. Parkinson started Parkinson's medication".
"""

import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words
from ..lang import shared_words
from .name_context import NameContext
from .use import IDENTIFIERS, PERSONS, MedicalUse, SpanIndex

_ROLES = PERSONS - {"PERSON"}
_SURE = 0.5  # a detector that is surer of a number or a word than this knows better than a list of words
_OWN = "patient:"  # rules of the patient's own index
_STRONG = frozenset({"title", "key", "initial", "given", "credentials"})
_REACH = 24  # characters before a stretch
_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = 3  # letters of a remembered name
_LONGEST_ENDING = 4  # letters that a case or a possessive adds at most: "Crohnin", "Parkinsonille"


class Detected(NamedTuple):
    """What a veto needs to know of a detection.

    start, end (int): characters, end exclusive.
    label (str): canonical label.
    rule (str): name of the rule; a rule of a rules file contains "/".
    listed (bool): whether it comes from a dictionary of the institution or of the patient.
    score (float): probability that it is an identifier.
    """

    start: int
    end: int
    label: str
    rule: str
    listed: bool
    score: float = 1.0

    @property
    def own(self) -> bool:
        """Whether it is one of the patient's own identifiers."""
        return self.rule.startswith(_OWN)


class Veto:
    """Decides whether medical text stays protected.

    text (str): the note.
    records (Iterable[Detected]): the detections.
    ents (Iterable[tuple[int, int, str]]): the merged entities: start, end and label.
    uses (SpanIndex[MedicalUse]): the medical text of the note.
    context (NameContext): decides whether names are persons' by the words around them.
    checked (Collection[str]): rules that found a valid check digit, which makes an identifier certain.
    labels (Collection[str]): labels that may be recovered.
    """

    def __init__(
        self,
        text: str,
        records: Iterable[Detected],
        ents: Iterable[tuple[int, int, str]],
        uses: SpanIndex[MedicalUse],
        context: NameContext,
        checked: Collection[str],
        labels: Collection[str],
    ) -> None:
        self._text, self._context, self._checked, self._labels = text, context, checked, labels
        self._names = PersonNames()
        records = list(records)
        self._records = SpanIndex(records)
        for item in records:
            if item.label in PERSONS and (item.own or (item.listed and item.label in _ROLES)):
                self._names.add(text[item.start : item.end], clinician=item.label == "CLINICIAN" and not item.own)
        for start, end, label in ents:
            if label in PERSONS and not uses(start, end):
                name = self._text[start:end]
                words = [word for word in _WORD.findall(name) if word[0].isupper()]
                ruled = any(
                    "/" in item.rule and item.label in PERSONS and not item.listed
                    for item in self._records(start, end)
                )
                if ruled or len(words) > 1 or self._context.person(self._text, start, end) in _STRONG:
                    self._names.add(name, clinician=label == "CLINICIAN" or self._context.clinician(self._text, start))

    def __call__(self, start: int, end: int, use: MedicalUse) -> bool:
        """Whether text stays protected.

        start, end (int): characters of the text.
        use (MedicalUse): the reason to release it.
        RETURNS (bool): True if it stays protected.
        """
        if use.weak and _room_pattern().search(self._text, max(0, start - _REACH), start):  # "Room L4" is no vertebra
            return True
        near = self._records(start, end)
        if any(
            self._forbids(item, use) or (item.label == "AGE" and _age_pattern().match(self._text, end))
            for item in near
        ):
            return True
        return self._names.holds(self._text[start:end], headed=use.headed)

    def _forbids(self, item: Detected, use: MedicalUse) -> bool:
        """Whether a detection forbids the release."""
        if item.own or item.rule in self._checked or item.label not in self._labels:
            return True
        if use.is_variant:
            return item.listed or ("/" in item.rule and item.label in IDENTIFIERS)
        if item.label in IDENTIFIERS or (item.label == "ROOM" and use.form == "symbol"):
            return True
        if use.weak or (not use.named and item.label not in PERSONS):
            return item.listed or "/" in item.rule or item.score >= _SURE
        return item.listed and item.label in _ROLES and not use.headed


class PersonNames:
    """The names of the persons in a note."""

    def __init__(self) -> None:
        self._persons: set[str] = set()
        self._clinicians: set[str] = set()

    def add(self, text: str, *, clinician: bool) -> None:
        """Remember the words of a name.

        text (str): the name.
        clinician (bool): whether it is a clinician's name, by its title or label.
        """
        (self._clinicians if clinician else self._persons).update(_words(text))

    def holds(self, text: str, *, headed: bool) -> bool:
        """Whether a medical term contains the name of one of the persons.

        text (str): the term.
        headed (bool): whether it has a head word, so that clinicians' names do not count.
        RETURNS (bool): True if the term must not be recovered.
        """
        names = self._persons if headed else self._persons | self._clinicians
        return any(_same(word, name) for word in _words(text) for name in names)


@cache
def _room_pattern() -> re.Pattern[str]:
    """Compile the expression for a word before the number of a room or bed."""
    words = "|".join(shared_words("note_words.toml", "numbers", "before_room"))
    return re.compile(rf"(?<!\w)(?:{words})[.:]?[ ]{{1,2}}$", re.IGNORECASE)


@cache
def _age_pattern() -> re.Pattern[str]:
    """Compile the expression for a unit after an age."""
    words = "|".join(shared_words("note_words.toml", "numbers", "after_number"))
    return re.compile(rf"[ -]?(?:{words})", re.IGNORECASE)


def _words(text: str) -> set[str]:
    """The words of a text that can be names, in normal form."""
    found = {normal_form(word) for word in _WORD.findall(text)}
    return {word for word in found if len(word) >= _SHORTEST} - function_words()


def _same(first: str, second: str) -> bool:
    """Whether two words are the same name, except for an ending."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short) and len(long) - len(short) <= _LONGEST_ENDING
