"""Replace the names in user names and e-mail addresses, such as "jsmith82" and "garcia.ana@…", by their surrogates.

Each run of letters is split into beginnings of the parts of a person's name: "jsmith" into "j" of John and all of
Smith. Of the persons of the note, the one whose name explains most letters is the owner. Letters that no name of the
note explains are split with the name lists. Digits are drawn anew, and a domain becomes a reserved one, which belongs
to nobody.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from unicodedata import normalize

from ...lang import shared_words
from ...lang.text import fold
from ..keys import IdentityKey
from ..mention import Mention
from ..numbers.addresses import draw_domain
from .assignment import NameAssignment
from .identities import Person, name_type_of
from .name_lists import NameLists

_RUN = re.compile(r"[^\W\d_]+|\d+")
_LEAST_LETTERS = 3  # letters of a name that a run must have, unless it has all initials
_LEAST_INSIDE = 5  # letters of the beginning of a name that identify it within a run
_LEAST_LISTED = 4  # letters of a listed name after an initial
_LONGEST_RUN = 40  # longer runs are not parsed
_MOST_REPEATED = 4  # number of name parts up to which each may occur twice in a run

Piece = tuple[str, str, int]
"""Kind of a name part, its lemma, and how many of its first letters are written. A piece of the kind "" is kept."""


@dataclass(slots=True)
class Address:
    """The names in a user name, or in the part of an e-mail address before the "@".

    person (Person): the owner of the address; a person without a name if no one in the note fits.
    runs (dict[tuple[int, int], list[Piece]]): start and end of a run of letters → the beginnings of names in it.
    """

    person: Person
    runs: dict[tuple[int, int], list[Piece]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Address(runs={len(self.runs)})"

    @property
    def lemmas(self) -> frozenset[str]:
        """The lemmas (folded nominatives) of all names in the address."""
        return frozenset(lemma for pieces in self.runs.values() for kind, lemma, _ in pieces if kind)


def read_address(mention: Mention, persons: Sequence[Person], names: NameLists) -> Address:
    """Find the owner of a user name or an e-mail address, and the names that it is made of.

    If the note does not have the owner's given name and the address does ("J. Rowe" with james.rowe@…), it is added to
    the person.

    mention (Mention): a user name or an e-mail address.
    persons (Sequence[Person]): the persons of the note.
    names (NameLists): the name lists of the language.
    RETURNS (Address): the owner and the names in the address.
    """
    local, _ = _split(mention.text)
    runs = [(found.span(), fold(found.group())) for found in _RUN.finditer(local) if not found.group().isdigit()]
    best, best_score = Address(Person()), 0
    fixed = [("", word) for word in shared_words("people.toml", "particles", "addresses")]  # titles and particles
    for person in persons:
        words = [part for part in person.parts if part[1].isalpha()]
        # "b.okane" and its beginning once more: "bokaneoka"
        words += [*(words if len(words) <= _MOST_REPEATED else []), *fixed]
        found = {span: pieces for span, run in runs if (pieces := _parse(run, words))}
        score = sum(
            length**2 for pieces in found.values() for kind, lemma, length in pieces if kind and (kind, lemma) in words
        )
        if score > best_score:
            best, best_score = Address(person, found), score
    for span, run in runs:
        if span not in best.runs:
            best.runs[span] = _parse_by_lists(run, names)
    owner = best.person
    if owner.parts and not any(kind == "given" for kind, _ in owner.parts):
        known = (piece for pieces in best.runs.values() for piece in pieces)
        given = [(kind, lemma) for kind, lemma, n in known if kind == "given" and n == len(lemma) > 1]
        if len(given) == 1:
            owner.parts = dict.fromkeys([*given, *owner.parts])
    return best


def write_address(mention: Mention, address: Address, assignment: NameAssignment) -> str | None:
    """Write a user name or an e-mail address with the surrogates of the names that it contains.

    mention (Mention): a user name or an e-mail address.
    address (Address): the names in it, from `read_address`.
    assignment (NameAssignment): the surrogates of the note.
    RETURNS (Optional[str]): the surrogate; None if a name in it has none.
    """
    local, domain = _split(mention.text)
    out, last = [], 0
    for found in _RUN.finditer(local):
        new: str | None
        if found.group().isdigit():
            new = replace_digits(found.group(), assignment.key, mention.variant)
        else:
            new = _write_run(found.group(), address.runs[found.span()], address.person, assignment, mention.variant)
        if new is None:
            return None
        out += [local[last : found.start()], new]
        last = found.end()
    out.append(local[last:])
    if domain:  # line breaks and blanks of the original stay in front
        old = fold(domain[1:])
        draw = assignment.key.draw("person", "domain", old, str(mention.variant))
        new_domain = next(name for _ in count() if (name := draw_domain(draw, old.count(".") + 1)) != old)
        out += [domain[0], *(c for c in domain[1:] if c in " \r\n"), like(domain[1:], new_domain)]
    return "".join(out)


def replace_digits(text: str, key: IdentityKey, variant: int) -> str:
    """Draw random digits with the patient's key to replace the digits of an address.

    text (str): the original digits.
    key (IdentityKey): the key of the patient.
    variant (int): the variant of the mention.
    RETURNS (str): the new digits, which differ from the original ones.
    """
    draw = key.draw("person", "number", text, str(variant))
    while True:
        digits = "".join(str(draw.below(10)) for _ in text)
        if digits != text:
            return digits


def like(text: str, name: str) -> str:
    """Write a surrogate in capitals or in lower case, if the original is written so.

    text (str): the original word.
    name (str): the surrogate, written as in the name lists.
    RETURNS (str): the surrogate in capitals, in lower case, or unchanged.
    """
    if text.isupper() and len(text) > 1:
        return name.upper()
    return name.lower() if text.islower() else name


def _split(text: str) -> tuple[str, str]:
    """Split an e-mail address before its "@" into local part and domain. The domain of a user name is ""."""
    local = text.rpartition("@")[0] if "@" in text[1:] else text
    return local, text[len(local) :]


def _parse(run: str, words: Sequence[tuple[str, str]]) -> list[Piece]:
    """Split a run of letters into beginnings of names; other letters around a name become unknown names or initials.

    run (str): the letters, folded.
    words (Sequence[tuple[str, str]]): kind and lemma of each name, which is used at most once.
    RETURNS (list[Piece]): the pieces; [] if the run has no name.
    """
    best = _parse_completely(run, words)
    if not best and len(run) > _LEAST_LISTED and (rest := _parse_completely(run[1:], words)):
        best = [("given", run[0], 1), *rest] if rest[0][2] >= _LEAST_LISTED else []
    inside = [(n, kind, word) for kind, word in words if kind for n in range(len(word), 0, -1) if word[:n] in run]
    found = [row for row in inside if row[0] >= _LEAST_INSIDE or row[0] == len(row[2]) >= _LEAST_LISTED]
    if best or not found or len(run) > _LONGEST_RUN:
        return best
    # The rest around the longest name becomes unknown names or initials: "lhcandebat" is two initials and Candebat,
    # "kticamorales" an unknown name and Morales.
    length, kind, word = max(found, key=lambda row: row[0])
    start = run.index(word[:length])
    return [*_unknown(run[:start]), (kind, word, length), *_unknown(run[start + length :])]


def _unknown(run: str) -> list[Piece]:
    """Treat letters that no name explains as initials, or as one surname if there are more than three."""
    if len(run) > _LEAST_LETTERS:
        return [("surname", run, len(run))]
    return [("given", letter, 1) for letter in run]


def _parse_completely(run: str, words: Sequence[tuple[str, str]]) -> list[Piece]:
    """Split a whole run into beginnings of names, each used at most once; [] if that is not possible."""
    if len(run) > _LONGEST_RUN:
        return []
    best: list[Piece] = []
    for pieces in _parses(run, tuple(words)):
        named = [length for kind, _, length in pieces if kind]
        whole = sum(kind != "" and length == len(word) > 1 for kind, word, length in pieces)
        initials = len(named) >= max(2, len(run))
        enough = max(named, default=0) >= min(_LEAST_LETTERS, len(run)) or initials or whole > 1
        if enough and sum(n**2 for n in named) > sum(n**2 for _, _, n in best):
            best = pieces
    return best


def _parses(run: str, words: tuple[tuple[str, str], ...]) -> Iterator[list[Piece]]:
    """Yield ways to split a run into beginnings of names, those with the longest beginnings first."""
    if not run:
        yield []
        return
    for place, (kind, word) in enumerate(words):
        same = next((i for i, (a, b) in enumerate(zip(run, word, strict=False)) if a != b), min(len(run), len(word)))
        lengths = range(same, 0, -1) if kind else ([same] if same == len(word) else [])
        for length in lengths:
            for rest in _parses(run[length:], words[:place] + words[place + 1 :]):
                yield [(kind, word, length), *rest]
                break


def _parse_by_lists(run: str, names: NameLists) -> list[Piece]:
    """Split a run with the name lists: one or two names, or a name and an initial; else it is an unlisted surname."""
    kind = max(("given", "surname"), key=lambda kind: names.count(kind, run))
    if names.count(kind, run):
        return [(kind, run, len(run))]
    splits = []
    for cut in range(1, len(run)):
        left, right = run[:cut], run[cut:]
        for first, last in (("given", "surname"), ("surname", "given")):
            counts = [
                names.count(kind, part) if len(part) >= _LEAST_LETTERS else int(len(part) == 1)
                for kind, part in ((first, left), (last, right))
            ]
            if all(counts) and max(len(left), len(right)) >= _LEAST_LISTED:
                score = min(counts) if len(left) > 1 and len(right) > 1 else max(counts) / 100
                splits.append((score, [(first, left, cut), (last, right, len(right))]))
    return max(splits)[1] if splits else [("surname", run, len(run))]


def _write_run(
    text: str, pieces: Sequence[Piece], person: Person, assignment: NameAssignment, variant: int
) -> str | None:
    """Write a run with as many letters of each surrogate as it has of the original; None if one has no surrogate."""
    out = ""
    at = 0
    for kind, lemma, length in pieces:
        original = text[at : at + length]
        at += length
        if not kind:
            out += original
            continue
        if len(lemma) == 1:
            name = assignment.letter(kind, lemma, variant)
        else:
            name = assignment.name(name_type_of(kind, lemma, person, assignment.names), lemma, variant)
        if name is None:
            return None
        plain = "".join(c for c in fold(name) if c.isalnum()) if text.isascii() else normalize("NFC", name)
        plain = plain if length >= len(lemma) else plain[:length]
        if len(original) > 1:
            out += like(original, plain[:1].upper() + plain[1:])
        else:
            out += plain.upper() if original.isupper() else plain.lower()
    return out
