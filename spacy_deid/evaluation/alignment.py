"""Annotation on tokens: widened to whole tokens, trimmed where entities overlap, and never dropped.

``doc.ents`` holds whole tokens and no overlap. What an annotation loses on the way there is named, by document and
offsets, so that whoever made it can look.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from spacy.tokens import Doc, Span

from ..spans import Candidate, union_filter
from .documents import Entity

__all__ = ["Conflict", "align_entities"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """An entity that ``doc.ents`` does not hold as it was annotated. Holds offsets, never text.

    kind (str): "misaligned" if it begins or ends within a token, "overlapping" if it shares tokens with another.
    entity (Entity): as it was annotated.
    start, end (int): the characters of the whole tokens that it touches; equal if it touches none.
    """

    kind: Literal["misaligned", "overlapping"]
    entity: Entity
    start: int
    end: int

    @property
    def trimmed(self) -> bool:
        """Whether the entity has fewer tokens than it touches, or touches none."""
        return self.kind == "overlapping" or self.start == self.end

    def __str__(self) -> str:
        """Say it by offsets and label."""
        where = f"{self.entity.start}:{self.entity.end} {self.entity.label}"
        if self.start == self.end:
            return f"{where}: nothing but blanks between tokens"
        if self.kind == "misaligned":
            return f"{where}: not at the edges of tokens, widened to {self.start}:{self.end}"
        return f"{where}: overlaps another entity, and keeps those of its tokens that the longer one does not hold"


def align_entities(doc: Doc, entities: list[Entity]) -> tuple[list[Span], list[Conflict]]:
    """Put entities on the tokens of a Doc. Every token that an entity touches is in one of the spans.

    doc (Doc): the Doc of the text.
    entities (list[Entity]): labels as the spans shall have them.
    RETURNS (tuple[list[Span], list[Conflict]]): disjoint spans in the order of the text, and what was changed.
    """
    widened = [doc.char_span(e.start, e.end, label=e.label, alignment_mode="expand") for e in entities]
    touching = [(entity, span) for entity, span in zip(entities, widened, strict=True) if span]
    candidates = [Candidate(span.start, span.end, span.label_, (-len(span),)) for _, span in touching]
    spans = [Span(doc, c.start, c.end, label=c.label) for c in union_filter(candidates)]
    conflicts = [
        Conflict("misaligned", entity, *((span.start_char, span.end_char) if span else (entity.start, entity.start)))
        for entity, span in zip(entities, widened, strict=True)
        if not span or (span.start_char, span.end_char) != (entity.start, entity.end)
    ]
    left = Counter((span.start, span.end, span.label_) for span in spans)
    for entity, span in touching:
        key = (span.start, span.end, span.label_)
        if not left[key]:
            conflicts.append(Conflict("overlapping", entity, span.start_char, span.end_char))
        left[key] -= bool(left[key])
    return spans, conflicts
