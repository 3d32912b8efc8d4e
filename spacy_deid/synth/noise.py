"""Bad typing and bad scans. Whatever happens to the text, the spans follow.

A change is made character by character: each character of the note becomes a string, empty or longer, and offsets are
counted again. An entity never loses its last character.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random

from ..evaluation import AnnotatedText, Entity
from ..lang.text import fold

__all__ = ["HANDS", "add_noise", "rewrite"]

_NEAR = dict(
    zip(
        "qwertyuiopasdfghjklzxcvbnm",
        "wa qe wr et ry tu yi uo ip o qs ad sf dg fh gj hk jl k zx xc cv vb bn nm n".split(),
        strict=False,
    )
)
# One character each: what is changed here is changed character by character.
_SCAN = {
    "l": "1",
    "1": "l",
    "O": "0",
    "0": "O",
    "m": "rn",
    "I": "l",
    "S": "5",
    "5": "S",
    "e": "c",
    "B": "8",
}


def rewrite(note: AnnotatedText, pieces: Sequence[str]) -> AnnotatedText:
    """Replace every character of a note.

    note (AnnotatedText): the note.
    pieces (Sequence[str]): for each character what stands in its place.
    RETURNS (AnnotatedText): the new note; an entity spans what its characters became, less blanks at its edges.
    """
    text = "".join(pieces)
    ends = [0, *accumulate(len(piece) for piece in pieces)]
    entities = []
    for entity in note.entities:
        start, end = ends[entity.start], ends[entity.end]
        value = text[start:end]
        start, end = start + len(value) - len(value.lstrip()), end - len(value) + len(value.rstrip())
        if start < end:
            entities.append(Entity(start, end, entity.label))
    return AnnotatedText(note.name, text, tuple(entities))


def _each(change: Callable[[str, Random], str]) -> Callable[[AnnotatedText, Random], AnnotatedText]:
    """A hand that changes each character by itself."""
    return lambda note, rng: rewrite(note, [change(char, rng) for char in note.text])


def _plain(char: str, _: Random) -> str:
    """Without its accent; "ñ" becomes "n", as on a foreign keyboard."""
    bare = fold(char)
    return (bare.upper() if char.isupper() else bare) or char


def _careless(char: str, rng: Random) -> str:
    """Commas and full stops left out here and there."""
    return "" if char in ",.;:" and rng.random() < 0.35 else char


def _spaced(char: str, rng: Random) -> str:
    """Two spaces for one, and spaces before a stop."""
    if char == " " and rng.random() < 0.12:
        return "  "
    return f" {char}" if char in ".,:;" and rng.random() < 0.06 else char


def _slipped(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Letters dropped, doubled, exchanged for a neighbour key or swapped with the next; digits are left alone."""
    pieces = list(note.text)
    for i, char in enumerate(pieces):
        if not char.isalpha() or rng.random() > 0.008:
            continue
        kind = rng.randrange(4)
        if kind == 0 and 0 < i < len(pieces) - 1 and note.text[i - 1].isalpha() and note.text[i + 1].isalpha():
            pieces[i] = ""
        elif kind == 1:
            pieces[i] = char * 2
        elif kind == 2 and char in _NEAR:
            pieces[i] = rng.choice(_NEAR[char])
        elif kind == 3 and i + 1 < len(pieces) and note.text[i + 1].isalpha() and _same_entity(note, i):
            pieces[i], pieces[i + 1] = note.text[i + 1], char
    return rewrite(note, pieces)


def _same_entity(note: AnnotatedText, i: int) -> bool:
    """Whether a character and the next are inside or outside the same entities."""
    return all((e.start <= i < e.end) == (e.start <= i + 1 < e.end) for e in note.entities)


def _scanned(char: str, rng: Random) -> str:
    """Characters that a scanner takes for others, specks, broken blanks."""
    chance = rng.random()
    if char in _SCAN and chance < 0.015:
        return _SCAN[char]
    if char == " " and chance < 0.01:
        return rng.choice(("", "  ", " ' ", " . "))
    return char


def _cased(turn: Callable[[str], str]) -> Callable[[AnnotatedText, Random], AnnotatedText]:
    """A hand that types in one case only."""
    return lambda note, _: rewrite(note, [turn(char) for char in note.text])


def _lowered_names(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Names typed without capitals in a note that is otherwise in order."""
    low = {"PATIENT", "RELATIVE", "CLINICIAN", "PERSON", "CITY", "TERRITORY", "STATE", "STREET", "HOSPITAL"}
    pieces = list(note.text)
    for entity in note.entities:
        if entity.label in low:
            pieces[entity.start : entity.end] = [char.lower() for char in pieces[entity.start : entity.end]]
    return rewrite(note, pieces)


Hand = Callable[[AnnotatedText, Random], AnnotatedText]
HANDS: dict[str, Hand] = {
    "capitals": _cased(str.upper),
    "lower": _cased(str.lower),
    "lowered_names": _lowered_names,
    "plain": _each(_plain),
    "careless": _each(_careless),
    "spaced": _each(_spaced),
    "slipped": _slipped,
    "scanned": _each(_scanned),
}


def add_noise(note: AnnotatedText, rng: Random, hands: Sequence[str] = tuple(HANDS)) -> AnnotatedText:
    """Type a note badly, in one way or two.

    note (AnnotatedText): the note.
    rng (Random): the source of chance.
    hands (Sequence[str]): the ways, keys of `HANDS`.
    RETURNS (AnnotatedText): the note as another hand would have typed it.
    """
    for name in rng.sample(sorted(hands), min(len(hands), rng.choice((1, 1, 2)))):
        note = HANDS[name](note, rng)
    return note
