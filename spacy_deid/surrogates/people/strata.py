"""The strata of a language's names: what a surrogate has in common with the name that it replaces.

The sort (given name of a sex, or surname), the group of origin if it is not the country's own, whether it takes a
particle ("de la Fuente", "María del Pilar") or heads double names ("Juan Carlos"), how it is made ("-nen"), how common
and how long it is, and when most of its bearers were born. A stratum with too few names is taken wider: no stratum may
tell what the original was.

The time of birth is that of the name, not of the patient: what one note tells of that, and another does not, would
give the notes of a patient two names.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, product
from math import log
from typing import NamedTuple

from ..persons import fold

__all__ = ["ENOUGH", "SORTS", "Names", "Stratum"]

SORTS = ("female", "male", "surname")
"""Sorts of name parts; the first two are given names."""

_PARTICLE_KINDS = dict.fromkeys(("de", "del", "la", "las", "los"), "de") | dict.fromkeys(("el", "al", "ben"), "el")
_FREQUENT = (0.025, 0.1, 0.35)  # borders of the bands of frequency, as shares of a list
_LONG = (5, 7, 9)  # letters at which the next band of length begins
ENOUGH = 25  # candidates that a stratum must have, or it is taken wider
_FEW = 8  # the same, of those that take a particle: they are not taken wider
_LIKENESS = 5  # last letters by which an unlisted name is compared with the lists, at most
_ALIKE = 4  # listed names that end alike; fewer tell nothing
_MOSTLY = 0.75  # share of the names of an ending that tells a sex
_LETTER = 2.3  # what a letter more costs a name, in nats
_FOREIGN = 10  # times that a name is commoner in the other sex when it is that sex's name
_UNLISTED = 1  # the border of frequency at which a name stands that no list has


class Stratum(NamedTuple):
    """What a surrogate has in common with the name that it replaces.

    sort (str): one of `SORTS`.
    group (str): group of origin, "" for the country's own.
    particle (str): the kind of particle that it takes, "" if none.
    alone (bool): whether it stands without a particle, too.
    head (bool): whether it heads double names.
    shape (int): how it is made, by the patterns of the language ("-nen").
    frequent, long (int): bands.
    era (int): the twenty years in which most of its bearers were born; 0 if it was given at all times, or none tells.
    """

    sort: str
    group: str
    particle: str
    alone: bool
    head: bool
    shape: int
    frequent: int
    long: int
    era: int = 0


@dataclass
class Names:
    """The lists of a language.

    proper (dict): sort → folded name → the name as it is written.
    counts (dict): sort → folded name → bearers.
    totals (dict): sort → bearers of all its names.
    particles (dict): sort → folded name → the particles that it takes.
    linked (dict): sort → folded phrase with particles ("de la torre", "maria del carmen", "del carmen") → bearers.
    links (frozenset[str]): folded particles of surnames ("de la").
    alone (dict): sort → folded names that stand without particles.
    heads (dict): sort → folded names that head double names.
    groups (dict): sort → folded name → group of origin.
    eras (dict): sort → folded name → the twenty years in which most of its bearers were born.
    known (frozenset[str]): all names of the lists, folded and in lower case.
    foreign (dict): sort → folded names that no group has, but that look like those of one.
    members (dict): sort → group of origin → its names, as they are written.
    shapes (tuple[re.Pattern, ...]): how names are made; a surrogate is made as its original.
    """

    proper: dict[str, dict[str, str]] = field(default_factory=lambda: {sort: {} for sort in SORTS})
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {sort: Counter() for sort in SORTS})
    totals: dict[str, int] = field(default_factory=dict)
    particles: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=lambda: {sort: {} for sort in SORTS})
    linked: dict[str, Counter[str]] = field(default_factory=lambda: {sort: Counter() for sort in SORTS})
    links: frozenset[str] = frozenset()
    alone: dict[str, set[str]] = field(default_factory=lambda: {sort: set() for sort in SORTS})
    heads: dict[str, frozenset[str]] = field(default_factory=lambda: dict.fromkeys(SORTS, frozenset()))
    shapes: tuple[re.Pattern[str], ...] = ()
    groups: dict[str, dict[str, str]] = field(default_factory=lambda: {sort: {} for sort in SORTS})
    eras: dict[str, dict[str, int]] = field(default_factory=lambda: {sort: {} for sort in SORTS})
    _ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    foreign: dict[str, frozenset[str]] = field(default_factory=lambda: dict.fromkeys(SORTS, frozenset()))
    members: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _strata: dict[Stratum, list[str]] = field(default_factory=lambda: defaultdict(list))
    _pools: dict[Stratum, tuple[str, ...]] = field(default_factory=dict)
    _ends: Counter[str] = field(default_factory=Counter)
    _alphabets: dict[str, tuple[list[str], list[int]]] = field(default_factory=dict)

    def count(self, sort: str, folded: str) -> int:
        """How many bear a name. sort (str): one of `SORTS`, or "given" for both sexes together."""
        if sort == "given":
            return self.counts["female"].get(folded, 0) + self.counts["male"].get(folded, 0)
        return self.counts[sort].get(folded, 0)  # a Counter takes six times as long to say that it has none

    def is_alone(self, sort: str, folded: str) -> bool:
        """Whether a name stands without particles, as far as the lists tell."""
        return folded in self.alone[sort] or folded not in self.particles[sort]

    def is_listed(self, folded: str) -> bool:
        """Whether any list has a name."""
        return folded in self.known

    def write(self, sort: str, folded: str) -> str | None:
        """A listed name as it is written, with its accents."""
        return self.proper[sort].get(folded)

    def stratum(self, sort: str, folded: str) -> Stratum:
        """What a surrogate of a name must have in common with it; a name that no list has counts as rare."""
        like = self._known_as(sort, folded)
        borders = [share * len(self._ranks[like]) for share in _FREQUENT]
        rank = self._ranks[like].get(folded, borders[_UNLISTED])
        particles = self.particles[sort].get(folded, ("",))
        return Stratum(
            sort,
            self.groups[sort].get(folded, ""),
            _PARTICLE_KINDS.get(fold(particles[0]), fold(particles[0])),
            self.is_alone(sort, folded),
            folded in self.heads[like],
            self._shape(self.proper[like].get(folded, folded)),
            bisect_right(borders, rank),
            bisect_right(_LONG, len(folded)),
            self.eras[sort].get(folded, 0),
        )

    def _known_as(self, sort: str, folded: str, times: int = _FOREIGN) -> str:
        """The sort whose list has a name: a man may be called María, but as a second name."""
        other = {"female": "male", "male": "female"}.get(sort, sort)
        return other if self.counts[other].get(folded, 0) > times * self.counts[sort].get(folded, 0) else sort

    def _shape(self, name: str) -> int:
        """The first pattern of the language that a name has; 0 if it has none."""
        lower = name.lower()
        return next((place for place, shape in enumerate(self.shapes, 1) if shape.search(lower)), 0)

    def pool(self, stratum: Stratum) -> tuple[str, ...]:
        """The names of a stratum; of a wider one if there are too few.

        stratum (Stratum): from `stratum`.
        RETURNS (tuple[str, ...]): names as they are written.
        """
        if stratum not in self._pools:
            self._pools[stratum] = tuple(self._wide_enough(stratum))
        return self._pools[stratum]

    def everything(self, sort: str) -> tuple[str, ...]:
        """All names of a sort that a surrogate may be, in the order of the list."""
        whole = Stratum(sort, "*", "", True, False, 0, -1, -1)
        if whole not in self._pools:
            alone = [name for name in self._ranks[sort] if name in self.alone[sort]]
            own = [self.proper[sort][name] for name in alone if self._is_own(sort, name)]
            self._pools[whole] = tuple(own)
        return self._pools[whole]

    def letters(self, sort: str) -> tuple[list[str], list[int]]:
        """First letters of a sort of names, and running sums of how many bear a name with each."""
        if sort not in self._alphabets:
            counted: Counter[str] = Counter()
            for name, bearers in self.counts[sort].items():
                counted[name[:1].upper()] += bearers
            letters = sorted(letter for letter in counted if letter.isalpha())
            self._alphabets[sort] = letters, list(accumulate(counted[letter] for letter in letters))
        return self._alphabets[sort]

    def sex_of_ending(self, folded: str) -> str:
        """The sex of most given names that end as an unlisted one does; "" if too few do."""
        for length in range(min(_LIKENESS, len(folded)), 1, -1):
            female, male = (self._endings[sex][folded[-length:]] for sex in SORTS[:2])
            if female + male >= _ALIKE and max(female, male) >= _MOSTLY * (female + male):
                return "female" if female > male else "male"
        return ""

    @cached_property
    def _endings(self) -> dict[str, Counter[str]]:
        """Sex → ending → the listed given names that have it."""
        return {
            sex: Counter(name[-n:] for name in self.counts[sex] for n in range(2, _LIKENESS + 1)) for sex in SORTS[:2]
        }

    def ending_likelihood(self, name: str) -> float:
        """How likely an unlisted name is, by how many of the lists end as it does.

        name (str): in lower case.
        RETURNS (float): logarithm; the letters before the end that it shares count as any.
        """
        if not self._ends:
            for sort in SORTS:
                for listed in self.proper[sort].values():
                    lower = listed.lower()
                    self._ends.update(lower[-length:] for length in range(1, _LIKENESS + 1))
        for length in range(min(_LIKENESS, len(name)), 0, -1):
            if self._ends[name[-length:]] >= _ALIKE:
                return log(self._ends[name[-length:]]) - _LETTER * (len(name) - length)
        return -_LETTER * len(name)

    def _wide_enough(self, stratum: Stratum) -> list[str]:
        """The first of ever wider strata that has enough names: first any length, then any frequency, then any
        era."""
        if stratum.group:
            return [name for name in self.members[stratum.sort].get(stratum.group, []) if _may_be_drawn(name, 2)]
        if stratum.particle and sum(len(self._strata[key]) for key in self._with_particle(stratum)) >= _FEW:
            return [name for key in self._with_particle(stratum) for name in self._strata[key]]
        stratum = stratum._replace(particle="", alone=True)
        nearest = sorted(range(4), key=lambda band: (abs(band - stratum.frequent), band))
        shapes = [(stratum.shape,), tuple(range(len(self.shapes) + 1))]
        eras = [(stratum.era,), tuple({0, *self.eras[stratum.sort].values()})]
        widths = product(shapes, eras, (nearest[:1], nearest[:2], nearest), ((stratum.long,), range(4)))
        for width in widths:
            keys = (
                stratum._replace(frequent=frequent, long=long, shape=shape, era=era)
                for shape, era, frequent, long in product(*width)
            )
            found = [name for key in keys for name in self._strata.get(key, ())]
            if len(found) >= ENOUGH:
                return found
        return found or list(self.everything(stratum.sort))

    def _with_particle(self, stratum: Stratum) -> list[Stratum]:
        """The strata of a sort whose names take a particle; of a name that does without one, those that do too."""
        return [key for key in self._strata if key[:3] == stratum[:3] and key.alone >= stratum.alone]

    def settle(self) -> None:
        """Sort the names into strata, when all have been read."""
        for sort in SORTS:
            self._ranks[sort] = {name: rank for rank, name in enumerate(self.proper[sort])}
            self.known |= self.proper[sort].keys() | {name.lower() for name in self.proper[sort].values()}
            self.totals[sort] = sum(self.counts[sort].values()) or 1
        for sort in SORTS:
            for folded in self.proper[sort]:
                if self._is_own(sort, folded):
                    self._strata[self.stratum(sort, folded)].append(self.proper[sort][folded])

    def _is_own(self, sort: str, folded: str) -> bool:
        """Whether a name may be drawn as one of its sort, and not rather of another sort or another origin."""
        if not _may_be_drawn(self.proper[sort][folded]) or self._known_as(sort, folded, 1) != sort:
            return False
        if sort == "surname" and self.count("given", folded) >= self.count("surname", folded):
            return False
        return folded not in self.foreign[sort]


def _may_be_drawn(name: str, least: int = 3) -> bool:
    """Whether a name can be a surrogate: one word of letters, long enough to be told from an initial."""
    return len(name) >= least and name.replace("'", "").isalpha() and name[0].isupper()
