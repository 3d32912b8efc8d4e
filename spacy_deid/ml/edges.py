"""Edges of spans: from the tokens that the network sees to those of the Doc, without what names nobody."""

from collections.abc import Collection

import numpy as np
from spacy.tokens import Doc

from .decoding import Decoded

__all__ = ["join_names", "trim", "widen"]

_CLOSING = frozenset(".,;:!?)]}-–—/")


def widen(spans: Decoded, dense: np.ndarray) -> Decoded:
    """Spans of dense tokens as spans of all tokens; a blank within a span belongs to it."""
    return [(int(dense[start]), int(dense[end - 1]) + 1, label, score) for start, end, label, score in spans]


def trim(doc: Doc, spans: Decoded) -> Decoded:
    """Take off what names nobody: closing marks before a span's first word, and white space after its last token.

    A line's end that is replaced joins lines. Opening marks stay ("+358 40", "(212) 555"), and so do marks after the
    last word, for they may belong to it ("4 izq."). A span without a letter or digit is none.
    """
    trimmed = []
    for start, end, label, score in spans:
        while start < end and (doc[start].is_space or doc[start].text in _CLOSING):
            start += 1
        while start < end and doc[end - 1].is_space:
            end -= 1
        if any(char.isalnum() for char in doc[start:end].text):
            trimmed.append((start, end, label, score))
    return trimmed


def join_names(doc: Doc, spans: Decoded, persons: Collection[int]) -> Decoded:
    """Join the parts of a name that were given to two roles: "Ada" to a patient and "Okafor" to a clinician.

    Only words with capitals are joined: "hermana" and "Ana" are two things to say of one relative. The longer part
    says the role, of equals the first.

    doc (Doc): the note. spans (Decoded): spans in the order of the text. persons (Collection[int]): numbers of the
        labels that name persons.
    RETURNS (Decoded): the spans; a joined one is as probable as its least probable part.
    """
    joined: Decoded = []
    for start, end, label, score in spans:
        first, last, role, sure = joined[-1] if joined else (0, 0, -1, 0.0)
        names = {label, role} <= set(persons) and label != role
        if names and last == start and doc[first].text[:1].isupper() and doc[start].text[:1].isupper():
            longer = role if last - first >= end - start else label
            joined[-1] = (first, end, longer, min(sure, score))
        else:
            joined.append((start, end, label, score))
    return joined
