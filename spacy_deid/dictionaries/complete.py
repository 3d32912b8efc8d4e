"""Extend the matches of a patient's names over what belongs to the name but is no term of the dictionary.

- Initials of the patient's other names: "Olalla V.", "Villaseca, O. M.", "N. W. Villaseca".
- Particles between two parts: "Olalla Villaseca de la Fuente" if "villaseca" and "fuente" were found.
- The genitive of English: "Villaseca's".
"""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources

from ..lang import all_languages
from .matcher import Match
from .normalise import normal_form
from .terms import PERSONS, LocalEntry

_INITIAL = r"[^\W\d_a-zà-öø-ÿ](?:\.|(?!\w))"
_AFTER = re.compile(rf",?[ \u00a0]((?:{_INITIAL}[ \u00a0-]?){{1,4}})(?=[\s,;:)\]/]|$)")
_BEFORE = re.compile(rf"(?<!\w)((?:{_INITIAL}[ \u00a0-]?){{1,3}})$")
_GENITIVE = re.compile(r"['\u2019]s(?!\w)")
_LETTER = re.compile(r"[^\W\d_]")
_REACH = 16  # characters before or after a match to search for initials


def find_initials(entries: Iterable[LocalEntry]) -> frozenset[str]:
    """Collect the first letters of a patient's names.

    entries (Iterable[LocalEntry]): the entries of the patient.
    RETURNS (frozenset[str]): letters in lower case, without accents.
    """
    words = (word for entry in entries if entry.label in PERSONS for word in entry.term.split())
    return frozenset(word[0] for word in words if len(word) > 1 and word[0].isalpha())


def complete_names(text: str, matches: Iterable[Match], initials: frozenset[str]) -> list[Match]:
    """Extend the matches of names over initials, particles and genitives.

    text (str): the note.
    matches (Iterable[Match]): matches of one patient; those that are no names of persons stay as they are.
    initials (frozenset[str]): the first letters of the patient's names, from `find_initials`.
    RETURNS (list[Match]): the matches in text order.
    """
    done: list[Match] = []
    last: dict[str, int] = {}  # label → index in `done` of the last name
    for match in sorted(matches):
        if match.label not in PERSONS:
            done.append(match)
            continue
        start, end = _extend_left(text, match.start, initials), _extend_right(text, match.end, initials)
        before = last.get(match.label)
        if before is not None and _is_particles(text[done[before].end : start]):
            start = done[before].start
        last[match.label] = len(done)
        done.append(match._replace(start=start, end=end))
    return sorted(dict.fromkeys(done))


def extend_genitives(text: str, matches: Iterable[Match]) -> list[Match]:
    """Extend matches over the genitive of English.

    text (str): the note.
    matches (Iterable[Match]): any matches.
    RETURNS (list[Match]): the matches, of which those before "'s" are two characters longer.
    """
    return [match._replace(end=_after_genitive(text, match.end)) for match in matches]


def _after_genitive(text: str, end: int) -> int:
    """Return the offset after "'s", or `end` if there is none."""
    found = _GENITIVE.match(text, end)
    return found.end() if found else end


def _extend_right(text: str, end: int, initials: frozenset[str]) -> int:
    """Return the end of a name with the initials and the genitive after it."""
    found = _AFTER.match(text[: end + _REACH], end)
    if found and _are(found[1], initials):
        end += len(found[0].rstrip(" \u00a0-"))
    return _after_genitive(text, end)


def _extend_left(text: str, start: int, initials: frozenset[str]) -> int:
    """Return the start of a name with the initials before it."""
    found = _BEFORE.search(text[max(0, start - _REACH) : start])
    return start - len(found[0]) if found and _are(found[1], initials) else start


def _are(written: str, initials: frozenset[str]) -> bool:
    """Return whether all letters are among the initials of the patient."""
    return all(normal_form(letter)[:1] in initials for letter in _LETTER.findall(written))


def _is_particles(between: str) -> bool:
    """Return whether the text between two names consists of particles."""
    words = between.replace(",", " ").split()
    return (
        bool(words) and len(between) <= _REACH and "\n" not in between and set(map(normal_form, words)) <= _particles()
    )


@cache
def _particles() -> frozenset[str]:
    """Load the particles of surnames of all languages."""
    shared = resources.files("spacy_deid") / "resources" / "expansion" / "names.toml"
    data = [tomllib.loads(shared.read_text(encoding="utf-8"))]
    data += [language.read_toml("expansion.toml") for language in all_languages("expansion.toml")]
    return frozenset(normal_form(word) for values in data for word in values.get("particles", ()))
