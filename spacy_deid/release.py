"""An annotated corpus with surrogates in place of what its annotation marks; the annotation goes with them.

What a pipeline does with its own detections (`pipeline.surrogate`), done with the gold of a corpus: for a corpus that
can be handed on and train another model, and to measure surrogates without the errors of a detector.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from .evaluation.documents import AnnotatedText, Entity
from .medical.name_context import unfit_words
from .offsets import Edit, apply_edits, move_spans
from .surrogates.forbidden import Forbidden
from .surrogates.keys import IdentityKey
from .surrogates.mention import Mention, find_mentions
from .surrogates.strategies import Replacement
from .surrogates.style import SurrogateStyle, agree


class ReleasedNote(NamedTuple):
    """A note with surrogates.

    document (AnnotatedText): the new text and its entities.
    edits (list[Edit]): what makes it of the original.
    entities (list[Entity]): the disjoint entities of the original that were replaced.
    mentions (list[Mention]): the same, as replacers saw them.
    replacements (list[Replacement]): one for each.
    """

    document: AnnotatedText
    edits: list[Edit]
    entities: list[Entity]
    mentions: list[Mention]
    replacements: list[Replacement]

    def __repr__(self) -> str:
        return f"ReleasedNote({len(self.entities)} entities)"


def release_note(
    document: AnnotatedText, key: IdentityKey, lang: str, style: SurrogateStyle | None = None, note_date: str = ""
) -> ReleasedNote:
    """Put surrogates into an annotated note.

    document (AnnotatedText): the note with its gold.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    style (Optional[SurrogateStyle]): strategies and rules of dates; None for consistent surrogates and a shift.
    note_date (str): the date of the note in ISO 8601, "" if it is not known.
    RETURNS (ReleasedNote): the new note. Of entities that overlap the longest stays whole, and the rest of the others
        keeps its own label.
    """
    style = style or SurrogateStyle()
    entities = part(document.entities, document.text)
    mentions = find_mentions(document.text, [(e.start, e.end, e.label) for e in entities])
    forbidden = Forbidden(mentions, lang, unfit_words(lang))
    made = style.replace(mentions, key, lang, forbidden, ehr={"note_date": note_date})
    edits: list[Edit] = []
    last = 0
    for entity, mention, replacement in zip(entities, mentions, made, strict=True):
        changed = agree(mention, replacement.text, lang) if replacement.action in ("replace", "generalize") else None
        if changed and entity.start - changed[0] >= last:
            edits.append(Edit(entity.start - changed[0], entity.start - changed[1], "", changed[2]))
        if replacement.action != "keep":
            edits.append(Edit(entity.start, entity.end, entity.label, replacement.text))
        last = entity.end
    moved = move_spans(edits, [(entity.start, entity.end) for entity in entities])
    found = tuple(Entity(s, e, old.label) for (s, e), old in zip(moved, entities, strict=True) if s < e)
    released = AnnotatedText(document.name, apply_edits(document.text, edits), found)
    return ReleasedNote(released, edits, entities, mentions, made)


def part(entities: Iterable[Entity], text: str) -> list[Entity]:
    """Make entities disjoint, without letting go of a character of any.

    entities (Iterable[Entity]): may overlap.
    text (str): the note.
    RETURNS (list[Entity]): in the order of the text, without blanks at the ends of what was cut.
    """
    ordered = sorted(entities)
    if all(a.end <= b.start for a, b in pairwise(ordered)):
        return ordered
    out: list[Entity] = []
    for entity in sorted(ordered, key=lambda e: (e.start - e.end, e.start)):
        pieces = [(entity.start, entity.end)]
        for other in out:
            pieces = [piece for old in pieces for piece in _without(old, other)]
        for start, end in pieces:
            if (start, end) != (entity.start, entity.end):
                start, end = _strip(text, start, end)
            if start < end:
                out.append(Entity(start, end, entity.label))
    return sorted(out)


def _without(piece: tuple[int, int], other: Entity) -> Sequence[tuple[int, int]]:
    """What is left of a stretch beside an entity."""
    start, end = piece
    left = [(start, min(end, other.start)), (max(start, other.end), end)]
    return [(s, e) for s, e in left if s < e] if start < other.end and other.start < end else [piece]


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without blanks at its ends."""
    surface = text[start:end]
    return start + len(surface) - len(surface.lstrip()), end - len(surface) + len(surface.rstrip())
