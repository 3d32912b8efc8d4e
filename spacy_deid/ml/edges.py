"""Edges of spans: from the tokens that the network sees to those of the Doc, without what names nobody."""

from collections import Counter, defaultdict
from collections.abc import Collection

import numpy as np
from spacy.tokens import Doc

from .decoding import Decoded

__all__ = ["join_names", "settle_roles", "split_contacts", "trim", "widen"]

_CLOSING = frozenset(".,;:!?)]}-–—/")
_TITLES = frozenset(
    "dr dra drs dres doctor doctora prof profesor profesora professor d dña don doña sr sra srta mr mrs ms miss mx "
    "nurse sister sor enfermera enfermero tri tohtori dos dosentti professori rva rouva hra herra sh lääkäri".split()
)


# words between two telephone numbers, and the digits of the shorter
_BETWEEN = frozenset({"y", "o", "e", "and", "or", "ja", "tai"})
_DIGITS = 6
_PLACES = 3  # decimals of a result


def widen(spans: Decoded, dense: np.ndarray) -> Decoded:
    """Spans of dense tokens as spans of all tokens; a blank within a span belongs to it."""
    return [(int(dense[start]), int(dense[end - 1]) + 1, label, score) for start, end, label, score in spans]


def trim(doc: Doc, spans: Decoded) -> Decoded:
    """Take off what names nobody: closing marks before a span's first word, and white space after its last token.

    A line's end that is replaced joins lines. Opening marks stay ("+358 40", "(212) 555"), and so do marks after the
    last word, for they may belong to it ("4 izq."); the word for "number" that was typed on to a name does not. Nor do
    the decimals of a result in the column before ("13,2 03/05/2019"). A span without a letter or digit is none.
    """
    trimmed = []
    for start, end, label, score in spans:
        start += _decimals(doc, start, end)
        while start < end and (doc[start].is_space or doc[start].text in _CLOSING):
            start += 1
        while start < end and (doc[end - 1].is_space or doc[end - 1].text.startswith("Nº")):
            end -= 1
        if any(char.isalnum() for char in doc[start:end].text):
            trimmed.append((start, end, label, score))
    return trimmed


def _decimals(doc: Doc, start: int, end: int) -> int:
    """How many tokens at the start of a span are the decimals of a number that began before it: 1 or 0."""
    if not (start > 1 and end - start > 1 and doc[start].is_digit and len(doc[start]) <= _PLACES):
        return 0
    number, mark = doc[start - 2], doc[start - 1]
    alone = start == 2 or bool(doc[start - 3].whitespace_) or doc[start - 3].is_space
    inside = number.is_digit and mark.text in ",." and not number.whitespace_ and not mark.whitespace_
    ends = bool(doc[start].whitespace_) or doc[start + 1].is_space
    return int(alone and inside and ends and any(char.isalnum() for char in doc[start + 1 : end].text))


def split_contacts(doc: Doc, spans: Decoded, contacts: Collection[int]) -> Decoded:
    """Part two addresses or numbers that stand side by side: "ana@x.es eva@x.es", "956 013 059 y 956 013 060".

    An address has no blank; two numbers have a word between them. A blank or a word is all that is uncovered.

    doc (Doc): the note. spans (Decoded): spans. contacts (Collection[int]): numbers of the labels of e-mail addresses,
        telephone and fax numbers.
    RETURNS (Decoded): the spans, each part with the label and probability of the whole.
    """
    parted: Decoded = []
    for start, end, label, score in spans:
        edges = [start]
        for i in range(start, end) if label in contacts else ():
            both = doc[edges[-1] : i], doc[i + 1 : end]
            if doc[i].lower_ in _BETWEEN and all(sum(map(str.isdigit, part.text)) >= _DIGITS for part in both):
                edges += [i, i + 1]
            elif doc[i].whitespace_ and i + 1 < end and "@" in doc[start:end].text:
                edges += [i + 1, i + 1]
        edges.append(end)
        parted += [(a, b, label, score) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
    return parted


def join_names(
    doc: Doc, spans: Decoded, persons: Collection[int], echoes: Collection[tuple[int, int, int, float]] = ()
) -> Decoded:
    """Join the parts of a name that were given to two roles: "Ada" to a patient and "Okafor" to a clinician.

    Only words with capitals are joined: "hermana" and "Ana" are two things to say of one relative. The longer part
    says the role, of equals the first.

    doc (Doc): the note. spans (Decoded): spans in the order of the text. persons (Collection[int]): numbers of the
        labels that name persons. echoes (Collection[tuple]): those of the spans that were found by another mention;
        they join a part of the same role too.
    RETURNS (Decoded): the spans; a joined one is as probable as its least probable part.
    """
    joined: Decoded = []
    for start, end, label, score in spans:
        first, last, role, sure = joined[-1] if joined else (0, 0, -1, 0.0)
        parts = label != role or (start, end, label, score) in echoes or (first, last, role, sure) in echoes
        names = parts and {label, role} <= set(persons)
        if names and last == start and doc[first].text[:1].isupper() and doc[start].text[:1].isupper():
            longer = role if last - first >= end - start else label
            joined[-1] = (first, end, longer, min(sure, score))
        else:
            joined.append((start, end, label, score))
    return joined


def settle_roles(doc: Doc, spans: Decoded, persons: Collection[int]) -> Decoded:
    """Give a name one role in a note. Where it stands alone nothing tells whose name it is; elsewhere something may.

    A mention is voted on by all that have its words, itself among them, each by its probability. So "Okafor" may be
    settled by "Ada Okafor", but never the other way round, and a mention with a title ("Dr. Okafor") has said enough.

    doc (Doc): the note. spans (Decoded): spans, disjoint. persons (Collection[int]): numbers of the labels that name
        persons.
    RETURNS (Decoded): the same spans, some with another role.
    """
    names = [_words(doc, start, end) if label in persons else frozenset() for start, end, label, _ in spans]
    mentions: defaultdict[frozenset[str], Counter[int]] = defaultdict(Counter)
    for (*_, label, score), name in zip(spans, names, strict=True):
        mentions[name][label] += score  # type: ignore[assignment]
    having = defaultdict(list)
    for name in mentions:
        for word in name:
            having[word].append(name)
    roles: dict[frozenset[str], int] = {}
    settled: Decoded = []
    for (start, end, label, score), name in zip(spans, names, strict=True):
        if name and not _has_title(doc, start):
            if name not in roles:
                rarest = min(name, key=lambda word: len(having[word]))
                votes = sum((mentions[other] for other in having[rarest] if name <= other), Counter())
                roles[name] = votes.most_common(1)[0][0]
            label = roles[name]
        settled.append((start, end, label, score))
    return settled


def _words(doc: Doc, start: int, end: int) -> frozenset[str]:
    """The words of a name, whatever their case; initials are none."""
    return frozenset(token.lower_ for token in doc[start:end] if token.is_alpha and len(token) > 1)


def _has_title(doc: Doc, start: int) -> bool:
    """Whether a title stands before a token, with or without its full stop."""
    before = start - 2 if start > 1 and doc[start - 1].text == "." else start - 1
    return before >= 0 and doc[before].lower_.rstrip(".") in _TITLES
