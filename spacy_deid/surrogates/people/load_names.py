"""Reads the name lists of a language.

Files of the language: ``names/{female,male,surname}.csv`` (name, count; most frequent first), the groups of origin in
``names/origins.toml``, and the decades in which the bearers of given names were born in ``names/decades.csv``.

A country's list has the names of everyone who lives there. A rare listed name that looks like those of a group of
origin must not replace a rare name of the country's own. Such names are found by comparing trigrams of letters (naive
Bayes) with integer scores, so that all machines agree.
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Any

from ...lang import get_language
from ...lang.text import fold
from .conventions import load_name_words
from .name_lists import ENOUGH, NAME_TYPES, NameLists

_ERA = 20  # years
_FREQUENT = 600  # names at the head of a list are the country's own, whatever they look like
_ABROAD = 0.2  # bearers abroad for each bearer at home above which a surname comes from abroad
_TAKES_PARTICLE = 0.05  # share of bearers with particles above which a name takes them
_LEAST_HEADED = 4  # double names that a name must begin to count as their first part
_MARGIN = 500  # thousandths of a nat per trigram by which a group must be likelier
_SMOOTHING = 0.3
_TRIGRAMS = 2000  # assumed number of different trigrams

TrigramModel = tuple[Mapping[str, int], int]  # scores of trigrams, score of an unseen one


@lru_cache(maxsize=16)
def load_names(lang: str) -> NameLists:
    """Read the name lists of a language, once per process. They are public lists; nothing of a note is cached.

    lang (str): ISO 639-1 code.
    RETURNS (NameLists): the lists; empty ones for a language that has none.
    """
    names = NameLists()
    people = get_language(lang).read_toml("people.toml")
    for name_type in NAME_TYPES:
        _read_names(names, lang, name_type)
    names.links = frozenset(phrase.rpartition(" ")[0] for phrase in names.linked["surname"])
    names.shapes = tuple(map(re.compile, people.get("order", {}).get("shapes", ())))
    _read_groups(names, lang, people)
    for line in get_language(lang).read_lines("names/decades.csv")[1:]:
        name_type, decade, listed = line.split(",")
        names.eras[name_type].update(dict.fromkeys(map(fold, listed.split("|")), int(decade) // _ERA))
    for name_type in NAME_TYPES[:2]:
        groups = {title: map(fold, members) for title, members in names.members[name_type].items()}
        names.foreign[name_type] = find_foreign(list(names.proper[name_type]), groups, names.groups[name_type])
    if ending := people.get("origins", {}).get("elsewhere"):
        rare = list(names.proper["surname"])[_FREQUENT:]
        names.foreign["surname"] = frozenset(name for name in rare if re.search(ending, name))
    names.settle()
    return names


def _read_list(lang: str, name_type: str) -> Iterator[tuple[str, int]]:
    rows = csv.DictReader(get_language(lang).read_text(f"names/{name_type}.csv").splitlines())
    yield from ((row["name"], int(row["count"])) for row in rows)


def _read_names(names: NameLists, lang: str, name_type: str) -> None:
    """Read one list: single names, names with particles, and double names."""
    particles = frozenset(load_name_words("particles"))
    heads: Counter[str] = Counter()
    headed: Counter[str] = Counter()
    taking: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    proper, counts = names.proper[name_type], names.counts[name_type]

    def take(name: str, count: int) -> None:  # of two spellings that fold to one, the first is the more frequent
        proper.setdefault(fold(name), name)
        counts[fold(name)] += count

    for name, count in _read_list(lang, name_type):
        words = name.split()
        linked = [i for i, word in enumerate(words) if fold(word) in particles and i < len(words) - 1]
        if len(words) == 1:
            take(name, count)
            names.alone[name_type].add(fold(name))
        elif linked:
            taking[fold(words[-1])][tuple(words[i] for i in linked)] += count
            for phrase in {fold(" ".join(words)), fold(" ".join(words[linked[0] :]))}:
                names.linked[name_type][phrase] += count
            counts.setdefault(fold(words[-1]), 0)
            if len(words) == len(linked) + 1:
                take(words[-1], count)
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


def _read_groups(names: NameLists, lang: str, people: Mapping[str, Any]) -> None:
    """Assign each name to the first group of origin that has it. The first listed group is the country's own.

    people (Mapping[str, Any]): the content of ``people.toml``.
    """
    groups = list(get_language(lang).read_toml("names/origins.toml").get("groups", {}).items())
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
        if name_type == "surname":
            for folded, title in _from_abroad(names, origins.get("countries", {})):
                holders[folded].append(title)
        for folded, titles in holders.items():
            if folded not in own and len(names.members[name_type][titles[0]]) >= ENOUGH:
                names.groups[name_type][folded] = titles[0]


def _from_abroad(names: NameLists, countries: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Listed surnames that are frequent in another country, with the group of origin that comes from there."""
    for title, country in countries.items():
        others = frozenset(country["except"].split())
        for name, count in _read_list(country["list"], "surname"):
            here = names.counts["surname"][fold(name)]
            if here and count >= _ABROAD * here and fold(name) not in others:
                yield fold(name), title


def find_foreign(
    names: Sequence[str], groups: Mapping[str, Iterable[str]], known: Mapping[str, str]
) -> frozenset[str]:
    """Find rare names that look more like those of a group of origin than like the country's own.

    names (Sequence[str]): folded names, most frequent first.
    groups (Mapping[str, Iterable[str]]): group of origin → its folded names.
    known (Mapping[str, str]): folded name → its group, for names that are in one.
    RETURNS (frozenset[str]): names that are in no group and not among the most frequent.
    """
    others = [name for name in names if name not in known]
    own = _fit(others[:_FREQUENT])
    models = [_fit(word for name in group for word in name.split()) for group in groups.values()]

    def looks_foreign(trigrams: Sequence[str]) -> bool:
        least = _score(trigrams, own) + _MARGIN * len(trigrams)
        return any(_score(trigrams, model) > least for model in models)

    return frozenset(name for name in others[_FREQUENT:] if looks_foreign(_trigrams(name))) if models else frozenset()


def _trigrams(name: str) -> list[str]:
    """The trigrams of a name, with marks for its beginning and end."""
    framed = f"^{name}$"
    return [framed[i : i + 3] for i in range(len(framed) - 2)]


def _fit(names: Iterable[str]) -> TrigramModel:
    """Log probabilities of trigrams in thousandths of a nat, with additive smoothing."""
    counts = Counter(trigram for name in names for trigram in _trigrams(name))
    total = sum(counts.values()) + _SMOOTHING * _TRIGRAMS
    scores = {trigram: round(1000 * log((count + _SMOOTHING) / total)) for trigram, count in counts.items()}
    return scores, round(1000 * log(_SMOOTHING / total))


def _score(trigrams: Sequence[str], model: TrigramModel) -> int:
    scores, unseen = model
    return sum(scores.get(trigram, unseen) for trigram in trigrams)
