"""Find the names and numbers of a patient that are damaged in a note: broken up, badly scanned, or misspelt.

- *Broken up*: "V i l l a s e c a", "9045 6254", "90.456.254" (`broken.CompactText`).
- *Scanned*: "Vi11aseca", "Vi!la5eca", "9O45". Characters that a scanner confuses are compared as one character.
- *Misspelt*: one letter replaced, missing, added or swapped with the next, up to two errors in a long name. The
    distance is optimal string alignment (Damerau 1964; rapidfuzz). Numbers must match exactly, because one digit of
    difference is another number.

Many words differ from some name in one letter. Therefore a word counts as a misspelt name only if it is no word of the
language, is nowhere in the note in lower case, and is capitalised, contains a digit ("Vi1laseca"), or is next to
another part of the patient's name. A name of four letters needs a capital inside a sentence, or a word in lower case
after it at the beginning of one ("Mrak was seen"); one of three letters an additional letter or two swapped ones.
A word that is another listed name counts only between words in lower case ("seen with Susan today" of Susana), and so
does a word of the language with the first letter of a name of four or five ("we rang and Cuts agrees" of Cutts).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from .broken import NUMBER_GAP, CompactText, compact_terms, number_terms, scanned_terms
from .conditions import is_inside_sentence
from .matcher import FUZZY, Match
from .nicknames import given_names, is_nickname
from .normalise import Normalised, normal_form
from .terms import PERSONS, LocalEntry, is_too_general, name_words

_LABELS = PERSONS | {"CITY", "STREET"}
_SHORTEST = 6  # minimal length of a name with one error
_LONG = 10  # minimal length of a name with two errors
_SHORTEST_FIRST = 5  # minimal length of a name with one error that begins a sentence
_SHORTEST_SURE = 3  # minimal length of a name that is searched for in damaged forms
_SHORTEST_WORD = 4  # minimal length of a name and its form with one error if the form is a word of the language
_SHORTEST_SUM = 7  # minimal length of a name and its form with one error together, inside a sentence
_SHORTEST_SPACED = 3
_FEWEST_DIGITS = 2  # digits that are left of a scanned number
_SHORTEST_SUM_FIRST = 9  # the same at the beginning of a sentence
_MOST = 2
_CAPITALS = 0.05  # minimal share of capitalised words in a note that uses capitals
_WORD = re.compile(r"[^\W_]+")
_NAME_WORD = re.compile(r"[^\W\d_]+")
_SCANNED = str.maketrans("0158269i", "olsbzbgl")
_MISREAD = (("rn", "m"), ("vv", "w"))
_GAPS = re.compile(r"[ ,.]{1,2}|[-‐‑]")
_HYPHENS = frozenset("-‐‑")
_PARTICLES = re.compile(r"((?:[^\W\d_]{1,5} )+)([^\W\d_]+)")
_HAS_DIGIT = re.compile(r"\d")
_WORD_BEFORE = re.compile(r"([^\W_]+)[ ]$")
_ALONE_AFTER = re.compile(r"[ ]([^\W\d_A-ZÀ-ÖØ-Þ]+)(?![^\W_])|[,.;:)](?=\s|$)|$")
_REACH = 24  # characters that are examined on each side of a word


def read_scan(word: str) -> str:
    """Replace characters that a scanner confuses by one of them, so that scanned words can be compared.

    word (str): a normal form.
    RETURNS (str): the word with letters for digits: "b1asa" and "blasa" give the same.
    """
    word = word.translate(_SCANNED)
    for old, new in _MISREAD:
        word = word.replace(old, new)
    return word


class FuzzyNames(NamedTuple):
    """The words of one patient's names that are also searched for in a damaged form.

    words (Sequence[str]): the n words, in normal form.
    scanned (dict[str, int]): the words as `read_scan` returns them → their indices.
    given (dict[str, list[int]]): first letter, or "-" and the last two letters → indices of the given names.
    before (dict[int, frozenset[str]]): index of a word → what precedes it in the name: "de la" of "de la Roca".
    tags (Sequence): for each word, the pairs of label and rule of the entries that contain it.
    """

    words: Sequence[str]
    scanned: dict[str, int]
    given: dict[str, list[int]]
    before: dict[int, frozenset[str]]
    tags: Sequence[tuple[tuple[str, str], ...]]

    def __repr__(self) -> str:
        """Return a description with the number of words, without the words."""
        return f"FuzzyNames({len(self.words)} words)"


def fuzzy_names(entries: Iterable[LocalEntry]) -> FuzzyNames:
    """Collect the words of a patient's names that are long enough to be searched for in a damaged form.

    entries (Iterable[LocalEntry]): the entries of the patient, with those that also are common words: their
        misspellings are no words.
    RETURNS (FuzzyNames): the distinct words with their labels and rules.
    """
    tags: dict[str, dict[tuple[str, str], None]] = {}
    before: dict[str, set[str]] = {}
    # A combined name ("olalla villaseca") has the rule of one part; the entry of each single part has its own rule.
    for entry in sorted(entries, key=lambda entry: entry.term.count(" ")):
        if entry.label not in _LABELS:
            continue
        found = [word for word in _NAME_WORD.findall(entry.term) if len(word) >= _SHORTEST_SURE]
        for word in found if " " not in entry.term else [word for word in found if word not in tags]:
            tags.setdefault(word, {})[entry.label, entry.rule] = None
        parts = _PARTICLES.fullmatch(normal_form(entry.term)) if entry.label in PERSONS else None
        if parts and is_too_general(parts[1]):
            before.setdefault(parts[2], set()).add(parts[1])
    scanned = {read_scan(word): i for i, word in enumerate(tags)}
    given: dict[str, list[int]] = {}
    for i, word in enumerate(tags):
        if word in given_names():
            for key in (word[0], "-" + word[-2:]):
                given.setdefault(key, []).append(i)
    particles = {i: frozenset(before[word]) for i, word in enumerate(tags) if word in before}
    return FuzzyNames(list(tags), scanned, given, particles, [tuple(tag) for tag in tags.values()])


class DamagedTerms:
    """The names and numbers of one patient that are also searched for in a damaged form.

    entries (Iterable[LocalEntry]): the entries of the patient.
    names (FuzzyNames): the words of the names.
    """

    def __init__(self, entries: Iterable[LocalEntry]) -> None:
        entries = list(entries)
        self.names = fuzzy_names(entries)
        self.numbers = number_terms(entries)
        names = (e._replace(condition="") for e in entries if e.label in PERSONS and e.term.isalpha())
        self.spaced = compact_terms(names, lambda label, letters: len(letters) >= _SHORTEST_SPACED)
        self.scanned = scanned_terms(self.numbers)

    def __repr__(self) -> str:
        """Return a description with the number of names, without the names."""
        return f"DamagedTerms({len(self.names.words)} words)"


class _Word(NamedTuple):
    """A place of a word in a note: offsets in the normalised text, and whether a name is probable there.

    sure (bool): whether it is next to a part of the patient's name.
    inside (bool): whether it is capitalised inside a sentence, or next to a word that is also a name of the patient.
    joined (bool): whether it is capitalised, and a hyphen joins it to a part of the patient's name: "Mona-Lisa".
    """

    start: int
    end: int
    sure: bool
    inside: bool
    joined: bool


class DamagedNote:
    """A note, prepared to be searched for damaged names and numbers of one or more patients.

    text (str): the note.
    folded (Normalised): the same text, normalised.
    is_word (Callable): returns whether a normalised word is a word of the language, which is no misspelt name; None to
        consider all words.
    lang (str): ISO 639-1 code of the language whose nicknames are searched for; "" for none.
    strict (bool): whether words in lower case count only next to another part of the name, and names of four and five
        letters only inside a sentence.
    """

    def __init__(
        self,
        text: str,
        folded: Normalised,
        is_word: Callable[[str], bool] | None = None,
        *,
        lang: str = "",
        strict: bool = True,
    ) -> None:
        self._text, self._folded = text, folded
        self._is_word = is_word or (lambda word: False)
        self._lang = lang
        self._strict = strict and folded.capitalised_share() > _CAPITALS
        self._first = folded.origin
        self._found = [word.span() for word in _WORD.finditer(folded.text) if word[0][:1] and not word[0].isdigit()]

    def find(self, terms: DamagedTerms, exact: Iterable[Match] = (), weak: Iterable[Match] = ()) -> list[Match]:
        """Find damaged names and numbers.

        terms (DamagedTerms): the terms of a patient.
        exact (Iterable[Match]): the exact matches of the same patient; words next to a name among them are more
            probably names.
        weak (Iterable[Match]): words that are also names of the patient.
        RETURNS (list[Match]): the matches. The rules end with `FUZZY`, except of numbers in other groups.
        """
        return [*self.find_names(terms.names, exact, weak), *self._find_numbers(terms), *self._find_spaced(terms)]

    def _find_numbers(self, terms: DamagedTerms) -> list[Match]:
        """Find numbers in other groups, and numbers with letters that a scanner confuses with digits."""
        if not terms.numbers:
            return []
        found = CompactText(self._folded, NUMBER_GAP).find(terms.numbers)
        scanned = CompactText(self._folded, NUMBER_GAP, scanned=True).find(terms.scanned)
        known = {match[:2] for match in found}
        half = [m for m in scanned if sum(map(str.isdigit, self._text[m.start : m.end])) >= _FEWEST_DIGITS]
        return found + [match._replace(rule=match.rule + FUZZY) for match in half if match[:2] not in known]

    def _find_spaced(self, terms: DamagedTerms) -> list[Match]:
        """Find names with a space or another character after each letter."""
        if not terms.spaced:
            return []
        found = CompactText(self._folded, NUMBER_GAP).find(terms.spaced)
        spaced = [m for m in found if _is_spaced(self._text[m.start : m.end])]
        return [match._replace(rule=match.rule + FUZZY) for match in spaced]

    def find_names(self, names: FuzzyNames, exact: Iterable[Match] = (), weak: Iterable[Match] = ()) -> list[Match]:
        """Find the words of the note that are names in a damaged form.

        names (FuzzyNames): the names of one patient.
        exact, weak (Iterable[Match]): as for `find`.
        RETURNS (list[Match]): the matches in text order. Their rules end with `FUZZY`.
        """
        if not names.words:
            return []
        exact = [match for match in exact if match.label in PERSONS]
        found = self._similar(names, exact, weak)
        if found:  # scanned words next to these are parts of the same name
            beside = self._similar(names, [*exact, *self._matches(found)], weak)
            found |= {place for place in beside if _HAS_DIGIT.search(self._folded.text, place[0], place[1])}
        return self._matches(found)

    def _similar(
        self, names: FuzzyNames, exact: Sequence[Match], weak: Iterable[Match]
    ) -> set[tuple[int, int, tuple[str, str]]]:
        """Return the offsets of damaged names in the normalised text, each with a label and a rule."""
        places: dict[str, list[_Word]] = {}
        for place in self._candidates(names, exact, weak):
            places.setdefault(self._folded.text[place.start : place.end], []).append(place)
        found = set()
        for word, i, distance in _pair(list(places), names):
            for place in places[word]:
                if self._is_name(word, place, names.words[i], distance):
                    start = self._start_with_particles(place.start, names.before.get(i, ()))
                    found |= {(start, place.end, tag) for tag in names.tags[i]}
        for word, several in places.items() if self._lang else ():
            if (named := self._find_nickname(word, several, names)) is not None:
                found |= {(place.start, place.end, tag) for place in several for tag in names.tags[named]}
        return found

    def _start_with_particles(self, start: int, before: Iterable[str]) -> int:
        """Return the start of a name with its particles, which can be scanned: "de 1a H0z"."""
        for particles in sorted(before, key=len, reverse=True):
            if read_scan(self._folded.text[max(0, start - len(particles)) : start]) == read_scan(particles):
                return start - len(particles)
        return start

    def _matches(self, found: Iterable[tuple[int, int, tuple[str, str]]]) -> list[Match]:
        """Return matches in the original text, in its order, with the suffix `FUZZY`."""
        ordered = sorted(found)
        if not ordered:
            return []
        starts, ends = (np.array(column) for column in list(zip(*ordered, strict=True))[:2])
        first, last = self._folded.original(starts, ends)
        return [
            Match(start, end, label, rule + FUZZY)
            for start, end, (_, _, (label, rule)) in zip(first, last, ordered, strict=True)
        ]

    def _find_nickname(self, word: str, places: Sequence[_Word], names: FuzzyNames) -> int | None:
        """Return the index of the given name of which a word is a derived nickname; None if it is none. A word counts
        only if it is capitalised inside a sentence or next to a part of the name somewhere in the note."""
        if not any((place.sure or place.inside) and self._is_title(place) for place in places):
            return None
        if word in self._lowercase or any(map(str.isdigit, word)) or self._is_word(word):
            return None
        near = [*names.given.get(word[0], ()), *names.given.get("-" + word[-2:], ())]
        return next((i for i in near if is_nickname(word, names.words[i], self._lang)), None)

    def _is_title(self, place: _Word) -> bool:
        """Return whether the first letter of a word is the only capital."""
        return self._text[int(self._first[place.start]) : int(self._first[place.end - 1]) + 1].istitle()

    def _candidates(self, names: FuzzyNames, exact: Iterable[Match], weak: Iterable[Match]) -> Iterator[_Word]:
        """Yield the places of words that can be damaged names."""
        sure, probable = Edges(exact), Edges(weak)
        text, origin = self._text, self._first
        for start, end in self._found:
            first, last = int(origin[start]), int(origin[end - 1]) + 1
            beside, written = sure.touch(text, first, last), text[first:last]
            capital = written[:1].isupper() or any(map(str.isdigit, written))
            if beside or capital or not self._strict or read_scan(self._folded.text[start:end]) in names.scanned:
                inside = capital and (is_inside_sentence(text, first) or probable.touch(text, first, last))
                hyphen = not _HYPHENS.isdisjoint((text[first - 1 : first], text[last : last + 1]))
                yield _Word(start, end, beside, inside, beside and capital and hyphen)

    def _is_name(self, word: str, place: _Word, name: str, distance: int) -> bool:
        """Return whether a word that is similar to a name is a damaged form of it.

        distance (int): number of errors; 0 if only characters that a scanner confuses differ.
        """
        length = len(name)
        mixed = any(map(str.isdigit, word))
        if mixed and 2 * sum(map(str.isdigit, word)) > len(word) and not (place.sure and distance == 0):
            return False
        if distance == 0 and (mixed or not self._is_word(word)):
            return length > _SHORTEST_SURE or place.sure or place.inside
        if place.sure:
            other = length < _SHORTEST and not place.joined and self._is_word(word)
            return distance <= max(1, length // 5) and not other
        if distance > (_MOST if length >= _LONG else 1) or word in self._lowercase:
            return False
        if self._is_word(word):
            return distance == 1 and place.inside and self._is_name_as_written(word, place, name)
        if length >= _SHORTEST:
            return True
        if not self._is_title(place) or length + len(word) < _SHORTEST_SUM:
            swapped = length == _SHORTEST_SURE and sorted(word) == sorted(name)
            return swapped and place.inside and self._stands_alone(place, both=True)
        if word not in name_words() and (place.inside or length >= _SHORTEST_FIRST):
            return True
        long = word not in name_words() or length + len(word) >= _SHORTEST_SUM_FIRST
        return (place.inside or long) and self._stands_alone(place)

    def _is_name_as_written(self, word: str, place: _Word, name: str) -> bool:
        """Return whether a word of the language inside a sentence is written as a name: "seen with Cuts today"."""
        if word in given_names():
            return self._stands_alone(place)
        # an error seldom makes a word of a long name, so that a long word is more probably meant
        short = len(name) < _SHORTEST and min(len(name), len(word)) >= _SHORTEST_WORD
        return short and word[0] == name[0] and self._stands_alone(place, both=True)

    def _stands_alone(self, place: _Word, *, both: bool = False) -> bool:
        """Return whether a word is written as a name: the only capital between words in lower case.

        both (bool): whether there must be such a word before it, and not only the first one of a sentence.
        """
        start, end = int(self._first[place.start]), int(self._first[place.end - 1]) + 1
        before = _WORD_BEFORE.search(self._text[max(0, start - _REACH) : start])
        after = _ALONE_AFTER.match(self._text, end)
        if not after or not self._strict or not self._is_title(place):
            return False
        if before is None or not is_inside_sentence(self._text, start):
            return bool(after[1]) and not both and not is_inside_sentence(self._text, start)
        return before[1].islower() or (not both and not is_inside_sentence(self._text, start - len(before[0])))

    @cached_property
    def _lowercase(self) -> frozenset[str]:
        """The words that are somewhere in the note in lower case, if the note uses capitals."""
        if not self._strict:
            return frozenset()
        at = self._first.take([start for start, _ in self._found] or [0])
        small = self._folded.is_lowercase(at.tolist())
        return frozenset(
            self._folded.text[start:end] for (start, end), low in zip(self._found, small.tolist(), strict=False) if low
        )


class Edges:
    """The edges of matches, to test which words are next to one of them.

    matches (Iterable[Match]): the matches.
    """

    def __init__(self, matches: Iterable[Match]) -> None:
        self._starts, self._ends = set(), set()
        for match in matches:
            self._starts.add(match.start)
            self._ends.add(match.end)

    def touch(self, text: str, start: int, end: int) -> bool:
        """Check whether a word is next to a match.

        text (str): the note.
        start, end (int): offsets of the word, end exclusive.
        RETURNS (bool): whether only a space, comma or period is between the word and a match.
        """
        before, after = _GAPS.match(text[max(0, start - 2) : start][::-1]), _GAPS.match(text, end)
        return bool(before and start - before.end() in self._ends) or bool(after and after.end() in self._starts)


def _pair(words: Sequence[str], names: FuzzyNames) -> Iterator[tuple[str, int, int]]:
    """Yield words that are similar but not equal to a name, with the index of the most similar name, and the number
    of errors."""
    if not words:
        return
    scanned = [read_scan(word) for word in words]
    distances = cdist(words, names.words, scorer=OSA.distance, score_cutoff=_MOST, dtype=np.uint8)
    first, initial = (np.array([word[0] for word in column]) for column in (words, names.words))
    near = (distances <= _MOST) & ((first[:, None] == initial) | (distances <= 1))
    near &= ~(distances == 0).any(axis=1)[:, None]
    nearest = np.where(near, distances, _MOST + 1).argmin(axis=1)
    similar = near.any(axis=1)
    for i, word in enumerate(words):
        if (at := names.scanned.get(scanned[i])) is not None and names.words[at] != word and 0 not in distances[i]:
            yield word, at, 0
        elif similar[i]:
            at = int(nearest[i])
            yield word, at, int(distances[i, at])


def _is_spaced(written: str) -> bool:
    """Return whether each letter is followed by a character that is no letter: "V i l l a", "V.I.L.L.A"."""
    return len(written) >= 2 * _SHORTEST_SPACED - 1 and not any(
        a.isalnum() and b.isalnum() for a, b in pairwise(written)
    )
