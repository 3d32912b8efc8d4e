"""Mentions: the values to replace in a note, each with its label and the text around it.

The functions find out which mentions name the same person or value (`number_entities`), and which names must not be
kept because their label is uncertain (`find_doubts`).

A policy that keeps the names of clinicians must not keep the name of a patient that a detector labelled as a
clinician. So a name is kept only if the evidence is unanimous, certain and from more than one detector, and if the
same name has no other label in the note. All other names are replaced, and the trace gives the reason.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import NamedTuple, Self

from ..lang import shared_words
from ..lang.text import fold

AROUND = 60
"""Maximum number of characters of context on each side of a mention."""

PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
"""Canonical labels of the names of persons."""

DISPUTED = "disputed"
"""Doubt: a detector assigned another label to the name or to a part of it."""
UNSURE = "unsure"
"""Doubt: a word of the name was found by only one detector, without a validated detection, or with too low scores."""
OTHERWISE = "called otherwise"
# Doubt: a word labelled SEX or KINSHIP that is not in the lists of such words.
UNLISTED = "not a listed word"
DESCRIBING = frozenset({"SEX", "KINSHIP"})
"""Doubt: the same person has another label in the note or in the patient's record."""

_WORD = re.compile(r"\w+")


class Mention(NamedTuple):
    """A value to replace, as it occurs at one place in a note, with the text around it.

    text (str): the value as written in the note, including line breaks.
    label (str): canonical label, such as "PATIENT".
    before (str): up to `AROUND` characters of the note before it.
    after (str): up to `AROUND` characters of the note after it.
    variant (int): 0 for the surrogate that all mentions of a value share. With another number the value gets a
        different surrogate, for strategies such as `randomized` that vary the surrogates of a value.
    """

    text: str
    label: str
    before: str = ""
    after: str = ""
    variant: int = 0

    def __repr__(self) -> str:
        """Show only label and length, because the text is part of a note."""
        return f"Mention(label={self.label!r}, length={len(self.text)}, variant={self.variant})"


def find_mentions(text: str, spans: Sequence[tuple[int, int, str]]) -> list[Mention]:
    """Make a `Mention` of each labelled span of a note.

    text (str): the note.
    spans (Sequence[tuple[int, int, str]]): start, end and canonical label of spans that do not overlap, in the order
        of the text.
    RETURNS (list[Mention]): the mentions with their context.
    """
    return [
        Mention(text[start:end], label, text[max(0, start - AROUND) : start], text[end : end + AROUND])
        for start, end, label in spans
    ]


@dataclass(frozen=True, slots=True)
class NameOccurrence:
    """A name and the text around it, from which a language model can choose another name that fits there.

    text (str): the mention with its context.
    places (Sequence[tuple[int, int]]): start and end in `text` of each name of the mention (given name, surname …), in
        ascending order.
    number (int): index in `places` of this name.
    write (Callable[[str], str]): takes another name in the nominative and returns it in the form of this one: the same
        grammatical case and capitals.
    """

    text: str
    places: Sequence[tuple[int, int]]
    number: int
    write: Callable[[str], str]

    def __repr__(self) -> str:
        """Show only the position of the name, because the text is part of a note."""
        return f"NameOccurrence({self.number} of {len(self.places)})"

    @classmethod
    def of(cls, mention: Mention, places: Sequence[tuple[int, int]], number: int, write: Callable[[str], str]) -> Self:
        """Create the occurrence of a name in a mention; here `places` are offsets in the mention."""
        shift = len(mention.before)
        text = mention.before + mention.text + mention.after
        return cls(text, [(shift + start, shift + end) for start, end in places], number, write)


# --- entities ---


def number_mentions(mentions: Sequence[str]) -> list[int]:
    """Number values in the order of their first appearance.

    Values that differ only in case or accents (that are equal after `fold`) have the same number.

    mentions (Sequence[str]): values in the order of the text.
    RETURNS (list[int]): for each value its number, from 1.
    """
    seen: dict[str, int] = {}
    return [seen.setdefault(fold(mention), len(seen) + 1) for mention in mentions]


def number_persons(mentions: Sequence[str]) -> list[int]:
    """Number the persons that names refer to, in the order of their first appearance.

    A name refers to the same person as a fuller name that contains all its words; an initial matches a word that
    begins with it. If several fuller names match, as "Ana García" and "Luis García" do for "García", the one mentioned
    last is chosen.

    mentions (Sequence[str]): names in the order of the text.
    RETURNS (list[int]): for each name the number of its person, from 1.
    """
    words = [_words(mention) for mention in mentions]
    different = list(dict.fromkeys(words))
    fuller_names = _find_fuller_names(different)
    persons = {i for i, name in enumerate(different) if all(len(different[j]) <= len(name) for j in fuller_names[i])}
    fits = {name: [j for j in sorted(fuller_names[i]) if j in persons] for i, name in enumerate(different)}
    forms: dict[int, list[frozenset[str]]] = defaultdict(list)
    for name, fuller in fits.items():
        for person in fuller:
            forms[person].append(name)
    # The person that each form refers to at this place: of those that it fits, the one mentioned last.
    current = {name: fuller[0] for name, fuller in fits.items()}
    numbers: dict[int, int] = {}
    out, last = [], -1
    for name in words:
        person = current[name]
        if person != last:
            current.update(dict.fromkeys(forms[person], person))
            last = person
        out.append(numbers.setdefault(person, len(numbers) + 1))
    return out


