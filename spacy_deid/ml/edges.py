"""Edges of spans: from the tokens that the network sees to those of the Doc, without what names nobody."""

import numpy as np
from spacy.tokens import Doc

from .decoding import Decoded

__all__ = ["trim", "widen"]

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
