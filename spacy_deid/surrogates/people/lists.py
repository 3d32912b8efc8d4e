"""The name lists of a language, read once.

Lists: ``lang/XX/names/{female,male,surname}.csv`` (name, count, most frequent first), the groups of origin in
``names/origins.toml``, and in ``names/decades.csv`` when the bearers of given names were born.
"""

import csv
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ...lang import get_language
from ..persons import fold
from .origins import find_foreign
from .strata import ENOUGH, SORTS, Names

__all__ = ["SORTS", "Names", "load_names", "load_names_words", "read_people"]

_ERA = 20  # years
_RARE = 600  # surnames of a list that are its own, whatever they look like
_COMMONER = 0.2  # bearers abroad for each one at home that tell where a surname is from
_TAKEN = 0.05  # share of the bearers of a name who have it with particles, for that to be its way
_HEADED = 4  # double names that a name must head to count as their head


@lru_cache(maxsize=16)
def load_names(lang: str) -> Names:
    """Read the lists of a language, once in a process. They are public lists; nothing of a note is kept.

    lang (str): ISO 639-1 code.
    RETURNS (Names): the lists; empty where a language has none.
    """
    names = Names()
    particles = frozenset(load_names_words("particles"))
    for sort in SORTS:
        heads: Counter[str] = Counter()
        headed: Counter[str] = Counter()
        taking: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for name, count in _read_list(lang, sort):
            words = name.split()
            linked = [i for i, word in enumerate(words) if fold(word) in particles and i < len(words) - 1]
            if len(words) == 1:
                _take(names, sort, name, count)
                names.alone[sort].add(fold(name))
            elif linked:
                between = tuple(words[i] for i in linked)
                taking[fold(words[-1])][between] += count
                _link(names, sort, words, linked[0], count)
                names.counts[sort].setdefault(fold(words[-1]), 0)
                if len(words) == len(linked) + 1:
                    _take(names, sort, words[-1], count)
            if not linked and (len(words) > 1 or "-" in name):
                head = fold(name.replace("-", " ").split()[0])
                heads[head] += 1
                headed[head] += count
        names.particles[sort] = {
            core: found.most_common(1)[0][0]
            for core, found in taking.items()
            if core in names.proper[sort] and found.total() >= _TAKEN * names.counts[sort][core]
        }
        names.heads[sort] = frozenset(
            name
            for name, number in heads.items()
            if number >= _HEADED and name in names.proper[sort] and _is_head(names, sort, name, headed[name])
        )
    names.links = frozenset(phrase.rpartition(" ")[0] for phrase in names.linked["surname"])
    names.shapes = tuple(map(re.compile, read_people(lang).get("order", {}).get("shapes", ())))
    _read_groups(names, lang)
    _read_eras(names, lang)
    for sort in SORTS[:2]:
        groups = {title: map(fold, members) for title, members in names.members[sort].items()}
        names.foreign[sort] = find_foreign(list(names.proper[sort]), groups, names.groups[sort])
    if ending := read_people(lang).get("origins", {}).get("elsewhere"):
        rare = list(names.proper["surname"])[_RARE:]
        names.foreign["surname"] = frozenset(name for name in rare if re.search(ending, name))
    names.settle()
    return names


def _is_head(names: Names, sort: str, name: str, headed: int) -> bool:
    """Whether a word is the head of double names by trade: for a surname, if few bear it alone ("Ala-")."""
    return sort != "surname" or headed > names.counts[sort][name]


def _take(names: Names, sort: str, name: str, count: int) -> None:
    """Keep a name of a list; the first spelling of two that fold to one is the commoner."""
    folded = fold(name)
    names.proper[sort].setdefault(folded, name)
    names.counts[sort][folded] += count


def _link(names: Names, sort: str, words: list[str], first: int, count: int) -> None:
    """Keep a name with its particles, as a whole and from the first particle on."""
    for phrase in {fold(" ".join(words)), fold(" ".join(words[first:]))}:
        names.linked[sort][phrase] += count


def _read_list(lang: str, sort: str) -> Iterator[tuple[str, int]]:
    """The rows of a list."""
    rows = csv.DictReader(get_language(lang).read_text(f"names/{sort}.csv").splitlines())
    yield from ((row["name"], int(row["count"])) for row in rows)


def _read_eras(names: Names, lang: str) -> None:
    """Note when most bearers of the given names were born, in a language with a table of that."""
    for line in get_language(lang).read_lines("names/decades.csv")[1:]:
        sort, decade, listed = line.split(",")
        names.eras[sort].update(dict.fromkeys(map(fold, listed.split("|")), int(decade) // _ERA))


def _read_groups(names: Names, lang: str) -> None:
    """Note of each name the group of origin that alone has it. The first group is the country's own."""
    groups = list(get_language(lang).read_toml("names/origins.toml").get("groups", {}).items())
    shared = read_people(lang).get("shared", {})
    for sort in SORTS:
        own = {word for _, group in groups[:1] for name in group.get(sort, ()) for word in fold(name).split()}
        own.update(map(fold, shared.get(sort, ())))
        own |= set(map(fold, read_people(lang).get("origins", {}).get("everybody", ())))
        holders: dict[str, list[str]] = defaultdict(list)
        names.members[sort] = {title: list(group.get(sort, ())) for title, group in groups[1:]}
        for title, members in names.members[sort].items():
            for name in members:
                _add_holder(holders, names, sort, name, title)
        for folded, title in _from_abroad(names, lang) if sort == "surname" else ():
            holders[folded].append(title)
        for folded, titles in holders.items():
            if folded not in own and len(names.members[sort][titles[0]]) >= ENOUGH:
                names.groups[sort][folded] = titles[0]


def _from_abroad(names: Names, lang: str) -> Iterator[tuple[str, str]]:
    """Surnames of the list that are common in another country, and the group that comes from there."""
    for title, country in read_people(lang).get("origins", {}).get("countries", {}).items():
        others = frozenset(country["except"].split())
        for name, count in _read_list(country["list"], "surname"):
            here = names.counts["surname"][fold(name)]
            if here and count >= _COMMONER * here and fold(name) not in others:
                yield fold(name), title


def _add_holder(holders: dict[str, list[str]], names: Names, sort: str, name: str, title: str) -> None:
    """Note who holds a name; one that no list of the country has becomes known by it."""
    folded = fold(name)
    holders[folded].append(title)
    if " " not in name and "-" not in name:
        names.proper[sort].setdefault(folded, name)
        names.alone[sort].add(folded)


@lru_cache(maxsize=32)
def read_people(lang: str) -> dict[str, Any]:
    """Read ``people.toml`` of a language.

    lang (str): language code.
    RETURNS (dict[str, Any]): its content; {} if there is none.
    """
    return get_language(lang).read_toml("people.toml")


@lru_cache
def load_names_words(table: str) -> Iterable[str]:
    """Words of names that are no names, of all languages. table (str): "particles", "titles", "suffixes"…"""
    path = files("spacy_deid") / "resources" / "expansion" / "names.toml"
    found: list[str] = tomllib.loads(path.read_text(encoding="utf8")).get(table, [])
    return found