def number_entities(mentions: Sequence[Mention]) -> list[int]:
    """Number the entities that mentions refer to, so that mentions of one entity have the same number.

    Names of persons are compared as in `number_persons`. Other mentions refer to the same entity if they have the same
    label and differ only in case or accents.

    mentions (Sequence[Mention]): in the order of the text.
    RETURNS (list[int]): for each mention the number of its entity, from 1.
    """
    places = [i for i, mention in enumerate(mentions) if mention.label in PERSONS]
    numbers = dict(zip(places, number_persons([mentions[i].text for i in places]), strict=True))
    unused = count(max(numbers.values(), default=0) + 1)
    seen: dict[tuple[str, str], int] = {}
    for i, mention in enumerate(mentions):
        if i not in numbers:
            value = (mention.label, fold(mention.text))
            if value not in seen:
                seen[value] = next(unused)
            numbers[i] = seen[value]
    return [numbers[i] for i in range(len(mentions))]


class Detection(NamedTuple):
    """The fields of a detection that decide whether a name may be kept.

    start, end (int): character offsets.
    label (str): canonical label.
    source (str): name of the detector.
    score (float): probability that the detection is correct, from 0 to 1.
    validated (bool): whether the span is an exact match of a dictionary entry, or was confirmed by a person.
    """

    start: int
    end: int
    label: str
    source: str
    score: float
    validated: bool


def find_doubts(
    text: str,
    spans: Sequence[tuple[int, int, str]],
    detections: Sequence[Detection],
    names: Sequence[tuple[str, str]],
    sure: float,
) -> list[str]:
    """Check for each name whether its label is certain enough to keep the name, and return the reason if it is not.

    A name may be kept if no detector gave it another label, if each of its words was found by two detectors or by a
    validated detection, and if the same person has no other label.

    text (str): the note.
    spans (Sequence[tuple[int, int, str]]): start, end and canonical label of the names, which do not overlap, in the
        order of the text.
    detections (Sequence[Detection]): all detections of the note, in any order.
    names (Sequence[tuple[str, str]]): names and labels of all persons of the note and of the patient's record.
    sure (float): minimum score of a detection that supports a label.
    RETURNS (list[str]): for each name `DISPUTED`, `UNSURE` or `OTHERWISE`, or "" if it may be kept.
    """
    touching: list[list[Detection]] = [[] for _ in spans]
    starts, ends = [start for start, _, _ in spans], [end for _, end, _ in spans]
    for item in detections:
        for i in range(bisect_right(ends, item.start), bisect_left(starts, item.end)):
            touching[i].append(item)
    kept = [(text[start:end], label) for start, end, label in spans]
    others = find_other_labels([*kept, *names])
    doubts = []
    for (start, end, label), mention, here in zip(spans, kept, touching, strict=True):
        # Each word of a name needs two detectors, or a validated detection.
        sure_here = [item for item in here if item.score >= sure]
        words = [(start + word.start(), start + word.end()) for word in _WORD.finditer(text[start:end])]
        is_sure = bool(words)
        for first, last in words:
            over = [item for item in sure_here if item.start <= first and last <= item.end]
            is_sure &= len({item.source for item in over}) > 1 or any(item.validated for item in over)
        if any(item.label != label for item in here):
            doubts.append(DISPUTED)
        elif not is_sure:
            doubts.append(UNSURE)
        else:
            doubts.append(OTHERWISE if others[mention] else "")
    return doubts


def find_other_labels(mentions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    """Find for each name the other labels with which the same person occurs.

    Two names are assumed to belong to the same person if one has all the words of the other, as "Dr. Khattabi" and
    "Mohamed El Khattabi" do. Unlike in `number_persons`, a surname alone matches every fuller name that contains it.

    mentions (Sequence[tuple[str, str]]): names and canonical labels, in any order.
    RETURNS (dict[tuple[str, str], set[str]]): (name, label) → the other labels of this person, empty if it has none.
    """
    words = {mention: _words(mention[0]) for mention in dict.fromkeys(mentions)}
    labels: dict[frozenset[str], set[str]] = defaultdict(set)
    for (_, label), name in words.items():
        labels[name].add(label)
    different = list(labels)
    found = {name: set(here) for name, here in labels.items()}
    for name, fuller in zip(different, _find_fuller_names(different), strict=True):
        for i in fuller:
            found[name] |= labels[different[i]]
            found[different[i]] |= labels[name]
    return {mention: found[name] - {mention[1]} for mention, name in words.items()}


def _words(name: str) -> frozenset[str]:
    """Return the folded words of a name without titles, or the titles if there is nothing else; never empty."""
    words = frozenset(_WORD.findall(fold(name)))
    return words - _titles() or words or frozenset({fold(name)})


@cache
def _titles() -> frozenset[str]:
    """Return the titles before names in all languages, such as "dr", folded."""
    return frozenset(shared_words("people.toml", "titles", "ignored"))


def _find_fuller_names(names: Sequence[frozenset[str]]) -> list[set[int]]:
    """Return for each name the indices of the names that have all its words, including itself.

    An initial matches a word that begins with it. Names are indexed by word and initial, because comparing every pair
    takes minutes for a long document.
    """
    having: dict[str, set[int]] = defaultdict(set)
    for i, name in enumerate(names):
        for key in name | {word[:1] for word in name}:
            having[key].add(i)
    return [set.intersection(*sorted((having[word] for word in name), key=len)) for name in names]


def is_listed(text: str, label: str) -> bool:
    """Whether a mention consists of listed words for sex or kinship ("hermano mayor"), which identify nobody.

    text (str): the mention.
    label (str): SEX or KINSHIP, the table of ``describing`` in the note_words.toml of the languages.
    RETURNS (bool): True if all its words are in the lists of any language, and one of them says the sex or kinship.
    """
    words = {word.lower() for word in _WORD.findall(text)}
    known = set(shared_words("note_words.toml", "describing", label))
    return bool(words & known) and words <= known.union(shared_words("note_words.toml", "describing", "beside"))
