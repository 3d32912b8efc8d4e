"""Identifiers put into real notes: sentences between sentences, clauses behind words, a head and a foot around it.

What the carrier has of its own is kept: the entities that were given with it move with their text, and nothing is put
inside or right beside one.
"""

import re
from collections.abc import Callable, Iterable
from random import Random

from ..evaluation import AnnotatedText, Entity
from .identity import Case
from .language import Language, Template
from .markup import Writer, slots
from .values import Filler

__all__ = ["asks_of", "frame", "inject", "render_template"]

_SENTENCE_END = re.compile(r"[.!?](?=[ \n])")
_WORDS_PER_SENTENCE = 45


def asks_of(templates: Iterable[Template]) -> set[tuple[str, str]]:
    """Everything that templates want to know. templates (Iterable[Template]). RETURNS (set): (who, what)."""
    return {(slot.who, slot.what) for template in templates for slot in slots(template.nodes)}


def render_template(template: Template, language: Language, rng: Random, split: str, name: str) -> AnnotatedText:
    """Make a note from a template.

    template (Template): the template. language (Language): its language.
    rng (Random): the source of chance. split (str): "train" or "test". name (str): name of the note.
    RETURNS (AnnotatedText): the note.
    """
    case = Case(language, rng, split, asks_of([template]), template.directives)
    writer = Writer()
    Filler(case).write(template.nodes, writer)
    return writer.finish(name)


def inject(
    carrier: AnnotatedText,
    sentences: list[Template],
    clauses: list[tuple[str, Template]],
    language: Language,
    rng: Random,
    split: str,
    frames: list[Template],
) -> AnnotatedText:
    """Put identifiers into a carrier.

    carrier (AnnotatedText): a real note, with what is known to be in it.
    sentences (list[Template]): sentences to put between its sentences.
    clauses (list[tuple[str, Template]]): clauses to put behind a word of it.
    language (Language): the language. rng (Random): the source of chance. split (str): "train" or "test".
    frames (list[Template]): heads and feet; one is put around the note now and then.
    RETURNS (AnnotatedText): the note and all its entities.
    """
    count = rng.randint(1, 2 + len(carrier.text.split()) // _WORDS_PER_SENTENCE)
    chosen = [rng.choice(sentences) for _ in range(min(count, 14))] if sentences else []
    around = rng.choice(frames) if frames and rng.random() < 0.6 else None
    used = [*chosen, *(clause for _, clause in clauses), *([around] if around else [])]
    filler = Filler(Case(language, rng, split, asks_of(used)))
    pieces: list[tuple[int, Callable[[Writer], None]]] = []
    for at, template in zip(_ends(carrier, rng, len(chosen)), chosen, strict=False):
        pieces.append((at, _sentence(template, filler, separate=at > 0)))
    pieces += [(at, _clause(clause, filler)) for at, clause in _anchors(carrier, clauses, rng)]
    body = _merge(carrier, pieces)
    return frame(body, around, filler) if around else body


def _ends(carrier: AnnotatedText, rng: Random, count: int) -> list[int]:
    """Draw ends of sentences, in order, away from the entities of the carrier."""
    ends = [match.end() for match in _SENTENCE_END.finditer(carrier.text)]
    ends = [end for end in ends if _free(carrier, end) and _is_end(carrier.text, end)]
    ends.append(len(carrier.text.rstrip()))
    return sorted(rng.sample(ends, min(count, len(ends))))


def _is_end(text: str, end: int) -> bool:
    """Whether a full stop ends a sentence: a capital follows, and no abbreviation or initial stands before."""
    word = re.search(r"\S+$", text[: end - 1])
    follows = text[end:].lstrip()[:1]
    return bool(word and len(word[0]) > 3 and (not follows or follows.isupper()))


def _free(carrier: AnnotatedText, at: int) -> bool:
    """Whether an offset neither splits nor touches an entity."""
    return all(at < entity.start or at > entity.end + 1 for entity in carrier.entities)


def _anchors(
    carrier: AnnotatedText, clauses: list[tuple[str, Template]], rng: Random, most: int = 3
) -> list[tuple[int, Template]]:
    """Draw places for clauses: each right behind its word, at most one a word's occurrence."""
    found: dict[int, Template] = {}
    for word, clause in rng.sample(clauses, min(len(clauses), 12)):
        places = [m.end() for m in re.finditer(rf"\b{re.escape(word)}(?=[ ,.;])", carrier.text)]
        places = [at for at in places if _free(carrier, at)]
        if places and len(found) < most:
            found[rng.choice(places)] = clause
    return sorted(found.items(), key=lambda item: item[0])


def _sentence(template: Template, filler: Filler, *, separate: bool) -> Callable[[Writer], None]:
    """What writes a sentence behind the one before."""

    def write(writer: Writer) -> None:
        if separate:
            writer.write(filler.case.rng.choice((" ", " ", " ", "\n")))
        filler.write(template.nodes, writer)

    return write


def _clause(template: Template, filler: Filler) -> Callable[[Writer], None]:
    """What writes a clause."""
    return lambda writer: filler.write(template.nodes, writer)


def _merge(carrier: AnnotatedText, pieces: list[tuple[int, Callable[[Writer], None]]]) -> AnnotatedText:
    """Write the carrier with pieces put in; its own entities move along."""
    writer, last = Writer(), 0
    moved: list[Entity] = []
    stops = [*sorted(pieces, key=lambda piece: piece[0]), (len(carrier.text), None)]
    for at, write in stops:
        shift = writer.length - last
        inside = (e for e in carrier.entities if last <= e.start and e.end <= at)
        moved += [Entity(e.start + shift, e.end + shift, e.label) for e in inside]
        writer.write(carrier.text[last:at])
        if write:
            write(writer)
        last = at
    writer.entities += moved
    return writer.finish(carrier.name)


def frame(body: AnnotatedText, around: Template, filler: Filler) -> AnnotatedText:
    """Put a head and a foot around a note.

    body (AnnotatedText): the note. around (Template): has the slot {note.body} once. filler (Filler): the cast.
    RETURNS (AnnotatedText): the note within the frame.
    """
    writer = Writer()
    cut = next(i for i, node in enumerate(around.nodes) if getattr(node, "what", "") == "body")
    filler.write(around.nodes[:cut], writer)
    shift = writer.length
    writer.write(body.text)
    writer.entities += [Entity(e.start + shift, e.end + shift, e.label) for e in body.entities]
    filler.write(around.nodes[cut + 1 :], writer)
    return writer.finish(body.name)
