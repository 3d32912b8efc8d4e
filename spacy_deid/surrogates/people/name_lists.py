"""Read the name lists of a language, and find names that are similar enough to replace a given name.

Files of the language: ``names/{female,male,surname}.csv`` (name, count; most frequent first), the groups of origin in
``names/origins.toml``, the decades in which the bearers of given names were born in ``names/decades.csv``, and the sex
of rarer given names in ``names/rare_sexes.csv``.

The lists are divided into strata of similar names, and a surrogate is drawn from the stratum of its original. Names of
a stratum have in common: name type (given name of a sex, or surname), group of origin, particles ("de la Fuente",
"María del Pilar"), use in double names ("Juan Carlos"), shape ("-nen"), frequency, length and the years in which most
bearers were born. A stratum with too few names is widened, because a surrogate from it would reveal the original. The
years are those of the name's bearers and not the patient's year of birth, so that the surrogate does not depend on
whether a note mentions the age.

A country's list has the names of everyone who lives there. A rare listed name that looks like those of a group of
origin must not replace a rare name of the country's own. Such names are found by a naive Bayes classifier over letter
trigrams, with integer scores, so that the result is the same on all machines.
"""

import csv
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import accumulate, product
from math import log
from typing import Any, NamedTuple, TypeVar

from ...lang import get_language, shared_words
from ...lang.text import fold
from .communities import (
    FREQUENT,
    TrigramModel,
    find_community,
    find_foreign,
    fit,
    members_by_name,
    read_communities,
    score,
    trigrams_of,
)
from .conventions import NamingConventions, load_conventions, load_name_words

NAME_TYPES = ("female", "male", "surname")
"""The types of names, each with a list of its own. The first two are given names of women and of men."""

_ENOUGH = 25  # candidates that a stratum must have; one with fewer is widened
_ENOUGH_WITH_PARTICLE = 8  # the same for names with a particle, which are rare
_FREQUENCY_BANDS = (0.025, 0.1, 0.35)  # upper borders as shares of the ranks of a list
_UNLISTED_BAND = 1  # index of the border that gives the rank of an unlisted name
_LENGTH_BANDS = (5, 7, 9)  # letters at which the next band begins
_LONGEST_ENDING = 5  # letters by which an unlisted name is compared with listed ones
_LEAST_ALIKE = 4  # listed names with the same ending that are needed for a conclusion
_LONGEST_SEX_ENDING = 6  # letters by which the sex of an unlisted given name is guessed
_CLEAR_SEX = 0.9  # share of one sex among the bearers of the names from which this is learned
_ENDING_PRIOR = 2  # names as many as which a shorter ending counts
_TRIGRAM_WEIGHT = 0.4
_COST_PER_LETTER = 2.3  # nats, for each letter before the shared ending
_MOST_SHAPE_ODDS = 4.0  # nats
_ONE_SEX = 9  # ratio of the sexes among the bearers of a given name from which it can be a surrogate
_OTHER_SEX = 10  # ratio of frequencies above which a given name counts as one of the other sex

_ERA = 20  # years
_ABROAD = 0.2  # bearers abroad for each bearer at home above which a surname comes from abroad
_TAKES_PARTICLE = 0.05  # share of bearers with particles above which a name takes them
_LEAST_HEADED = 4  # double names that a name must begin to count as their first part

T = TypeVar("T")


