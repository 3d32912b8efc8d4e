"""Decide whether text that looks medical must stay redacted nevertheless.

The recovery of medical terms removes detections of text that is medical, such as "Parkinson's disease". This module
vetoes such a removal if another detection shows that the text is an identifier, or if a person in the same note has
the name. The name of a patient or relative is never a medical term in the note. The name of a clinician is one only
with a head word: "Dr. Parkinson started Parkinson's medication".
"""

import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words
from ..lang import shared_words
from .name_context import NameContext, eponym_words
from .use import CODES, IDENTIFIERS, PERSONS, PLACES, MedicalUse, SpanIndex

_ROLES = PERSONS - {"PERSON"}
_SURE = 0.5  # from this score on, a detection of a number or an ordinary word prevails over a list of medical words
_OWN = "patient:"  # rules of the patient's own index
_STRONG = frozenset({"title", "key", "initial", "given", "credentials"})
_REACH = 24  # characters before a stretch
_WORD = re.compile(r"[^\W\d_]+")
_LETTER_UNIT = re.compile(r"\d[ ]?[^\W\d_](?!\w)")
_AMOUNT = re.compile(r"\d[ ]?$")
_SHORTEST = 3  # letters of a remembered name
_LONGEST_ENDING = 4  # letters that a case or a possessive adds at most: "Crohnin", "Parkinsonille"


class Detected(NamedTuple):
    """A detection of an identifier, reduced to the properties that decide on a veto.

    start, end (int): character offsets, end exclusive.
    label (str): canonical label.
    rule (str): the rule that made the detection. Rules of a rules file contain "/"; those of the patient's own
        dictionary start with "patient:".
    listed (bool): whether the detection comes from a dictionary of the institution or of the patient.
    score (float): probability that the text is an identifier.
    """

    start: int
    end: int
    label: str
    rule: str
    listed: bool
    score: float = 1.0

    @property
    def own(self) -> bool:
        """Whether the text is one of the patient's own identifiers, from the patient dictionary."""
        return self.rule.startswith(_OWN)


class Veto:
    """Decides for spans of one note whether they stay redacted although they look medical. It is called with a span.

    text (str): the note.
    records (Iterable[Detected]): all detections in the note.
    ents (Iterable[tuple[int, int, str]]): the entities after merging, as start, end and label. Persons' names among
        them are also names that must not be recovered elsewhere in the note.
    uses (SpanIndex[MedicalUse]): the spans of the note that look medical.
    context (NameContext): decides by the surrounding words whether a name is that of a person.
    checked (Collection[str]): rules whose detections have a valid check digit. They are always vetoed.
    labels (Collection[str]): labels whose detections may be recovered. Those with other labels are always vetoed.
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
                alone = [word for word in words if normal_form(word) not in eponym_words()]
                if ruled or alone or len(words) > 1 or self._context.person(self._text, start, end) in _STRONG:
                    self._names.add(name, clinician=label == "CLINICIAN" or self._context.clinician(self._text, start))

    def __call__(self, start: int, end: int, use: MedicalUse) -> bool:
        """Decide whether a span stays redacted.

        start, end (int): character offsets of the span, end exclusive.
        use (MedicalUse): the evidence that the span is medical.
        RETURNS (bool): True if the span must stay redacted, False if it may be recovered.
        """
        if use.weak and _room_pattern().search(self._text, max(0, start - _REACH), start):  # "Room L4" is no vertebra
            return True
        if use.rule == "term:unit" and not _AMOUNT.search(self._text, max(0, start - _REACH), start):  # initials: "Pa"
            return True
        near = self._records(start, end)
        if any(self._forbids(item, use) or (item.label == "AGE" and self._aged(start, end)) for item in near):
            return True
        return self._names.holds(self._text[start:end], headed=use.headed)

    def _aged(self, start: int, end: int) -> bool:
        """Whether a number has a unit of an age, or a single letter, as in "2 a 9 m"."""
        text = self._text
        return bool(_age_pattern().match(text, end) or _LETTER_UNIT.search(text, start, min(len(text), end + 3)))

    def _forbids(self, item: Detected, use: MedicalUse) -> bool:
        """Whether a detection, given the evidence that the text is medical, prevents the recovery of the text."""
        if item.own or item.rule in self._checked or item.label not in self._labels:
            return True
        if use.unmistakable:
            return (item.listed and item.label not in PLACES) or ("/" in item.rule and item.label in IDENTIFIERS)
        if item.label in IDENTIFIERS or (item.label == "ROOM" and use.form == "symbol"):
            return True
        if use.amount and item.label in CODES:
            return True
        if use.weak or (item.label not in PERSONS and not use.listed):
            return item.listed or "/" in item.rule or item.score >= _SURE
        return item.listed and item.label in _ROLES and not use.headed


class PersonNames:
    """Collects the names of the persons in a note, and checks whether a medical term contains one of them."""

    def __init__(self) -> None:
        self._persons: set[str] = set()
        self._clinicians: set[str] = set()

    def add(self, text: str, *, clinician: bool) -> None:
        """Add the words of a person's name.

        text (str): the name, in any spelling; function words and words of less than three letters are ignored.
        clinician (bool): whether the person is a clinician, according to title or label.
        """
        (self._clinicians if clinician else self._persons).update(_words(text))

    def holds(self, text: str, *, headed: bool) -> bool:
        """Check whether a medical term contains the name of one of the persons, also with an inflectional ending.

        text (str): the term.
        headed (bool): whether the term has a head word ("Parkinson's disease"); clinicians' names are then ignored.
        RETURNS (bool): True if it contains a name, so that the term must not be recovered.
        """
        names = self._persons if headed else self._persons | self._clinicians
        return any(_same(word, name) for word in _words(text) for name in names)


@cache
def _room_pattern() -> re.Pattern[str]:
    """Compile the pattern, for all languages, of a word that precedes the number of a room or bed."""
    words = "|".join(shared_words("note_words.toml", "numbers", "before_room"))
    return re.compile(rf"(?<!\w)(?:{words})[.:]?[ ]{{1,2}}$", re.IGNORECASE)


@cache
def _age_pattern() -> re.Pattern[str]:
    """Compile the pattern, for all languages, of a unit that follows an age."""
    words = "|".join(shared_words("note_words.toml", "numbers", "after_number"))
    return re.compile(rf"[ -]?(?:{words})", re.IGNORECASE)


def _words(text: str) -> set[str]:
    """The words of a text that can be names, in normal form."""
    found = {normal_form(word) for word in _WORD.findall(text)}
    return {word for word in found if len(word) >= _SHORTEST} - function_words()


def _same(first: str, second: str) -> bool:
    """Whether two words are equal except for an ending of at most four letters."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short) and len(long) - len(short) <= _LONGEST_ENDING
