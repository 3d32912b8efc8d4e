"""Medical terms from an institution's own notes: phrases that its clinicians share with the scientific literature.

A phrase of up to three words is a medical term if it also stands in scientific text, in the notes of several patients,
and is neither in the institution's dictionaries of identifiers nor, as a whole, a name of a person or a place (the
"harvest" of Duke's de-identification system). What the dictionaries find in a note is cut out before phrases are made,
so that no part of an identifier becomes part of a term.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..background.counts import PhraseCounts, stretches
from ..dictionaries.matcher import Match
from ..dictionaries.terms import function_words, is_person_name, is_too_general
from .build import is_place, never_medical
from .dictionary import MedicalTerm

_COLUMNS = ("term", "kind", "patients", "mentions", "science")
_REMEMBERED = 1 << 20  # look-ups
_LONGEST_NUMBER = 4  # digits; a longer one is an identifier or a measurement

Finder = Callable[[str, str], Iterable[Match]]


class Note(NamedTuple):
    """A note of a patient.

    patient (str): the patient's id.
    text (str): the note.
    """

    patient: str
    text: str


class Harvested(NamedTuple):
    """A phrase that was taken.

    term (str): folded words.
    patients (int): patients that have it; counting stops at twice the number that is needed.
    mentions (int): how often it stands in the notes.
    science (int): how often it stands in scientific text.
    """

    term: str
    patients: int
    mentions: int
    science: int


class Harvest(NamedTuple):
    """The result of a harvest.

    taken (list[Harvested]): the phrases that were collected, the most frequent first.
    left (Counter[str]): reason → number of phrases that were left out for it.
    notes, patients (int): numbers of notes and patients that were read.
    """

    taken: list[Harvested]
    left: Counter[str]
    notes: int
    patients: int

    def terms(self, kind: str = "other") -> Iterator[MedicalTerm]:
        """The phrases as terms.

        kind (str): their kind.
        YIELDS (MedicalTerm): the terms.
        """
        return (MedicalTerm(row.term, kind) for row in self.taken)

    def to_csv(self, kind: str = "other") -> str:
        """The report: a list that `medical build` reads, with the counts beside the terms.

        kind (str): kind of the terms.
        RETURNS (str): CSV.
        """
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((row.term, kind, row.patients, row.mentions, row.science) for row in self.taken)
        return file.getvalue()


class _Seen:
    """Who has a phrase, and how often it stands there."""

    __slots__ = ("mentions", "patients")

    def __init__(self) -> None:
        self.patients: set[int] = set()
        self.mentions = 0


def harvest(
    notes: Iterable[Note],
    science: PhraseCounts,
    lang: str,
    *,
    min_patients: int = 10,
    min_science: int = 1,
    identifiers: Finder | None = None,
) -> Harvest:
    """Collect the phrases that notes share with science.

    notes (Iterable[Note]): the notes, read once.
    science (PhraseCounts): counts of scientific text. What is kept in memory is bounded by its size.
    lang (str): ISO 639-1 code, for the words that are never medical.
    min_patients (int): patients that must have a phrase.
    min_science (int): how often it must stand in scientific text.
    identifiers (Callable): patient and text of a note → what the institution's dictionaries find in it.
    RETURNS (Harvest): phrases and counts.
    """
    seen: dict[str, _Seen] = {}
    patients: set[int] = set()
    read = 0
    common: dict[str, bool] = {}
    for patient, text in notes:
        read += 1
        number = hash(patient)
        patients.add(number)
        # a line end, which no phrase crosses, replaces each identifier
        pieces, end = [], 0
        for match in sorted(identifiers(patient, text) if identifiers else ()):
            pieces.append(text[end : match.start] if match.start > end else "")
            end = max(end, match.end)
        for phrase in _phrases("\n".join([*pieces, text[end:]]), science, min_science, common):
            entry = seen.setdefault(phrase, _Seen())
            entry.mentions += 1
            if len(entry.patients) < 2 * min_patients:
                entry.patients.add(number)
    taken: list[Harvested] = []
    left: Counter[str] = Counter()
    for phrase, entry in seen.items():
        if len(entry.patients) < min_patients:
            left["too few patients"] += 1
        elif reason := _objection(phrase, lang):
            left[reason] += 1
        else:
            taken.append(Harvested(phrase, len(entry.patients), entry.mentions, science.count(phrase)))
    taken.sort(key=lambda row: (-row.mentions, row.term))
    return Harvest(taken, left, read, len(patients))


def _objection(phrase: str, lang: str) -> str:
    """Why a phrase is no term; empty if it may be one."""
    words = phrase.split()
    if is_too_general(phrase) or words[0] in function_words() or words[-1] in function_words():
        return "function words"
    if not any(word.isalpha() for word in words) or any(
        word.isdigit() and len(word) > _LONGEST_NUMBER for word in words
    ):
        return "numbers"
    if is_person_name(phrase):
        return "person's name"
    if is_place(phrase):
        return "place"
    if not never_medical(lang).isdisjoint(words):
        return "kinship, time, trade, institution"
    return ""


def _phrases(text: str, science: PhraseCounts, least: int, common: dict[str, bool]) -> Iterator[str]:
    """The phrases of a text that stand in scientific text too."""
    if len(common) > _REMEMBERED:
        common.clear()
    for words in stretches(text):
        for word in words:
            if word not in common:
                common[word] = science.count(word) >= least
        for i in range(len(words)):
            for size in range(1, science.max_words + 1):
                if i + size > len(words) or not common[words[i + size - 1]]:
                    break
                phrase = " ".join(words[i : i + size])
                if phrase not in common:
                    common[phrase] = science.count(phrase) >= least
                if not common[phrase]:
                    break
                yield phrase
