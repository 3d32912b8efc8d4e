"""User names and e-mail addresses, made of the names of a person as the originals are: "jsmith82", "garcia.ana@…".

A run of letters is read as beginnings of the parts of one person's name, "jsmith" as "j" of John and all of Smith; the
person of the note that explains most letters is taken. Where none does, the lists are asked, so that the address alone
still has the surrogates of the name. Domains are reserved ones (`domains`): nobody reads mail there.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from unicodedata import normalize

from ..domains import draw_domain
from ..keys import IdentityKey
from ..mention import Mention
from ..persons import fold
from .choice import Choices
from .customs import Customs
from .identities import Person, sort_of
from .kin import replace_number
from .lists import Names
from .writing import like

__all__ = ["Address", "read_address", "write_address"]

_RUN = re.compile(r"[^\W\d_]+|\d+")
_LEAST = 3  # letters of a name that a run must have to be a person's, unless it has all initials
_BEGINNING = 5  # letters of the beginning of a name that tell it amid others
_SPLIT = 4  # letters of a listed name behind an initial
_MOST = 40  # letters of a run that is read
_FEW = 4  # parts of a name that may stand twice in a run
Piece = tuple[str, str, int]  # kind of a part, lemma, letters of it; kind "" stays as it is


@dataclass(slots=True)
class Address:
    """What the local part of an address is made of.

    person (Person): whose it is.
    runs (dict[tuple[int, int], list[Piece]]): where a run of letters stands → its pieces.
    """

    person: Person
    runs: dict[tuple[int, int], list[Piece]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Address(runs={len(self.runs)})"

    @property
    def lemmas(self) -> frozenset[str]:
        """The parts of names that it holds."""
        return frozenset(lemma for pieces in self.runs.values() for kind, lemma, _ in pieces if kind)


def read_address(mention: Mention, persons: Sequence[Person], customs: Customs, names: Names) -> Address:
    """Read a user name or an address.

    mention (Mention): the mention.
    persons (Sequence[Person]): the persons of the note.
    customs (Customs): the habits of the language.
    names (Names): the lists of the language.
    RETURNS (Address): its pieces.
    """
    local = mention.text.rpartition("@")[0] if "@" in mention.text[1:] else mention.text
    runs = [(found.span(), fold(found.group())) for found in _RUN.finditer(local) if not found.group().isdigit()]
    best, score = Address(Person()), 0
    for person in persons:
        words = _words(person, customs)
        found = {span: pieces for span, run in runs if (pieces := _explain(run, words))}
        own = (
            length for pieces in found.values() for kind, lemma, length in pieces if kind and (kind, lemma) in words
        )
        explained = sum(length**2 for length in own)
        if explained > score:
            best, score = Address(person, found), explained
    for span, run in runs:
        if span not in best.runs:
            best.runs[span] = _from_lists(run, names)
    _tell_given_name(best)
    return best


def _tell_given_name(address: Address) -> None:
    """Let a person know a given name that the address alone has: "J. Rowe" of james.rowe@…"""
    if any(kind == "given" for kind, _ in address.person.parts):
        return
    whole = [(kind, lemma) for pieces in address.runs.values() for kind, lemma, n in pieces if n == len(lemma) > 1]
    given = [part for part in whole if part[0] == "given"]
    if len(given) == 1 and address.person.parts:
        address.person.parts = dict.fromkeys([*given, *address.person.parts])


def write_address(mention: Mention, address: Address, choices: Choices) -> str | None:
    """Write the surrogate of a user name or an address.

    mention (Mention): the mention.
    address (Address): its pieces.
    choices (Choices): the surrogates of the note.
    RETURNS (Optional[str]): the text; None if there is no surrogate for a name in it.
    """
    text = mention.text
    local = text.rpartition("@")[0] if "@" in text[1:] else text
    out, last = [], 0
    for found in _RUN.finditer(local):
        new: str | None
        if found.group().isdigit():
            new = replace_number(found.group(), False, choices.key, mention.variant)
        else:
            new = _write_run(found.group(), address.runs[found.span()], address.person, choices, mention.variant)
        if new is None:
            return None
        out += [local[last : found.start()], new]
        last = found.end()
    out.append(local[last:])
    return "".join(out) + _domain(text[len(local) :], choices.key, mention.variant)


def _letters(name: str) -> str:
    """What an address has of a name."""
    return "".join(c for c in fold(name) if c.isalnum())


def _words(person: Person, customs: Customs) -> list[tuple[str, str]]:
    """The parts of a person's name, their nicknames, and titles that may stand with them."""
    parts = [part for part in person.parts if part[1].isalpha()]
    again = parts if len(parts) <= _FEW else []  # "b.okane" with the beginning of the name once more: "bokaneoka"
    return [*parts, *again, ("", "dra"), ("", "dr"), ("", "de"), ("", "del"), ("", "dela")]