class Stratum(NamedTuple):
    """The properties that a surrogate has in common with the name it replaces. Equal strata mean similar names.

    name_type (str): one of `NAME_TYPES`.
    group (str): group of origin; "" for the country's own names.
    particle (str): particles before the name ("de la"), or their group; "" for none.
    alone (bool): whether the name also occurs without a particle.
    head (bool): whether double names often begin with it.
    shape (int): number of the language's pattern that the name matches ("-nen"), counted from 1; 0 for none.
    frequent (int): band of frequency, from 0 for the most frequent names to 3.
    long (int): band of length, from 0 for the shortest names to 3.
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


def _by_type(make: Callable[[], T]) -> dict[str, T]:
    """Return a dict with a new value from `make` for each name type."""
    return {name_type: make() for name_type in NAME_TYPES}


@dataclass
class NameLists:
    """The name lists of a language. In the dicts, outer keys are name types and inner keys are folded names.

    lang (str): language code.
    conventions (NamingConventions): the naming conventions of the language.
    proper (dict): name → its usual spelling.
    counts (dict): name → number of bearers.
    totals (dict): name type → number of bearers of all its names.
    particles (dict): name → the particles that are most often written before it.
    linked (dict): folded phrase with particles ("de la torre", "maria del carmen", "del carmen") → number of bearers.
    links (frozenset[str]): folded particles of surnames ("de la").
    alone (dict): names that also occur without particles.
    heads (dict): names that double names often begin with.
    shapes (tuple[re.Pattern, ...]): patterns such as "nen$". A surrogate matches the same pattern as its original.
    groups (dict): name → its group of origin.
    eras (dict): name → period of 20 years in which most bearers were born.
    known (frozenset[str]): all listed names, folded and in lower case.
    rare_sexes (dict): given name that is not in `proper` → its sex.
    seconds (dict): names that follow the first one in compound given names ("María" in "José María").
    foreign (dict): names that are in no group of origin but look like those of one. They are not drawn.
    members (dict): group of origin → its names in their usual spelling.
    communities (dict): language community → model of its names. `others` is that of unlisted names like no other.
    """

    lang: str
    conventions: NamingConventions
    proper: dict[str, dict[str, str]] = field(default_factory=partial(_by_type, dict))
    counts: dict[str, Counter[str]] = field(default_factory=partial(_by_type, Counter))
    totals: dict[str, int] = field(default_factory=dict)
    particles: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=partial(_by_type, dict))
    linked: dict[str, Counter[str]] = field(default_factory=partial(_by_type, Counter))
    links: frozenset[str] = frozenset()
    alone: dict[str, set[str]] = field(default_factory=partial(_by_type, set))
    heads: dict[str, frozenset[str]] = field(default_factory=partial(_by_type, frozenset))
    shapes: tuple[re.Pattern[str], ...] = ()
    groups: dict[str, dict[str, str]] = field(default_factory=partial(_by_type, dict))
    eras: dict[str, dict[str, int]] = field(default_factory=partial(_by_type, dict))
    known: frozenset[str] = frozenset()
    rare_sexes: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, set[str]] = field(default_factory=partial(_by_type, set))
    foreign: dict[str, frozenset[str]] = field(default_factory=partial(_by_type, frozenset))
    members: dict[str, dict[str, list[str]]] = field(default_factory=partial(_by_type, dict))
    communities: dict[str, "dict[str, TrigramModel]"] = field(default_factory=partial(_by_type, dict))
    others: str = ""
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
        """Whether a name also occurs without particles; True for an unlisted name."""
        return folded in self.alone[name_type] or folded not in self.particles[name_type]

    def is_listed(self, folded: str) -> bool:
        """Whether a folded name is on any of the lists."""
        return folded in self.known

    def stratum(self, name_type: str, folded: str) -> Stratum:
        """Return the stratum of a name, from which its surrogate is drawn. An unlisted name counts as rare.

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
            self.group(name_type, folded),
            _particle_groups().get(particle, particle),
            self.is_alone(name_type, folded),
            folded in self.heads[listed_as],
            next((place for place, shape in enumerate(self.shapes, 1) if shape.search(lower)), 0),
            bisect_right(borders, rank),
            bisect_right(_LENGTH_BANDS, len(folded)),
            self.eras[name_type].get(folded, 0),
        )

    def group(self, name_type: str, folded: str) -> str:
        """Return the group of a name, guessed from its letters if the name is unlisted; "" for the country's own."""
        groups, models = self.groups[name_type], self.communities[name_type]
        if folded not in groups and models and folded not in self.proper[name_type]:
            own = self._kind_models[name_type == "surname"]
            return groups.setdefault(folded, find_community(trigrams_of(folded), models, own, self.others))
        return groups.get(folded, "")

    def pool(self, stratum: Stratum) -> tuple[str, ...]:
        """Return the names that can replace a name of a stratum; those of a wider stratum if it has too few."""
        if stratum not in self._pools:
            self._pools[stratum] = tuple(self._widen(stratum))
        return self._pools[stratum]

    def everything(self, name_type: str) -> tuple[str, ...]:
        """Return all names of a type that can be surrogates, the most frequent ones first."""
        whole = Stratum(name_type, "*", "", True, False, 0, -1, -1)
        if whole not in self._pools:
            alone = [name for name in self._ranks[name_type] if name in self.alone[name_type]]
            own = [self.proper[name_type][name] for name in alone if self._is_own(name_type, name)]
            self._pools[whole] = tuple(own)
        return self._pools[whole]

    def letters(self, name_type: str) -> tuple[list[str], list[int]]:
        """Return the first letters of the names of a type, and the running sums of the bearers of each letter."""
        if name_type not in self._alphabets:
            counted: Counter[str] = Counter()
            for name, bearers in self.counts[name_type].items():
                counted[name[:1].upper()] += bearers
            letters = sorted(letter for letter in counted if letter.isalpha())
            self._alphabets[name_type] = letters, list(accumulate(counted[letter] for letter in letters))
        return self._alphabets[name_type]

    def female_odds(self, folded: str) -> float:
        """Score whether an unlisted given name is that of a woman or of a man, by its letters.

        The shares of women among the listed names with the same ending are interpolated, from the ending of one letter
        to that of six, and the trigrams of the name are added with a smaller weight.

        folded (str): the name, folded.
        RETURNS (float): log odds in nats, positive for a name of women.
        """
        female, male = (self._endings_by_sex[sex] for sex in NAME_TYPES[:2])
        share = 0.5
        for ending in _endings_of(folded):
            share = (female[ending] + _ENDING_PRIOR * share) / (female[ending] + male[ending] + _ENDING_PRIOR)
        of_women, of_men = self._sex_models
        trigrams = trigrams_of(folded)
        return (
            log(share / (1 - share)) + _TRIGRAM_WEIGHT * (score(trigrams, of_women) - score(trigrams, of_men)) / 1000
        )

    def ending_likelihood(self, name: str) -> float:
        """Score how plausible an unlisted name is, by the number of listed names with the same ending.

        name (str): the name in lower case.
        RETURNS (float): log likelihood in nats. Each letter before the shared ending reduces it by a fixed amount.
        """
        for length in range(min(_LONGEST_ENDING, len(name)), 0, -1):
            if self._endings[name[-length:]] >= _LEAST_ALIKE:
                return log(self._endings[name[-length:]]) - _COST_PER_LETTER * (len(name) - length)
        return -_COST_PER_LETTER * len(name)

    def shape_odds(self, folded: str) -> float:
        """Score whether an unlisted name looks like a given name or like a surname, by its letter trigrams.

        folded (str): the name, folded.
        RETURNS (float): log odds in nats, positive for a given name, between -`_MOST_SHAPE_ODDS` and
            `_MOST_SHAPE_ODDS`.
        """
        given, surname = self._kind_models
        trigrams = trigrams_of(folded)
        odds = (score(trigrams, given) - score(trigrams, surname)) / 1000
        return max(-_MOST_SHAPE_ODDS, min(_MOST_SHAPE_ODDS, odds))

    def settle(self) -> None:
        """Compute ranks, totals and strata from the lists. Call this once, after all lists have been read."""
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
        """Map each ending of up to five letters to the number of listed names that have it."""
        listed = (name.lower() for name_type in NAME_TYPES for name in self.proper[name_type].values())
        return Counter(name[-length:] for name in listed for length in range(1, _LONGEST_ENDING + 1))

    @cached_property
    def _kind_models(self) -> "tuple[TrigramModel, TrigramModel]":
        """The trigram models of given names and of surnames; names that are listed as both are in neither."""
        given, surnames = self.proper["female"].keys() | self.proper["male"].keys(), self.proper["surname"].keys()
        return fit(sorted(given - surnames)), fit(sorted(surnames - given))

    @cached_property
    def _names_by_sex(self) -> dict[str, list[str]]:
        """The listed given names that nearly only women or nearly only men have."""
        return {
            sex: [n for n in self.counts[sex] if self.counts[sex][n] >= _CLEAR_SEX * self.count("given", n) > 0]
            for sex in NAME_TYPES[:2]
        }

    @cached_property
    def _endings_by_sex(self) -> dict[str, Counter[str]]:
        """Map each sex and ending to the number of listed given names of this sex that have it."""
        return {sex: Counter(e for n in listed for e in _endings_of(n)) for sex, listed in self._names_by_sex.items()}

    @cached_property
    def _sex_models(self) -> "tuple[TrigramModel, TrigramModel]":
        """The trigram models of the given names of women and of men."""
        return fit(self._names_by_sex["female"]), fit(self._names_by_sex["male"])

    def _listed_as(self, name_type: str, folded: str, times: int = _OTHER_SEX) -> str:
        """Return the type that most bearers of a name have: "female" for María, a second name of some men too."""
        other = {"female": "male", "male": "female"}.get(name_type, name_type)
        mostly_other = self.counts[other].get(folded, 0) > times * self.counts[name_type].get(folded, 0)
        return other if mostly_other else name_type

    def _is_own(self, name_type: str, folded: str) -> bool:
        """Whether a name can be a surrogate of its type: not one that is mostly of another type or looks foreign."""
        if not _may_be_drawn(self.proper[name_type][folded]) or self._listed_as(name_type, folded, 1) != name_type:
            return False
        if name_type == "surname":
            if self.count("given", folded) >= self.count("surname", folded):
                return False
        elif not self._is_of_one_sex(name_type, folded):
            return False
        return folded not in self.foreign[name_type]

    def _is_of_one_sex(self, name_type: str, folded: str) -> bool:
        """Whether nearly all bearers of a given name are of the sex of its list."""
        own, everybody = self.counts[name_type].get(folded, 0), self.count("given", folded)
        return everybody * _ONE_SEX <= own * (1 + _ONE_SEX)

    def _widen(self, stratum: Stratum) -> list[str]:
        """Return enough names for a stratum. If it has too few, ignore first length, then frequency, era and shape."""
        if stratum.group:
            given = stratum.name_type != "surname"
            return [
                name
                for name in self.members[stratum.name_type].get(stratum.group, [])
                if _may_be_drawn(name, 2) and (not given or self._is_of_one_sex(stratum.name_type, fold(name)))
            ]
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
            if len(found) >= _ENOUGH:
                return found
        return found or list(self.everything(stratum.name_type))


