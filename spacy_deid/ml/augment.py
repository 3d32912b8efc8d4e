"""Augmentation of training notes: other casing, missing accents, excerpts, fields side by side, and invented names."""

import random
import re
import unicodedata
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import registry

# the end of a short "key: value" line that another one follows
_FIELDS = re.compile(r"(?m)^[^\n:]{2,30}:[^\n]{1,50}\n(?=[^\n:]{2,30}:[^\n]{1,50}$)")
_GAPS = ("  ", "    ", "      ", "\t", " | ", "; ")
_PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
_NAME = re.compile(r"[^\W\d_]{4,}")
_POOL = 4000  # names that new ones are made from
_TRIES = 6

HANDS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "plain": lambda char: unicodedata.normalize("NFD", char)[0],
}


@registry.augmenters("spacy_deid.casing_augmenter.v1")
def make_casing_augmenter(
    upper: float = 0.05,
    lower: float = 0.05,
    plain: float = 0.05,
    excerpt: float = 0.0,
    fields: float = 0.0,
    rename: float = 0.0,
    seed: int = 0,
) -> Callable[[Language, Example], Iterator[Example]]:
    """Make an augmenter that sometimes adds a changed copy of a note. The original note is always included.

    upper, lower, plain (float): probability of a copy in upper case, in lower case, and without accents.
    excerpt (float): probability of an excerpt of a few lines. A model that has only seen whole letters takes the
        single line of a short note for the header of a letter.
    fields (float): probability of a copy in which some "key: value" lines are joined to one line, as in forms.
    rename (float): probability of a copy with invented names of persons. A model that has only seen listed names
        learns to rely on the list.
    seed (int): random seed.
    RETURNS (Callable): augmenter for the setting "augmenter" of a corpus reader.
    """
    rng = random.Random(seed)
    pool: deque[str] = deque(maxlen=_POOL)

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        yield example
        for hand, share in (("upper", upper), ("lower", lower), ("plain", plain)):
            if rng.random() < share:
                yield _copy(nlp, example, retype(example.reference.text, hand))
        if rng.random() < excerpt:
            text = example.reference.text
            starts = [0, *(i + 1 for i, char in enumerate(text) if char == "\n")]
            first = rng.randrange(len(starts))
            end = [*starts, len(text)][min(first + rng.randint(1, 5), len(starts))]
            yield _copy(nlp, example, text[starts[first] : end], starts[first])
        if fields and rng.random() < fields:
            joined = join_fields(nlp, example, rng)
            if joined is not None:
                yield joined
        pool.extend(example.reference.text[start:end] for start, end in _names(example.reference))
        if rename and rng.random() < rename and pool:
            yield rename_persons(nlp, example, pool, rng)

    return augment


def retype(text: str, hand: str) -> str:
    """Change the casing of a text or remove its accents, character by character, so that offsets stay valid.

    text (str): the text.
    hand (str): "upper", "lower" or "plain" (without accents).
    RETURNS (str): a text of the same length. A character whose replacement would be longer is kept.
    """
    change = HANDS[hand]
    return "".join(new if len(new := change(char)) == 1 else char for char in text)


def join_fields(nlp: Language, example: Example, rng: random.Random) -> Example | None:
    """Join neighbouring "key: value" lines: "City: Reno" and "Zip: 89501" become two fields on one line.

    nlp (Language): makes the Docs.
    example (Example): the note.
    rng (Random): random number generator.
    RETURNS (Example | None): the note with its entities; None if it has no two such lines in a row.
    """
    text, ents = example.reference.text, example.reference.ents
    inside = {i for ent in ents for i in range(ent.start_char, ent.end_char)}
    ends = [match.end() - 1 for match in _FIELDS.finditer(text) if match.end() - 1 not in inside]
    chosen = {end: rng.choice(_GAPS) for end in ends if rng.random() < 0.6}
    if not chosen:
        return None
    moved = [sum(len(gap) - 1 for end, gap in chosen.items() if end < ent.start_char) for ent in ents]
    doc = nlp.make_doc("".join(chosen.get(i, char) for i, char in enumerate(text)))
    places = [(ent.start_char + by, ent.end_char + by, ent.label_) for ent, by in zip(ents, moved, strict=True)]
    doc.set_ents(_disjoint(doc, places), default="outside")
    return Example(nlp.make_doc(doc.text), doc)


