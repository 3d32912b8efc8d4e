"""The forms of listed Finnish names, and what they teach about the forms of names that no list has.

`surrogates.inflection` makes forms; here the names of the lists are put through it once, and kept by the stems that
endings stand on. A stem leads back to its names. How a stem's last letters differ from those of its name is counted
over all names, so that an unknown name goes back as those with its ending do.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log1p

from ..surrogates.inflection import case_forms
from ..surrogates.inflection.finnish_plural import find_plural
from ..surrogates.inflection.finnish_stems import Stems, find_stems
from .words import lower_form

__all__ = ["NameIndex", "load_index"]

_RESOURCES = files("spacy_deid") / "resources"
_LISTS = (("fi_female", "given"), ("fi_male", "given"), ("fi_surname", "surname"))
_PLACES = ("places.csv", "villages.txt", "countries.txt")
_LONGEST = 5  # letters of a stem that tell how it goes back
_RULES = 3  # ways back that are tried
_ENDS = (2, 3, 4)  # letters of a name by which it is compared with those of the lists

Slot = str
Rule = tuple[int, str]  # letters to take off a stem, letters to put on


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Listed names by their stems.

    names (dict[Slot, dict[str, tuple[str, ...]]]): slot → stem → names in lower case. Slots: "weak" and "strong"
        stems, and "whole" for forms without an ending to take off.
    counts (dict[str, int]): name → bearers.
    rules (dict[Slot, dict[str, tuple[Rule, ...]]]): slot → last letters of a stem → ways back, the commonest first.
    ends (Counter[str]): last letters of a name → listed names that have them.
    """

    names: dict[Slot, dict[str, tuple[str, ...]]]
    counts: dict[str, int]
    rules: dict[Slot, dict[str, tuple[Rule, ...]]]
    ends: Counter[str]

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

    def likeness(self, name: str) -> float:
        """How much a name ends as listed ones do."""
        return sum(log1p(self.ends[name[-length:]]) for length in _ENDS)


@cache
def load_index() -> NameIndex:
    """Build the index of the lists that ship. It holds public lists only, never a word of a note."""
    names: dict[Slot, dict[str, tuple[str, ...]]] = {"weak": {}, "strong": {}, "whole": {}}
    seen: dict[Slot, dict[str, Counter[Rule]]] = {slot: {} for slot in names}
    counts: Counter[str] = Counter()
    for name, kind, count in _read_lists():
        counts[name] += count
        for slot, stem in _stems(name, kind):
            held = names[slot].get(stem, ())
            if name not in held:
                names[slot][stem] = (*held, name)
                _learn(seen[slot], stem, name)
    rules = {slot: {end: _commonest(found) for end, found in table.items()} for slot, table in seen.items()}
    ends = Counter(name[-length:] for name in counts for length in _ENDS)
    return NameIndex(names, dict(counts), rules, ends)


def _read_lists() -> Iterator[tuple[str, str, int]]:
    """(name in lower case, kind, bearers) of every listed name of one word."""
    for stem, kind in _LISTS:
        text = (_RESOURCES / "names" / f"{stem}.csv").read_text(encoding="utf8")
        for row in csv.DictReader(text.splitlines()):
            if row["name"].isalpha() and len(row["name"]) > 1:
                yield lower_form(row["name"]), kind, int(row["count"])
    for file_name in _PLACES:
        text = (_RESOURCES / "synth" / "fi" / "lists" / file_name).read_text(encoding="utf8")
        for place in sorted({line.partition(",")[0] for line in text.splitlines()}):
            if place.isalpha() and place != "city":
                yield lower_form(place), "place", 10_000


def _stems(name: str, kind: str) -> Iterator[tuple[Slot, str]]:
    """What endings are put on, and the forms without one to take off."""
    yield "whole", name
    if kind == "place":  # few, and some inflect in two parts or in the plural (Uudessakaupungissa, Kauniaisissa)
        yield from (("whole", form) for form in (*case_forms(name, "fi", kind="place"), *case_forms(name, "fi")))
    stems = find_stems(name, kind)
    yield from (("weak", stems.weak), ("strong", stems.strong))
    yield from (("whole", stems.partitive), ("whole", stems.illative))
    if kind == "surname":
        yield from _plural_stems(name, stems)


def _plural_stems(name: str, stems: Stems) -> Iterator[tuple[Slot, str]]:
    """A family is spoken of in the plural: Virtaset, Virtasten, Virtasilla."""
    plural = find_plural(name, stems)
    yield from (("weak", plural.inner), ("strong", plural.outer))
    yield from (("whole", plural.genitive), ("whole", plural.partitive), ("whole", plural.illative))


def _learn(table: dict[str, Counter[Rule]], stem: str, name: str) -> None:
    """Count how a stem becomes its name, under each of its endings that are long enough to show it."""
    same = 0
    while same < min(len(stem), len(name)) and stem[same] == name[same]:
        same += 1
    rule = (len(stem) - same, name[same:])
    for length in range(max(1, rule[0]), min(_LONGEST, len(stem)) + 1):
        table.setdefault(stem[-length:], Counter())[rule] += 1


def _commonest(found: Counter[Rule]) -> tuple[Rule, ...]:
    """The ways back that names take most."""
    return tuple(rule for rule, _ in found.most_common(_RULES))
