"""Whole names: where the parts that were drawn are together a name that must not be, they are drawn anew.

Parts are drawn one by one, so that a surname alone has the surrogate of the full name; only together do they name a
person whom dictionaries know. Then the given name is drawn again, with a context of its own, for all mentions of the
note. After `REDRAWS` rounds the mention gets its tag.
"""

from collections.abc import Iterator, Sequence

from ..persons import fold
from .choice import Choices
from .identities import Person, sort_of
from .words import Parts

__all__ = ["REDRAWS", "is_forbidden", "settle_wholes"]

REDRAWS = 20
"""Rounds in which the given names are drawn again, at most."""

Named = tuple[Parts, Person, int]  # the words of a mention, whose name it is, the variant
Whole = tuple[tuple[str, str], ...]  # kinds and lemmas of the parts of a name, in order


def settle_wholes(mentions: Sequence[Named], choices: Choices) -> None:
    """Draw given names again until no whole name of a note is forbidden, or there were enough rounds.

    mentions (Sequence[tuple]): words, person and variant of each mention of a person.
    choices (Choices): the surrogates of the note.
    """
    wholes = {(id(person), variant, whole): person for person, variant, whole in _each(mentions)}
    for _ in range(REDRAWS):
        hits = {
            _part_to_draw(whole, person, variant, choices)
            for (_, variant, whole), person in wholes.items()
            if _is_hit(whole, person, variant, choices)
        }
        if not hits:
            return
        for sort, lemma, variant in sorted(hits):
            choices.redraw(sort, lemma, variant)


def is_forbidden(parts: Parts, person: Person, variant: int, choices: Choices) -> bool:
    """Whether the surrogates of the names of a mention are together a name that must not be."""
    return any(_is_hit(whole, person, variant, choices) for whole in _orders(_names(parts)))


def _each(mentions: Sequence[Named]) -> Iterator[tuple[Person, int, Whole]]:
    """The whole names of the mentions, and of the persons: what stands apart in a note belongs together."""
    for parts, person, variant in mentions:
        for whole in (*_orders(_names(parts)), *_orders(tuple(person.parts))):
            yield person, variant, whole


def _names(parts: Parts) -> Whole:
    return tuple((part.kind, part.lemma) for part in parts if part.role == "name")


def _orders(names: Whole) -> list[Whole]:
    """A name as it is written, and with the surnames last; nothing for a single word, which is no person."""
    turned = tuple(sorted(names, key=lambda part: part[0] == "surname"))
    return [] if len(names) < 2 else [names] if turned == names else [names, turned]


def _is_hit(whole: Whole, person: Person, variant: int, choices: Choices) -> bool:
    """Whether a whole name is forbidden, with or without the particles of its parts."""
    bare, full = [], []
    for kind, lemma in whole:
        sort = sort_of(kind, lemma, person, choices.names)
        name = choices.name(sort, lemma, variant)
        if name is None:
            return False
        bare.append(name)
        full += [*choices.names.particles[sort].get(fold(name), ()), name]
    return any(choices.is_forbidden(" ".join(words)) for words in ([bare, full] if bare != full else [bare]))


def _part_to_draw(whole: Whole, person: Person, variant: int, choices: Choices) -> tuple[str, str, int]:
    """The part that is drawn again: the first given name, which no relative shares, or else the last surname."""
    kind, lemma = next((part for part in whole if part[0] == "given"), whole[-1])
    return sort_of(kind, lemma, person, choices.names), lemma, variant
