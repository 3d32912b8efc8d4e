"""Simulate typing and scanning errors in annotated notes.

Each character of a note is replaced by a string, which can be empty or longer, and the offsets of the entities are
adjusted. `HANDS` are the slight errors of a careful office; `DAMAGE` is what copies of copies, narrow columns and
exports do to a whole note.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, zip_longest
from random import Random

from ..evaluation import AnnotatedText, Entity
from ..lang.text import fold

# letter → its neighbours on a QWERTY keyboard
_NEAR = dict(
    zip(
        "qwertyuiopasdfghjklzxcvbnm",
        "wa qe wr et ry tu yi uo ip o qs ad sf dg fh gj hk jl k zx xc cv vb bn nm n".split(),
        strict=False,
    )
)
# character → what a scanner confuses it with
_SCAN = {"l": "1", "1": "l", "O": "0", "0": "O", "m": "rn", "I": "l", "S": "5", "5": "S", "e": "c", "B": "8"}
_NAME_LABELS = {"PATIENT", "RELATIVE", "CLINICIAN", "PERSON", "CITY", "TERRITORY", "STATE", "STREET", "HOSPITAL"}


def rewrite(note: AnnotatedText, pieces: Sequence[str]) -> AnnotatedText:
    """Replace every character of a note by a string, and adjust the entities.

    note (AnnotatedText): the note.
    pieces (Sequence[str]): the replacement of each character.
    RETURNS (AnnotatedText): the new note; an entity spans the replacements of its characters, without white space at
        its edges, and is dropped if nothing is left.
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


Hand = Callable[[AnnotatedText, Random], AnnotatedText]


def _each(change: Callable[[str, Random], str]) -> Hand:
    """Create a type of noise from a function that changes single characters."""
    return lambda note, rng: rewrite(note, [change(char, rng) for char in note.text])


def _plain(char: str, _: Random) -> str:
    """Remove the accent of a letter, as on a foreign keyboard: "ñ" becomes "n"."""
    bare = fold(char)
    return (bare.upper() if char.isupper() else bare) or char


def _careless(char: str, rng: Random) -> str:
    """Drop a punctuation mark with probability .35."""
    return "" if char in ",.;:" and rng.random() < 0.35 else char


def _spaced(char: str, rng: Random) -> str:
    """Double some spaces, and add spaces before some punctuation."""
    if char == " " and rng.random() < 0.12:
        return "  "
    return f" {char}" if char in ".,:;" and rng.random() < 0.06 else char


def _scanned(char: str, rng: Random) -> str:
    """Confuse similar characters, and add specks or remove spaces."""
    drawn = rng.random()
    if char in _SCAN and drawn < 0.015:
        return _SCAN[char]
    if char == " " and drawn < 0.01:
        return rng.choice(("", "  ", " ' ", " . "))
    return char


def _slipped(note: AnnotatedText, rng: Random, rate: float = 0.008) -> AnnotatedText:
    """Drop or double some letters, replace them by a neighbouring key, or swap them with the next letter."""

    def same_entities(i: int) -> bool:  # whether a character and the next are inside the same entities
        return all((e.start <= i < e.end) == (e.start <= i + 1 < e.end) for e in note.entities)

    pieces = list(note.text)
    for i, char in enumerate(pieces):
        if not char.isalpha() or rng.random() > rate:
            continue
        kind = rng.randrange(4)
        if kind == 0 and 0 < i < len(pieces) - 1 and note.text[i - 1].isalpha() and note.text[i + 1].isalpha():
            pieces[i] = ""
        elif kind == 1:
            pieces[i] = char * 2
        elif kind == 2 and char in _NEAR:
            pieces[i] = rng.choice(_NEAR[char])
        elif kind == 3 and i + 1 < len(pieces) and note.text[i + 1].isalpha() and same_entities(i):
            pieces[i], pieces[i + 1] = note.text[i + 1], char
    return rewrite(note, pieces)