def guess_sex(folded: str, names: NameLists) -> str:
    """Guess the sex of an unlisted given name from its letters.

    folded (str): the name, folded.
    names (NameLists): the name lists of the language.
    RETURNS (str): "female" or "male".
    """
    return "female" if names.female_odds(folded) > 0 else "male"


def _endings_of(folded: str) -> list[str]:
    """Return the endings of a name by which its sex is guessed, the shortest first; "^" is before its first letter."""
    return [f"^{folded}"[-length:] for length in range(1, min(_LONGEST_SEX_ENDING, len(folded) + 1) + 1)]


@lru_cache
def _particle_groups() -> Mapping[str, str]:
    """Map each particle to the first one of its group, such as that of Italian particles, in all languages."""
    groups = map(str.split, shared_words("people.toml", "particles", "groups"))
    return {particle: group[0] for group in groups for particle in group}


def _may_be_drawn(name: str, least: int = 3) -> bool:
    """Whether a name can be a surrogate: a single word of letters that cannot be mistaken for an initial."""
    return len(name) >= least and name.replace("'", "").isalpha() and name[0].isupper()


# --- reading ---


@lru_cache(maxsize=16)
def load_names(lang: str) -> NameLists:
    """Read the name lists of a language. They are cached; they are public lists and contain nothing of a note.

    lang (str): ISO 639-1 code.
    RETURNS (NameLists): the lists, which are empty for a language without files.
    """
    names, language = NameLists(lang, load_conventions(lang)), get_language(lang)
    people = language.read_toml("people.toml")
    for name_type in NAME_TYPES:
        _read_names(names, name_type)
    names.links = frozenset(phrase.rpartition(" ")[0] for phrase in names.linked["surname"])
    names.shapes = tuple(map(re.compile, people.get("order", {}).get("shapes", ())))
    _read_groups(names, people)
    for line in language.read_lines("names/decades.csv")[1:]:
        name_type, decade, listed = line.split(",")
        names.eras[name_type].update(dict.fromkeys(map(fold, listed.split("|")), int(decade) // _ERA))
    for line in language.read_lines("names/rare_sexes.csv")[1:]:
        sex, listed = line.split(",")
        names.rare_sexes.update(dict.fromkeys(listed.split("|"), sex))
    _add_communities(names, language.read_toml("names/communities.toml"))
    for name_type in NAME_TYPES[:2]:
        groups = {title: map(fold, members) for title, members in names.members[name_type].items()}
        names.foreign[name_type] = find_foreign(list(names.proper[name_type]), groups, names.groups[name_type])
    if ending := people.get("origins", {}).get("elsewhere"):
        rare = list(names.proper["surname"])[FREQUENT:]
        names.foreign["surname"] = frozenset(name for name in rare if re.search(ending, name))
    names.settle()
    return names


def _read_list(lang: str, name_type: str) -> Iterator[tuple[str, int]]:
    """Yield each name of one list with the number of its bearers."""
    rows = csv.DictReader(get_language(lang).read_text(f"names/{name_type}.csv").splitlines())
    yield from ((row["name"], int(row["count"])) for row in rows)


def _read_names(names: NameLists, name_type: str) -> None:
    """Add the names of one CSV list to `names`, with their counts, their particles and their use in double names."""
    particles = frozenset(load_name_words("particles"))
    heads: Counter[str] = Counter()
    headed: Counter[str] = Counter()
    taking: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    proper, counts = names.proper[name_type], names.counts[name_type]
    for name, count in _read_list(names.lang, name_type):
        words = name.split()
        linked = [i for i, word in enumerate(words) if fold(word) in particles and i < len(words) - 1]
        single = name if len(words) == 1 else ""
        if single:
            names.alone[name_type].add(fold(name))
        elif linked:
            taking[fold(words[-1])][tuple(words[i] for i in linked)] += count
            for phrase in {fold(" ".join(words)), fold(" ".join(words[linked[0] :]))}:
                names.linked[name_type][phrase] += count
            counts.setdefault(fold(words[-1]), 0)
            single = words[-1] if len(words) == len(linked) + 1 else ""
        if single:  # of two spellings that fold to one, the first is the more frequent
            proper.setdefault(fold(single), single)
            counts[fold(single)] += count
        names.seconds[name_type].update(fold(word) for word in name.replace("-", " ").split()[1:])
        if not linked and (len(words) > 1 or "-" in name):
            head = fold(name.replace("-", " ").split()[0])
            heads[head] += 1
            headed[head] += count
    names.particles[name_type] = {
        core: found.most_common(1)[0][0]
        for core, found in taking.items()
        if core in proper and found.total() >= _TAKES_PARTICLE * counts[core]
    }
    names.heads[name_type] = frozenset(
        name
        for name, number in heads.items()
        # the first part of a double surname ("Ala-") is rarely a surname of its own
        if number >= _LEAST_HEADED and name in proper and (name_type != "surname" or headed[name] > counts[name])
    )


def _read_groups(names: NameLists, people: Mapping[str, Any]) -> None:
    """Set the group of origin of each name in `names`: the first one that lists it, if that has enough names.

    The first group in the file is the country's own, so its names get no group.

    people (Mapping[str, Any]): the content of ``people.toml``.
    """
    groups = list(get_language(names.lang).read_toml("names/origins.toml").get("groups", {}).items())
    origins = people.get("origins", {})
    for name_type in NAME_TYPES:
        own = {word for _, group in groups[:1] for name in group.get(name_type, ()) for word in fold(name).split()}
        own.update(map(fold, people.get("shared", {}).get(name_type, ())), map(fold, origins.get("everybody", ())))
        holders: dict[str, list[str]] = defaultdict(list)
        names.members[name_type] = {title: list(group.get(name_type, ())) for title, group in groups[1:]}
        for title, members in names.members[name_type].items():
            for name in members:
                holders[fold(name)].append(title)
                if " " not in name and "-" not in name:  # a name that the country's list lacks becomes known
                    names.proper[name_type].setdefault(fold(name), name)
                    names.alone[name_type].add(fold(name))
        # Listed surnames that are frequent in another country belong to the group of origin that comes from there.
        for title, country in origins.get("countries", {}).items() if name_type == "surname" else ():
            others = frozenset(country["except"].split())
            for name, count in _read_list(country["list"], "surname"):
                here = names.counts["surname"][fold(name)]
                if here and count >= _ABROAD * here and fold(name) not in others:
                    holders[fold(name)].append(title)
        for folded, titles in holders.items():
            if folded not in own and len(names.members[name_type][titles[0]]) >= _ENOUGH:
                names.groups[name_type][folded] = titles[0]


def _add_communities(names: NameLists, data: Mapping[str, Any]) -> None:
    """Add the language communities of ``communities.toml`` to the groups in `names`."""
    names.others = str(data.get("others", ""))
    for name_type in NAME_TYPES if data else ():
        communities, given = read_communities(data, name_type), name_type != "surname"
        main = [*names.counts[name_type]]
        found = members_by_name(communities, data, main, names.groups[name_type])
        names.groups[name_type].update(found)
        for title, listed in communities.items():
            names.members[name_type][title] = [name for name in listed if found.get(fold(name)) == title]
            names.communities[name_type][title] = fit(map(fold, listed))
        for name in found if given else ():
            if not names.count("given", name):
                names.rare_sexes.setdefault(name, name_type)
