"""Which mentions of a note name the same person, from the words of the names alone."""

import re
from collections import defaultdict
from collections.abc import Sequence

from ..lang.text import fold

__all__ = ["find_other_labels", "fold", "number_mentions", "number_persons"]

_WORD = re.compile(r"\w+")
_TITLES = frozenset("d da dn dr dra doctor doctora don doña ms miss mr mrs prof sr sra srta tri lkt".split())


def number_mentions(mentions: Sequence[str]) -> list[int]:
    """Number values by first appearance; the same value, folded, has the same number.

    mentions (Sequence[str]): values in the order of the text.
    RETURNS (list[int]): numbers from 1.
    """
    seen: dict[str, int] = {}
    return [seen.setdefault(fold(mention), len(seen) + 1) for mention in mentions]


def number_persons(mentions: Sequence[str]) -> list[int]:
    """Number persons by first appearance.

    A mention belongs to a fuller one that has all its words (an initial stands for a word that begins with it). Where
    several fuller names fit, as "García" fits "Ana García" and "Luis García", it is the one mentioned last before it.

    mentions (Sequence[str]): names in the order of the text.
    RETURNS (list[int]): numbers from 1.
    """
    words = [_words(mention) for mention in mentions]
    different = list(dict.fromkeys(words))
    wholes = _wholes(different)
    persons = {i for i, name in enumerate(different) if all(len(different[j]) <= len(name) for j in wholes[i])}
    fits = {name: [j for j in sorted(wholes[i]) if j in persons] for i, name in enumerate(different)}
    forms: dict[int, list[frozenset[str]]] = defaultdict(list)
    for name, fuller in fits.items():
        for person in fuller:
            forms[person].append(name)
    # The person that each form of a name means at this place: the one mentioned last of those that it fits.
    meant = {name: fuller[0] for name, fuller in fits.items()}
    numbers: dict[int, int] = {}
    out, last = [], -1
    for name in words:
        person = meant[name]
        if person != last:
            meant.update(dict.fromkeys(forms[person], person))
            last = person
        out.append(numbers.setdefault(person, len(numbers) + 1))
    return out


def find_other_labels(mentions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    """Find the persons that are called otherwise in a note.

    Two mentions may be the same person if one has all the words of the other, as "Dr. Khattabi" and "Mohamed El
    Khattabi" do. Unlike in `number_persons`, a bare surname counts for every fuller name that it fits.

    mentions (Sequence[tuple[str, str]]): names and canonical labels, in any order.
    RETURNS (dict): mention → the other labels that this person has; empty if there are none.
    """
    words = {mention: _words(mention[0]) for mention in dict.fromkeys(mentions)}
    labels: dict[frozenset[str], set[str]] = defaultdict(set)
    for (_, label), name in words.items():
        labels[name].add(label)
    different = list(labels)
    found = {name: set(here) for name, here in labels.items()}
    for name, fuller in zip(different, _wholes(different), strict=True):
        for i in fuller:
            found[name] |= labels[different[i]]
            found[different[i]] |= labels[name]
    return {mention: found[name] - {mention[1]} for mention, name in words.items()}


def _words(name: str) -> frozenset[str]:
    """The folded words of a name, less titles; never empty."""
    words = frozenset(_WORD.findall(fold(name)))
    return words - _TITLES or words or frozenset({fold(name)})


def _wholes(names: Sequence[frozenset[str]]) -> list[set[int]]:
    """For each name the numbers of those that have all its words, its own among them. An initial stands for a word
    that begins with it.

    Names are looked up by word and by initial, because comparing every pair takes minutes for a long document.
    """
    having: dict[str, set[int]] = defaultdict(set)
    for i, name in enumerate(names):
        for key in name | {word[:1] for word in name}:
            having[key].add(i)
    return [set.intersection(*sorted((having[word] for word in name), key=len)) for name in names]