def _explain(run: str, words: Sequence[tuple[str, str]]) -> list[Piece]:
    """Read a run as beginnings of words, behind the initial of a name that is not told at most.

    run (str): letters, folded.
    words (Sequence[tuple[str, str]]): kinds and lemmas, each read once.
    RETURNS (list[Piece]): empty if it cannot be read so.
    """
    best = _read_whole(run, words)
    if not best and len(run) > _SPLIT and (rest := _read_whole(run[1:], words)):
        best = [("given", run[0], 1), *rest] if rest[0][2] >= _SPLIT else []
    return best or _around(run, words)


def _around(run: str, words: Sequence[tuple[str, str]]) -> list[Piece]:
    """Read a run by the longest name in it, and what stands around that as names or initials that nobody knows.

    "lhcandebat" is two initials and Candebat, "kticamorales" something and Morales. Empty if it has no name.
    """
    inside = [(n, kind, word) for kind, word in words if kind for n in range(len(word), 0, -1) if word[:n] in run]
    found = [row for row in inside if row[0] >= _BEGINNING or row[0] == len(row[2]) >= _SPLIT]
    if not found or len(run) > _MOST:
        return []
    length, kind, word = max(found, key=lambda row: row[0])
    start = run.index(word[:length])
    return [*_nobody(run[:start]), (kind, word, length), *_nobody(run[start + length :])]


def _nobody(run: str) -> list[Piece]:
    """Letters of nobody's name that is known: initials, or a name."""
    if len(run) > _LEAST:
        return [("surname", run, len(run))]
    return [("given", letter, 1) for letter in run]


def _read_whole(run: str, words: Sequence[tuple[str, str]]) -> list[Piece]:
    """Read a run as beginnings of words, each of them once; empty if it cannot be read so."""
    if len(run) > _MOST:
        return []
    best: list[Piece] = []
    for pieces in _readings(run, tuple(words)):
        named = [length for kind, _, length in pieces if kind]
        whole = sum(kind != "" and length == len(word) > 1 for kind, word, length in pieces)
        enough = max(named, default=0) >= min(_LEAST, len(run)) or len(named) >= max(2, len(run)) or whole > 1
        if enough and sum(n**2 for n in named) > sum(n**2 for _, _, n in best):
            best = pieces
    return best


def _readings(run: str, words: tuple[tuple[str, str], ...]) -> Iterator[list[Piece]]:
    """Every way to read a run, the longest beginnings first."""
    if not run:
        yield []
        return
    for place, (kind, word) in enumerate(words):
        same = next((i for i, (a, b) in enumerate(zip(run, word, strict=False)) if a != b), min(len(run), len(word)))
        lengths = range(same, 0, -1) if kind else ([same] if same == len(word) else [])
        for length in lengths:
            for rest in _readings(run[length:], words[:place] + words[place + 1 :]):
                yield [(kind, word, length), *rest]
                break


def _from_lists(run: str, names: Names) -> list[Piece]:
    """Read a run by the lists: one name, an initial and a surname, two names; or a name of its own if by none."""
    kind = max(("given", "surname"), key=lambda kind: names.count(kind, run))
    if names.count(kind, run):
        return [(kind, run, len(run))]
    splits = []
    for cut in range(1, len(run)):
        left, right = run[:cut], run[cut:]
        for first, last in (("given", "surname"), ("surname", "given")):
            counts = [
                names.count(sort, part) if len(part) >= _LEAST else int(len(part) == 1)
                for sort, part in ((first, left), (last, right))
            ]
            if all(counts) and max(len(left), len(right)) >= _SPLIT:
                whole = min(counts) if len(left) > 1 and len(right) > 1 else max(counts) / 100
                splits.append((whole, [(first, left, cut), (last, right, len(right))]))
    return max(splits)[1] if splits else [("surname", run, len(run))]


def _write_run(text: str, pieces: Sequence[Piece], person: Person, choices: Choices, variant: int) -> str | None:
    """Write a run with the surrogates of its pieces, as much of each as there was."""
    out = ""
    at = 0
    for kind, lemma, length in pieces:
        original = text[at : at + length]
        at += length
        if not kind:
            out += original
            continue
        name: str | None
        if len(lemma) == 1:
            name = choices.letter(kind, lemma, variant)
        else:
            name = choices.name(sort_of(kind, lemma, person, choices.names), lemma, variant)
        if name is None:
            return None
        plain = _letters(name) if text.isascii() else normalize("NFC", name)
        plain = plain if length >= len(lemma) else plain[:length]
        out += like(original, plain[:1].upper() + plain[1:]) if len(original) > 1 else _one(original, plain)
    return out


def _one(original: str, plain: str) -> str:
    """One letter in the case of another."""
    return plain.upper() if original.isupper() else plain.lower()


def _domain(text: str, key: IdentityKey, variant: int) -> str:
    """Another domain, for "@" and what follows it."""
    if not text:
        return ""
    domain = fold(text[1:])
    draw = key.draw("person", "domain", domain, str(variant))
    new = next(name for _ in count() if (name := draw_domain(draw, domain.count(".") + 1)) != domain)
    return text[0] + ("".join(c for c in text[1:] if c in " \r\n")) + like(text[1:], new)
