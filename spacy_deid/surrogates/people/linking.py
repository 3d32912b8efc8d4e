"""Find out which mentions of a note name the same person, from the words of their names and their labels.

Full names come first: a name belongs to a person who has all its words, or the same given name and one of the
surnames, so that "Ana Ruiz Gil" and "Ana Ruiz de Mas" are one person. An initial matches a word that begins with it,
in either name: "Fiona D." is "F. Drysdall". Of several persons that fit, those whose mentions have the same label are
preferred, and among these the one mentioned last. Initials alone ("JM") never name a person of another label, so a
signature is not taken for the patient.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_EQUAL, _INITIAL = 4, 1  # scores of a word that a person has, and of an initial that matches


class NameWords(NamedTuple):
    """The words of a name, folded, in the nominative.

    given, surnames (tuple[str, ...]): the words of more than one letter.
    initials (tuple[str, ...]): single letters.
    """

    given: tuple[str, ...] = ()
    surnames: tuple[str, ...] = ()
    initials: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Show only numbers, because the words are part of a note."""
        return f"NameWords({len(self.given)}, {len(self.surnames)}, {len(self.initials)})"

    @property
    def words(self) -> tuple[str, ...]:
        """All words of more than one letter."""
        return self.given + self.surnames

    @property
    def fullness(self) -> tuple[int, int, int]:
        """The larger, the more the name says: number of words, of initials and of letters."""
        return len(self.words), len(self.initials), sum(map(len, self.words))


@dataclass(slots=True)
class _Person:
    """A person of a note: all words and initials of the names, and the labels of the mentions."""

    given: set[str] = field(default_factory=set)
    surnames: set[str] = field(default_factory=set)
    initials: set[str] = field(default_factory=set)
    labels: Counter[str] = field(default_factory=Counter)
    last: int = -1
    first: int = -1

    def add(self, name: NameWords) -> None:
        """Add the words of another name of the person."""
        self.given.update(name.given)
        self.surnames.update(name.surnames)
        self.initials.update(name.initials)

    def _may_sign(self, name: NameWords) -> bool:
        """Return whether initials with one that the note does not explain can be those of the person.

        "DE" can be Exarchou, whose given name the note does not have, and "BLO" Belén Lupiáñez.
        """
        if name.words or self.initials:
            return False
        if self.given and self.surnames:
            return len(name.initials) > len(self.given) + len(self.surnames)
        letters = {
            name.initials[-1],
            *(name.initials[:1] if self.given else ()),
        }  # a rare surname may be taken for both
        return any(word[0] in letters for word in self.given | self.surnames)

    def fit(self, name: NameWords, label: str) -> int:
        """Return how well a name fits the person, 0 if it does not."""
        same_label = label in self.labels
        signature = same_label and label == "CLINICIAN"
        words = self.given | self.surnames
        equal = [word for word in name.words if word in words]
        missing = [word for word in name.words if word not in words]
        free = sorted(words.difference(equal))
        score, crossed, strange = _EQUAL * len(equal), False, 0
        for letter in name.initials:
            matched = next((word for word in free if word.startswith(letter)), None)
            if matched:
                free.remove(matched)
                crossed = same_label
            elif letter not in self.initials:
                strange += 1
                continue
            score += _INITIAL
        if strange and (strange > 1 or free or not score or not signature or not self._may_sign(name)):
            return 0
        own = sorted(self.initials)
        for word in list(missing):
            if word[0] in own and (equal or crossed):
                own.remove(word[0])
                missing.remove(word)
                score += _INITIAL
        if not missing:
            return score
        # Another surname beside the same given name and surname: that of a marriage, or the second one.
        given = name.given and (set(name.given) <= self.given or self.given <= set(name.given)) and self.given
        initial = not name.given and name.initials and not free
        shared = self.surnames.intersection(name.surnames)
        return score if same_label and (given or initial) and shared else 0


def number_names(names: Sequence[NameWords], labels: Sequence[str]) -> list[int]:
    """Number the persons that names refer to, in the order of their first appearance.

    names (Sequence[NameWords]): names in the order of the text; none is empty.
    labels (Sequence[str]): canonical label of each name.
    RETURNS (list[int]): for each name the number of its person, from 1.
    """
    places: dict[tuple[NameWords, str], list[int]] = defaultdict(list)
    for i, named in enumerate(zip(names, labels, strict=True)):
        places[named].append(i)
    linker = _Linker()
    order = sorted(places, key=lambda named: named[0].fullness, reverse=True)
    fits: dict[tuple[NameWords, str], list[_Person]] = {}
    for name, label in order:
        found = fits[name, label] = linker.find(name, label) or [linker.add(name)]
        if len(found) == 1:
            linker.extend(found[0], name, label, len(places[name, label]))
    linker.complete_patient()
    numbers: dict[int, int] = {}
    out = []
    for i, (name, label) in enumerate(zip(names, labels, strict=True)):
        persons = [linker.resolve(person) for person in fits[name, label]]
        person = max(persons, key=lambda person: (label in person.labels, person.last))
        person.last = i
        out.append(numbers.setdefault(id(person), len(numbers) + 1))
    return out


class _Linker:
    """The persons of a note that were found so far, with indexes of their words and initials."""

    def __init__(self) -> None:
        self.persons: list[_Person] = []
        self._by_word: dict[str, list[_Person]] = defaultdict(list)
        self._by_letter: dict[str, list[_Person]] = defaultdict(list)
        self._by_initial: dict[str, list[_Person]] = defaultdict(list)
        self._same: dict[int, _Person] = {}

    def find(self, name: NameWords, label: str) -> list[_Person]:
        """Return the persons whom a name fits best."""
        near = [person for word in name.words for person in self._by_word[word]]
        near += [person for word in name.words for person in self._by_initial[word[0]]]
        if not name.words:
            near += [
                person for letter in name.initials for person in self._by_letter[letter] + self._by_initial[letter]
            ]
        best, found = 0, list[_Person]()
        for person in {id(person): person for person in near}.values():
            same = label in person.labels
            score = person.fit(name, label)
            if not score or (not name.words and not same):
                continue
            if score > best:
                best, found = score, []
            if score == best:
                found.append(person)
        return [person for person in found if label in person.labels] or found

    def add(self, name: NameWords) -> _Person:
        """Add a new person."""
        self.persons.append(_Person())
        return self.persons[-1]

    def extend(self, person: _Person, name: NameWords, label: str, times: int) -> None:
        """Add a name to a person."""
        for words, known, index in (
            (name.given, person.given, self._by_word),
            (name.surnames, person.surnames, self._by_word),
            (name.initials, person.initials, self._by_initial),
        ):
            for word in words:
                if word not in known:
                    index[word].append(person)
                    if index is self._by_word:
                        self._by_letter[word[0]].append(person)
        person.add(name)
        person.labels[label] += times

    def complete_patient(self) -> None:
        """Join the given names and the surnames of the patient that are in fields of their own."""
        patients = [person for person in self.persons if "PATIENT" in person.labels]
        kinds = [(bool(person.given), bool(person.surnames), bool(person.initials)) for person in patients]
        if sorted(kinds) == [(False, True, False), (True, False, False)]:
            first, second = patients
            self._same[id(second)] = first
            first.add(NameWords(tuple(second.given), tuple(second.surnames)))
            first.labels += second.labels

    def resolve(self, person: _Person) -> _Person:
        """Return the person with whom a person was joined, or the person itself."""
        return self._same.get(id(person), person)
