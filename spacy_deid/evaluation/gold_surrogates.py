"""Replace the annotated identifiers of a note by surrogates, and annotate the surrogates instead.

`pipeline.surrogate` replaces what a pipeline has found; `replace_gold` replaces the gold annotation. The result is an
annotated corpus that can be shared and used for training, and surrogates can be evaluated without the influence of
detection errors.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..medical.name_context import unfit_words
from ..offsets import Edit, apply_edits, move_spans
from ..surrogates.forbidden import Forbidden
from ..surrogates.keys import IdentityKey
from ..surrogates.mention import Mention, find_mentions
from ..surrogates.strategies import Replacement
from ..surrogates.style import SurrogateStyle, agree
from .documents import AnnotatedText, Entity


class ReleasedNote(NamedTuple):
    """An annotated note whose identifiers were replaced by surrogates. Its repr does not show them.

    document (AnnotatedText): the new text, with an entity for each surrogate.
    edits (list[Edit]): the edits that turn the original text into the new one.
    entities (list[Entity]): the gold entities of the original text, without overlap.
    mentions (list[Mention]): the same entities with their text, as the surrogate strategy received them.
    replacements (list[Replacement]): the replacement of each mention.
    """

    document: AnnotatedText
    edits: list[Edit]
    entities: list[Entity]
    mentions: list[Mention]
    replacements: list[Replacement]

    def __repr__(self) -> str:
        return f"ReleasedNote({len(self.entities)} entities)"


def replace_gold(
    document: AnnotatedText, key: IdentityKey, lang: str, style: SurrogateStyle | None = None, note_date: str = ""
) -> ReleasedNote:
    """Replace the gold entities of a note by surrogates, and return the new text with its annotation.

    document (AnnotatedText): the note with its gold entities. Overlapping entities are made disjoint first, see
        `make_disjoint`.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code of the language of the note.
    style (Optional[SurrogateStyle]): strategies and date rules; None for consistent surrogates and shifted dates.
    note_date (str): date of the note in ISO 8601 format, "" if unknown.
    RETURNS (ReleasedNote): the new note, with its edits and replacements.
    """
    style = style or SurrogateStyle()
    entities = make_disjoint(document.entities, document.text)
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


def make_disjoint(entities: Iterable[Entity], text: str) -> list[Entity]:
    """Remove overlaps between entities, without uncovering a letter or digit.

    The longest of overlapping entities remains whole; the others are cut to the rest and keep their labels.

    entities (Iterable[Entity]): entities that may overlap.
    text (str): the text of the note.
    RETURNS (list[Entity]): disjoint entities in text order. Cut entities do not begin or end with white space.
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
    """Return the parts of an interval that an entity does not cover: none, one or two intervals."""
    start, end = piece
    left = [(start, min(end, other.start)), (max(start, other.end), end)]
    return [(s, e) for s, e in left if s < e] if start < other.end and other.start < end else [piece]


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink an interval so that it does not begin or end with white space."""
    surface = text[start:end]
    return start + len(surface) - len(surface.lstrip()), end - len(surface) + len(surface.rstrip())
