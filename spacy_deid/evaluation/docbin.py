"""Convert annotated notes to spaCy Docs and back, for training data and .spacy files.

``doc.ents`` holds whole tokens without overlap. Entities are therefore widened to whole tokens and trimmed where they
overlap; no token of an entity is lost. What changed is returned as a `Conflict` or a count. The name of a document is
kept in ``doc.user_data["deid/name"]``.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ..errors import Errors, InputError
from ..spans import Candidate, union_filter
from .documents import AnnotatedText, Entity, index_documents, relabel
from .files import read_label


@dataclass(frozen=True, slots=True)
class Conflict:
    """An entity that ``doc.ents`` cannot represent as annotated. Holds offsets, never text.

    kind (str): "misaligned" if the entity begins or ends inside a token, "overlapping" if it shares tokens with
        another.
    entity (Entity): the entity as annotated.
    start, end (int): character offsets of the whole tokens that it touches; equal if it touches none.
    """

    kind: Literal["misaligned", "overlapping"]
    entity: Entity
    start: int
    end: int

    @property
    def trimmed(self) -> bool:
        """Whether the entity lost tokens to another entity, or touches no token."""
        return self.kind == "overlapping" or self.start == self.end

    def __str__(self) -> str:
        """Describe the conflict by offsets and label."""
        where = f"{self.entity.start}:{self.entity.end} {self.entity.label}"
        if self.start == self.end:
            return f"{where}: nothing but blanks between tokens"
        if self.kind == "misaligned":
            return f"{where}: not at the edges of tokens, widened to {self.start}:{self.end}"
        return f"{where}: overlaps another entity, and keeps those of its tokens that the longer one does not hold"


def align_entities(doc: Doc, entities: list[Entity]) -> tuple[list[Span], list[Conflict]]:
    """Align entities with the tokens of a Doc. Every token that an entity touches is in one of the spans.

    doc (Doc): Doc of the annotated text.
    entities (list[Entity]): entities, with the labels that the spans get.
    RETURNS (tuple[list[Span], list[Conflict]]): disjoint spans in document order, and the entities that were changed.
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


NAME = "deid/name"


def make_docs(
    documents: Iterable[AnnotatedText], tokenizer: Callable[[str], Doc], *, scheme: str = "canonical"
) -> tuple[list[Doc], int]:
    """Create Docs whose ``ents`` are the gold entities, widened to whole tokens.

    Where entities overlap, the one with more tokens is kept whole and the other one keeps its remaining tokens; see
    `align_entities`.

    documents (Iterable[AnnotatedText]): annotated notes.
    tokenizer (Callable[[str], Doc]): ``nlp.make_doc`` or a tokenizer.
    scheme (str): label scheme of the Docs.
    RETURNS (tuple[list[Doc], int]): Docs in the given order, and the number of trimmed entities.
    """
    docs, trimmed = [], 0
    for document in documents:
        doc = tokenizer(document.text)
        spans, conflicts = align_entities(doc, relabel(document.entities, scheme))
        doc.set_ents(spans)
        doc.user_data[NAME] = document.name
        docs.append(doc)
        trimmed += sum(conflict.trimmed for conflict in conflicts)
    return docs, trimmed


def from_doc(doc: Doc, name: str = "", *, scheme: str = "canonical") -> AnnotatedText:
    """Create an annotated note from the entities of a Doc.

    doc (Doc): Doc with entities in ``ents``.
    name (str): name of the document; "" for the name stored in the Doc.
    scheme (str): label scheme of ``doc.ents``.
    RETURNS (AnnotatedText): note with canonical labels.
    RAISES: InputError (D304) for a label that is not in the scheme.
    """
    name = name or str(doc.user_data.get(NAME, ""))
    found = [Entity(e.start_char, e.end_char, read_label(e.label_, scheme, Path(name), 1)) for e in doc.ents]
    return AnnotatedText(name, doc.text, tuple(found))


def read_docbin(path: Path, *, scheme: str = "canonical") -> list[AnnotatedText]:
    """Read a .spacy file.

    path (Path): the file.
    scheme (str): label scheme of the file.
    RETURNS (list[AnnotatedText]): notes in the order of the file; Docs without a name are numbered.
    RAISES: InputError if the file is not a DocBin (D303), a name occurs twice (D308) or a label is unknown (D304).
    """
    try:
        docs = list(DocBin().from_disk(path).get_docs(Vocab()))
    except Exception:  # msgpack and zlib raise whatever they meet, some with the bytes in the message
        raise InputError(Errors.D303.format(path=path, reason="not a DocBin")) from None
    named = [
        from_doc(doc, str(doc.user_data.get(NAME, f"{path.stem}-{i}")), scheme=scheme) for i, doc in enumerate(docs)
    ]
    return list(index_documents(named).values())


def write_docbin(
    documents: Iterable[AnnotatedText], path: Path, tokenizer: Callable[[str], Doc], *, scheme: str = "canonical"
) -> int:
    """Write a .spacy file for ``spacy train`` and ``spacy evaluate``.

    documents (Iterable[AnnotatedText]): annotated notes.
    path (Path): the file.
    tokenizer (Callable[[str], Doc]): ``nlp.make_doc`` or a tokenizer.
    scheme (str): label scheme of the file.
    RETURNS (int): number of entities trimmed because they overlap a longer one.
    """
    docs, trimmed = make_docs(index_documents(documents).values(), tokenizer, scheme=scheme)
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return trimmed