def _lowered_names(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Lowercase the names in a note."""
    pieces = list(note.text)
    for entity in note.entities:
        if entity.label in _NAME_LABELS:
            pieces[entity.start : entity.end] = [char.lower() for char in pieces[entity.start : entity.end]]
    return rewrite(note, pieces)


HANDS: dict[str, Hand] = {
    "capitals": _each(lambda char, _: char.upper()),
    "lower": _each(lambda char, _: char.lower()),
    "lowered_names": _lowered_names,
    "plain": _each(_plain),
    "careless": _each(_careless),
    "spaced": _each(_spaced),
    "slipped": _slipped,
    "scanned": _each(_scanned),
}


# characters that bad copies confuse, beyond those of a scanner
_COPY = _SCAN | {"g": "q", "G": "6", "Z": "2", "2": "Z", "8": "B", "6": "G", "i": "l", "D": "O", "h": "b", "u": "ii"}
_RARELY = frozenset("egimhul")  # letters so frequent that a text in which all of them are confused cannot be read


def _photocopied(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Confuse 20 to 50 % of the similar characters (frequent letters less), lose accents, split and join words."""
    rate, plain = rng.uniform(0.2, 0.5), rng.random() < 0.5

    def change(char: str) -> str:
        drawn = rng.random()
        if char in _COPY and drawn < (rate / 8 if char in _RARELY else rate):
            return _COPY[char]
        if char == " " and drawn < 0.03:
            return rng.choice(("", "", "  ", " . ", "'"))
        if char.isalpha() and drawn > 0.995:
            return f"{char} "
        return _plain(char, rng) if plain and char.isalpha() and not char.isascii() else char

    return rewrite(note, [change(char) for char in note.text])


def _wrapped(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Break lines after 28 to 80 characters, at spaces or with a hyphen inside words."""
    width, hyphens = rng.randint(28, 80), rng.choice((0.0, 0.3))
    pieces, column = list(note.text), 0
    for i, char in enumerate(note.text):
        column = 0 if char == "\n" else column + 1
        inside = note.text[i - 3 : i].isalpha() and note.text[i : i + 3].isalpha() and 3 <= i < len(pieces) - 2
        if char == " " and column > width:
            pieces[i], column = "\n", 0
        elif column == width and inside and len(note.text[i - 3 : i + 3]) == 6 and rng.random() < hyphens:
            pieces[i], column = f"-\n{char}", 0
    return rewrite(note, pieces)


def _flattened(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Write the note in one line, as exports of records do."""
    gap = rng.choice((" ", "  ", " | ", "\t"))
    return rewrite(note, [gap if char == "\n" else char for char in note.text])


def _glued(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Remove 2 to 12 % of the spaces, and of the spaces after punctuation four times as many."""
    rate = rng.uniform(0.02, 0.12)
    before = f" {note.text}"
    return rewrite(
        note,
        [
            "" if char == " " and rng.random() < (4 * rate if before[i] in ".,:;" else rate) else char
            for i, char in enumerate(note.text)
        ],
    )


def _mistyped(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Make two to six times as many typing errors as `_slipped`."""
    return _slipped(note, rng, rng.uniform(0.016, 0.05))


def _columns(note: AnnotatedText, rng: Random) -> AnnotatedText:
    """Set a part of a note in two columns and read it across both, line by line, as a scanner does.

    An entity that runs over the end of a line becomes one entity per line.
    """
    note = _wrapped(note, rng)
    ends = [i for i, char in enumerate(note.text) if char == "\n"]
    lines = list(zip([0, *(end + 1 for end in ends)], [*ends, len(note.text)], strict=True))
    half = rng.randint(2, 14)
    first = rng.randint(0, max(0, len(lines) - 2 * half))
    block = lines[first : first + 2 * half]
    half = (len(block) + 1) // 2
    width = max(end - start for start, end in block[:half]) if rng.random() < 0.5 else 0
    order: list[tuple[int, int, str]] = [(*line, "\n") for line in lines[:first]]
    for left, right in zip_longest(block[:half], block[half:]):
        gap = " " * max(rng.randint(1, 4), width - (left[1] - left[0]))
        order += [(*left, gap if right else "\n"), *([(*right, "\n")] if right else [])]
    order += [(*line, "\n") for line in lines[first + 2 * half :]]
    text, entities = "", []
    for start, end, after in order:
        for entity in note.entities:
            inside = max(start, entity.start), min(end, entity.end)
            value = note.text[inside[0] : inside[1]]
            if value.strip():
                begin = len(text) + inside[0] - start + len(value) - len(value.lstrip())
                entities.append(Entity(begin, begin + len(value.strip()), entity.label))
        text += note.text[start:end] + after
    return AnnotatedText(note.name, text, tuple(sorted(entities)))


DAMAGE: dict[str, Hand] = {
    "photocopied": _photocopied,
    "wrapped": _wrapped,
    "flattened": _flattened,
    "glued": _glued,
    "mistyped": _mistyped,
    "columns": _columns,
}


def add_noise(note: AnnotatedText, rng: Random, hands: Sequence[str] = tuple(HANDS)) -> AnnotatedText:
    """Apply one or two types of noise to a note.

    note (AnnotatedText): the note.
    rng (Random): random generator.
    hands (Sequence[str]): types of noise to draw from, keys of `HANDS` and `DAMAGE`.
    RETURNS (AnnotatedText): the changed note.
    """
    for name in rng.sample(sorted(hands), min(len(hands), rng.choice((1, 1, 2)))):
        note = (HANDS | DAMAGE)[name](note, rng)
    return note
