"""Edges of spans: from the tokens that the network sees to those of the Doc, without what names nobody."""

import numpy as np
from spacy.tokens import Doc

from .decoding import Decoded

__all__ = ["trim", "widen"]


def widen(spans: Decoded, dense: np.ndarray) -> Decoded:
    """Spans of dense tokens as spans of all tokens; a blank within a span belongs to it."""
    return [(int(dense[start]), int(dense[end - 1]) + 1, label, score) for start, end, label, score in spans]


def trim(doc: Doc, spans: Decoded) -> Decoded:
    """Take off what names nobody: marks before a span's first word, and white space after its last token.

    A line's end that is replaced joins lines. Marks after the last word stay, for they may belong to it ("4 izq.").
    """
    trimmed = []
    for start, end, label, score in spans:
        while start < end and not any(char.isalnum() for char in doc[start].text):
            start += 1
        while start < end and doc[end - 1].is_space:
            end -= 1
        if start < end:
            trimmed.append((start, end, label, score))
    return trimmed
