"""The parts of a name: which of its words are given names, surnames, particles and titles.

A record's name is often one field ("VIRTANEN, Anna Liisa", "Dr. Ana García de la Fuente"), and a surname is often two.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..dictionaries.normalise import normal_form
from .languages import load_language, name_words

__all__ = ["core", "proper", "split_full", "split_words", "surname_groups"]

_WORD = re.compile(r"[^\s\-‐-―]+")
_KEPT = 100_000  # distinct names whose parts are kept; names repeat as Zipf has it


def proper(text: str) -> str:
    """Write a name that is all capitals or all small in proper case, as inflection wants it.

    text (str): as the record has it.
    RETURNS (str): "VIRTANEN" → "Virtanen"; "McDonald" stays.
    """
    return text.title() if len(text) > 1 and (text.isupper() or text.islower()) else text


def split_words(name: str) -> list[str]:
    """The words of a name, hyphens and spaces alike between them.

    name (str): a name.
    RETURNS (list[str]): as written, without marks around them; initials keep no period.
    """
    words = (word.strip(".,;:()[]\"'’`´") for word in _WORD.findall(name))
    return [word for word in words if any(char.isalpha() for char in word)]


@lru_cache(_KEPT)
def surname_groups(surname: str) -> tuple[str, ...]:
    """The surnames within a surname; particles go with the name that follows them.

    surname (str): "García de la Fuente", "Virtanen-Lahti".
    RETURNS (tuple[str, ...]): "García", "de la Fuente".
    """
    particles = name_words().particles
    groups: list[str] = []
    held: list[str] = []
    for word in split_words(surname):
        held.append(word)
        if normal_form(word) not in particles:
            groups.append(" ".join(held))
            held = []
    if held:  # nothing but particles follow, so that they are names here
        groups.append(" ".join(held))
    return tuple(groups)


def core(group: str) -> str:
    """A surname without its particles.

    group (str): "de la Fuente".
    RETURNS (str): "Fuente"; the whole if it is nothing but particles.
    """
    particles = name_words().particles
    words = [word for word in group.split() if normal_form(word) not in particles]
    return " ".join(words) or group


@lru_cache(_KEPT)
def split_full(name: str, lang: str, *, surname_first: bool = False) -> Mapping[str, Sequence[str]]:
    """Tell given names from surnames in a full name. A comma decides; else the language's custom does.

    name (str): a full name.
    lang (str): ISO 639-1 code.
    surname_first (bool): whether names without a comma begin with the surname.
    RETURNS (Mapping[str, Sequence[str]]): "given" and "surname", each with at most one value.
    """
    words = name_words()
    pieces = [piece.strip() for piece in name.split(",")]
    kept = [piece for piece in pieces[1:] if normal_form(piece).rstrip(".") not in words.credentials]
    first = _without_titles(pieces[0])
    given = " ".join(_without_titles(piece) for piece in kept).strip()
    if given:
        return _parts(given, first)
    listed = first.split()
    while len(listed) > 2 and _bare(listed[-1]) in words.suffixes:
        listed.pop()
    if len(listed) < 2:
        return _parts("", " ".join(listed))
    at = _find_surname(listed, load_language(lang).surnames, surname_first=surname_first)
    first, last = " ".join(listed[:at]), " ".join(listed[at:])
    return _parts(last, first) if surname_first else _parts(first, last)


def _parts(given: str, surname: str) -> Mapping[str, Sequence[str]]:
    """The parts that are there."""
    return {key: (value,) for key, value in (("given", given), ("surname", surname)) if value}


def _without_titles(text: str) -> str:
    """A name without the titles before it."""
    words = text.split()
    titles = name_words().titles
    while len(words) > 1 and (_bare(words[0]) in titles or normal_form(words[0]) in titles):
        words.pop(0)
    return " ".join(words)


def _bare(word: str) -> str:
    """The normal form of a word without its periods."""
    return normal_form(word).replace(".", "")


def _find_surname(words: Sequence[str], surnames: int, *, surname_first: bool) -> int:
    """Where the second part of a name without comma begins: a given name is left in any case.

    words (Sequence[str]): two words at least.
    surnames (int): how many of them are surnames.
    """
    particles = name_words().particles
    names = [i for i, word in enumerate(words) if normal_form(word) not in particles] or list(range(len(words)))
    taken = min(surnames, max(1, len(names) - 1))
    if surname_first:
        return max(1, min(names[taken - 1] + 1, len(words) - 1))
    at = names[-taken]
    while at > 1 and normal_form(words[at - 1]) in particles:
        at -= 1
    return max(1, at)
