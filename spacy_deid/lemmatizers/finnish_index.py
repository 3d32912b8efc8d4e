"""The forms of listed Finnish names, and what they teach about the forms of names that no list has.

`lang.inflection` makes forms; here the names of the lists are put through it once, and kept by the stems that
endings stand on. A stem leads back to its names. How a stem's last letters differ from those of its name is counted
over all names, so that an unknown name goes back as those with its ending do.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from math import log

from ..lang.fi.stems import Stems, find_plural, find_stems
from ..lang.inflection import case_forms
from .finnish_lists import read_names

__all__ = ["NameIndex", "load_index"]

_SLOTS = ("weak", "strong", "whole")
_LONGEST = 4  # letters of a stem that tell how it goes back
_RULES = 3  # ways back that are tried
_LIKENESS = 5  # letters of a name by which it is compared with those of the lists, at most
_ENOUGH = 4  # names that end alike; fewer tell nothing
_LETTER = 2.3  # what a letter more costs a name, in nats

Slot = str
Rule = tuple[int, str]  # letters to take off a stem, letters to put on


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Listed names by their stems.

    names (dict[Slot, dict[str, tuple[str, ...]]]): slot → stem → names in lower case. Slots: "weak" and "strong"
        stems, and "whole" for forms without an ending to take off.
    counts (Counter[str]): name → bearers.
    rules (dict[Slot, dict[str, dict[Rule, int]]]): slot → last letters of a stem → ways back.
    ends (Counter[str]): last letters of a name → listed names that have them.
    """

    names: dict[Slot, dict[str, tuple[str, ...]]] = field(default_factory=lambda: {slot: {} for slot in _SLOTS})
    counts: Counter[str] = field(default_factory=Counter)
    rules: dict[Slot, dict[str, dict[Rule, int]]] = field(default_factory=lambda: {slot: {} for slot in _SLOTS})
    ends: Counter[str] = field(default_factory=Counter)

    def find(self, slot: Slot, stem: str) -> tuple[str, ...]:
        """The listed names that have a stem."""
        return self.names[slot].get(stem, ())

    def guess(self, slot: Slot, stem: str) -> list[str]:
        """Names that may have a stem, by the ways back of those that end alike."""
        table = self.rules[slot]
        for length in range(min(_LONGEST, len(stem)), 0, -1):
            rules = table.get(stem[-length:])
            if rules:
                return [stem[: len(stem) - cut] + added for cut, added in rules]
        return [stem]

    def likelihood(self, name: str) -> float:
        """How likely a name is, by how many of the lists end as it does.

        name (str): in lower case.
        RETURNS (float): logarithm; the letters before the end that it shares count as any.
        """
        for length in range(min(_LIKENESS, len(name)), 0, -1):
            count = self.ends[name[-length:]]
            if count >= _ENOUGH:
                return log(count) - _LETTER * (len(name) - length)
        return -_LETTER * len(name)

    def add(self, name: str, kind: str, count: int) -> None:
        """Take in a name of the lists.

        name (str): in lower case.
        kind (str): as for `lang.inflection.inflect`.
        count (int): bearers.
        """
        if name not in self.counts:
            self.ends.update(name[-length:] for length in range(1, _LIKENESS + 1))
        self.counts[name] += count
        stems = find_stems(name, kind)
        for slot, stem in _stems(name, stems):
            if self._hold(slot, stem, name):
                self._learn(slot, stem, name)
        for slot, stem in _more(name, kind, stems):
            self._hold(slot, stem, name)

    def _hold(self, slot: Slot, stem: str, name: str) -> bool:
        """Keep the way from a stem to a name. RETURNS (bool): whether it is new."""
        held = self.names[slot].get(stem, ())
        if name in held:
            return False
        self.names[slot][stem] = (*held, name)
        return True

    def _learn(self, slot: Slot, stem: str, name: str) -> None:
        """Count how a stem becomes its name, under each of its endings that are long enough to show it."""
        same = 0
        while same < min(len(stem), len(name)) and stem[same] == name[same]:
            same += 1
        rule = (len(stem) - same, name[same:])
        table = self.rules[slot]
        for length in range(max(1, rule[0]), min(_LONGEST, len(stem)) + 1):
            end = stem[-length:]
            ways = table.get(end)
            if ways is None:
                table[end] = {rule: 1}
            else:
                ways[rule] = ways.get(rule, 0) + 1


@cache
def load_index() -> NameIndex:
    """Build the index of the lists that ship. It holds public lists only, never a word of a note.

    RETURNS (NameIndex): the index, made once in a process.
    """
    index = NameIndex()
    for name, kind, count in read_names():
        index.add(name, kind, count)
    for table in index.rules.values():
        for end, ways in table.items():
            table[end] = dict(sorted(ways.items(), key=lambda way: -way[1])[:_RULES])
    return index


def _stems(name: str, stems: Stems) -> Iterator[tuple[Slot, str]]:
    """What endings of the singular are put on, and the forms without one to take off."""
    yield from (("whole", name), ("weak", stems.weak), ("strong", stems.strong))
    yield from (("whole", stems.partitive), ("whole", stems.illative))


def _more(name: str, kind: str, stems: Stems) -> Iterator[tuple[Slot, str]]:
    """What only listed names are looked for in.

    A family is spoken of in the plural (Virtaset, Virtasten, Virtasilla). Some places inflect in two parts or in the
    plural (Uudessakaupungissa, Kauniaisissa).
    """
    if kind == "place":
        yield from (("whole", form) for form in (*case_forms(name, "fi", kind="place"), *case_forms(name, "fi")))
    else:
        plural = find_plural(name, stems)
        yield from (("weak", plural.inner), ("strong", plural.outer))
        yield from (("whole", plural.genitive), ("whole", plural.partitive), ("whole", plural.illative))
