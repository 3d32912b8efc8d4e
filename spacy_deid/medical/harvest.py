"""Collect medical terms from an institution's own notes: the phrases that also occur in scientific literature.

A phrase of up to three words is taken as a medical term if it occurs in scientific text and in the notes of several
patients, and if it is neither in the institution's dictionaries of identifiers nor, as a whole, the name of a person
or a place (the "harvest" of Duke's de-identification system). Everything that the dictionaries of identifiers find is
removed from a note before its phrases are counted, so that no part of an identifier becomes part of a term.
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
    """A note and the patient whom it is about.

    patient (str): the patient's id.
    text (str): the text of the note.
    """

    patient: str
    text: str


class Harvested(NamedTuple):
    """A phrase that `harvest` accepted as a medical term, with the counts that justify it.

    term (str): the words of the phrase in normal form.
    patients (int): number of patients whose notes contain it. Counting stops at twice the required number.
    mentions (int): number of occurrences in the notes.
    science (int): number of occurrences in scientific text.
    """

    term: str
    patients: int
    mentions: int
    science: int


class Harvest(NamedTuple):
    """The result of `harvest`.

    taken (list[Harvested]): the accepted phrases, the most frequent first.
    left (Counter[str]): reason for a rejection, such as "place" → number of phrases that were rejected for it.
    notes, patients (int): number of notes that were read, and of distinct patients among them.
    """

    taken: list[Harvested]
    left: Counter[str]
    notes: int
    patients: int

    def terms(self, kind: str = "other") -> Iterator[MedicalTerm]:
        """Convert the accepted phrases to terms for a dictionary.

        kind (str): kind to give to all terms, one of `dictionary.KINDS`.
        YIELDS (MedicalTerm): the terms.
        """
        return (MedicalTerm(row.term, kind) for row in self.taken)

    def to_csv(self, kind: str = "other") -> str:
        """Format the accepted phrases and their counts as a CSV table, which `spacy-deid medical build` can read.

        kind (str): kind to give to all terms, one of `dictionary.KINDS`.
        RETURNS (str): CSV with the columns term, kind, patients, mentions and science.
        """
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((row.term, kind, row.patients, row.mentions, row.science) for row in self.taken)
        return file.getvalue()


class _Seen:
    """The patients whose notes contain a phrase, as hashes, and the number of its occurrences."""

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
    """Collect the phrases that occur both in notes and in scientific text.

    notes (Iterable[Note]): the notes; iterated over once.
    science (PhraseCounts): counts of phrases in scientific text. Only phrases that it contains are kept in memory.
    lang (str): ISO 639-1 code; selects the words that are never medical.
    min_patients (int): number of patients whose notes must contain a phrase.
    min_science (int): number of times that a phrase must occur in scientific text.
    identifiers (Callable): called with the patient and the text of a note; returns the identifiers that the
        institution's dictionaries find in it. None if there are no such dictionaries.
    RETURNS (Harvest): the accepted phrases, and the number of rejected ones by reason.
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
    """The reason why a phrase is not accepted as a term; "" if it is."""
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
    """Yield the phrases of a text that occur at least `least` times in scientific text; `common` caches look-ups."""
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
