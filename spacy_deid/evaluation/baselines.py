"""Two rules that need no model, measured beside every score: what looks like PHI by its shape, or by its place.

A score is worth something where it does better than these. On forms they do well, because a form's fields are PHI; in
running text the rule of shape does badly, and the rule of place finds nothing.
"""

from collections.abc import Callable, Mapping

import numpy as np
from spacy.tokens import Doc

from .counts import Mask, header_mask

__all__ = ["BASELINES", "layout_rule", "shape_rule"]

_BETWEEN = " \t\r\"'“”‘’«»([¿¡-–*•"  # may stand between the end of a sentence and the first word of the next
_ENDS = ".!?\n"


def shape_rule(doc: Doc) -> Mask:
    """A digit, or a capital that does not begin a sentence.

    A sentence begins with the text, with a line, and after ".", "!" or "?"; quotes, brackets and bullets may stand
    before its first word. Abbreviations count as ends of sentences too.

    doc (Doc): the note.
    RETURNS (Mask): one flag a token.
    """
    text, flags = doc.text, np.zeros(len(doc), dtype=np.bool_)
    for i, token in enumerate(doc):
        word = token.text
        digit = any(char.isdigit() for char in word)
        flags[i] = digit or (word[:1].isupper() and not _begins_sentence(text, token.idx))
    return flags


def _begins_sentence(text: str, start: int) -> bool:
    """Whether nothing of its sentence stands before a character."""
    while start and text[start - 1] in _BETWEEN:
        start -= 1
    return not start or text[start - 1] in _ENDS


def layout_rule(doc: Doc) -> Mask:
    """What stands after a colon on a short line, which is narrative from `counts.HEADER_WIDTH` characters on.

    doc (Doc): the note.
    RETURNS (Mask): one flag a token.
    """
    header, flags = header_mask(doc.text), np.zeros(len(doc), dtype=np.bool_)
    colon = False
    for i, token in enumerate(doc):
        colon = colon and "\n" not in token.text
        flags[i] = colon and header[token.idx]
        colon = colon or ":" in token.text
    return flags


# name of a rule, as tables and rows of metrics have it → the rule
BASELINES: Mapping[str, Callable[[Doc], Mask]] = {
    "a digit, or a capital within a sentence": shape_rule,
    "after a colon on a short line": layout_rule,
}