def rename_persons(nlp: Language, example: Example, pool: Sequence[str], rng: random.Random) -> Example:
    """Replace the names of the persons in a note with invented ones: the start of another name and the end of the
    original, which may be a case ending.

    All mentions of a name get the same replacement, in the original casing.

    nlp (Language): makes the Docs.
    example (Example): the note.
    pool (Sequence[str]): names whose starts are used.
    rng (Random): random number generator.
    RETURNS (Example): the note with its entities.
    """
    text, ents = example.reference.text, example.reference.ents
    known: dict[str, str] = {}
    parts, last = [], 0
    ends, grown = [0], [0]  # where a name ended, and how much longer the text is from there
    for start, end in _names(example.reference):
        old = text[start:end]
        name = known.setdefault(old.lower(), _invent(old, pool, rng))
        parts += [text[last:start], name.upper() if old.isupper() else name.capitalize()]
        last = end
        ends.append(end)
        grown.append(grown[-1] + len(name) - len(old))
    doc = nlp.make_doc("".join([*parts, text[last:]]))

    def moved(at: int) -> int:
        return at + grown[bisect_right(ends, at) - 1]

    doc.set_ents(_disjoint(doc, [(moved(e.start_char), moved(e.end_char), e.label_) for e in ents]), default="outside")
    return Example(nlp.make_doc(doc.text), doc)


def _invent(old: str, pool: Sequence[str], rng: random.Random) -> str:
    """Make a name with the end of the old name and the start of another, joined between a vowel and a consonant if
    possible.
    """
    front = end = ""
    for _ in range(_TRIES):
        other = rng.choice(pool)
        front, end = other[: rng.randint(1, len(other) - 2)], old[-rng.randint(2, len(old) - 2) :]
        if _is_vowel(front[-1]) != _is_vowel(end[0]):
            break
    return front + end


def _is_vowel(char: str) -> bool:
    """Return whether a letter is a vowel, ignoring diacritics."""
    return unicodedata.normalize("NFD", char.lower())[0] in "aeiouy"


def _names(doc: Doc) -> list[tuple[int, int]]:
    """Return start and end of the words in persons' names that are long enough and capitalized."""
    return [
        (ent.start_char + match.start(), ent.start_char + match.end())
        for ent in doc.ents
        if ent.label_ in _PERSONS
        for match in _NAME.finditer(ent.text)
        if match[0][0].isupper()
    ]


def _copy(nlp: Language, example: Example, text: str, offset: int = 0) -> Example:
    """Transfer the entities of an example to another text, which is tokenized again.

    An entity that is cut by the text keeps its remaining part.
    """
    reference = nlp.make_doc(text)
    places = [
        (max(ent.start_char - offset, 0), min(ent.end_char - offset, len(text)), ent.label_)
        for ent in example.reference.ents
    ]
    reference.set_ents(_disjoint(reference, places), default="outside")
    return Example(nlp.make_doc(text), reference)


def _disjoint(doc: Doc, places: Iterable[tuple[int, int, str]]) -> list[Span]:
    """Extend entities to whole tokens. If two share a token, it belongs to the first: without a label, the model
    would learn PHI as ordinary text."""
    kept: list[Span] = []
    for start, end, label in places:
        span = doc.char_span(start, end, alignment_mode="expand") if start < end else None
        first = max(span.start, kept[-1].end if kept else 0) if span else 0
        if span and first < span.end:
            kept.append(Span(doc, first, span.end, label=label))
    return kept
