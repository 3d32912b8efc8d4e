"""The name lists of a language, divided into strata: what a surrogate has in common with the name it replaces.

A stratum is defined by name type (given name of a sex, or surname), group of origin, particles ("de la Fuente", "María
del Pilar"), use in double names ("Juan Carlos"), shape ("-nen"), frequency, length and the years in which most bearers
were born. A stratum with too few names is widened, because a surrogate from a small stratum would reveal the original.

The years of birth are those of the name, not of the patient: a patient's notes would otherwise get different
surrogates depending on whether a note mentions the age.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, product
from math import log
from typing import NamedTuple

from ...lang.text import fold

NAME_TYPES = ("female", "male", "surname")
"""Name types; the first two are given names."""

ENOUGH = 25
"""Candidates that a stratum must have. One with fewer is widened."""

_ENOUGH_WITH_PARTICLE = 8  # the same for names with a particle, which are rare
_PARTICLE_GROUPS = dict.fromkeys(("de", "del", "la", "las", "los"), "de") | dict.fromkeys(("el", "al", "ben"), "el")
_FREQUENCY_BANDS = (0.025, 0.1, 0.35)  # upper borders as shares of the ranks of a list
_UNLISTED_BAND = 1  # index of the border where a name that is on no list is placed
_LENGTH_BANDS = (5, 7, 9)  # letters at which the next band begins
_LONGEST_ENDING = 5  # letters by which an unlisted name is compared with listed ones
_LEAST_ALIKE = 4  # listed names with the same ending that are needed for a conclusion
_CLEAR_MAJORITY = 0.75  # share of the names with an ending that have one sex
_COST_PER_LETTER = 2.3  # nats, for each letter before the shared ending
_OTHER_SEX = 10  # ratio of frequencies above which a given name counts as one of the other sex


class Stratum(NamedTuple):
    """The properties that a surrogate shares with the name it replaces.

    name_type (str): one of `NAME_TYPES`.
    group (str): group of origin; "" for the country's own names.
    particle (str): group of the particle that it takes; "" for none.
    alone (bool): whether it also occurs without a particle.
    head (bool): whether it is the first part of double names.
    shape (int): which shape of the language it has ("-nen"), counted from 1; 0 for none.
    frequent, long (int): bands of frequency and of length.
    era (int): period of 20 years in which most bearers were born; 0 for names of all times, or if unknown.
    """

    name_type: str
    group: str
    particle: str
    alone: bool
    head: bool
    shape: int
    frequent: int
    long: int
    era: int = 0


@dataclass
class NameLists:
    """The name lists of a language. Outer keys are name types; inner keys are folded names.

    proper (dict): the name as it is written.
    counts (dict): number of bearers.
    totals (dict): number of bearers of all names of a type.
    particles (dict): the particles that a name takes.
    linked (dict): folded phrase with particles ("de la torre", "maria del carmen", "del carmen") → number of bearers.
    links (frozenset[str]): folded particles of surnames ("de la").
    alone (dict): names that occur without particles.
    heads (dict): first parts of double names.
    shapes (tuple[re.Pattern, ...]): shapes of names; a surrogate has the shape of its original.
    groups (dict): group of origin.
    eras (dict): period of 20 years in which most bearers were born.
    known (frozenset[str]): all listed names, folded and in lower case.
    foreign (dict): names that are in no group of origin but look like the names of one.
    members (dict): group of origin → its names as they are written.
    """

    proper: dict[str, dict[str, str]] = field(default_factory=lambda: {name_type: {} for name_type in NAME_TYPES})
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name_type: Counter() for name_type in NAME_TYPES})
    totals: dict[str, int] = field(default_factory=dict)
    particles: dict[str, dict[str, tuple[str, ...]]] = field(
        default_factory=lambda: {name_type: {} for name_type in NAME_TYPES}
    )
    linked: dict[str, Counter[str]] = field(default_factory=lambda: {name_type: Counter() for name_type in NAME_TYPES})
    links: frozenset[str] = frozenset()
    alone: dict[str, set[str]] = field(default_factory=lambda: {name_type: set() for name_type in NAME_TYPES})
    heads: dict[str, frozenset[str]] = field(default_factory=lambda: dict.fromkeys(NAME_TYPES, frozenset()))
    shapes: tuple[re.Pattern[str], ...] = ()
    groups: dict[str, dict[str, str]] = field(default_factory=lambda: {name_type: {} for name_type in NAME_TYPES})
    eras: dict[str, dict[str, int]] = field(default_factory=lambda: {name_type: {} for name_type in NAME_TYPES})
    known: frozenset[str] = frozenset()
    foreign: dict[str, frozenset[str]] = field(default_factory=lambda: dict.fromkeys(NAME_TYPES, frozenset()))
    members: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    _strata: dict[Stratum, list[str]] = field(default_factory=lambda: defaultdict(list))
    _pools: dict[Stratum, tuple[str, ...]] = field(default_factory=dict)
    _alphabets: dict[str, tuple[list[str], list[int]]] = field(default_factory=dict)

    def count(self, name_type: str, folded: str) -> int:
        """Return the number of bearers of a name.

        name_type (str): one of `NAME_TYPES`, or "given" for both sexes together.
        folded (str): the name, folded.
        RETURNS (int): 0 if the name is not listed.
        """
        if name_type == "given":
            return self.counts["female"].get(folded, 0) + self.counts["male"].get(folded, 0)
        return self.counts[name_type].get(folded, 0)  # six times as fast as Counter's own lookup of missing keys

    def is_alone(self, name_type: str, folded: str) -> bool:
        """Whether a name occurs without particles, as far as the lists show."""
        return folded in self.alone[name_type] or folded not in self.particles[name_type]

    def is_listed(self, folded: str) -> bool:
        """Whether a name is on any list."""
        return folded in self.known

    def write(self, name_type: str, folded: str) -> str | None:
        """Return a listed name with its capitals and accents; None if it is not listed."""
        return self.proper[name_type].get(folded)

    def stratum(self, name_type: str, folded: str) -> Stratum:
        """Return the stratum of a name. A name that is on no list counts as rare.

        name_type (str): one of `NAME_TYPES`.
        folded (str): the name, folded.
        RETURNS (Stratum): the properties that its surrogate must have.
        """
        listed_as = self._listed_as(name_type, folded)
        borders = [share * len(self._ranks[listed_as]) for share in _FREQUENCY_BANDS]
        rank = self._ranks[listed_as].get(folded, borders[_UNLISTED_BAND])
        particle = fold(self.particles[name_type].get(folded, ("",))[0])
        lower = self.proper[listed_as].get(folded, folded).lower()
        return Stratum(
            name_type,
            self.groups[name_type].get(folded, ""),
            _PARTICLE_GROUPS.get(particle, particle),
            self.is_alone(name_type, folded),
            folded in self.heads[listed_as],
            next((place for place, shape in enumerate(self.shapes, 1) if shape.search(lower)), 0),
            bisect_right(borders, rank),
            bisect_right(_LENGTH_BANDS, len(folded)),
            self.eras[name_type].get(folded, 0),
        )

    def pool(self, stratum: Stratum) -> tuple[str, ...]:
        """Return the candidates of a stratum, or of a wider one if it has too few.

        stratum (Stratum): from `stratum`.
        RETURNS (tuple[str, ...]): names as they are written.
        """
        if stratum not in self._pools:
            self._pools[stratum] = tuple(self._widen(stratum))
        return self._pools[stratum]

    def everything(self, name_type: str) -> tuple[str, ...]:
        """Return all names of a type that may be surrogates, in the order of the list."""
        whole = Stratum(name_type, "*", "", True, False, 0, -1, -1)
        if whole not in self._pools:
            alone = [name for name in self._ranks[name_type] if name in self.alone[name_type]]
            own = [self.proper[name_type][name] for name in alone if self._is_own(name_type, name)]
            self._pools[whole] = tuple(own)
        return self._pools[whole]

    def letters(self, name_type: str) -> tuple[list[str], list[int]]:
        """Return the first letters of the names of a type and the running sums of their bearers."""
        if name_type not in self._alphabets:
            counted: Counter[str] = Counter()
            for name, bearers in self.counts[name_type].items():
                counted[name[:1].upper()] += bearers
            letters = sorted(letter for letter in counted if letter.isalpha())
            self._alphabets[name_type] = letters, list(accumulate(counted[letter] for letter in letters))
        return self._alphabets[name_type]

    def sex_of_ending(self, folded: str) -> str:
        """Guess the sex of an unlisted given name from listed names with the same ending; "" if too few have it."""
        for length in range(min(_LONGEST_ENDING, len(folded)), 1, -1):
            female, male = (self._endings_by_sex[sex][folded[-length:]] for sex in NAME_TYPES[:2])
            if female + male >= _LEAST_ALIKE and max(female, male) >= _CLEAR_MAJORITY * (female + male):
                return "female" if female > male else "male"
        return ""

    def ending_likelihood(self, name: str) -> float:
        """Score an unlisted name by the number of listed names with the same ending.

        name (str): in lower case.
        RETURNS (float): log likelihood in nats; each letter before the shared ending has a fixed cost.
        """
        for length in range(min(_LONGEST_ENDING, len(name)), 0, -1):
            if self._endings[name[-length:]] >= _LEAST_ALIKE:
                return log(self._endings[name[-length:]]) - _COST_PER_LETTER * (len(name) - length)
        return -_COST_PER_LETTER * len(name)

    def settle(self) -> None:
        """Compute ranks, totals and strata. Call it once, after all lists have been read."""
        for name_type in NAME_TYPES:
            self._ranks[name_type] = {name: rank for rank, name in enumerate(self.proper[name_type])}
            self.known |= self.proper[name_type].keys() | {name.lower() for name in self.proper[name_type].values()}
            self.totals[name_type] = sum(self.counts[name_type].values()) or 1
        for name_type in NAME_TYPES:
            for folded in self.proper[name_type]:
                if self._is_own(name_type, folded):
                    self._strata[self.stratum(name_type, folded)].append(self.proper[name_type][folded])

    @cached_property
    def _endings(self) -> Counter[str]:
        """Ending → number of listed names that have it."""
        listed = (name.lower() for name_type in NAME_TYPES for name in self.proper[name_type].values())
        return Counter(name[-length:] for name in listed for length in range(1, _LONGEST_ENDING + 1))

    @cached_property
    def _endings_by_sex(self) -> dict[str, Counter[str]]:
        """Sex → ending → number of listed given names that have it."""
        lengths = range(2, _LONGEST_ENDING + 1)
        return {sex: Counter(name[-n:] for name in self.counts[sex] for n in lengths) for sex in NAME_TYPES[:2]}

    def _listed_as(self, name_type: str, folded: str, times: int = _OTHER_SEX) -> str:
        """The type that a name mostly has: María may be a man's name, but only his second one."""
        other = {"female": "male", "male": "female"}.get(name_type, name_type)
        return (
            other if self.counts[other].get(folded, 0) > times * self.counts[name_type].get(folded, 0) else name_type
        )

    def _is_own(self, name_type: str, folded: str) -> bool:
        """Whether a name may be drawn for its type, and is not mostly of another type or origin."""
        if not _may_be_drawn(self.proper[name_type][folded]) or self._listed_as(name_type, folded, 1) != name_type:
            return False
        if name_type == "surname" and self.count("given", folded) >= self.count("surname", folded):
            return False
        return folded not in self.foreign[name_type]

    def _widen(self, stratum: Stratum) -> list[str]:
        """The names of the narrowest stratum with enough names: widen length first, then frequency, era and shape."""
        if stratum.group:
            return [name for name in self.members[stratum.name_type].get(stratum.group, []) if _may_be_drawn(name, 2)]
        if stratum.particle:
            # Names that only occur with a particle may also be replaced by names that occur without one.
            keys = [key for key in self._strata if key[:3] == stratum[:3] and key.alone >= stratum.alone]
            if sum(len(self._strata[key]) for key in keys) >= _ENOUGH_WITH_PARTICLE:
                return [name for key in keys for name in self._strata[key]]
        stratum = stratum._replace(particle="", alone=True)
        nearest = sorted(range(4), key=lambda band: (abs(band - stratum.frequent), band))
        shapes = [(stratum.shape,), tuple(range(len(self.shapes) + 1))]
        eras = [(stratum.era,), tuple({0, *self.eras[stratum.name_type].values()})]
        widths = product(shapes, eras, (nearest[:1], nearest[:2], nearest), ((stratum.long,), range(4)))
        for width in widths:
            found = [
                name
                for shape, era, frequent, long in product(*width)
                for name in self._strata.get(stratum._replace(frequent=frequent, long=long, shape=shape, era=era), ())
            ]
            if len(found) >= ENOUGH:
                return found
        return found or list(self.everything(stratum.name_type))


def _may_be_drawn(name: str, least: int = 3) -> bool:
    """Whether a name can be a surrogate: a single word of letters that cannot be mistaken for an initial."""
    return len(name) >= least and name.replace("'", "").isalpha() and name[0].isupper()
