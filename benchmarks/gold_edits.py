"""Convert the gold of a letter to edits of a file made from it."""

from collections import Counter

from spacy_deid.documents import Document
from spacy_deid.documents.verification import fold
from spacy_deid.evaluation.documents import AnnotatedText
from spacy_deid.evaluation.text_alignment import align_texts
from spacy_deid.offsets import Edit

__all__ = ["carry_gold"]


def carry_gold(letter: AnnotatedText, document: Document) -> tuple[list[Edit], int, int]:
    """Transfer the annotation of a letter to the text extracted from a file.

    letter (AnnotatedText): the letter with its gold.
    document (Document): file made from it.
    RETURNS (tuple): the annotation as edits; number of annotated characters, and of those found in the extracted text.
    """
    moved = align_texts(letter.text, document.text)
    edits: list[Edit] = []
    gold = reached = last = 0
    for entity in sorted(letter.entities, key=lambda entity: entity.start):
        surface = fold(letter.text[entity.start : entity.end])
        gold += len(surface)
        span = moved.move(entity.start, entity.end)
        if span is None:
            continue
        reached += sum((Counter(surface) & Counter(fold(document.text[slice(*span)]))).values())
        if span[1] > last:
            edits.append(Edit(max(span[0], last), span[1], entity.label, f"[{entity.label}]"))
            last = span[1]
    return edits, gold, reached
